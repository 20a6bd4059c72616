"""Templates: their grammars, the paper's listings, and the text inserted without the model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ParseError, WorkbenchError
from workbench.decoding.template import Gen, Select, Template, White

#: Listing 1 of DOMINO; the paper prints the first brace single, which no f-string is.
LISTING_1 = """{{
    "id": {gen('id', regex='[1-9][0-9]*')},
    "description": "A nimble fighter",
    "name": "{gen('name', stop='"')}",
    "age": {gen('age', regex='[1-9][0-9]*')},
    "armor": "{select(['leather', 'chainmail', 'plate'])}",
    "weapon": "{select(['sword', 'axe', 'bow'])}",
    "class": "{gen('class', stop='"')}",
    "mantra": "{gen('mantra', stop='"')}",
    "strength": {gen('strength', regex='[1-9][0-9]*')},
    "items": [ "{gen('item', stop='"')}", "{gen('item', stop='"')}"],
}}"""

FILLED = """{
    "id": 17,
    "description": "A nimble fighter",
    "name": "",
    "age": 31,
    "armor": "plate",
    "weapon": "axe",
    "class": "knight",
    "mantra": "No fear, {no} retreat",
    "strength": 13,
    "items": [ "torch", "war horn"],
}"""


def test_listing_1() -> None:
    template = Template.parse(LISTING_1)
    assert template.grammar.accepts(FILLED)
    assert not template.grammar.accepts(FILLED.replace("plate", "silk"))
    assert not template.grammar.accepts(FILLED.replace("    ", "  "))
    assert not template.grammar.accepts(FILLED.replace("31", "031"))
    assert template.values(FILLED) == [
        ("id", "17"), ("name", ""), ("age", "31"), ("class", "knight"),
        ("mantra", "No fear, {no} retreat"), ("strength", "13"),
        ("item", "torch"), ("item", "war horn"),
    ]  # fmt: skip


def test_the_flexible_variant_leaves_white_space_to_the_model() -> None:
    template = Template.parse(LISTING_1).flexible()
    assert template.grammar.accepts(FILLED)
    assert template.grammar.accepts(FILLED.replace("    ", "\t").replace(": ", ":"))
    assert not template.grammar.accepts(FILLED.replace("A nimble", "A  nimble"))
    assert template.values(FILLED) == Template.parse(LISTING_1).values(FILLED)
    assert sum(isinstance(part, White) for part in template.parts) == 23, (
        "one a line, one a colon, two in the list"
    )


PARTS = [
    ("{gen('a', regex='[0-9]{2}')}!", (Gen("a", regex="[0-9]{2}"), "!")),
    ("{gen(name='a', stop='}')}", (Gen("a", stop="}"),)),
    ("{{{select(['x', \"y\"])}}}", ("{", Select(("x", "y")), "}")),
    ("{ select(('x',), name='s') }{WS}", (Select(("x",), "s"), White())),
    (r"{gen('a', regex='\d')}", (Gen("a", regex=r"\d"),)),
    ("no hole", ("no hole",)),
    ("", ()),
]


@pytest.mark.parametrize(("text", "parts"), PARTS)
def test_a_template_is_parsed_to_its_parts(text: str, parts: tuple[object, ...]) -> None:
    assert Template.parse(text).parts == parts


ERRORS = [
    ("ab{cd", "1, column 3: expected a hole"),
    ("a}", "1, column 2: expected a hole before this brace"),
    ("x\n{foo('a')}", "2, column 1: there is no 'foo' in templates"),
    ("{gen('a')}", "1, column 1: expected the hole 'a' to have a regex or a stop"),
    ("{gen('a', regex='x', stop='y')}", "expected the hole 'a' to have a regex or a stop"),
    ("{gen('a', stop='')}", "expected the hole 'a' to stop at some text"),
    ("{gen('a', b='c')}", "expected other arguments"),
    ("{gen('a', 'b')}", "expected other arguments"),
    ("{gen(['a'], stop='x')}", "expected other arguments"),
    ("{gen(name(), stop='x')}", "expected other arguments"),
    ("{select([])}", "expected something to select from"),
    ("{select('ab')}", "expected other arguments"),
    ("{select([1])}", "expected other arguments"),
    ("{gen('a', name='b', regex='x')}", "expected other arguments"),
    ("{gen('a', regex='x', regex='y')}", "expected other arguments"),
    ("ab\ud800", "1, column 3: expected a whole character"),
    ("{1 + 1}", "expected gen(…), select(…) or WS"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_error_in_a_template_has_its_message(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        Template.parse(text)
    assert message in str(caught.value)


def test_error_regex_and_values() -> None:
    with pytest.raises(ParseError):
        _ = Template.parse("{gen('a', regex='(')}").grammar
    with pytest.raises(WorkbenchError, match="fills the template"):
        Template.parse("a{gen('a', regex='b*')}").values("ac")
    with pytest.raises(WorkbenchError, match="fills the template"):
        Template(()).values("a")
    assert Template(()).values("") == []
    with pytest.raises(WorkbenchError, match="fills the template"):
        Template.parse("{gen('a', regex='.')}").values("\ud800")


TEXTS = st.text(st.sampled_from('ab "\n{}'), max_size=4)
HOLES = st.sampled_from(
    [Gen("g", regex="[ab]*"), Gen("g", stop='"'), Gen("g", stop="ab"), Select(("a", "", "ba"), "s")]
)


@pytest.mark.slow
@given(st.lists(st.one_of(TEXTS, HOLES, st.just(White())), max_size=5), st.data())
def test_values_are_extracted(parts: list[str | Gen | Select | White], data: st.DataObject) -> None:
    template = Template(tuple(parts))
    filled = ""
    for part in parts:
        match part:
            case str():
                filled += part
            case White():
                filled += data.draw(st.sampled_from(["", " ", "\n\t"]))
            case Select(options):
                filled += data.draw(st.sampled_from(options))
            case Gen(stop=None):
                filled += data.draw(st.sampled_from(["", "a", "abba"]))
            case Gen(stop=stop):
                filled += data.draw(TEXTS).replace(str(stop), "")
    if filled:
        assert template.grammar.accepts(filled)
    found = template.values(filled)
    assert [name for name, _ in found] == [p.name for p in parts if isinstance(p, Gen | Select)]
    assert all(value in filled for _, value in found)


def test_json_of_a_filled_listing_but_for_its_last_comma() -> None:
    assert json.loads(FILLED.replace("],", "]"))["id"] == 17
