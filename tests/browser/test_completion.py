"""Help at the caret, in all notations: completions, and the problem with its fix."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import findings

pytestmark = pytest.mark.browser

AREA = "#wb-grammar textarea.text"
OPEN = "#wb-grammar .complete:not([hidden])"
HINT = "#wb-grammar .athand:not([hidden])"

#: Notation; a text, with the caret at ‸; what is typed there; the word that is chosen; the result.
COMPLETED = [
    ("kbnf", "start ::= ‸;\nnumber ::= '1';", "nu", "number", "start ::= number;\nnumber ::= '1';"),
    ("kbnf", "start ::= ‸;", "#e", "#e'…'", "start ::= #e'';"),
    ("kbnf", "start ::= ‸;", "exc", "except!(…)", "start ::= except!();"),
    (
        "kbnf",
        "start ::= #'(?P<‸';",
        "QU",
        "QUOTED_TEXT",
        "start ::= #'(?P<QUOTED_TEXT>)';",
    ),
    ("regex", "a(?P<‸", "UNT", "TEXT_UNTIL", "a(?P<TEXT_UNTIL>"),
    ("regex", "a‸", "\\", "\\d", "a\\d"),
    ("regex", "\\p{‸", "Gr", "Greek", "\\p{Greek}"),
    ("lark", 'start: b\n‸\nb: "a"', "%imp", "%import", 'start: b\n%import \nb: "a"'),
    ("lark", "start: INT\n%import common‸", ".", "INT", "start: INT\n%import common.INT"),
    ("lark", 'start: ‸\nname: "a"', "na", "name", 'start: name\nname: "a"'),
    ("lark", "start: ‸", "%j", "%json", "start: %json {}"),
    ("gbnf", 'root ::= ‸\nname ::= "a"', "na", "name", 'root ::= name\nname ::= "a"'),
    ("gbnf", "root ::= ‸", "Re", "Regex", 'root ::= Regex("")'),
    ("json_schema", "{‸}", '"ty', "type", '{"type": }'),
    ("json_schema", '{"type": "‸"}', "int", "integer", '{"type": "integer"}'),
    ("json_schema", '{"format": ‸}', '"da', "date", '{"format": "date"}'),
    (
        "json_schema",
        '{"properties": {"name": {}}, "required": [‸]}',
        '"n',
        "name",
        '{"properties": {"name": {}}, "required": ["name"]}',
    ),
    (
        "json_schema",
        '{"properties": {"name": {}, "age": {}}, "dependentRequired": {"name": [‸]}}',
        '"a',
        "age",
        '{"properties": {"name": {}, "age": {}}, "dependentRequired": {"name": ["age"]}}',
    ),
    (
        "json_schema",
        '{"$ref": "‸", "$defs": {"person": {}}}',
        "#",
        "#/$defs/person",
        '{"$ref": "#/$defs/person", "$defs": {"person": {}}}',
    ),
    (
        "dataclass",
        "@dataclass\nclass A:\n    x: ‸",
        "Li",
        "Literal",
        "@dataclass\nclass A:\n    x: Literal[]",
    ),
    (
        "dataclass",
        "@dataclass\nclass Point:\n    x: int\n@dataclass\nclass A:\n    p: list[‸]",
        "Po",
        "Point",
        "@dataclass\nclass Point:\n    x: int\n@dataclass\nclass A:\n    p: list[Point]",
    ),
    (
        "dataclass",
        "‸\nclass A:\n    x: int",
        "@d",
        "@dataclass",
        "@dataclass\nclass A:\n    x: int",
    ),
    ("dataclass", "from typing import ‸", "Opt", "Optional", "from typing import Optional"),
]


def write(v: Any, notation: str, text: str) -> None:
    """The text in the editor, with the caret at its mark."""
    caret = text.index("‸")
    v.page.wait_for_function("wb.state.compiled")  # the example of the address is open
    v.page.evaluate(
        "([text, notation]) => wb.emit('open', {text, notation, start: 'start'})",
        [text.replace("‸", ""), notation],
    )
    v.page.wait_for_function(
        "([area, text, notation]) => wb.state.notation === notation"
        " && document.querySelector(area).value === text",
        arg=[AREA, text.replace("‸", ""), notation],
    )
    v.page.evaluate(
        "([area, at]) => { const one = document.querySelector(area);"
        " one.focus(); one.setSelectionRange(at, at); }",
        [AREA, caret],
    )


def value(v: Any) -> str:
    text: str = v.page.input_value(AREA)
    return text


def test_words_are_completed_in_every_notation(visit: Any) -> None:
    with visit("?example=json") as v:
        for notation, text, typed, word, wanted in COMPLETED:
            write(v, notation, text)
            before = value(v)
            v.page.keyboard.type(typed)
            v.page.wait_for_selector(OPEN)
            items = v.page.locator(f"{OPEN} .word").all_inner_texts()
            assert word in items, (notation, text, items)
            for _ in range(items.index(word)):
                v.page.keyboard.press("ArrowDown")
            chosen = v.page.locator(f"{OPEN} [aria-selected=true] .word")
            assert chosen.inner_text() == word
            v.page.keyboard.press("Enter")
            assert v.page.locator(OPEN).count() == 0
            assert value(v) == wanted, (notation, text)
            # the browser's own undo takes the word back, and then what was typed
            for _ in range(len(typed) + 2):
                v.page.keyboard.press("Control+z")
            assert value(v) == before, (notation, text)


def test_the_list_takes_keys_only_while_it_is_open(visit: Any) -> None:
    with visit("?example=json") as v:
        write(v, "kbnf", "start ::= ‸;\nnumber ::= '1';\nname ::= 'a';")
        v.page.keyboard.type("n")
        v.page.wait_for_selector(OPEN)
        area = v.page.locator(AREA)
        active = area.get_attribute("aria-activedescendant")
        assert v.page.locator(f"#{active}").get_attribute("aria-selected") == "true"
        assert list(findings(v.page, "#wb-grammar")) == []
        v.shot("completion_light")
        # a letter narrows it; Escape closes it and leaves the caret where it is
        v.page.keyboard.type("a")
        v.page.wait_for_function(
            "open => document.querySelectorAll(open + ' li').length === 1", arg=OPEN
        )
        v.page.keyboard.press("Escape")
        assert v.page.locator(OPEN).count() == 0
        assert area.get_attribute("aria-activedescendant") is None
        assert v.page.evaluate("document.activeElement.className") == "text"
        # closed: Enter is a line break and Tab leaves the editor
        v.page.keyboard.press("Enter")
        assert value(v).startswith("start ::= na\n;")
        v.page.keyboard.press("Tab")
        assert v.page.evaluate("document.activeElement.className") != "text"
        # Ctrl+Space opens it without a letter; a click accepts, Tab too
        write(v, "kbnf", "start ::= ‸;\nnumber ::= '1';")
        v.page.keyboard.press("Control+ ")
        v.page.locator(f"{OPEN} .word", has_text="number").click()
        assert value(v).startswith("start ::= number;")
        write(v, "kbnf", "start ::= ‸;\nnumber ::= '1';")
        v.page.keyboard.press("Control+ ")
        v.page.wait_for_selector(OPEN)
        v.page.keyboard.press("Tab")
        assert value(v).startswith("start ::= start;")
        # a complete word, a comment and the name of a new rule have none
        for text, typed in (
            ("start ::= numbe‸;\nnumber ::= '1';", "r"),
            ("start ::= number; (* ‸ *)\nnumber ::= '1';", "nu"),
            ("start ::= number;\n‸\nnumber ::= '1';", "nu"),
        ):
            write(v, "kbnf", text)
            v.page.keyboard.type(typed)
            v.page.evaluate("new Promise((done) => setTimeout(done, 200))")
            assert v.page.locator(OPEN).count() == 0, text


#: Notation, a text with one mistake, the caret's place, and the text after the fix.
FIXED = [
    ("regex", "a{5,2}‸", "a{2,5}"),
    ("kbnf", "start ::= nmae‸;\nname ::= 'a';", "start ::= name;\nname ::= 'a';"),
    ("gbnf", 'root ::= nmae‸\nname ::= "a"', 'root ::= name\nname ::= "a"'),
    ("lark", 'start: nmae‸\nname: "a"', 'start: name\nname: "a"'),
    ("lark", "start: INT‸", "start: INT\n%import common.INT\n"),
    ("json_schema", '{"type": "strng‸"}', '{"type": "string"}'),
    ("json_schema", '{"requierd‸": ["a"]}', '{"required": ["a"]}'),
    (
        "dataclass",
        "@dataclass\nclass A:\n    x: Litteral‸['a']",
        "@dataclass\nclass A:\n    x: Literal['a']",
    ),
]


def test_the_problem_at_the_caret_is_shown_and_fixed_in_every_notation(visit: Any) -> None:
    with visit("?example=json") as v:
        for notation, text, wanted in FIXED:
            write(v, notation, text)
            v.page.wait_for_selector(f"{HINT} .fix")
            v.page.keyboard.press("Control+.")
            v.page.wait_for_function("text => wb.state.text === text", arg=wanted)
            v.page.wait_for_function("text => wb.state.compiled?.text === text", arg=wanted)
            v.page.wait_for_function("wb.state.compiled.ok")
            assert v.page.locator(HINT).count() == 0
            v.page.keyboard.press("Control+z")
            assert value(v) == text.replace("‸", "")


def test_the_problem_under_the_pointer(visit: Any) -> None:
    with visit("?example=json", dark=True) as v:
        write(v, "json_schema", '‸{\n  "type": "strng"\n}')
        v.page.locator(".paint .squig.error").wait_for(state="attached")
        box = v.page.locator(".paint .squig.error").bounding_box()
        v.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        hint = v.page.locator(HINT)
        hint.wait_for()
        assert "did you mean 'string'?" in hint.inner_text()
        assert list(findings(v.page, "#wb-grammar")) == []
        v.shot("hint_dark")
        hint.locator(".fix").click()
        v.page.wait_for_function("wb.state.compiled?.ok && wb.state.text.includes('\"string\"')")
        # Escape closes it until the caret comes again
        write(v, "kbnf", "start ::= nmae‸;\nname ::= 'a';")
        hint.wait_for()
        v.page.keyboard.press("Escape")
        assert v.page.locator(HINT).count() == 0
        assert v.page.evaluate("document.activeElement.className") == "text"
        v.page.keyboard.press("Control+End")
        v.page.wait_for_timeout(300)
        for _ in range(4):
            v.page.keyboard.press("ArrowUp")
        v.page.keyboard.press("End")
        v.page.keyboard.press("ArrowLeft")
        hint.wait_for()


def test_a_phone_has_both(visit: Any) -> None:
    with visit("?example=json", width=390, height=844) as v:
        write(v, "json_schema", '{\n  "type": "strng‸"\n}')
        hint = v.page.locator(HINT)
        hint.wait_for()
        box = hint.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        v.shot("hint_phone")
        hint.locator(".fix").click()
        v.page.wait_for_function("wb.state.text.includes('\"string\"')")
        write(v, "json_schema", "{‸}")
        v.page.keyboard.type('"')
        v.page.wait_for_selector(OPEN)
        box = v.page.locator(OPEN).bounding_box()
        assert box["x"] + box["width"] <= 390
        v.shot("completion_phone")
        v.page.locator(f"{OPEN} .word", has_text="required").first.click()
        assert value(v) == '{"required": }'
