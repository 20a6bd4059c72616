"""Formats that are read narrower than they are, where a schema asks for what they leave out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.test_subschemas import fits, visit
from workbench.base.errors import BuildError
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.schema_reader import Document, Json, schema_source

HOST: dict[str, Any] = {"type": "string", "format": "hostname"}
REGEX: dict[str, Any] = {"type": "string", "format": "regex"}
#: A label that may be a host name's, though it is not read as one.
PUNYCODE = "xn--ihqwcrb4cv8a8dqg056pqjye"
#: Groups deeper than are read.
DEEP = "((((a))))"


def of_a(held: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": held}, "required": ["a"]}


LEFT_OUT: list[tuple[Any, Json, bool, str]] = [
    ({"not": HOST}, PUNYCODE, False, "it may be a host name"),
    ({"not": HOST}, "a b", True, "no host name has a blank"),
    ({"not": HOST}, "a.b", False, "a host name"),
    ({"not": {"not": HOST}}, PUNYCODE, False, "twice left out is not more than once read"),
    ({"oneOf": [HOST, {"const": PUNYCODE}]}, PUNYCODE, False, "it may be in both"),
    ({"oneOf": [HOST, {"const": "a b"}]}, "a b", True, "only one option can have a blank"),
    ({"oneOf": [HOST, {"format": "ipv4", "type": "string"}]}, "a.b", True, "no address"),
    ({"oneOf": [HOST, {"format": "ipv4", "type": "string"}]}, "1.2.3.4", False, "in both"),
    ({"oneOf": [of_a(HOST), of_a({"const": PUNYCODE})]}, {"a": PUNYCODE}, False, "maybe in both"),
    ({"oneOf": [of_a(HOST), of_a({"const": "a b"})]}, {"a": "a b"}, True, "only in one"),
    ({"not": {"allOf": [of_a(HOST), of_a({"const": PUNYCODE})]}}, {"a": PUNYCODE}, False, "maybe"),
    ({"type": "object", "not": {"propertyNames": HOST}}, {PUNYCODE: 1}, False, "a name may be one"),
    ({"type": "object", "not": {"propertyNames": HOST}}, {"a b": 1}, True, "a name that is none"),
    ({"not": {"anyOf": [HOST, {"type": "null"}]}}, PUNYCODE, False, "whatever is beside it"),
    ({"not": {"allOf": [REGEX, {"maxLength": 3}]}}, "abcd", True, "it is longer"),
    ({"not": {"allOf": [REGEX, {"maxLength": 3}]}}, "(a)", False, "a regex"),
]


@pytest.mark.parametrize(("schema", "value", "expected", "why"), LEFT_OUT)
def test_only_what_surely_is_left_out_is_accepted(
    schema: Any, value: Json, expected: bool, why: str
) -> None:
    assert fits(schema, value) == expected, why


REFUSED = [
    ({"not": REGEX}, "any string may be a regex"),
    ({"type": "object", "not": {"propertyNames": REGEX}}, "any name may be one"),
    ({"if": of_a(REGEX), "then": {"required": ["b"]}}, "so none surely takes the other branch"),
    ({"oneOf": [of_a(REGEX), of_a({"const": DEEP})]}, "whether both have it is not known"),
]


@pytest.mark.parametrize(("schema", "why"), REFUSED)
def test_error_where_that_is_known_of_no_string(schema: Any, why: str) -> None:
    with pytest.raises(BuildError, match="accepts only some of its strings"):
        visit(Algebra(Document(schema_source(schema))))
