"""Texts that must end in their budget: the switch, the gauge, the chart, links and programs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean

pytestmark = pytest.mark.browser


def budgets_of(v: Any) -> list[list[int]]:
    found: list[list[int]] = v.page.evaluate(
        "wb.state.steps.map((s) => [s.budget?.left, s.budget?.needs])"
    )
    return found


def test_a_text_ends_in_its_budget(visit: Any) -> None:
    with visit("?example=json") as v:
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        v.page.fill("#wb-run input.max", "1")
        v.page.check("#wb-run input.finishes")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .runerr:not([hidden])")
        told = v.page.inner_text("#wb-run .runerr")
        assert "the shortest text needs 2 tokens with the end token; at most is 1" in told
        assert "allow 2 tokens or more" in told
        v.page.fill("#wb-run input.max", "9")
        v.page.fill("#wb-run input.temperature", "3")
        v.run()
        assert v.page.locator("#wb-run .outcome.good").count() == 1
        budgets = budgets_of(v)
        assert [left for left, _ in budgets] == list(range(9, 9 - len(budgets), -1))
        assert all(1 <= needs <= left for left, needs in budgets)
        v.page.locator("#wb-run .tok").first.click()
        assert f"{budgets[0][1]} of 9 left" in v.page.inner_text("#wb-run .insp")
        assert v.page.locator("#wb-run .insp .gauge i").evaluate("e => e.offsetWidth") > 0
        v.page.click("#wb-run .charts >> text=tokens needed")
        spoken = v.page.get_attribute("#wb-run .chart", "aria-valuetext")
        assert "9 tokens left · the shortest end needs 2" in (spoken or "")
        v.shot("finishing")
        clean(v.page, "must finish", "#wb-run")
        v.page.locator("#wb-takeaway pre").scroll_into_view_if_needed()  # written when it is seen
        v.page.wait_for_function(
            "document.querySelector('#wb-takeaway pre').textContent.includes('finish=True)')"
        )
        link = v.link()
    with visit(link, width=390, height=844, dark=True) as v:
        v.page.wait_for_function("document.querySelector('input.finishes').checked")
        v.run()
        assert budgets_of(v) == budgets, "the same settings"
        v.shot("finishing_390")
        clean(v.page, "must finish, dark", "#wb-run")


def test_the_bar_of_the_run_has_one_row(visit: Any) -> None:
    bar = "document.querySelector('#wb-run .bar')"
    with visit(width=1240, height=720) as v:
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        for width in (1240, 1280, 1360):
            v.page.set_viewport_size({"width": width, "height": 720})
            assert v.page.evaluate(f"{bar}.scrollWidth <= {bar}.clientWidth"), width
            assert v.page.evaluate(f"{bar}.clientHeight") < 60, width
