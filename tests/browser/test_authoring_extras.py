"""A text searched for all matches, replays inside other pages, names of branches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import findings

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

LINE = "On 2024-05 and 2025-06, not 24-5: see 2023-12. é 😀 1999-01\n"
PASTE = """text => {
  const data = new DataTransfer(), area = document.querySelector('#wb-sec-find textarea');
  data.setData('text', text);
  area.select();
  area.dispatchEvent(
    new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def told(v: Any, part: str) -> None:
    v.page.wait_for_function(
        "part => document.querySelector('#wb-sec-find .status').textContent.includes(part)",
        arg=part,
    )


def test_all_matches_in_a_long_text(visit: Any) -> None:
    with visit("?example=json") as v:
        v.page.wait_for_function("wb.state.compiled?.text")
        v.page.evaluate(
            "wb.emit('open', {text: '[0-9]{4}-[0-9]{2}', notation: 'regex', start: 'start'})"
        )
        v.page.wait_for_function("wb.state.compiled?.text === '[0-9]{4}-[0-9]{2}'")
        v.page.click("#wb-grammar [data-section=find]")
        v.page.fill("#wb-sec-find textarea", LINE * 3)
        told(v, "12 matches")
        highlights = "['wb-match', 'wb-match-odd'].map((name) => CSS.highlights.get(name).size)"
        assert v.page.evaluate(highlights) == [6, 6]
        places = v.page.locator("#wb-sec-find .matches .at").all_inner_texts()
        assert places[:5] == ["1:4", "1:16", "1:39", "1:52", "2:4"]
        v.page.click("#wb-sec-find [title='Next match']")
        told(v, "match 1 of 12, at 1:4")
        v.page.click("#wb-sec-find [title='Previous match']")
        told(v, "match 12 of 12, at 3:52")
        area = v.page.locator("#wb-sec-find textarea")
        chosen = "one => one.value.slice(one.selectionStart, one.selectionEnd)"
        assert area.evaluate(chosen) == "1999-01"
        assert list(findings(v.page, "#wb-grammar")) == []
        v.shot("find_light")
        # another grammar searches the same text
        v.type_grammar("[a-z]{5}")
        told(v, "no match")
        v.type_grammar("[0-9]{4}")
        told(v, "12 matches")
        # 200,000 characters stay quick, and the page tells what it does not list
        v.page.evaluate(PASTE, LINE * 3400)
        told(v, "13,600 matches; the first 5,000 are shown")
        # a grammar with a stack is searched too
        v.page.evaluate(
            "wb.emit('open', {text: \"start ::= '(' start ')' | 'x';\", notation: 'kbnf',"
            " start: 'start'})"
        )
        v.page.evaluate(
            "const area = document.querySelector('#wb-sec-find textarea');"
            "area.value = 'a ((x)) b (x c x'; area.dispatchEvent(new Event('input'))"
        )
        told(v, "3 matches")


def test_a_replay_plays_inside_another_page(visit: Any, browser: Any) -> None:
    with visit("?example=json") as v:
        v.wait_run()
        v.page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        v.page.get_by_role("button", name="Copy embed code").click()
        v.page.wait_for_function("window.copied")
        code = v.page.evaluate("window.copied")
        v.page.evaluate("window.copied = ''")
        v.page.get_by_role("button", name="Copy frame").click()
        v.page.wait_for_function("window.copied")
        assert '<iframe src="' in v.page.evaluate("window.copied")
        text = v.page.evaluate("wb.state.steps.length")
    other = browser.new_context(offline=True)
    page = other.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(f"<!doctype html><h1>A post</h1>{code}<p>More text</p>")
    frame = page.frame_locator("iframe")
    frame.locator(".tokens .tok").first.wait_for()
    assert frame.locator(".tokens .tok").count() == text
    # it plays: a token is selected, and the next one by its button
    frame.locator(".tokens .tok").first.click()
    frame.locator(".tokens .tok[aria-selected=true]").wait_for()
    before = frame.locator(".tokens .tok[aria-selected=true]").get_attribute("id")
    frame.get_by_role("button", name="Next token").click()
    selected = frame.locator(".tokens .tok").nth(1)
    assert selected.get_attribute("aria-selected") == "true", before
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert page.locator("p").inner_text() == "More text"
    assert [url for url in asked if not url.startswith(("about:", "data:", "blob:"))] == []
    assert errors == []
    other.close()


def test_a_branch_has_a_name(visit: Any) -> None:
    with visit("?example=json") as v:
        v.wait_run()
        v.page.click("#wb-run .branches .bare")
        chips = v.page.locator("#wb-run .chips button")
        v.page.wait_for_function("document.querySelectorAll('#wb-run .chips button').length > 1")
        assert chips.nth(1).inner_text() == "2 by hand"
        chips.nth(1).focus()
        v.page.keyboard.press("F2")
        v.page.keyboard.type("my first try")
        v.page.keyboard.press("Enter")
        assert chips.nth(1).inner_text() == "2 my first try"
        assert v.page.evaluate("document.activeElement.textContent") == "2 my first try"
        # Escape keeps the name; a double click edits it; an empty name is the automatic one
        v.page.keyboard.press("F2")
        v.page.keyboard.type("another")
        v.page.keyboard.press("Escape")
        assert chips.nth(1).inner_text() == "2 my first try"
        chips.first.dblclick()
        field = v.page.locator("#wb-run input.rename")
        field.fill("as recorded")
        field.press("Enter")
        assert chips.first.inner_text() == "1 as recorded"
        assert v.page.evaluate("wb.cards?.run.records()[0].name ?? 'as recorded'") == "as recorded"
        chips.first.press("F2")
        field.fill("")
        field.press("Enter")
        assert chips.first.inner_text() in ("1", "1 recorded")


#: A schema with a title, one with a description, one without; a class.
INVOICE = '{"title": "An invoice", "type": "object", "properties": {"number": {"type": "integer"}}}'
ORDER = '{"description": "An order of version 1.2. Amounts are in cents.", "type": "integer"}'
BARE = '{"type": "boolean"}'


def test_a_prompt_that_was_not_edited_follows_the_grammar(visit: Any) -> None:
    with visit("?example=weather") as v:
        asked = v.page.locator("#wb-grammar textarea.prompt")
        kept = asked.input_value()
        text = v.page.input_value("#wb-grammar textarea.text")
        v.page.locator("#wb-grammar textarea.text").press("End")
        v.page.keyboard.type(" ")
        assert asked.input_value() == kept, "an edit keeps it"
        for schema, made in ((INVOICE, "An invoice in JSON: "), (BARE, "JSON: ")):
            v.type_grammar(schema)
            assert asked.input_value() == made
        v.type_grammar(ORDER)
        assert asked.input_value() == "An order of version 1.2 in JSON: "
        v.type_grammar("{")
        assert asked.input_value() == "An order of version 1.2 in JSON: ", "until it can be read"
        v.type_grammar(text)
        assert asked.input_value() == kept, "the example has its own again"
        v.type_grammar(INVOICE)
        v.page.click("#wb-grammar [data-notation=dataclass]")
        v.page.wait_for_function("wb.state.notation === 'dataclass'")
        v.type_grammar("@dataclass\nclass Line:\n    cents: int\n")
        assert asked.input_value() == "Line as a Python dataclass: "
        v.page.select_option("#wb-grammar .layout select", "json")
        assert asked.input_value() == "Line in JSON: "
        v.page.click("#wb-grammar [data-notation=kbnf]")
        v.page.wait_for_function("wb.state.notation === 'kbnf'")
        v.type_grammar("start ::= 'a';")
        assert asked.input_value() == ""


def test_a_prompt_that_was_edited_stays(visit: Any) -> None:
    with visit("?example=weather") as v:
        asked = v.page.locator("#wb-grammar textarea.prompt")
        asked.fill("Mine: ")
        v.type_grammar(INVOICE)
        assert asked.input_value() == "Mine: "
        v.page.click("#wb-grammar [data-notation=kbnf]")
        v.page.wait_for_function("wb.state.notation === 'kbnf'")
        v.page.click("#wb-grammar [data-notation=json_schema]")
        v.page.wait_for_function("wb.state.notation === 'json_schema'")
        v.type_grammar(ORDER)
        assert asked.input_value() == "Mine: ", "also after a look at another notation"
        v.page.wait_for_function("wb.state.compiled?.text === wb.state.text")
        v.page.wait_for_function("Object.keys(localStorage).some((key) => /draft/.test(key))")
        v.page.goto(v.page.url.partition("?")[0])
        v.page.wait_for_function("window.wb?.ready && wb.state.compiled?.ok")
        assert asked.input_value() == "Mine: "
        v.type_grammar(BARE)
        assert asked.input_value() == "Mine: ", "and in a draft"


def test_another_grammar_without_what_belongs_to_the_first(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_drawn()
        line = v.page.locator("#wb-sec-tests .brought")
        count = v.page.evaluate("wb.state.tests.length")
        v.page.locator("#wb-grammar textarea.text").press("End")
        v.page.keyboard.type(" ")
        assert line.is_hidden(), "an edit keeps the tests"
        v.type_grammar("start ::= ")
        v.page.wait_for_selector("#wb-picture .say:has-text('No picture yet')")
        assert v.page.locator("#wb-picture .pic.main svg .node").count() == 0
        v.page.wait_for_function("!document.querySelector('[data-section=rules] .n').textContent")
        v.type_grammar("start ::= 'a';")
        v.wait_drawn()
        v.page.click("#wb-grammar [data-section=tests]")
        assert f"The {count} tests of “Person, as JSON” left with its text." in line.inner_text()
        assert v.page.evaluate("wb.state.tests.length") == 0
        example = v.page.evaluate("wb.state.example.text")
        v.type_grammar(example)
        assert v.page.evaluate("wb.state.tests.length") == count, "they come back with the text"
        assert line.is_hidden()
        v.type_grammar("start ::= 'a';")
        # the picture of the first time may still be there
        v.page.wait_for_function("wb.state.compiled?.text === wb.state.text && !wb.state.pending")
        v.wait_drawn()
        line.get_by_role("button", name="Put them back").click()
        assert v.page.evaluate("wb.state.tests.length") == count
        assert line.is_hidden()
        v.page.locator("#wb-grammar textarea.text").press("End")
        v.page.keyboard.type("(")
        v.page.wait_for_selector("#wb-picture .foot:has-text('last version')")
        assert v.page.locator("#wb-picture .pic.main svg .node").count(), "of the same grammar"
