"""The benchmark of the page, without a browser: what it prints, and what it says where it cannot run."""

from __future__ import annotations

import sys

import pytest

from lab.bench import page_bench
from lab.bench.page_bench import PageBenchError, Row, browser, line, main, served


def test_a_budget_is_held_up_to_its_target() -> None:
    assert Row("paint", "s", 1.5, 1.5).good
    assert not Row("paint", "s", 1.5, 1.51).good
    assert Row("outside", "", 0, 0).good


def test_line_has_target_and_figure() -> None:
    assert line(Row("paint", "s", 1.5, 0.684, "best 0.62")).split() == [
        "✓", "paint", "<", "1.5", "s", "0.68", "s", "best", "0.62",
    ]  # fmt: skip
    assert line(Row("weight", "KB", 500, 612)).startswith("✗")


@pytest.mark.slow
def test_error_where_a_page_does_not_start() -> None:
    with (
        pytest.raises(PageBenchError, match="did not start"),
        served("workbench", "serve", "--no-such-option"),
    ):
        pytest.fail("there is no such page")


def test_error_without_playwright(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(PageBenchError, match="pip install playwright"), browser():
        pytest.fail("there is no browser")


def test_it_ends_with_2_where_nothing_can_be_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing() -> object:
        raise PageBenchError("no browser here")

    monkeypatch.setattr(page_bench, "measured", nothing)
    assert main([]) == 2
    assert capsys.readouterr().err == "error: no browser here\n"


def test_it_ends_with_1_where_a_budget_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        page_bench, "measured", lambda: iter([Row("a", "s", 1, 0.5), Row("b", "s", 1, 2)])
    )
    assert main(["--json"]) == 1
    assert '"good": false' in capsys.readouterr().out
