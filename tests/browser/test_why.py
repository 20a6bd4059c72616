"""Why a token is forbidden: from a struck token, or a failing test, to the place in the grammar."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

NESTED = """start ::= list;
list ::= '[' (item (',' item)*)? ']';
item ::= list | word;
word ::= #'[a-z]+' | '"' #'[^"]*' '"';"""

AREA = "#wb-grammar textarea.text"
PLACES = "#wb-grammar .paint .place"


def ready(v: Any) -> None:
    """Wait until the page's scripts run and its first grammar is compiled."""
    v.page.wait_for_function("window.wb?.state?.compiled?.ok")


def write(v: Any, text: str, notation: str = "kbnf") -> None:
    v.page.evaluate("n => wb.state.notation === n || wb.emit('switch', n)", notation)
    v.type_grammar(text)
    v.page.wait_for_function("t => wb.state.compiled?.text === t && wb.state.compiled.ok", arg=text)


def selected(v: Any) -> str:
    return str(
        v.page.eval_on_selector(AREA, "a => a.value.slice(a.selectionStart, a.selectionEnd)")
    )


def caret(v: Any, place: int) -> None:
    v.page.eval_on_selector(AREA, "(a, at) => { a.focus(); a.setSelectionRange(at, at); }", place)


def marked(v: Any, name: str) -> list[str]:
    """The text under the marks of a kind, once the editor has painted."""
    v.page.evaluate(
        "new Promise((go) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(go)), 20))"
    )
    return list(v.page.locator(f"#wb-grammar .paint .{name}").all_inner_texts())


def test_from_a_struck_token_to_the_place_in_the_grammar(visit: Any) -> None:
    with visit("?example=person") as v:
        ready(v)
        v.wait_run()
        for token in v.page.locator("#wb-run .tok").all():
            token.click()
            struck = v.page.locator("#wb-run .insp .cand.x")
            if struck.count():
                break
        reason = v.page.locator("#wb-run .insp .cand.x .w").first
        v.page.wait_for_function(
            "w => !['', 'forbidden'].includes(w.textContent)", arg=reason.element_handle()
        )
        struck.first.click()
        panel = v.page.locator("#wb-run .why")
        panel.wait_for()
        # what the note of the list says in few words is a sentence, and a sign tells where it fails
        signs = reason.inner_text().rpartition("needs ")[2]
        assert signs[0] in panel.locator(".reason").inner_text()
        assert panel.locator(".cell.fails .sign").inner_text() == "✗"
        assert v.page.locator(PLACES).count() >= 1
        # the picture is of the text before the token, not of the token alone
        v.page.wait_for_function(
            "wb.state.flagged?.so_far === wb.state.steps.slice(0, wb.state.selected)"
            ".map((step) => wb.hexOf(step.token)).join('')"
        )
        v.shot("why")
        link = panel.locator(".places button").first
        written = link.locator("mark").inner_text()
        link.click()
        assert v.page.evaluate("document.activeElement.classList.contains('text')")
        assert selected(v) == written
        v.page.keyboard.press("Escape")  # and back to the link
        assert v.page.evaluate("document.activeElement.closest('.places') !== null")
        # a rule of the stack leads to where it was called
        chip = panel.locator("button.chip").last
        chip.click()
        assert selected(v) == chip.inner_text()


def test_from_a_test_that_fails_to_the_place_in_the_grammar(visit: Any) -> None:
    with visit("?example=json") as v:
        ready(v)
        write(v, NESTED)
        box = v.page.locator("#wb-grammar .addtest textarea").first
        v.page.evaluate(
            "document.querySelector('#wb-grammar [role=tab][data-of=tests], #wb-grammar [role=tab][data-tab=tests]')?.click()"
        )
        box.fill('[[ab,"c"],]')
        box.press("Enter")
        row = v.page.locator("#wb-grammar .tests li", has_text='[[ab,"c"],]')
        row.locator("button.ask:not(.tree)").click()
        panel = v.page.locator("#wb-grammar .why")
        panel.wait_for()
        assert "Expected" in panel.locator(".reason").inner_text()
        assert panel.locator(".cell.read .texts").inner_text().replace("\n", "") == '[[ab,"c"],'
        assert panel.locator(".cell.fails .texts").inner_text() == "]"
        chains = [
            li.locator("button.chip").all_inner_texts() for li in panel.locator(".stacks li").all()
        ]
        assert chains == [["start", "list", "item"], ["list", "word"]], "the common part once"
        assert sorted(marked(v, "place")) == sorted(["[", "[a-z]", '"'])
        v.shot("why_of_a_test")
        assert v.page.evaluate("scrollY") == 0, "the answer stays in sight"
        # the run reads the test's text, and shows why its token is refused: asked again, the test's reason goes,
        # and the places stay marked for the run's
        v.page.wait_for_selector("#wb-run .insp .whyhead")
        row.locator("button.ask:not(.tree)").click()
        panel.wait_for(state="detached")
        assert sorted(marked(v, "place")) == sorted(["[", "[a-z]", '"'])
        v.page.click("#wb-run .insp .whyhead button")
        assert marked(v, "place") == []


