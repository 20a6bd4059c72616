"""Every notation: file suffixes, start rules, values of texts, options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from workbench.analysis.advice import tree_advice
from workbench.base.errors import LimitError, WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, options_in

#: One language in every notation: two names.
TEXTS = {
    Notation.REGEX: '"(ann|bob)"',
    Notation.KBNF: """start ::= '"' ('ann' | 'bob') '"';""",
    Notation.JSON_SCHEMA: '{"enum": ["ann", "bob"]}',
    Notation.GBNF: 'root ::= "\\"" ("ann" | "bob") "\\""',
    Notation.ABNF: 'start = DQUOTE (%s"ann" / %s"bob") DQUOTE',
    Notation.EBNF: """start ::= '"' ('ann' | 'bob') '"'""",
    Notation.ANTLR: """grammar Names; start : '"' ('ann' | 'bob') '"' EOF ;""",
    Notation.LARK: 'start: "\\"" ("ann" | "bob") "\\""',
    Notation.STRUCTURAL_TAG: """{"type": "structural_tag", "format": {"type": "tag",
        "begin": "\\"", "content": {"type": "regex", "pattern": "ann|bob"}, "end": "\\""}}""",
    Notation.MACHINE: 'initial p\nfinal q\np -> q : "ann", "bob"',
}


@dataclass
class Point:
    x: int
    y: int = 0


@pytest.mark.parametrize("notation", TEXTS)
def test_a_text_of_each_notation(notation: Notation) -> None:
    grammar = Grammar.from_text(TEXTS[notation], notation)
    assert grammar.notation is notation
    assert [grammar.accepts(text) for text in ('"ann"', '"bob"', '"ada"', "ann")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("notation", [one for one in Notation if one is not Notation.REGEX])
def test_error_of_a_text_that_takes_too_much_memory(notation: Notation) -> None:
    """A text has a limit that depends on the memory: it is refused before it is read."""
    text = "{}," * 700_000
    with pytest.raises(LimitError, match="needs more than 256 megabytes") as caught:
        Grammar.from_text(text, notation)
    assert caught.value.budget == "megabytes"


def test_every_notation_is_read() -> None:
    assert {*TEXTS, Notation.DATACLASS} == {*Notation}
    for notation in Notation:
        with pytest.raises(WorkbenchError):
            Grammar.from_text("((( [", notation)


@pytest.mark.parametrize(
    ("name", "notation"),
    [
        ("dir/a.tag.json", Notation.STRUCTURAL_TAG),
        ("a.regex", Notation.REGEX),
        ("dir/a.schema.json", Notation.JSON_SCHEMA),
        ("a.dataclass.py", Notation.DATACLASS),
        ("a.gbnf", Notation.GBNF),
        ("a.fsa", Notation.MACHINE),
        ("dir/a.jff", Notation.MACHINE),
        ("a.json", None),
        ("gbnf", None),
    ],
)
def test_notation_of_a_file_name(name: str, notation: Notation | None) -> None:
    assert Notation.of_file(name) is notation


def test_gbnf_starts_at_root() -> None:
    assert Grammar.from_text('root ::= "a"', Notation.GBNF).accepts("a")
    assert Grammar.from_text('root ::= "a"\nstart ::= "b"', Notation.GBNF).accepts("b"), (
        "one is named so"
    )
    assert Grammar.from_gbnf('x ::= "a"', root="x").accepts("a")


def test_value_of_a_text() -> None:
    point = Grammar.from_dataclass(Point)
    assert point.parse("Point(x=3)") == Point(3)
    assert Grammar.from_dataclass(Point, style="json").parse('{"x": 3, "y": 4}') == Point(3, 4)
    assert Grammar.from_json_schema({"type": "array"}).parse("[1, null]") == [1, None]
    with pytest.raises(WorkbenchError, match="fails at column 9: expected"):
        point.parse("Point(x=y)")
    with pytest.raises(WorkbenchError, match="has no value"):
        Grammar.from_regex("a").parse("a")


def test_a_schema_may_be_a_text_or_an_object() -> None:
    for schema in ('{"const": 1}', {"const": 1}):
        assert Grammar.from_json_schema(schema).accepts("1")
    assert Grammar.from_json_schema(True).accepts("[]")
    compact = Grammar.from_json_schema({"type": "array"}, whitespace="compact")
    assert [compact.accepts(text) for text in ("[1,2]", "[1, 2]")] == [True, False]
    with pytest.raises(WorkbenchError, match="no whitespace 'none'"):
        Grammar.from_json_schema(True, whitespace="none")
    with pytest.raises(WorkbenchError, match="not a JSON value"):
        Grammar.from_json_schema({"const": {1, 2}})


def test_generated_rules_get_no_advice() -> None:
    loop = "a digit without an end"
    assert any(
        "no end" in one.message for one in tree_advice(Grammar.from_kbnf("start ::= #'[0-9]+';"))
    ), loop
    assert not any(
        "no end" in one.message
        for one in tree_advice(Grammar.from_json_schema({"type": "integer"}))
    )


OBJECT = '{"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}'
POINT = "@dataclass\nclass Point:\n    x: int\n"

#   notation, text                options                       a text in it          one of another layout
LAID_OUT = [
    (Notation.JSON_SCHEMA, OBJECT, {},                          '{ "a":\n null}',     ""),
    (Notation.JSON_SCHEMA, OBJECT, {"whitespace": "one space"}, '{"a": null}',        '{"a":null}'),
    (Notation.JSON_SCHEMA, OBJECT, {"whitespace": "compact"},   '{"a":null}',         '{"a": null}'),
    (Notation.DATACLASS,   POINT,  {},                          "Point(x=1)",         '{"x": 1}'),
    (Notation.DATACLASS,   POINT,  {"style": "json"},           '{"x": 1}',           "Point(x=1)"),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "options", "good", "bad"), LAID_OUT)
def test_options_say_how_texts_are_laid_out(
    notation: Notation, text: str, options: dict[str, Any], good: str, bad: str
) -> None:
    grammar = Grammar.from_text(text, notation, **options)
    assert grammar.accepts(good)
    assert not grammar.accepts(bad)
    assert grammar.parse(good) is not None


@pytest.mark.parametrize("notation", [*Notation, "latin"])
def test_error_for_what_is_no_text(notation: str) -> None:
    wrong: object
    for wrong in (None, 5, b"x", ["x"]):
        with pytest.raises(WorkbenchError):
            Grammar.from_text(wrong, notation)  # type: ignore[arg-type]


def test_error_for_an_unknown_notation() -> None:
    with pytest.raises(WorkbenchError) as raised:
        Grammar.from_text("x", "larks")
    assert raised.value.message == "there is no notation 'larks'"
    assert "lark" in raised.value.hint


def test_error_for_a_text_to_check_that_is_none() -> None:
    grammar = Grammar.from_regex("[a-z]*")
    assert grammar.accepts(bytearray(b"ab"))  # type: ignore[arg-type]
    wrong: object
    for wrong in (None, 5, ["a"]):
        with pytest.raises(WorkbenchError, match="expected a text or bytes"):
            grammar.accepts(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("notation", list(Notation))
def test_error_for_an_unknown_option_or_choice(notation: Notation) -> None:
    with pytest.raises(WorkbenchError) as raised:
        Grammar.from_text("x", notation, sideways=True)
    assert raised.value.message == f"{notation.label} has no option 'sideways'"
    for name, choices in notation.choices.items():
        options: dict[str, Any] = {name: "sideways"}
        with pytest.raises(WorkbenchError) as raised:
            Grammar.from_text("x", notation, **options)
        assert raised.value.message == f"{notation.label} has no {name} 'sideways'"
        assert " or ".join(map(repr, choices)) in raised.value.hint


#   a record                                    the options in it              why
RECORDS = [
    ({"whitespace": "compact", "order": ""},    {"whitespace": "compact"},     "an empty value is the default"),
    ({"style": "one space"},                    {"whitespace": "one space"},   "the name of earlier versions"),
    ({"style": "any", "whitespace": "compact"}, {"whitespace": "compact"},     "the present name wins"),
    ({"documents": {}, "start": "start"},       {},                            "neither is a choice"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "options", "why"), RECORDS)
def test_options_of_a_stored_schema(record: dict[str, Any], options: Any, why: str) -> None:
    assert options_in(record, Notation.JSON_SCHEMA) == options, why
