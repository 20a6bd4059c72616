from __future__ import annotations

import json

import pytest

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.replay import recorded_lines
from workbench.base.errors import WorkbenchError


def test_a_recorded_run_is_what_the_page_reads(handlers: Handlers) -> None:
    kinds = [json.loads(line)["k"] for line in recorded_lines(handlers, "person")]
    assert kinds[0] == "head"
    assert kinds[-1] == "stop"
    assert set(kinds) == {"head", "start", "step", "stop"}


def test_error_a_name_that_is_none(handlers: Handlers) -> None:
    with pytest.raises(WorkbenchError, match="no example"):
        list(recorded_lines(handlers, "nobody"))


def test_another_model_shows_no_recorded_runs(handlers: Handlers) -> None:
    assert handlers.room.name != "builtin"
    assert handlers.recorded({"example": "person"}) == ""
