"""Texts with a line for each member and item, as ``json.dumps`` writes with ``indent``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles.brute_force import check_masks
from tests.oracles.schema_oracle import Endless, documents, instances, validates
from workbench.base.errors import BuildError, LimitError
from workbench.grammar.grammar import Grammar
from workbench.schema.write_values import MAX_LEVELS

STYLES: dict[str, int | str] = {"indent 2": 2, "indent 4": 4, "indent tab": "\t"}
RECURSIVE: dict[str, Any] = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"k": {"$ref": "#/$defs/node"}, "items": {"type": "array"}},
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize("style", STYLES)
def test_every_depth_of_a_recursive_schema(style: str) -> None:
    grammar = Grammar.from_json_schema(RECURSIVE, whitespace=style)
    value: dict[str, Any] = {"k": {}, "items": [[], [1, {}]]}
    for _ in range(25):
        value = {"k": value}
        text = json.dumps(value, indent=STYLES[style])
        assert grammar.accepts(text)
        assert grammar.parse(text) == value
        assert not grammar.accepts(json.dumps(value))


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", ["declared", "any"])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, st.lists(instances, min_size=3, max_size=6), st.sampled_from([*STYLES]))
def test_an_indented_instance_has_the_verdict_of_a_compact_one(
    order: str, schema: Any, values: list[Any], style: str
) -> None:
    try:
        grammar = Grammar.from_json_schema(schema, whitespace=style, order=order)
        compact = Grammar.from_json_schema(schema, whitespace="compact", order=order)
    except (BuildError, LimitError):
        return
    for value in values:
        text = json.dumps(value, indent=STYLES[style])
        assert grammar.accepts(text) == compact.accepts(json.dumps(value, separators=(",", ":")))
        if order == "any" and not any(note.kind == "keyword_narrowed" for note in grammar.notes):
            try:
                assert grammar.accepts(text) == validates(schema, value)
            except Endless:
                continue


#   a text, why it is not what json.dumps writes
OTHERS = [
    ('{"a": [1]}', "one line"),
    ('{\n"a": []\n}', "no indentation"),
    ('{\n    "a": []\n}', "two levels"),
    ('{\n  "a": [\n  1\n  ]\n}', "the item has the level of its array"),
    ('{\n  "a": [\n    1\n    ]\n}', "the closing bracket has the level of the items"),
    ('{\n  "a": [\n\n  ]\n}', "an empty array has no line"),
    ('{\n  "a":[]\n}', "no space after the colon"),
    ('{\n  "a": [],\n  "b": {}\n} ', "a blank at the end"),
    ('{\r\n  "a": []\r\n}', "another end of line"),
]


@pytest.mark.parametrize(("text", "why"), OTHERS)
def test_other_layouts_are_refused(text: str, why: str) -> None:
    grammar = Grammar.from_json_schema({"type": "object"}, whitespace="indent 2")
    assert not grammar.accepts(text), why
    assert grammar.accepts(json.dumps(json.loads(text), indent=2))


def test_the_indentation_is_exact_up_to_the_levels_that_are_written() -> None:
    grammar = Grammar.from_json_schema(RECURSIVE, whitespace="indent tab")
    value: dict[str, Any] = {}
    for depth in range(1, 2 * MAX_LEVELS):
        value = {"k": value}
        text = json.dumps(value, indent="\t")
        deepest = "\t" * depth + '"k": {}'
        assert grammar.accepts(text.replace(deepest, "\t" + deepest)) == (depth > MAX_LEVELS)


def test_masks_of_indented_texts() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"const": 1}, "maxItems": 2}, "b": {"const": 2}},
        "additionalProperties": False,
    }  # fmt: skip
    values: list[dict[str, Any]] = [{}, {"b": 2}]
    values += [{"a": [1] * count} | more for count in range(3) for more in ({}, {"b": 2})]
    texts = [json.dumps(value, indent=2).encode() for value in values]
    tokens = [b"  ", b"\n  ", b"\n    ", b"    ", b",\n", b'{\n  "', b"\n}", b": [", b"]\n", b" 1"]
    grammar = Grammar.from_json_schema(schema, whitespace="indent 2")
    check_masks(grammar, texts, tokens)
