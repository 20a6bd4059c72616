"""An author's journey: edit, fix, test, ask why, look at rules and samples (journey 1)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

LIST = "start ::= '[' item (',' item)* ']';\nitem ::= start | digits | 'x' | 'x';\ndigits ::= #'[0-9]+';"


def section(v: Any, name: str) -> Any:
    v.page.click(f"#wb-grammar .sections [data-section={name}]")
    box = v.page.locator(f"#wb-sec-{name}")
    box.wait_for()
    return box


def opened(v: Any, text: str = LIST) -> None:
    """The page with a typed grammar, after all of its advice is shown."""
    v.page.wait_for_function("window.wb?.state?.compiled")
    v.type_grammar(text)
    v.page.wait_for_function("text => wb.state.linted === text", arg=text)


def test_an_author_mends_what_lint_says(visit: Any) -> None:
    with visit("?example=json") as v:
        opened(v)
        problems = section(v, "problems")
        rows = problems.locator("li")
        assert rows.first.locator(".word").inner_text() == "warning"
        assert rows.first.locator(".at").inner_text() == "3:14"
        assert {"note", "warning"} == set(problems.locator(".word").all_inner_texts())
        assert "duplicate alternative: 'x'" in problems.inner_text()
        assert "▲" in v.page.locator(".sections [data-section=problems]").inner_text()
        v.shot("author_problems_light")
        # the keyboard goes through the list, of which one button is a tab stop
        assert problems.locator("button[tabindex='0']").count() == 1
        rows.first.locator(".said").focus()
        v.page.keyboard.press("ArrowRight")
        assert v.page.evaluate("document.activeElement.textContent") == "write [0-9]{1,8}"
        v.page.keyboard.press("Enter")
        v.page.wait_for_function("wb.state.compiled?.text.includes('[0-9]{1,8}')")
        problems.get_by_text("delete it").first.click()
        v.page.wait_for_function("wb.state.compiled?.text.includes(\"digits | 'x';\")")
        v.page.wait_for_function("wb.state.text === wb.state.linted")
        v.page.get_by_text("nothing to fix").wait_for()
        # all bounds together
        v.type_grammar("start ::= #'[0-9]+' '-' #'[ ]*';")
        problems.get_by_text("apply all 2 fixes").click()
        v.page.wait_for_function("wb.state.text === \"start ::= #'[0-9]{1,8}' '-' #'[ ]{0,8}';\"")
        # a grammar that cannot be read shows why, whatever is open; then what was open comes back
        section(v, "samples")
        v.type_grammar("start ::= 'a' missing;")
        v.page.locator("#wb-sec-problems .word.no").wait_for()
        v.shot("author_error_light")
        v.type_grammar("start ::= 'a';")
        v.page.locator("#wb-sec-samples li").first.wait_for()


def test_tests_say_whether_they_pass_and_why_not(visit: Any) -> None:
    with visit("?example=person", dark=True) as v:
        opened(v)
        tests = section(v, "tests")
        add = tests.locator(".addtest textarea")
        before = tests.locator(".tests > li").count()
        # several lines are several tests, if so chosen
        add.focus()
        v.page.evaluate(
            """() => { const data = new DataTransfer(); data.setData('text', '[1]\\n[1,x]\\n[1,,2]\\n');
            document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); }"""
        )
        tests.get_by_text("3 tests, one per line").click()
        failed = tests.locator("li.failed", has_text="[1,,2]")
        failed.wait_for()
        assert tests.locator(".tests > li").count() == before + 3
        assert "fails: column 4: expected" in failed.inner_text()
        assert failed.locator(".squig").inner_text() == ","
        # why: in the row, in the editor
        failed.locator(".ask:not(.tree)").click()
        tests.locator(".because").wait_for()
        v.page.wait_for_selector("#wb-grammar .paint .place")
        v.shot("author_why_dark")
        # the text is read too, and its refused token lights the editor as long as its reason is shown
        v.page.wait_for_selector("#wb-run .whybox:not([hidden])")
        failed.locator(".ask:not(.tree)").click()
        tests.locator(".because").wait_for(state="detached")
        assert v.page.locator("#wb-grammar .paint .place").count() > 0
        v.page.click("#wb-run .whyhead button")
        v.page.wait_for_selector("#wb-grammar .paint .place", state="detached")
        # it is expected to be rejected: now it passes
        failed.locator(".expect").click()
        row = tests.locator(".tests > li", has_text="[1,,2]")
        row.locator("span.good").wait_for()
        assert row.locator(".expect").inner_text() == "reject"
        # the empty text, by keyboard; Delete takes it away
        add.focus()
        v.page.keyboard.press("Enter")
        tests.get_by_text("the empty text").wait_for()
        tests.get_by_text("the empty text").locator("xpath=..").focus()
        v.page.keyboard.press("Delete")
        assert tests.locator(".tests > li").count() == before + 3
        told = v.page.locator(".sections [data-section=tests] .n").inner_text()
        assert told.strip() == f"{before + 3} pass"
        # what was open is open when one comes back, and so are the tests
        section(v, "rules")
        v.page.wait_for_function("localStorage.getItem('wb:1:draft')?.includes('[1,,2]')")
        v.page.goto(v.page.url.split("?")[0])
        v.page.locator("#wb-sec-rules .outline li").first.wait_for()
        section(v, "tests").locator(".tests > li", has_text="[1,,2]").locator(
            "span.good"
        ).wait_for()


def test_rules_and_samples(visit: Any) -> None:
    with visit("?example=json", width=390, height=844) as v:
        opened(v)
        rules = section(v, "rules")
        item = rules.locator("li[data-rule=item]")
        item.wait_for()
        assert "recursive" in item.inner_text()
        assert "called by start" in item.inner_text().replace("\n", " ")
        item.locator(".def").click()
        area = v.page.locator("#wb-grammar textarea.text")
        chosen = area.evaluate("a => a.value.slice(a.selectionStart, a.selectionEnd)")
        assert chosen == "item"
        assert area.evaluate("a => a.selectionStart") == LIST.index("item ::=")
        samples = section(v, "samples")
        samples.locator("li").first.wait_for()
        v.shot("author_samples_390")
        text = samples.locator(".samples").first.locator(".text").first.inner_text()
        samples.locator(".add").first.click()
        samples.locator(".samples").last.locator(".add").first.click()
        assert samples.locator(".add", has_text="added").count() == 2
        tests = section(v, "tests")
        rows = tests.locator(".tests > li")
        rows.last.locator("span.good").wait_for()
        assert [rows.nth(i).locator(".expect").inner_text() for i in (-2, -1)] == [
            "accept",
            "reject",
        ]
        assert rows.nth(-2).locator(".say").inner_text() == text
        assert v.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_nothing_moves_when_something_arrives_late(visit: Any) -> None:
    with visit("?example=json") as v:
        v.page.wait_for_function("window.wb?.state?.compiled")
        top = "() => document.querySelector('#wb-grammar .promptbox').getBoundingClientRect().top"
        places = {v.page.evaluate(top)}
        v.page.click("#wb-grammar .timing")
        v.page.wait_for_selector("#wb-grammar .phases .phase:nth-child(6)")
        places.add(v.page.evaluate(top))
        for name in ("problems", "tests", "rules", "samples"):
            section(v, name)
            places.add(v.page.evaluate(top))
        v.page.locator("#wb-sec-samples li").first.wait_for()
        places.add(v.page.evaluate(top))
        assert len(places) == 1
        names = v.page.locator("#wb-grammar .phases .phase").all_inner_texts()
        assert [name.split()[0] for name in names] == [
            "read",
            "rules",
            "automata",
            "tokens",
            "first",
        ]


def test_no_row_of_the_editor_is_cut_at_the_top_while_a_run_is_followed(visit: Any) -> None:
    cut = """() => {
      const box = document.querySelector('#wb-grammar .editor'), top = box.getBoundingClientRect().top;
      const line = box.querySelector('.paint .l.live'), row = parseFloat(getComputedStyle(line).lineHeight);
      const past = (top - line.getBoundingClientRect().top) % row;
      return [box.scrollTop, Math.min(Math.abs(past), Math.abs(row - Math.abs(past)))];
    }"""
    with visit("?example=json", width=1280, height=720) as v:
        v.wait_run()
        scrolled = set()
        for token in v.page.locator("#wb-run .tok").all()[:12]:
            token.click()
            if not v.page.locator("#wb-grammar .paint .l.live").count():
                continue
            top, past = v.page.evaluate(cut)
            scrolled.add(top)
            assert not top or past <= 1.5, (top, past)
        assert max(scrolled) > 0, "nothing was scrolled: this tests nothing"


def test_a_link_of_a_problem_works_while_a_rule_is_typed(visit: Any) -> None:
    """A press takes the focus from the editor, and the errors held back until then join the list."""
    with visit() as v:
        v.page.evaluate("wb.emit('switch', 'kbnf')")
        v.page.click("#wb-grammar textarea.text")
        v.page.keyboard.press("ControlOrMeta+a")
        v.page.keyboard.press("Delete")
        v.page.keyboard.type('{"type": "object"}')
        switch = v.page.locator("#wb-grammar .panel button", has_text="switch to JSON Schema")
        switch.wait_for()
        v.page.locator("#wb-grammar .panel button", has_text="show it now").wait_for()
        box = switch.bounding_box()
        v.page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
        v.page.mouse.down()
        v.page.wait_for_function(
            "document.activeElement !== document.querySelector('#wb-grammar textarea.text')"
        )
        v.page.mouse.up()
        v.page.wait_for_function("wb.state.notation === 'json_schema' && wb.state.compiled?.ok")


def test_a_schema_that_replaces_the_text_is_read_as_one(visit: Any) -> None:
    with visit("?example=date") as v:
        v.wait_run()
        v.type_grammar('{"type": "object", "properties": {"a": {"type": "integer"}}}')
        v.page.wait_for_function("wb.state.notation === 'json_schema' && wb.state.compiled?.ok")
        assert v.page.locator("#wb-grammar .problems .switch").count() == 0
        # it must end, for which the limit of the dates would leave too few tokens
        assert v.page.is_checked("#wb-run .finishes")
        assert v.page.input_value("#wb-run input.max") == "128"
        # the notation that a reader chooses stays
        v.page.evaluate("wb.emit('switch', 'kbnf')")
        v.page.wait_for_selector("#wb-grammar .problems .switch")
        assert v.page.evaluate("wb.state.notation") == "kbnf"


def test_the_count_of_problems_leads_to_them_on_a_phone(visit: Any) -> None:
    with visit(width=390, height=844) as v:
        v.type_grammar("start ::= name;")
        v.page.locator("#wb-grammar .verdict", has_text="problem").click()
        listed = v.page.locator("#wb-grammar .problems").bounding_box()
        assert 0 <= listed["y"] <= 844 - 100


def test_a_marked_row_is_one_row_in_a_low_window(visit: Any) -> None:
    with visit(width=1280, height=720) as v:
        v.page.evaluate("wb.emit('switch', 'kbnf')")
        v.type_grammar("start ::= 'a';\nunused ::= 'b';")
        v.page.wait_for_selector("#wb-grammar .paint .squig.note")
        rows = v.page.locator("#wb-grammar .paint .l").evaluate_all(
            "lines => lines.map((line) => line.offsetHeight)"
        )
        assert len(set(rows)) == 1, rows
        # a broken grammar is not run again
        v.type_grammar("start ::= 'a;")
        v.page.wait_for_function("wb.state.compiled?.ok === false")
        assert not v.page.locator("#wb-run .outdated button").is_visible()
