"""Properties in any order: every order of a valid instance is accepted, none of an invalid one."""

from __future__ import annotations

import json
import re
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles.schema_oracle import Endless, documents, instances, validates
from tests.schema.test_generated_schemas import orders
from workbench.base.errors import BuildError, LimitError
from workbench.grammar.grammar import Grammar

NULL = {"type": "null"}


def grammar_of(schema: Any) -> Grammar:
    return Grammar.from_json_schema(schema, order="any", whitespace="compact")


def members(*names: str) -> str:
    return "{" + ",".join(f'"{name}":null' for name in names) + "}"


CLOSED = {"type": "object", "properties": dict.fromkeys("abc", NULL), "additionalProperties": False}
#   schema, the names that it does not allow to be missing, those that it allows besides
SHAPES: list[tuple[dict[str, Any], str, str]] = [
    (CLOSED, "", ""),
    ({**CLOSED, "required": ["b"]}, "b", ""),
    ({**CLOSED, "required": ["c", "a"]}, "ac", ""),
    ({**CLOSED, "additionalProperties": NULL}, "", "xy"),
    ({"type": "object", "required": ["a", "b"], "additionalProperties": NULL}, "ab", "cxy"),
]


@pytest.mark.parametrize(("schema", "required", "more"), SHAPES)
def test_every_order_of_a_few_names(schema: Any, required: str, more: str) -> None:
    grammar = grammar_of(schema)
    for count in range(4):
        for names in permutations("abcxy", count):
            valid = set(required) <= {*names} <= {*"abc", *more}
            assert grammar.accepts(members(*names)) == valid, names


@pytest.mark.parametrize("names", ["aa", "aba", "baa", "axa"])
def test_a_declared_name_occurs_once(names: str) -> None:
    assert not grammar_of({**CLOSED, "additionalProperties": NULL}).accepts(members(*names))


def test_counts_hold_in_any_order() -> None:
    grammar = grammar_of({**CLOSED, "minProperties": 2, "maxProperties": 2})
    for count in range(4):
        for names in permutations("abc", count):
            assert grammar.accepts(members(*names)) == (count == 2)


@pytest.mark.parametrize("count", [11, 150])
def test_many_names(count: int) -> None:
    names = [f"p{number}" for number in range(count)]
    wide = {"properties": dict.fromkeys(names, NULL), "required": names[3:5]}
    grammar = grammar_of({"items": {**wide, "additionalProperties": False}})
    for seed in range(20):
        random = Random(seed)
        chosen = random.sample(names, random.randint(0, count))
        valid = {"p3", "p4"} <= {*chosen}
        assert grammar.accepts(f"[{members(*chosen)}]") == valid, chosen
        again = [*chosen, *random.sample(names, 1), "p3", "p4"]
        assert grammar.accepts(f"[{members(*again)}]") == (len({*again}) == len(again))


@pytest.mark.exhaustive
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, st.lists(instances, min_size=3, max_size=6))
def test_generated_schemas(schema: Any, values: list[Any]) -> None:
    try:
        grammar = grammar_of(schema)
    except (BuildError, LimitError):
        return
    for value in values:
        try:
            expected = validates(schema, value)
        except Endless:
            continue
        if expected and any("can distinguish" in note.message for note in grammar.notes):
            continue  # not all arrays of unique items are accepted
        for number, one in enumerate(orders(value)):
            text = json.dumps(one, separators=(",", ":"))
            assert grammar.accepts(text) == expected, (json.dumps(schema), text)
            if number > 50:
                break


def test_names_of_every_kind() -> None:
    schema = {"properties": {'q"': NULL, "é": NULL}, "additionalProperties": False}
    grammar = grammar_of(schema)
    for text in ('{"q\\"":null,"é":null}', '{"\\u00e9":null,"q\\"":null}'):
        assert grammar.accepts(text), re.sub(r"\s", "", text)
