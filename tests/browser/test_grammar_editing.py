"""An author's desk: all errors at once, unfinished grammars, tests of several lines, sizes."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser


def compiled(v: Any, text: str) -> None:
    """Type a grammar and wait for its problems."""
    v.type_grammar(text)
    v.page.wait_for_function("text => wb.state.compiled?.text === text", arg=text)


def pasted(v: Any, text: str) -> None:
    v.page.evaluate(
        """text => { const data = new DataTransfer(); data.setData('text', text);
        document.activeElement.dispatchEvent(
            new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); }""",
        text,
    )


def test_all_errors_are_listed_and_marked_and_missing_rules_added(visit: Any) -> None:
    with visit("?example=json") as v:
        compiled(v, "start ::= a b;\nc ::= (;\nd ::= e;")
        problems = v.page.locator("#wb-sec-problems")
        rows = problems.locator(".row.error")
        assert rows.locator(".at").all_inner_texts() == ["1:11", "1:13", "2:7", "3:7"]
        assert v.page.locator("#wb-grammar .paint .squig.error").count() == 4
        # each is a link to its place
        rows.nth(2).locator(".said").click()
        assert v.page.evaluate("document.activeElement.selectionStart") == 21
        compiled(v, "start ::= a b;\nd ::= e;")
        problems.get_by_text("add the 3 missing rules").click()
        v.page.wait_for_function("wb.state.compiled?.ok")
        assert v.page.evaluate("wb.state.text").endswith(
            "d ::= e;\na ::= 'a';\nb ::= 'b';\ne ::= 'e';"
        )


def test_a_test_has_several_lines(visit: Any) -> None:
    with visit("?example=json") as v:
        v.wait_run()  # that of the link
        compiled(v, "start ::= 'a' #'[\\\\\\\\bn\\n]*' 'c';")
        v.page.click("#wb-grammar [data-section=tests]")
        field = v.page.locator("#wb-grammar .addtest textarea")
        v.page.evaluate("wb.state.tests.splice(0)")
        tests = "wb.state.tests.map((test) => test.text)"
        v.page.evaluate("wb.state.ran = 'before'")
        # Shift+Enter is a line break, \n too, \\n is a backslash and n; Ctrl+Enter adds the test
        field.click()
        v.page.keyboard.type("a")
        v.page.keyboard.press("Shift+Enter")
        v.page.keyboard.type("b\\nb\\\\nc")
        v.page.get_by_text("is a line break").wait_for()
        v.page.locator("#wb-grammar .trying.good").wait_for()
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_function(f"{tests}.length === 1")
        assert v.page.evaluate(tests) == ["a\nb\nb\\nc"]
        assert v.page.evaluate("wb.state.ran") == "before"
        # it is edited as it was written; nothing is changed by looking at it
        v.page.locator("#wb-grammar .tests .say").first.click()
        area = v.page.locator("#wb-grammar .tests textarea")
        assert area.input_value() == "a\nb\nb\\\\nc"
        v.page.keyboard.press("Control+Enter")
        area.wait_for(state="detached")
        assert v.page.evaluate(tests) == ["a\nb\nb\\nc"]
        assert v.page.evaluate("wb.state.ran") == "before"
        # where it fails is a line and a column
        field.click()
        v.page.keyboard.type("a\\nbd")
        v.page.keyboard.press("Enter")
        v.page.locator("#wb-grammar .tests li.failed", has_text="line 2, column 2").wait_for()


def test_a_pasted_text_is_one_test_or_one_a_line(visit: Any) -> None:
    with visit("?example=json") as v:
        v.page.click("#wb-grammar [data-section=tests]")
        field = v.page.locator("#wb-grammar .addtest textarea")
        v.page.evaluate("wb.state.tests.splice(0)")
        tests = "wb.state.tests.map((test) => test.text)"
        group = v.page.locator("#wb-grammar .addtest .pasted")
        field.focus()
        pasted(v, "[a]\r\nb = 1\n")
        group.wait_for()
        v.shot("desk_pasted")
        assert v.page.evaluate("document.activeElement.textContent") == "one test"
        v.page.keyboard.press("Enter")
        v.page.wait_for_function(f"{tests}.length === 1")
        assert v.page.evaluate(tests) == ["[a]\nb = 1\n"]
        assert v.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
        pasted(v, "[1]\n[2]\n")
        v.page.keyboard.press("ArrowRight")
        v.page.keyboard.press("Enter")
        v.page.wait_for_function(f"{tests}.length === 3")
        assert v.page.evaluate(tests)[1:] == ["[1]", "[2]"]
        pasted(v, "[3]\n[4]\n")
        v.page.keyboard.press("Escape")
        group.wait_for(state="hidden")
        assert v.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
        assert v.page.evaluate(f"{tests}.length") == 3


def test_an_unfinished_grammar_has_a_picture_and_is_quiet_while_typed(visit: Any) -> None:
    with visit("?example=json") as v:
        v.page.wait_for_function("wb.state.ran && !wb.state.running")
        area = v.page.locator("#wb-grammar textarea.text")
        verdict = v.page.locator("#wb-grammar .verdict")

        def typed(text: str) -> None:
            v.page.keyboard.type(text)
            v.page.wait_for_function("wb.state.compiled?.text === wb.state.text")

        area.click()
        v.page.keyboard.press("Control+a")
        typed("start ::= '{' pair '}';")
        # the rules so far: what is missing is dashed
        v.page.wait_for_selector("#wb-picture svg.railroad .absent[data-rule=pair]")
        assert "1 rule, 1 missing" in v.page.inner_text("#wb-picture .count")
        assert "the nonterminal 'pair' has no rule" in v.page.inner_text("#wb-sec-problems")
        v.shot("desk_unfinished")
        # the left side of a rule: names that are not defined yet
        v.page.keyboard.press("Enter")
        typed("pa")
        option = v.page.locator("#wb-complete li")
        option.get_by_text("a missing rule").wait_for()
        v.page.keyboard.press("Enter")
        typed("(name '='")
        assert v.page.evaluate("wb.state.text").endswith("\npair ::= (name '='")
        # the errors of the rule at the caret wait until the caret leaves it
        v.page.locator("#wb-sec-problems").get_by_text("is not finished").wait_for()
        assert verdict.inner_text() == "unfinished rule"
        assert v.page.locator("#wb-grammar .paint .squig").count() == 0
        v.page.keyboard.press("ArrowUp")
        errors = v.page.locator("#wb-sec-problems .row.error")
        errors.filter(has_text="never closed").wait_for()
        errors.filter(has_text="the nonterminal 'name' has no rule").wait_for()
        assert "2 problems" in verdict.inner_text()
        # typing again hides it, and it is shown when it is asked for
        v.page.keyboard.press("ArrowDown")
        v.page.keyboard.press("End")
        typed(" value")
        v.page.get_by_text("show it now").click()
        errors.filter(has_text="never closed").wait_for()


def test_lines_between_the_parts(visit: Any) -> None:
    with visit("?example=json", width=1280, height=720) as v:
        v.page.click("#wb-grammar [data-section=tests]")
        v.page.wait_for_selector("#wb-grammar .tests .good")
        size = """name => Math.round({ left: () => document.querySelector('#wb-grammar .card').offsetWidth,
            upper: () => document.querySelector('#wb-main').offsetHeight,
            panel: () => document.querySelector('#wb-grammar .panel').offsetHeight }[name]())"""
        # five tests are in sight
        assert (
            v.page.evaluate(
                """() => { const box = document.querySelector('#wb-grammar .panel').getBoundingClientRect();
            return [...document.querySelectorAll('#wb-grammar .tests > li')].filter((row) => {
                const { top, bottom } = row.getBoundingClientRect();
                return top >= box.top && bottom <= box.bottom; }).length; }"""
            )
            >= 5
        )
        for name, key in (("left", "ArrowRight"), ("upper", "ArrowDown"), ("panel", "ArrowDown")):
            line = v.page.locator(f"[role=separator].of-{name}")
            usual = v.page.evaluate(size, name)
            line.focus()
            assert line.get_attribute("aria-valuenow") == str(usual)
            v.page.keyboard.press(key)
            moved = v.page.evaluate(size, name)
            assert moved == usual + (-24 if name == "panel" else 24)
            assert line.get_attribute("aria-valuenow") == str(moved)
            line.dblclick()
            assert v.page.evaluate(size, name) == usual
        line = v.page.locator("[role=separator].of-left")
        box = line.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + 60
        v.page.mouse.move(x, y)
        v.page.mouse.down()
        v.page.mouse.move(x + 70, y, steps=3)
        v.page.mouse.up()
        dragged = v.page.evaluate(size, "left")
        # it is kept, and there are no lines on a phone
        v.page.reload()
        v.page.wait_for_function("window.wb?.ready")
        assert v.page.evaluate(size, "left") == dragged
        line.focus()
        v.page.keyboard.press("Enter")
        assert abs(v.page.evaluate(size, "left") - (dragged - 70)) <= 2
        v.page.set_viewport_size({"width": 390, "height": 844})
        assert v.page.locator("[role=separator]:visible").count() == 0
