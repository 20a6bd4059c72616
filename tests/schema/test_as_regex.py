"""Schemas without recursion exported as one regex: Koo 2024, section 5.1 and appendix C."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from workbench.base.errors import BuildError
from workbench.grammar.export.regular import write_regex
from workbench.grammar.grammar import Grammar

#: The example of appendix C, without additional properties.
CHARACTER = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "class": {"enum": ["Warrior", "Rogue", "Sorceror"]},
        "life": {"type": "integer", "minimum": 0},
        "equipment": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "durability": {"type": "integer"}},
                "additionalProperties": False,
            },
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMAS: list[tuple[Any, list[str], list[str]]] = [
    (
        CHARACTER,
        ['{"name":"Ann"}', '{"name":"\\u00e9","class":"Rogue","life":3,"equipment":[{},{"name":""}]}'],
        ["{}", '{"name":"Ann","life":-3}', '{"class":"Rogue","name":"Ann"}', '{"name":"Ann","x":1}'],
    ),
    (
        {"type": "object", "properties": {"a": {"type": "null"}},
         "additionalProperties": {"type": "boolean"}},
        ["{}", '{"a":null}', '{"a":null,"b":true,"ab":false}', '{"b":true}'],
        ['{"a":true}', '{"\\u0061":true}', '{"b":null}', '{"b":true,"a":null}'],
    ),
    ({"type": "string", "maxLength": 2}, ['""', '"ab"', '"\\ud83d\\ude00é"'], ['"abc"', '"\\ud83d"']),
    ({"enum": [1, "a", None]}, ["1", "1.0", '"a"', "null"], ["2", '"b"', "11"]),
    ({"type": "integer", "minimum": -3, "maximum": 12}, ["-3", "0", "12"], ["-4", "13", "1.5"]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "accepted", "rejected"), SCHEMAS)
@pytest.mark.parametrize("whitespace", ["compact", "any"])
def test_the_regex_has_the_same_texts(
    schema: Any, accepted: list[str], rejected: list[str], whitespace: str
) -> None:
    grammar = Grammar.from_json_schema(json.dumps(schema), whitespace=whitespace)
    text = write_regex(grammar)
    python, ours = re.compile(text), Grammar.from_regex(text)
    for instance in accepted:
        assert grammar.accepts(instance), instance
        assert ours.accepts(instance), instance
        assert python.fullmatch(instance), instance
    for instance in rejected:
        assert not grammar.accepts(instance), instance
        assert not ours.accepts(instance), instance
        assert not python.fullmatch(instance), instance
    spaced = f" {accepted[0]}\n".replace(":", " : ")
    assert (python.fullmatch(spaced) is not None) is (whitespace == "any")


def test_error_recursive_schema() -> None:
    schema = {
        "properties": {"next": {"$ref": "#"}},
        "type": "object",
        "additionalProperties": False,
    }
    with pytest.raises(BuildError, match="read inside itself"):
        write_regex(Grammar.from_json_schema(json.dumps(schema)))
