"""The first sixty seconds of a visitor: open the page, look, break a rule, try a grammar."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.server import TOKEN

pytestmark = pytest.mark.browser

TEXT = "wb.state.steps.map(s => s.token.text ?? '').join('')"


def test_a_visitor_looks_breaks_and_tries(visit: Any) -> None:
    with visit() as v:
        v.wait_run()
        v.wait_drawn()
        assert "Click a token" in v.page.locator(".intro p").inner_text()
        v.shot("visitor_1_opened")

        v.page.click(".intro .break")
        v.page.wait_for_function("wb.state.text.includes('[0-9]{1,6}')")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state) && wb.state.steps.length > 3")
        v.wait_run()
        assert "digits only" in v.page.locator(".intro p").inner_text()
        assert v.page.locator(".intro .break").inner_text() == "Undo the break"
        assert v.page.evaluate("getSelection().toString()") == "[0-9]{1,6}", "the changed piece"
        assert '"name": "' in v.page.evaluate(TEXT)
        assert v.page.evaluate(TEXT).split('"')[3].isdigit(), "the mask follows the new rule"
        v.shot("visitor_2_broken")

        v.page.click(".intro .break")
        v.page.wait_for_function("wb.state.text.includes('[A-Za-z ]{1,20}')")
        assert v.page.locator(".intro .break").inner_text() == "Break it"

        v.page.click(".intro .own")
        v.page.wait_for_function("wb.state.notation === 'regex'")
        v.page.wait_for_function("document.activeElement?.matches('#wb-grammar textarea.text')")
        v.page.keyboard.type("[0-9]{2}:[0-9]{2}")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_function("wb.state.ran?.endsWith('[0-9]{2}:[0-9]{2}') && !wb.state.running")
        v.page.wait_for_function("wb.state.steps.length > 0")
        assert v.page.evaluate(TEXT)[2] == ":"
        v.wait_drawn()
        v.shot("visitor_3_own")


def test_the_first_words_stay_away_once_they_are_put_away(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()  # a page that is left in the middle of a run complains of it
        v.wait_drawn()
        v.page.click(".intro .away")
        v.page.reload()
        v.wait_run()
        v.wait_drawn()
        assert v.page.locator(".intro").is_hidden()


def test_the_lessons_are_a_click_and_a_key_away(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()  # a page that is left in the middle of a run complains of it
        v.wait_drawn()
        v.page.click(".intro .lessons")
        v.page.wait_for_selector("#wb-learn :is(svg .node, .no)")
        assert v.page.locator("#wb-learn .no").all_inner_texts() == [], "said, not waited out"
        assert v.page.locator("#wb-main").is_hidden()
        v.page.keyboard.press("l")
        assert v.page.locator("#wb-main").is_visible()


def test_only_the_owner_opens_another_model(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.click("#wb-header button.model")
        assert v.page.locator("#wb-header .openmodel").is_hidden()
        assert "the address with ?token=" in v.page.inner_text("#wb-header .models .closed")


def test_another_model_is_opened_or_says_why_not(visit: Any) -> None:
    with visit(f"?example=time&token={TOKEN}") as v:
        assert v.page.evaluate("location.search") == "?example=time", "the token is not shown"
        v.wait_run()
        v.page.click("#wb-header button.model")
        v.page.fill("#wb-header .openmodel input", "/missing/model")
        v.page.keyboard.press("Enter")
        v.page.wait_for_selector("#wb-header button.model.failed")
        assert "/missing" not in v.page.locator("#wb-header .models > button .name").inner_text()
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .runerr:not([hidden])")
        v.page.click("#wb-header button.model")
        v.page.locator("#wb-header .models li button").first.click()
        v.page.wait_for_selector("#wb-header button.model.ready")
        v.page.click("#wb-run .go")
        v.wait_run()
        assert v.page.evaluate("wb.state.steps.length") > 0
