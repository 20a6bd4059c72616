"""Objects with many declared names are written in blocks: the same texts, and small machines."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from typing import Any

import pytest

from tests.oracles.schema_oracle import validates
from workbench.analysis.difference import equivalent
from workbench.base.errors import BuildError
from workbench.constraint.engine.automaton import automaton
from workbench.grammar.grammar import Grammar
from workbench.schema import write_objects
from workbench.vocabulary.vocabulary import Vocabulary

NULL = {"type": "null"}
CLOSED = {"additionalProperties": False}
SHAPES: list[dict[str, Any]] = [
    CLOSED,
    {"additionalProperties": {"type": "boolean"}},
    {"patternProperties": {"^x": NULL}, **CLOSED},
    {**CLOSED, "required": ["a"]},
    {**CLOSED, "required": ["c"]},
    {**CLOSED, "required": ["b", "e"]},
    {**CLOSED, "required": [*"abcde"]},
    {**CLOSED, "minProperties": 1},
    {"additionalProperties": {"const": 1}, "minProperties": 1, "required": ["d"]},
    {"additionalProperties": {"const": 1}, "minProperties": 1},
]


def schema(names: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, NULL), **more}


@pytest.mark.parametrize("more", SHAPES, ids=json.dumps)
@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks_have_the_texts_of_a_row(
    more: dict[str, Any], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = schema("abcde", more)
    row = Grammar.from_json_schema(asked, whitespace="compact")
    monkeypatch.setattr(write_objects, "_MAX_IN_A_ROW", 1)
    monkeypatch.setattr(write_objects, "_BLOCK", block)
    blocks = Grammar.from_json_schema(asked, whitespace="compact")
    for count in range(6):
        for names in combinations("abcdex", count):
            held = {name: None if name < "x" else True for name in names}
            for order in permutations(held):
                text = json.dumps({name: held[name] for name in order}, separators=(",", ":"))
                ordered = [*order] == sorted(order)
                assert blocks.accepts(text) == row.accepts(text), text
                assert blocks.accepts(text) == (ordered and validates(asked, held)), text
    assert equivalent(row, blocks)


def test_members_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_objects, "_MAX_IN_A_ROW", 1)
    monkeypatch.setattr(write_objects, "_BLOCK", 1)
    empty = {"type": "array", "contains": {"const": 1}, "items": {"enum": [2, 3]}}
    asked = {"properties": {"a": NULL, "b": empty, "c": NULL}, "type": "object", **CLOSED}
    grammar = Grammar.from_json_schema(asked)
    assert [grammar.accepts(text) for text in ('{"a":null,"c":null}', '{"b":[1]}')] == [True, False]
    with pytest.raises(BuildError, match="no JSON value"):
        Grammar.from_json_schema(asked | {"required": ["b"]})


@pytest.mark.parametrize("more", [CLOSED, {}, {"required": ["name1200"]}], ids=json.dumps)
def test_two_thousand_optional_properties(more: dict[str, Any]) -> None:
    names = [f"name{number}" for number in range(2_000)]
    held = {name: {"type": ["string", "null"]} for name in names}
    grammar = Grammar.from_json_schema({"type": "object", "properties": held, **more})
    assert grammar.accepts(json.dumps(dict.fromkeys(names, "a")))
    assert grammar.accepts('{"name7": "a", "name1200": null, "name1999": ""}')
    assert not grammar.accepts('{"name1200": "", "name7": ""}')
    assert not grammar.accepts('{"name1200": 1}')
    assert grammar.accepts("{}") == ("required" not in more)
    assert grammar.accepts('{"name1200": "", "other": 1}') == (more is not CLOSED)
    vocabulary = Vocabulary.load("builtin")
    constraint = automaton(grammar, vocabulary, grammar.limits)
    allowed = constraint.mask(constraint.initial)
    assert vocabulary.ids_of[b"{"][0] in allowed


def test_counts_of_many_properties_are_refused_by_name() -> None:
    held = {f"name{number}": NULL for number in range(2_000)}
    with pytest.raises(BuildError, match=r"/minProperties: .* more than 5,000 rules"):
        Grammar.from_json_schema({"type": "object", "properties": held, "minProperties": 3})
