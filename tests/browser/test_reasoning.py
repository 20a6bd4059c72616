"""Reasoning on the page: free text between two markers, then the grammar's text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean

pytestmark = pytest.mark.browser


def answer_of(v: Any) -> str:
    found: str = v.page.evaluate(
        "wb.state.steps.filter((s) => s.free === undefined).map((s) => s.token.text ?? '').join('')"
    )
    return found


def test_a_run_reasons_before_its_text(visit: Any) -> None:
    with visit() as v:
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        assert v.page.locator("#wb-run .thinking").is_hidden()
        v.page.check("#wb-run input.reasons")
        v.page.fill("#wb-run .opening", "[")
        v.page.fill("#wb-run .closing", "]")
        v.page.fill("#wb-run .budget", "5")
        v.run()
        free = v.page.evaluate("wb.state.steps.filter((s) => s.free !== undefined).length")
        assert free >= 2, "the markers"
        assert v.page.locator("#wb-run .tok.free").count() == free
        assert v.page.locator("#wb-run .outcome.good").count() == 1
        v.page.locator("#wb-run .tok.free").first.click()
        assert "reasoning" in v.page.inner_text("#wb-run .insp")
        v.shot("reasoning")
        clean(v.page, "reasoning", "#wb-run")
        v.page.locator("#wb-takeaway pre").scroll_into_view_if_needed()  # written when it is seen
        code = "document.querySelector('#wb-takeaway pre').textContent"
        v.page.wait_for_function(
            f'{code}.includes(\'wb.Reasoning(constraint, "[", "]", budget=5)\')'
        )
        v.page.fill("#wb-run .budget", "")
        v.page.wait_for_function(f"{code}.includes('budget=64)')")
        v.page.fill("#wb-run .budget", "5")
        link, answer = v.link(), answer_of(v)
    with visit(link, width=390, height=844, dark=True) as v:
        v.page.wait_for_function("document.querySelector('input.reasons').checked")
        v.run()
        assert answer_of(v) == answer, "the same settings"
        v.shot("reasoning_390")
        clean(v.page, "reasoning, dark", "#wb-run")
