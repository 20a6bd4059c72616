"""A text of the visitor's, read under the mask: pasted, or by why? of a test."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

TEXT = "wb.state.steps.map(s => s.token.text ?? '').join('')"


def test_a_pasted_text_fills_the_strip_and_its_first_refused_token_is_explained(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.click("#wb-run .readbutton")
        v.page.fill("#wb-run .reading textarea", "14:3x5")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_selector("#wb-run .tok.refused[aria-selected=true]")
        assert v.page.evaluate(TEXT) == "14:3x5"
        assert v.page.locator("#wb-run .tok.refused").inner_text() == "x"
        assert v.page.locator("#wb-run .tok.alone").count() == 1
        assert "is refused" in v.page.inner_text("#wb-run .outcome")
        assert "refuses x and allows" in v.page.inner_text("#wb-run .callout .says")
        v.page.wait_for_selector("#wb-run .whybox:not([hidden])")
        assert "Why not x?" in v.page.inner_text("#wb-run .whybox")
        assert v.page.locator("#wb-run .branch").last.inner_text().endswith("read")
        v.shot("reading")
        # what comes after a refused token is no place of a run
        v.page.locator("#wb-run .tok.alone").click()
        v.page.wait_for_selector("#wb-run .tokenfacts:has-text('after a refused token')")
        assert v.page.locator("#wb-run .acts button").count() == 0
        assert v.page.locator("#wb-run .goon").is_disabled()
        # before it, tokens may be taken: another branch
        v.page.locator("#wb-run .tok").first.click()
        v.page.get_by_role("button", name="Rewind to here").click()
        v.page.wait_for_selector("#wb-run .tok.next")
        # an accepted text ends
        v.page.fill("#wb-run .reading textarea", "14:30")
        v.page.click("#wb-run .reading button:not(.bare)")
        v.page.wait_for_selector("#wb-run .outcome.good:has-text('accepts this text')")
        assert v.page.locator("#wb-run .tok.refused").count() == 0


def test_why_of_a_test_reads_it(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.evaluate(
            "wb.emit('open', {text: '[0-9]{2}', notation: 'regex', tests: [{text: '1x', expect: 'accept'}]})"
        )
        v.page.wait_for_function("wb.state.compiled?.text === '[0-9]{2}'")
        v.page.locator("#wb-grammar button.ask:has-text('why?')").click()
        v.page.wait_for_selector("#wb-run .tok.refused")
        assert v.page.evaluate(TEXT) == "1x"
        assert v.page.input_value("#wb-run .reading textarea") == "1x"