def test_missing_reason_is_shown(visit: Any) -> None:
    with visit("?example=time") as v:
        told = v.page.evaluate(
            "wb.why({ ok: false, why: 'the grammar <b>cannot</b> be read' }).textContent"
        )
        assert told == "the grammar <b>cannot</b> be read"
        # nothing a person typed becomes markup
        record = {
            "ok": True, "so_far": "", "token": "3c", "allowed": False, "complete": True, "may_end": False,
            "cells": [{"text": "<i>", "is": "fails"}], "reason": "expected '<u>'", "expected": "'<u>'", "left_out": [0],
            "stacks": [[{"rule": "<s>", "start": 0, "end": 1}]],
            "spans": [{"start": 0, "end": 1, "line": 1, "column": 1, "what": "<b>", "before": "", "behind": "", "rule": "r"}],
        }  # fmt: skip
        found = v.page.evaluate(
            "r => { const e = wb.why(r); return [e.querySelectorAll('i, u, s, b').length, e.textContent] }",
            record,
        )
        assert found[0] == 0
        assert "<i>" in found[1]


def test_names_brackets_and_definitions(visit: Any) -> None:
    with visit("?example=json") as v:
        ready(v)
        write(v, NESTED)
        caret(v, NESTED.index("item (',"))
        assert marked(v, "named") == ["item", "item", "item"]
        assert marked(v, "def") == ["item"]
        v.page.keyboard.press("F12")
        assert selected(v) == "item"
        assert v.page.eval_on_selector(AREA, "a => a.selectionStart") == NESTED.index("item ::=")
        v.page.keyboard.press("F12")  # and round through where it is named
        assert v.page.eval_on_selector(AREA, "a => a.selectionStart") == NESTED.index("item (',")
        caret(v, NESTED.index("(item") + 1)
        assert marked(v, "bracket") == ["(", ")"]
        line = v.page.locator("#wb-grammar .paint .l").nth(3)
        box = line.bounding_box()
        v.page.mouse.move(box["x"] + 60, box["y"] + box["height"] / 2)
        v.page.wait_for_function("document.querySelectorAll('.paint .named').length === 2")
        told = v.page.get_attribute(AREA, "title")
        assert told == "word: defined in line 4, used once"
        v.shot("names")
        v.page.mouse.move(5, 5)
        caret(v, NESTED.index("word;") + 1)
        v.page.wait_for_function("document.querySelector('.paint .named')?.textContent === 'word'")
        at = v.page.locator("#wb-grammar .paint .named:not(.def)").first.bounding_box()
        v.page.mouse.click(at["x"] + 8, at["y"] + at["height"] / 2)
        v.page.keyboard.down("Control")
        v.page.mouse.click(at["x"] + 8, at["y"] + at["height"] / 2)
        v.page.keyboard.up("Control")
        assert v.page.eval_on_selector(AREA, "a => a.selectionStart") == NESTED.index("word ::=")


def test_typing_keeps_marks_indentation_and_text(visit: Any) -> None:
    with visit("?example=json") as v:
        ready(v)
        write(v, NESTED)
        start = NESTED.index("'['")
        v.page.evaluate("s => wb.emit('why', { spans: [{ start: s, end: s + 3 }] })", start)
        assert marked(v, "place") == ["'['"]
        caret(v, 0)
        v.page.keyboard.type("(* new *) ")
        assert marked(v, "place") == ["'['"], "it moves with its text"
        v.page.keyboard.press("End")
        v.page.keyboard.press("Enter")
        v.page.keyboard.type("  x")
        v.page.keyboard.press("Enter")
        v.page.keyboard.type("y")
        assert v.page.input_value(AREA) == "(* new *) start ::= list;\n  x\n  y" + NESTED[15:]
        assert marked(v, "l") == v.page.input_value(AREA).split("\n")
        caret(v, v.page.input_value(AREA).index("'['") + 1)
        v.page.keyboard.type("[")
        assert marked(v, "place") == [], "the earlier explanation no longer holds"
        for _ in range(3):
            v.page.keyboard.press("Control+z")
        assert "::= list" in v.page.input_value(AREA)
        v.page.keyboard.press("Escape")
        assert v.page.evaluate("document.activeElement === document.body")


def test_a_long_grammar_is_painted_where_it_changes(visit: Any) -> None:
    """Of 2,000 lines a key makes one anew; whatever is typed, the copy spells the text."""
    lines = [f"r{i} ::= 'w' r{i + 1};" for i in range(1999)]
    text = "\n".join(["start ::= r0;", *lines])
    with visit("?example=json") as v:
        ready(v)
        v.page.evaluate("wb.state.notation === 'kbnf' || wb.emit('switch', 'kbnf')")
        made = v.page.evaluate(
            """(text) => {
              const area = document.querySelector('#wb-grammar textarea.text');
              area.value = text; // typed by a driver, 2,000 lines take the browser itself minutes
              area.dispatchEvent(new Event('input'));
              const paint = document.querySelector('#wb-grammar .paint');
              const spelt = () => [...paint.children].map((line) => line.textContent).join('\\n') === area.value;
              const before = new Set(paint.children);
              const fresh = () => [...paint.children].filter((line) => !before.has(line)).length;
              const found = [spelt()];
              area.focus();
              area.setSelectionRange(20000, 20000);
              document.execCommand('insertText', false, 'a');
              found.push(spelt(), fresh());
              document.execCommand('insertText', false, '\\n');
              found.push(spelt(), fresh());
              document.execCommand('insertText', false, "'");
              found.push(spelt());
              area.setSelectionRange(100, 19000);
              document.execCommand('delete');
              found.push(spelt());
              return found;
            }""",
            text,
        )
        assert made == [True, True, 1, True, 2, True, True]
