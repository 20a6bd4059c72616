"""Filling a hole on the page: the mark, the fields, the run, its picture, links and problems."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]


def written(v: Any) -> str:
    found: str = v.page.evaluate("wb.state.steps.map((s) => s.token.text ?? '').join('')")
    return found


def test_a_run_fills_a_hole(visit: Any) -> None:
    with visit("?example=person") as v:
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        assert v.page.locator("#wb-run .filling").is_hidden()
        v.page.check("#wb-run input.fills")
        v.page.fill("#wb-run .before", '{"name": "Ad▢", "tags": [["x"]]}')
        assert v.page.input_value("#wb-run .after") == '", "tags": [["x"]]}'
        v.page.wait_for_function('wb.state.compiled.hole?.prefix === \'{"name": "Ad\'')
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        v.page.check("#wb-run input.finishes")
        v.run()
        assert v.page.locator("#wb-run .outcome.good").count() == 1
        text = written(v)
        assert text.replace(" ", "").isalpha()
        v.page.locator("#wb-run .tok").first.click()
        assert "middle of" in v.page.inner_text("#wb-run .insp")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state.drawn ?? {})")
        v.shot("hole")
        clean(v.page, "hole", "#wb-run")
        v.page.locator("#wb-takeaway pre").scroll_into_view_if_needed()  # written when it is seen
        v.page.wait_for_function(
            "document.querySelector('#wb-takeaway pre').textContent.includes('wb.fill(')"
        )
        link = v.link()
    with visit(link, width=390, height=844, dark=True) as v:
        v.page.wait_for_function("wb.state.compiled?.hole?.suffix.includes('tags')")
        v.run()
        assert written(v) == text, "the same settings"
        v.shot("hole_390")
        clean(v.page, "hole, dark", "#wb-run")


def test_a_hole_without_a_text_says_where(visit: Any) -> None:
    with visit("?example=person") as v:
        v.page.wait_for_selector("#wb-run .go:not(:disabled)")
        v.page.check("#wb-run input.fills")
        v.page.fill("#wb-run .after", "]")
        v.page.wait_for_function("wb.state.compiled.ok === false")
        assert "no text ends with this suffix" in v.page.inner_text("#wb-grammar")
        v.page.uncheck("#wb-run input.fills")
        v.page.wait_for_function("wb.state.compiled.ok")
        assert v.page.evaluate("wb.state.hole") is None
