"""Dataclasses as JSON: round trips of ``json.dumps(asdict(instance))``."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings

from tests.typed.generated import Colour, Point, Size, Tree, instances
from workbench.base.errors import BuildError, ParseError, WorkbenchError
from workbench.base.source import Source
from workbench.grammar.grammar import Grammar
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.type_printer import schema_of


def as_json(value: Any) -> Any:
    """A value as JSON: members as their values or names."""
    if isinstance(value, Colour):
        return value.name  # one of its values is a tuple
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: as_json(getattr(value, field.name)) for field in fields}
    if isinstance(value, dict):
        return {as_json(key): as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(each) for each in value]
    return value


@pytest.mark.exhaustive
@settings(max_examples=40)
@given(instances())
def test_round_trip(instance: Any) -> None:
    try:
        grammar = Grammar.from_dataclass(type(instance), style="json")
        text = json.dumps(as_json(instance), allow_nan=False)
    except (BuildError, ValueError):
        return  # keys without a JSON text, numbers without a numeral
    assert grammar.accepts(text)
    made = grammar.parse(text)
    # options of a union with the same text become the first one: a set instead of a list
    assert made == instance or " | " in grammar.source.text
    assert type(made) is type(instance)


def test_a_tree_of_asdict_in_any_layout() -> None:
    grammar = Grammar.from_dataclass(Tree, style="json")
    tree = Tree("a", [Tree("b"), Tree("c", [Tree("é")])], Tree("e"))
    record = dataclasses.asdict(tree)
    for text in (
        json.dumps(record),
        json.dumps(record, indent=2),
        json.dumps(record, separators=(",", ":"), ensure_ascii=False),
    ):
        assert grammar.accepts(text)
        assert grammar.parse(text) == tree


@dataclasses.dataclass
class Mixed:
    number: float | int
    flag: bool | int
    one: Literal[1, True, "a", Size.SMALL]
    keys: dict[int, Size] = dataclasses.field(default_factory=dict)
    sizes: frozenset[Size] = frozenset()
    pair: tuple[Point, str] | None = None


#: JSON, its value, and the reason.
READ = [
    ('{"number": 1, "flag": true, "one": true}', Mixed(1, True, True), "true is no 1"),
    ('{"number": 1.5, "flag": 1, "one": 1}', Mixed(1.5, 1, 1), "1 is no true"),
    ('{"number": 2, "flag": 0, "one": "small"}', Mixed(2, 0, Size.SMALL), "a member by its value"),
    (
        '{"number": 0, "flag": 0, "one": "a", "keys": {"-7": "l>arge"}, "sizes": ["small", "small"]}',
        Mixed(0, 0, "a", {-7: Size.LARGE}, frozenset({Size.SMALL})),
        "keys are texts, a set is an array",
    ),
    (
        '{"number": 0, "flag": 0, "one": "a", "pair": [{"x": 1}, "b"]}',
        Mixed(0, 0, "a", pair=(Point(1.0), "b")),
        "a tuple is an array, and defaults are filled in",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "instance", "why"), READ)
def test_a_json_text_is_parsed_to_its_instance(text: str, instance: Mixed, why: str) -> None:
    grammar = Grammar.from_dataclass(Mixed, style="json")
    assert grammar.accepts(text), why
    assert repr(grammar.parse(text)) == repr(instance), why


#: JSON of no instance, and the message.
WRONG = [
    ('{"number": 1, "flag": true}', "a field without a default"),
    ('{"flag": true, "number": 1, "one": 1}', "declared order"),
    ('{"number": 1, "flag": true, "one": 2}', "another number"),
    ('{"number": 1, "flag": true, "one": 1, "more": 1}', "no such field"),
    ('{"number": "1", "flag": true, "one": 1}', "a text"),
    ('{"number": 1, "flag": true, "one": 1, "keys": {"a": "small"}}', "a key that is no number"),
    ('{"number": 1, "flag": true, "one": 1, "pair": [{"x": 1}]}', "a tuple too short"),
    ('{"number": NaN, "flag": true, "one": 1}', "not a json number"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_error_not_an_instance(text: str, why: str) -> None:
    grammar = Grammar.from_dataclass(Mixed, style="json")
    assert not grammar.accepts(text), why
    with pytest.raises(WorkbenchError):
        grammar.parse(text)


def test_the_schema_of_a_text() -> None:
    text = '@dataclass\nclass A:\n    x: list["A"] | None\n    y: tuple[int, str] = (1, "a")\n'
    schema = schema_of(read_types(Source(text, "dataclass")))
    assert json.loads(schema.source.text) == {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {
                "type": "object",
                "properties": {
                    "x": {
                        "anyOf": [
                            {"type": "array", "items": {"$ref": "#/$defs/A"}},
                            {"type": "null"},
                        ]
                    },
                    "y": {
                        "type": "array",
                        "prefixItems": [{"type": "integer"}, {"type": "string"}],
                        "items": False,
                        "minItems": 2,
                    },
                },
                "required": ["x"],
                "additionalProperties": False,
            }
        },
    }
    written = {
        schema.source.text[part.start : part.end]: text[place.start : place.end]
        for part, place in schema.places
    }
    assert written['{"$ref": "#/$defs/A"}'] == '"A"'
    assert written['{"type": "integer"}'] == "int"


def test_rules_point_into_the_definitions() -> None:
    text = "@dataclass\nclass A:\n    x: list[int]\n    y: str\n"
    grammar = Grammar.from_dataclass(text, style="json")
    assert grammar.source.text == text
    assert grammar.tree is not None
    places = {text[rule.span.start : rule.span.end] for rule in grammar.tree.rules}
    assert {"A", "list[int]"} <= places


def test_error_keys_without_a_json_text() -> None:
    with pytest.raises(BuildError) as caught:
        Grammar.from_dataclass("@dataclass\nclass A:\n    x: dict[float, int]\n", style="json")
    assert str(caught.value) == (
        "dataclass, line 3, column 13: "
        "expected str, int, bool, a Literal or an Enum as keys, because JSON keys are texts\n"
        "3 |     x: dict[float, int]\n"
        "                ^^^^^\n"
        "hint: use a list of tuples, or write it as constructor calls"
    )


def test_error_with_pointer() -> None:
    from workbench.schema.typed.dataclass_grammar import class_tree

    typed = class_tree(Tree, "json")
    with pytest.raises(ParseError, match="text, line 1, column 1: /parts/0/name: expected str"):
        typed.parse('{"name": "a", "parts": [{"name": 1}]}')
