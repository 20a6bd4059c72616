"""Complements of formats whose automata accept only some of their strings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.test_subschemas import fits, visit
from workbench.base.errors import BuildError
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.schema_reader import Document, Json, schema_source

HOST: dict[str, Any] = {"type": "string", "format": "hostname"}
REGEX: dict[str, Any] = {"type": "string", "format": "regex"}
#: A label that may be part of a host name, although it is not accepted.
PUNYCODE = "xn--ihqwcrb4cv8a8dqg056pqjye"
#: Groups nested more deeply than accepted.
DEEP = "((((a))))"


def of_a(held: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": held}, "required": ["a"]}


COMPLEMENTS: list[tuple[Any, Json, bool, str]] = [
    ({"not": HOST}, PUNYCODE, False, "it may be a host name"),
    ({"not": HOST}, "a b", True, "no host name has a space"),
    ({"not": HOST}, "a.b", False, "a host name"),
    (
        {"not": {"not": HOST}},
        PUNYCODE,
        False,
        "a double complement accepts no more than the format",
    ),
    ({"oneOf": [HOST, {"const": PUNYCODE}]}, PUNYCODE, False, "it may be in both"),
    ({"oneOf": [HOST, {"const": "a b"}]}, "a b", True, "only one option can have a space"),
    ({"oneOf": [HOST, {"format": "ipv4", "type": "string"}]}, "a.b", True, "no address"),
    ({"oneOf": [HOST, {"format": "ipv4", "type": "string"}]}, "1.2.3.4", False, "in both"),
    ({"oneOf": [of_a(HOST), of_a({"const": PUNYCODE})]}, {"a": PUNYCODE}, False, "maybe in both"),
    ({"oneOf": [of_a(HOST), of_a({"const": "a b"})]}, {"a": "a b"}, True, "only in one"),
    ({"not": {"allOf": [of_a(HOST), of_a({"const": PUNYCODE})]}}, {"a": PUNYCODE}, False, "maybe"),
    ({"type": "object", "not": {"propertyNames": HOST}}, {PUNYCODE: 1}, False, "a name may be one"),
    ({"type": "object", "not": {"propertyNames": HOST}}, {"a b": 1}, True, "not a host name"),
    ({"not": {"anyOf": [HOST, {"type": "null"}]}}, PUNYCODE, False, "also in a union"),
    ({"not": {"allOf": [REGEX, {"maxLength": 3}]}}, "abcd", True, "it is longer"),
    ({"not": {"allOf": [REGEX, {"maxLength": 3}]}}, "(a)", False, "a regex"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "value", "expected", "why"), COMPLEMENTS)
def test_only_strings_surely_outside_are_accepted(
    schema: Any, value: Json, expected: bool, why: str
) -> None:
    assert fits(schema, value) == expected, why


ERRORS = [
    ({"not": REGEX}, "any string may be a regex"),
    ({"type": "object", "not": {"propertyNames": REGEX}}, "any name may be one"),
    ({"if": of_a(REGEX), "then": {"required": ["b"]}}, "so no value surely takes the other branch"),
    ({"oneOf": [of_a(REGEX), of_a({"const": DEEP})]}, "both may accept it"),
]


@pytest.mark.parametrize(("schema", "why"), ERRORS)
def test_error_if_no_string_is_surely_outside(schema: Any, why: str) -> None:
    with pytest.raises(BuildError, match="accepts only some of its strings"):
        visit(Algebra(Document(schema_source(schema))))
