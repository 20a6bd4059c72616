"""The first sixty seconds of a visitor: open the page, look, break a rule, try a grammar."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.server import TOKEN

pytestmark = pytest.mark.browser

TEXT = "wb.state.steps.map(s => s.token.text ?? '').join('')"


#: The picture is of the selected token, the callout is under it.
SELECTED = "document.querySelector('#wb-run .tok[aria-selected=true]').textContent"


def test_a_visitor_looks_breaks_and_tries(visit_builtin: Any) -> None:
    """With the embedded model, as a new visitor sees the page."""
    with visit_builtin(width=1280, height=720, folded=True) as v:
        v.wait_run()
        v.wait_drawn()
        assert "Click a token" in v.page.locator(".intro p").inner_text()
        picker = "document.querySelector('#wb-header select').selectedOptions[0].textContent"
        assert v.page.evaluate(picker).startswith("Date")
        alone = v.page.locator("#wb-run .alone")
        assert alone.locator(".text").inner_text() == "2024-06-31"
        assert "rejects" in alone.locator(".sign").inner_text()
        assert alone.locator(".other").inner_text() == "1"
        assert v.page.evaluate(TEXT) == "2024-06-30"
        assert "accepts" in v.page.inner_text("#wb-run .under > .sign")
        lefts = "(s) => [...document.querySelectorAll(s)].slice(0, 10).map((t) => Math.round(t.getBoundingClientRect().left))"
        above = v.page.evaluate(lefts, "#wb-run .alone .tok")
        assert above == v.page.evaluate(lefts, "#wb-run .tokens .tok"), "under each other"
        assert v.page.evaluate(SELECTED) == "0"
        v.page.wait_for_function(
            "document.querySelector('#wb-run .because').textContent === \"Expected '0', line 10 in rule d30\""
        )
        v.shot("visitor_1_opened")

        v.page.click(".intro .break")
        v.page.wait_for_function("wb.state.text.includes('0[135678]|1[02]')")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state) && wb.state.steps.length > 3")
        v.wait_run()
        assert "June has 31 days" in v.page.locator(".intro p").inner_text()
        assert v.page.locator(".intro .break").inner_text() == "Undo the break"
        assert v.page.evaluate("getSelection().toString()") == "0[135678]|1[02]", "the change"
        assert v.page.evaluate(TEXT) == "2024-06-31", "the mask follows the new rule"
        assert v.page.evaluate(SELECTED) == "1", "the token that the break changed"
        v.shot("visitor_2_broken")

        v.page.click(".intro .break")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state)")
        assert v.page.locator(".intro .break").inner_text() == "Break it"
        assert v.page.evaluate(TEXT) == "2024-06-30", "the recorded run again"
        assert alone.is_visible()
        assert v.page.locator("#wb-run .branch").count() == 2, "no third run"
        assert v.page.evaluate(picker).startswith("Date")

        v.page.click(".intro .own")
        v.page.wait_for_function("wb.state.compiled?.text === wb.state.text && !wb.state.pending")
        v.page.wait_for_function("wb.state.notation === 'regex'")
        before = v.page.evaluate("wb.state.text")
        v.page.wait_for_function("document.activeElement?.matches('#wb-grammar textarea.text')")
        v.page.keyboard.type("x")
        assert v.page.evaluate("wb.state.text") == f"{before}x", "the first key deletes nothing"
        v.page.keyboard.press("Backspace")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state) && !wb.state.running")
        v.page.wait_for_function("wb.state.steps.length > 3")
        perplexity = float(v.page.evaluate("wb.totals(wb.state.steps)[1][0]"))
        assert 1 <= perplexity < 20, "the embedded model can do it"
        assert "complete" in v.page.inner_text("#wb-run .outcome")
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
        v.run()
        assert v.page.evaluate("wb.state.steps.length") > 0


def test_error_a_prompt_that_the_model_cannot_read_is_reported_before_a_run(
    visit_builtin: Any,
) -> None:
    with visit_builtin("?example=date", width=1280, height=720) as v:
        v.wait_run()
        line = v.page.locator("#wb-grammar .toolong")
        assert line.is_hidden()
        runs = v.page.locator("#wb-run .branch").count()
        v.page.fill("#wb-grammar textarea.prompt", "a, b " * 500)
        line.wait_for()
        sentence = line.inner_text()
        assert re.fullmatch(
            r"The prompt has [\d,]+ tokens; the model reads at most 512\.", sentence
        )
        v.shot("prompt_too_long")
        v.page.click("#wb-run .go")
        assert v.page.inner_text("#wb-run .runerr") == f"Nothing was written: {sentence}"
        assert v.page.locator("#wb-run .branch").count() == runs
        v.page.fill("#wb-grammar textarea.prompt", "On ")
        line.wait_for(state="hidden")
        v.page.click("#wb-run .go")
        v.page.wait_for_function(
            "n => document.querySelectorAll('#wb-run .branch').length === n + 1", arg=runs
        )
        v.wait_run()
        assert v.page.is_hidden("#wb-run .runerr")
