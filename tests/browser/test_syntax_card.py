"""The syntax card of each notation: what a click inserts, where, and what is selected then."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import findings
from tests.browser.test_completion import AREA, value

pytestmark = pytest.mark.browser

#: Notation; a text with its selection in ‹›; the construct; the text then, with its selection.
INSERTED = [
    ("regex", "ab‹›", "[…]", "ab[‹a-z›]"),
    ("regex", "a‹›b", r"\d", r"a\d‹›b"),
    ("regex", "a‹bc›d", "(…)", "a(‹bc›)d"),
    ("regex", "a‹bc›", "…+", "a‹(?:bc)›+"),  # in brackets: a repetition takes one character
    ("regex", "a‹[bc]›", "…+", "a‹[bc]›+"),
    ("regex", "‹›", "…{2,4}", "‹a›{2,4}"),
    ("kbnf", "start ::= ‹›;", "#'…'", "start ::= #'‹[0-9]+›';"),
    ("kbnf", "start ::= 'a'‹›;", "…*", "start ::= 'a' ‹'a'›*;"),
    ("kbnf", "start ::= ‹'a' 'b'›;", "…*", "start ::= ‹('a' 'b')›*;"),
    ("kbnf", "start ::= 'b'; ‹›", "'…'", "start ::= 'b' '‹abc›'; "),  # not after its end
    ("kbnf", "st‹›art ::= 'b';", "name ::= …;", "start ::= 'b';\nname ::= ‹'a'›;"),
    ("kbnf", "‹›", "except!(…)", "start ::= except!(‹'a'›);"),  # a whole grammar
    ("gbnf", 'root ::= "a"‹›', "[^…]", 'root ::= "a" [^‹0-9›]'),
    ("gbnf", 'root ::= "a" ‹›| "b"', '… "b"', 'root ::= "a" ‹"a"› "b"| "b"'),
    ("lark", 'start: "a"‹›', "%ignore", 'start: "a"\n%ignore ‹" "›'),
    ("lark", 'start: ‹"a"›', '… | "b"', 'start: ‹"a"› | "b"'),
    ("json_schema", '{"type": "string"‹›}', '"maxLength"', '{"type": "string", "maxLength": ‹20›}'),
    ("json_schema", '{‹›"type": "string"}', '"maxLength"', '{"maxLength": ‹20›, "type": "string"}'),
    ("json_schema", '{"minLength": 1}‹›', '"type"', '{"minLength": 1, "type": "‹string›"}'),
    ("json_schema", "‹›", '"enum"', '{"enum": [‹"yes", "no"›]}'),
    (
        "structural_tag",
        '{"type": "structural_tag", "format": ‹›}',
        "any_text",
        '{"type": "structural_tag", "format": {"type": "any_text", "max_chars": ‹60›}}',
    ),
    (
        "dataclass",
        "@dataclass\nclass A:\n    x: in‹›t",
        "list[…]",
        "@dataclass\nclass A:\n    x: int\n    tags: list[‹str›]",
    ),
    (
        "dataclass",
        "@dataclass\nclass A:\n    ‹›",
        "str",
        "@dataclass\nclass A:\n    name: ‹str›",  # in the place of an empty line
    ),
    (
        "machine",
        "initial p\nfinal q‹›\np -> q : a",
        "p -> q : a, b",
        "initial p\nfinal q\np -> q : ‹a, b›\np -> q : a",
    ),
]
#: What is written there, with its selection.
MARKED = """one => {
  const { value, selectionStart: from, selectionEnd: to } = one;
  return `${value.slice(0, from)}‹${value.slice(from, to)}›${value.slice(to)}`;
}"""


def opened(v: Any, notation: str, marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    v.page.evaluate(
        "([text, notation]) => wb.emit('open', {text, notation, start: 'start'})", [text, notation]
    )
    v.page.wait_for_function(
        "([area, text, notation]) => wb.state.notation === notation"
        " && document.querySelector(area).value === text",
        arg=[AREA, text, notation],
    )
    places = [marked.index("‹"), marked.index("›") - 1]
    v.page.evaluate(
        "([area, from, to]) => document.querySelector(area).setSelectionRange(from, to)",
        [AREA, *places],
    )


def row(v: Any, construct: str) -> Any:
    return v.page.locator("#wb-sec-syntax button").filter(
        has=v.page.get_by_text(construct, exact=True)
    )


def test_a_click_inserts_a_construct(visit: Any) -> None:
    with visit("?example=time") as v:
        v.page.wait_for_function("wb.state.compiled")
        v.page.evaluate("localStorage.setItem('wb:1:machine text', 'true')")
        v.page.click("#wb-grammar [data-section=syntax]")
        for notation, before, construct, after in INSERTED:
            opened(v, notation, before)
            text = value(v)
            row(v, construct).click()
            assert v.page.locator(AREA).evaluate(MARKED) == after, (notation, before, construct)
            v.page.wait_for_function(
                "wb.state.compiled.text === wb.state.text && !wb.state.pending"
                " && wb.state.compiled.notation === wb.state.notation"
            )
            assert v.page.evaluate("wb.state.compiled.ok"), (notation, after)
            assert v.page.evaluate("document.activeElement.matches('textarea.text')")
            v.page.keyboard.press("Control+z")
            assert value(v) == text, (notation, before, construct)


def test_the_card_with_the_keyboard(visit: Any) -> None:
    with visit("?example=time", dark=True, width=1280, height=720) as v:
        v.page.wait_for_function("wb.state.compiled")
        v.page.locator("#wb-grammar [data-section][aria-selected=true]").focus()
        for _ in range(9):
            if v.page.evaluate("document.activeElement.dataset.section") == "syntax":
                break
            v.page.keyboard.press("ArrowRight")
        v.page.wait_for_selector("#wb-sec-syntax button")
        assert v.page.locator("#wb-sec-syntax button[tabindex='0']").count() == 1
        assert list(findings(v.page, "#wb-grammar")) == []
        v.shot("syntax_dark")
        v.page.locator("#wb-sec-syntax button").first.focus()
        v.page.keyboard.press("ArrowDown")
        before = value(v)
        v.page.keyboard.press("Enter")
        assert value(v) == before + "[a-z]"
        v.page.keyboard.type("x")  # in the place of what is selected
        assert value(v) == before + "[x]"


@pytest.mark.parametrize("notation", ["kbnf", "json_schema"])
def test_the_card_on_a_phone(visit: Any, notation: str) -> None:
    with visit("?example=time", width=390, height=844) as v:
        v.page.wait_for_function("wb.state.compiled")
        v.page.click(f"#wb-grammar [data-notation={notation}]")
        v.page.click("#wb-grammar [data-section=syntax]")
        v.page.wait_for_selector("#wb-sec-syntax button")
        v.page.wait_for_function("wb.state.compiled.ok && !wb.state.pending")
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 390
        for button in v.page.locator("#wb-sec-syntax button").all():
            assert button.bounding_box()["height"] >= 28
            assert button.evaluate("one => one.scrollWidth <= one.clientWidth"), "not cut"
        assert list(findings(v.page, "#wb-grammar")) == []
        v.shot(f"syntax_phone_{notation}")
        before = value(v)
        v.page.locator("#wb-sec-syntax button").last.click()
        assert len(value(v)) > len(before)
