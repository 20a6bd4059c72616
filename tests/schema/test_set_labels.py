"""Labels of sets of strings and numbers in pictures and messages."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.schema_reader import Document, schema_source
from workbench.schema.write_values import numbers_label, texts_label

TEXTS: list[tuple[dict[str, Any], str]] = [
    ({}, "string"),
    ({"minLength": 1}, "string of 1 character or more"),
    ({"maxLength": 1}, "string of at most 1 character"),
    ({"minLength": 2, "maxLength": 1_000}, "string of 2 to 1,000 characters"),
    ({"minLength": 4, "maxLength": 4}, "string of 4 characters"),
    ({"format": "date"}, "date"),
    ({"pattern": "^a+$"}, "string with ^a+$"),
    ({"not": {"const": "a"}}, 'string but "a"'),
    ({"enum": ["b", "a"]}, '"a" or "b"'),
    ({"enum": ["b", "a", "d", "c"]}, '"a", "b", "c", …'),
]
NUMBERS: list[tuple[dict[str, Any], str]] = [
    ({"type": "number"}, "number"),
    ({"type": "integer"}, "integer"),
    ({"type": "integer", "minimum": 0, "maximum": 10}, "integer from 0 to 10"),
    ({"type": "number", "exclusiveMinimum": 0.5}, "number above 0.5"),
    ({"type": "number", "exclusiveMaximum": 2}, "number below 2"),
    ({"type": "number", "multipleOf": 5}, "multiple of 5"),
    ({"type": "number", "multipleOf": 0.01}, "multiple of 0.01"),
    ({"type": "number", "enum": [1, 2.5]}, "1 or 2.5"),
    ({"type": "integer", "not": {"const": 3}}, "integer below 3 or integer above 3"),
]


@pytest.mark.parametrize(("schema", "label"), TEXTS)
def test_a_set_of_strings_has_a_label(schema: dict[str, Any], label: str) -> None:
    lazy = Algebra(Document(schema_source({"type": "string", **schema}))).root
    assert texts_label(lazy.values.texts, lazy) == label


@pytest.mark.parametrize(("schema", "label"), NUMBERS)
def test_a_set_of_numbers_has_a_label(schema: dict[str, Any], label: str) -> None:
    lazy = Algebra(Document(schema_source(schema))).root
    assert numbers_label(lazy.values.numbers) == label
