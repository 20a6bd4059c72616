from __future__ import annotations

import email.message
from importlib.metadata import PackageNotFoundError

import pytest

from workbench.app.ui import page_files as about_module
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.page_files import about, release


def test_about_has_versions_and_limits(handlers: Handlers) -> None:
    reported = about(handlers, {})
    versions = dict(reported["versions"])
    assert versions["torch"][0].isdigit()
    assert all(version for version in versions.values())
    assert "/" not in str(reported)


def declare(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    """Let the installed metadata have these project addresses."""
    declared = email.message.Message()
    declared["Version"] = "1.2.3"
    for url in urls:
        declared["Project-URL"] = url
    monkeypatch.setattr(about_module, "metadata", lambda _: declared)


@pytest.mark.parametrize(
    ("urls", "source"),
    [
        ((), ""),
        (("Changelog, https://a.example/changes",), ""),
        (("Homepage, https://a.example", "Source, https://b.example/x"), "https://b.example/x"),
        (("repository,https://c.example/y,z",), "https://c.example/y,z"),
        (("Source, javascript:alert(1)",), ""),
    ],
    ids=["none", "no source", "source first", "a comma in it", "no web address"],
)
def test_release_reads_the_source_from_the_metadata(
    monkeypatch: pytest.MonkeyPatch, urls: tuple[str, ...], source: str
) -> None:
    declare(monkeypatch, *urls)
    assert release() == {"version": "1.2.3", "source": source}


def test_release_of_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(about_module, "metadata", missing)
    assert release() == {"version": "", "source": ""}
