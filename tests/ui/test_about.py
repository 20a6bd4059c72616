from __future__ import annotations

from workbench.ui.about import about
from workbench.ui.handlers import Handlers


def test_what_runs_here_is_told_and_where_it_is_not(handlers: Handlers) -> None:
    told = about(handlers, {})
    versions = dict(told["versions"])
    assert versions["torch"][0].isdigit()
    assert all(version for version in versions.values())
    assert "/" not in str(told)
