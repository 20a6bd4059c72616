"""An author who brings another notation: its tab, its colours, converting, and what an edit changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.test_accessible import clean
from tests.browser.test_hostile_links import link

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

NOTATIONS = [
    "regex",
    "kbnf",
    "json_schema",
    "dataclass",
    "gbnf",
    "lark",
    "machine",
]
#: Those in the menu after the tabs.
MORE = ["structural_tag", "abnf", "ebnf", "antlr"]


def turn(v: Any, notation: str) -> None:
    v.page.click(f"#wb-grammar [data-notation={notation}]")
    v.page.wait_for_function(
        "n => wb.state.notation === n && wb.state.compiled?.notation === n", arg=notation
    )


def turn_to_more(v: Any, notation: str) -> None:
    v.page.select_option("#wb-grammar .more select", notation)
    v.page.wait_for_function(
        "n => wb.state.notation === n && wb.state.compiled?.notation === n", arg=notation
    )


def text(v: Any) -> str:
    return str(v.page.input_value("#wb-grammar textarea.text"))


def test_every_notation_has_a_tab_that_opens_on_something_that_works(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        tabs = v.page.locator("#wb-grammar .notation button")
        assert [
            tabs.nth(i).get_attribute("data-notation") for i in range(tabs.count())
        ] == NOTATIONS
        for notation in NOTATIONS[1:]:
            turn(v, notation)
            assert v.page.evaluate("wb.state.compiled.ok"), notation
            if notation == "machine":
                v.page.wait_for_selector("#wb-grammar .drawing .st")
            else:
                assert v.page.locator("#wb-grammar .paint .rule").count() > 0, "it is coloured"
            v.page.wait_for_selector("#wb-picture .pic:not(.stale) svg .node")
        v.shot("format_machine")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_menu_of_more_notations(visit: Any, width: int, height: int) -> None:
    with visit("?example=time", width=width, height=height) as v:
        v.wait_run()
        menu = v.page.locator("#wb-grammar .more select")
        v.page.locator("#wb-grammar [data-notation=machine]").focus()
        v.page.keyboard.press("ArrowRight")  # one tab stop with the tabs
        assert menu.evaluate("menu => menu === document.activeElement")
        v.page.keyboard.press("ArrowLeft")
        assert not menu.evaluate("menu => menu === document.activeElement")
        assert menu.input_value() == ""
        for notation in MORE:
            turn_to_more(v, notation)
            assert v.page.evaluate("wb.state.compiled.ok"), notation
            assert v.page.locator("#wb-grammar .paint .rule").count() > 0, "it is coloured"
            assert menu.input_value() == notation
            assert menu.bounding_box()["width"] >= 60, "its name can be read"
        tabs = v.page.locator("#wb-grammar .notation")
        if width > 900:
            assert tabs.evaluate("one => one.scrollWidth <= one.clientWidth"), "no tab is cut"
        bar = v.page.locator("#wb-grammar .bar").first
        assert bar.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert v.page.evaluate("document.documentElement.scrollWidth") <= width
        clean(v.page, "a notation of the menu", "#wb-grammar")
        v.shot(f"format_more_{width}")
        turn(v, "gbnf")
        assert menu.input_value() == ""


def test_each_notation_keeps_its_own_text(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        time = text(v)
        turn(v, "gbnf")
        v.type_grammar('root ::= "x" | "y"')
        turn(v, "regex")
        assert text(v) == time
        turn(v, "gbnf")
        assert text(v) == 'root ::= "x" | "y"'


def test_a_schema_runs_and_says_where_it_is_wrong(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, "json_schema")
        v.type_grammar('{"type": "object", "properties": {"a": {"type": "integre"}}}')
        row = v.page.locator("#wb-grammar .problems li").first
        row.wait_for()
        assert "/properties/a" in row.inner_text()
        v.shot("format_schema_wrong")
        v.type_grammar('{"enum": ["yes", "no"]}')
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .meaning code:text-matches('yes|no')")
        assert "valid and complete" in v.page.inner_text("#wb-run .outcome")


def test_a_structural_tag_runs_and_says_where_it_is_wrong(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        turn_to_more(v, "structural_tag")
        tag = '{"type": "structural_tag", "format": {"type": "%s", "begin": "<", "content": %s}}'
        v.type_grammar(tag % ("tga", "{}"))
        row = v.page.locator("#wb-grammar .problems li").first
        row.wait_for()
        assert "/format/type" in row.inner_text()
        assert 'write "tag"' in row.inner_text()
        v.shot("format_tags_wrong")
        content = '{"type": "regex", "pattern": "yes|no"}, "end": ">"'
        v.type_grammar(tag % ("tag", content))
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .outcome.good")
        assert v.page.evaluate("wb.state.steps.map((s) => s.token.text ?? '').join('')") in (
            "<yes>", "<no>",
        )  # fmt: skip
        clean(v.page, "a structural tag", "#wb-grammar")


def test_a_grammar_is_converted_into_the_tab_of_another_notation(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        time = text(v)
        v.page.click("#wb-grammar .convert > button")
        v.page.get_by_role("button", name="to GBNF").click()
        v.page.wait_for_function("wb.state.compiled?.notation === 'gbnf' && wb.state.compiled.ok")
        assert "root ::=" in text(v)
        assert v.page.evaluate("wb.state.tests.length") > 0, "the tests come along"
        turn(v, "regex")
        assert text(v) == time
        turn(v, "kbnf")
        v.type_grammar("start ::= '(' start ')' | 'x';")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.page.click("#wb-grammar .convert > button")
        v.page.get_by_role("button", name="to Regex").click()
        v.page.get_by_text("no regex can say this").wait_for()
        v.shot("format_convert_refused")
        v.page.keyboard.press("Escape")
        assert v.page.locator("#wb-grammar .convert .sheetlet").is_hidden()


def test_edit_shows_a_text_gained_and_a_text_lost(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.click("#wb-grammar [data-section=change]")
        box = v.page.locator("#wb-sec-change")
        assert "Nothing has changed yet" in box.inner_text()
        v.type_grammar("([01][0-9]|2[0-4]):[0-5][0-8]")
        box.get_by_text("24:00").wait_for()
        rows = box.locator(".changes li")
        assert "gained" in rows.nth(0).inner_text()
        assert "00:09" in rows.nth(1).inner_text()
        v.shot("format_change")
        rows.nth(0).get_by_role("button", name="accept").click()
        assert v.page.evaluate("wb.state.tests.some((test) => test.text === '24:00')")
        box.get_by_role("button", name="Compare with this version").click()
        assert "Nothing has changed yet" in box.inner_text()
        v.type_grammar("([01][0-9]|2[0-4]):[0-5][0-8]|()")
        box.get_by_text("the empty text").wait_for()
        v.type_grammar("(2[0-4]|[01][0-9]):[0-5][0-8]")
        box.get_by_text("the same language").wait_for()


def test_options_of_a_schema_are_kept_with_it(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        choice = v.page.locator("#wb-grammar .layout select")
        assert choice.is_hidden(), "a regex says all of it"
        turn(v, "json_schema")
        assert choice.input_value() == "auto"
        assert v.page.is_checked("#wb-run .finishes"), "the text of a schema must end"
        v.run()
        assert '": "' in v.page.evaluate(
            "wb.state.steps.map((step) => step.token.text ?? '').join('')"
        )
        choice.select_option("compact")
        v.page.wait_for_function("wb.state.compiled.options.whitespace === 'compact'")
        v.run()
        assert ": " not in v.page.inner_text("#wb-run .tokens")
        choice.select_option("auto")
        v.page.wait_for_function("wb.state.compiled.options.whitespace === undefined")
        assert v.page.locator("#wb-run .branch.old").count() == 1, "a run of another grammar"
        longest = v.page.locator("#wb-grammar .longest input")
        assert longest.is_hidden(), "one space, or none, has no runs"
        choice.select_option("any")
        longest.fill("0")
        longest.press("Tab")
        assert longest.get_attribute("aria-invalid") == "true"
        assert v.page.evaluate("wb.state.options") == {"whitespace": "any"}
        longest.fill("2")
        longest.press("Tab")
        v.page.wait_for_function("wb.state.compiled.options.whitespace === 2")
        assert choice.input_value() == "any"
        turn(v, "kbnf")
        assert longest.is_hidden()
        turn(v, "json_schema")
        assert longest.input_value() == "2"
        choice.select_option("compact")
        v.page.check("#wb-grammar .closes input")
        v.page.wait_for_function("wb.state.compiled.options.closed === true")
        address = v.page.evaluate("wb.link()")
        turn(v, "dataclass")
        assert choice.input_value() == "call"
        turn(v, "json_schema")
        assert choice.input_value() == "compact"
    with visit(address[address.index("#") :]) as v:
        v.page.wait_for_function("wb.state.compiled?.options.whitespace === 'compact'")
        assert v.page.input_value("#wb-grammar .layout select") == "compact"
        assert v.page.is_checked("#wb-grammar .closes input")


def test_a_keyword_that_cannot_be_had_is_left_out(visit: Any) -> None:
    schema = '{"type": "array", "uniqueItems": true}'
    with visit(link(json.dumps({"notation": "json_schema", "text": schema}))) as v:
        v.page.get_by_role("button", name="leave out uniqueItems").click()
        v.page.wait_for_function("wb.state.compiled?.ok")
        assert v.page.evaluate("wb.state.options") == {"unasserted": "uniqueItems"}
        restoring = v.page.get_by_role("button", name="without uniqueItems")
        assert restoring.is_visible()
        address = v.page.evaluate("wb.link()")
        restoring.click()
        v.page.get_by_role("button", name="leave out uniqueItems").wait_for()
        assert restoring.is_hidden()
    with visit(address[address.index("#") :]) as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        assert v.page.get_by_role("button", name="without uniqueItems").is_visible()


def test_properties_in_any_order_run(visit: Any) -> None:
    names = [f"p{number}" for number in range(14)]
    schema = {"properties": {name: {"type": "boolean"} for name in names}, "required": names[:2]}
    text = json.dumps({**schema, "type": "object", "additionalProperties": False})
    with visit(link(json.dumps({"notation": "json_schema", "text": text}))) as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        v.page.check("#wb-grammar .any-order input")
        v.page.wait_for_function("wb.state.compiled?.options?.order === 'any'")
        v.run()
        v.wait_run()
        end = v.page.inner_text("#wb-run")
        assert "valid and complete" in end or "the tokens to the end are not counted" in end
        note = v.page.get_by_text("any order: each property or item at most once")
        assert note.first.is_visible()


def test_any_spelling_and_indented_lines_are_in_the_link(visit: Any) -> None:
    text = '{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}'
    with visit(link(json.dumps({"notation": "json_schema", "text": text}))) as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        v.page.check("#wb-grammar .any-spelling input")
        v.page.select_option("#wb-grammar .layout select", "indent 2")
        v.page.wait_for_function("wb.state.compiled?.options?.whitespace === 'indent 2'")
        chosen = {"spellings": "any", "whitespace": "indent 2"}
        assert v.page.evaluate("wb.state.options") == chosen
        address = v.page.evaluate("wb.link()")
    with visit(address[address.index("#") :]) as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        assert v.page.evaluate("wb.state.options") == chosen
        assert v.page.is_checked("#wb-grammar .any-spelling input")
        assert v.page.input_value("#wb-grammar .layout select") == "indent 2"


def test_a_link_of_an_earlier_version_has_its_white_space(visit: Any) -> None:
    schema = {"notation": "json_schema", "text": '{"type": "object"}', "style": "compact"}
    with visit(link(json.dumps(schema))) as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        assert v.page.evaluate("wb.state.options") == {"whitespace": "compact"}


def test_a_run_is_followed_in_the_text_of_its_schema_and_read_back(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, "dataclass")
        v.type_grammar("@dataclass\nclass Point:\n    up: bool\n    by: Literal['a', 'b']")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.run()
        v.page.locator("#wb-run .meaning").get_by_text("Point(up=").wait_for()
        seen = set()
        v.page.locator("#wb-run .tok").first.click()
        for _ in range(v.page.evaluate("wb.state.steps.length")):
            marks = "[...document.querySelectorAll('#wb-grammar .paint .read-in')]"
            seen.add(v.page.evaluate(f"{marks}.map((e) => e.textContent).join('')"))
            displays = v.page.evaluate(f"{marks}.map((e) => getComputedStyle(e).display)")
            assert set(displays) <= {"inline"}, "the text stays where the caret is"
            v.page.keyboard.press("ArrowRight")
        assert {"up", "bool", "by", "Literal['a', 'b']"} <= seen
        v.shot("format_read_in")
        v.type_grammar("@dataclass\nclass Point:\n    up: bool")
        assert v.page.locator("#wb-grammar .paint .read-in").count() == 0


#: A schema; documents around it; and its pointer there.
INSIDE = '{"type": "object", "properties": {"city": {"type": "string"}}}'
AROUND = [
    (f'{{"name": "weather", "parameters": {INSIDE}}}', "/parameters"),
    (f'{{"type": "function", "function": {{"name": "w", "parameters": {INSIDE}}}}}', "/function/parameters"),
    (f'{{"name": "weather", "inputSchema": {INSIDE}}}', "/inputSchema"),
    (f'{{"type": "json_schema", "json_schema": {{"name": "w", "schema": {INSIDE}}}}}', "/json_schema/schema"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "pointer"), AROUND, ids=[row[1] for row in AROUND])
def test_the_schema_inside_a_document_is_one_click_away(
    visit: Any, document: str, pointer: str
) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, "json_schema")
        v.type_grammar(document)
        v.page.get_by_role("button", name=f"use the schema {pointer}").click()
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        assert text(v) == INSIDE
        assert v.page.get_by_role("button", name="use the schema").count() == 0


def test_a_text_in_another_notation_than_the_one_switched_to_says_so(visit: Any) -> None:
    """Also where the problems were shown before the switch."""
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, "json_schema")
        v.type_grammar("start ::= 'a' | b;\nb ::= #'x';")
        v.page.get_by_text("this looks like a KBNF grammar").wait_for()
        v.page.evaluate("wb.emit('switch', 'gbnf')")
        v.page.wait_for_function("wb.state.compiled?.notation === 'gbnf'")
        v.page.get_by_text("this looks like a KBNF grammar").wait_for()
        v.page.get_by_role("button", name="switch to KBNF").click()
        v.page.wait_for_function("wb.state.notation === 'kbnf' && wb.state.compiled?.ok")


def test_a_schema_of_openapi_is_chosen(visit: Any) -> None:
    """With those to which it refers."""
    owner = '{"type": "string", "minLength": 2}'
    pet = '{"type": "object", "properties": {"owner": {"$ref": "#/components/schemas/Owner"}}, "required": ["owner"]}'
    schemas = f'{{"Owner": {owner}, "Pet": {pet}}}'
    document = f'{{"openapi": "3.0.3", "paths": {{}}, "components": {{"schemas": {schemas}}}}}'
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, "json_schema")
        v.type_grammar(document)
        v.page.get_by_text("this is an OpenAPI document, not a schema").wait_for()
        v.shot("openapi")
        v.page.get_by_role("button", name="use the schema /components/schemas/Pet").click()
        v.page.wait_for_function("wb.state.compiled?.ok && wb.state.text.startsWith('{\\n')")
        v.page.click("#wb-grammar [data-section=tests]")
        for line in ('{"owner": "Ada"}', '{"owner": "A"}'):
            v.page.fill("#wb-grammar .addtest textarea", line)
            v.page.press("#wb-grammar .addtest textarea", "Enter")
        rows = v.page.locator("#wb-grammar .tests > li")
        rows.nth(1).locator(".no").first.wait_for()
        assert "failed" not in rows.nth(0).get_attribute("class").split()
        assert "failed" in rows.nth(1).get_attribute("class").split()


#   notation, text, a name, how often it is marked, the line F12 leads to from its last use
NAMED = [
    ("dataclass", "@dataclass\nclass Home:\n    at: str\n@dataclass\nclass Who:\n    home: Home\n    other: Home | None = None", "Home", 3, "class Home:"),
    ("json_schema", '{"$defs": {\n"home": {"type": "string"},\n"who": {"properties": {"home": {"$ref": "#/$defs/home"}}}},\n"$ref": "#/$defs/who"}', "home", 2, '"home": {"type": "string"},'),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "given", "name", "times", "line"), NAMED)
def test_names_lead_to_what_they_name(
    visit: Any, notation: str, given: str, name: str, times: int, line: str
) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        turn(v, notation)
        v.type_grammar(given)
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        area = "document.querySelector('#wb-grammar textarea.text')"
        v.page.evaluate(
            f"{area}.focus(), {area}.setSelectionRange(...[1, 1].map((n) => {area}.value.lastIndexOf('{name}') + n))"
        )
        v.page.wait_for_function(f"document.querySelectorAll('.paint .named').length === {times}")
        v.page.keyboard.press("F12")
        at = v.page.evaluate(f"{area}.selectionStart")
        assert given[given.rfind("\n", 0, at) + 1 :].partition("\n")[0] == line
