"""``x-guidance``: the whitespace it chooses, and which settings are ignored; closed objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.grammar.grammar import Grammar
from workbench.schema.json_schema import schema_grammar
from workbench.schema.schema_options import open_objects
from workbench.schema.schema_reader import schema_source

SHAPE: dict[str, object] = {"type": "object", "properties": {"a": {}, "b": {}}}
TEXTS = COMPACT, SPACED, LOOSE = '{"a":1,"b":2}', '{"a": 1, "b": 2}', '{ "a" :1,"b":2 }'
READ = {"compact": {COMPACT}, "one space": {SPACED}, "any": {*TEXTS}}

#   x-guidance                                                 the policy, ignored, why
CASES = [
    ({},                                                       "any",       [],  "nothing is said"),
    ({"whitespace_flexible": True, "item_separator": ","},     "any",       [],  "what is usual, said"),
    ({"whitespace_flexible": False},                           "compact",   [],  "no whitespace"),
    ({"item_separator": ","},                                  "compact",   [],  "a separator alone says the same"),
    ({"item_separator": ", ", "key_separator": ": "},          "one space", [],  "as json.dumps writes"),
    ({"whitespace_flexible": False, "key_separator": ": "},    "any",       ["whitespace_flexible", "key_separator"], "an unsupported policy"),
    ({"whitespace_flexible": True, "key_separator": " :"},     "any",       ["whitespace_flexible", "key_separator"], "flexible, with another colon"),
    ({"whitespace_flexible": False, "whitespace_pattern": ""}, "compact",   ["whitespace_pattern"], "a pattern of whitespace"),
    ({"json_allow_general_unicode_escapes": True},             "any",       [],  "always accepted"),
    ({"json_allow_general_unicode_escapes": 1},                "any",       ["json_allow_general_unicode_escapes"], "1 is not true"),
    ({"lenient": True},                                        "any",       ["lenient"], "another choice of llguidance"),
    (["compact"],                                              "any",       [""], "no object"),
    ({"item_separator": {}, "key_separator": [","]},           "any",       ["item_separator", "key_separator"], "no texts"),
    ({"whitespace_flexible": False, "item_separator": [","]},  "any",       ["whitespace_flexible", "item_separator"], "one is no text"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "policy", "ignored", "because"), CASES, ids=[row[-1] for row in CASES]
)
def test_x_guidance_chooses_the_whitespace(
    asked: object, policy: str, ignored: list[str], because: str
) -> None:
    grammar = Grammar.from_json_schema(SHAPE | {"x-guidance": asked})
    assert {text for text in TEXTS if grammar.accepts(text)} == READ[policy], because
    notes = schema_grammar(schema_source(SHAPE | {"x-guidance": asked})).notes
    assert [note.pointer.removeprefix("/x-guidance").strip("/") for note in notes] == ignored


def test_an_explicit_policy_takes_precedence() -> None:
    asked = SHAPE | {"x-guidance": {"item_separator": ", ", "key_separator": ": "}}
    grammar = Grammar.from_json_schema(asked, whitespace="compact")
    assert {text for text in TEXTS if grammar.accepts(text)} == READ["compact"]


def test_below_the_root_it_is_an_annotation() -> None:
    grammar = Grammar.from_json_schema({"items": {"x-guidance": {"lenient": True}}})
    assert grammar.accepts("[ 1 ]")


NAMED: dict[str, object] = {"type": "object", "properties": {"a": {"const": 1}}}
OTHERS: dict[str, object] = {"properties": {"b": {"const": 2}}}
NEEDED = {**NAMED, "required": ["a"]}
CONDITION = {"properties": {"a": {}, "b": {}}, "if": NEEDED, "then": OTHERS}
REFERRED = {"$ref": "#/$defs/A", "$defs": {"A": NAMED}}
NODE = {"$ref": "#/$defs/N", "$defs": {"N": {**NAMED, "properties": {"n": {"$ref": "#/$defs/N"}}}}}

#   schema                                               a text with another member  open   closed  changed, why
CLOSED = [
    (NAMED,                                              '{"b":2}',                  True,  False,  True,  "the schema names a"),
    (NAMED,                                              '{"a":1}',                  True,  True,   True,  "a is named"),
    ({**NAMED, "additionalProperties": True},            '{"b":2}',                  True,  True,   False, "it allows others itself"),
    ({**NAMED, "additionalProperties": {"const": 2}},    '{"b":2}',                  True,  True,   False, "it says what others are"),
    ({**NAMED, "additionalProperties": False},           '{"b":2}',                  False, False,  False, "it is closed"),
    ({**NAMED, "unevaluatedProperties": {"const": 2}},   '{"b":2}',                  True,  True,   False, "it says what others are"),
    ({**NAMED, "patternProperties": {"^b": {}}},         '{"b":2}',                  True,  True,   False, "it names others by a pattern"),
    ({"type": "object"},                                 '{"b":2}',                  True,  True,   False, "it names no member"),
    ({"type": "array", "items": NAMED},                  '[{"b":2}]',                True,  False,  True,  "an object in an array"),
    ({"anyOf": [NAMED, {"type": "null"}]},               '{"b":2}',                  True,  False,  True,  "an alternative"),
    (REFERRED,                                           '{"b":2}',                  True,  False,  True,  "a reference"),
    (NODE,                                               '{"n":{"n":{"b":2}}}',      True,  False,  True,  "inside a recursive one"),
    ({"allOf": [NAMED, OTHERS]},                         '{"a":1,"b":2}',            True,  True,   True,  "each part names some members"),
    ({"allOf": [NAMED, OTHERS]},                         '{"a":1,"c":3}',            True,  False,  True,  "no part names c"),
    ({"allOf": [NAMED], **OTHERS},                       '{"b":2,"a":1}',            True,  True,   True,  "the schema and its part"),
    ({**REFERRED, **OTHERS},                             '{"b":2,"c":3}',            True,  False,  True,  "a reference beside properties"),
    ({"allOf": [{**NAMED, "additionalProperties": {}}, OTHERS]}, '{"c":3}',          True,  True,   True,  "a part allows others"),
    ({**OTHERS, "oneOf": [NAMED, {"required": ["b"]}]},  '{"b":2}',                  False, False,  True,  "both alternatives hold"),
    ({**OTHERS, "oneOf": [NEEDED, {"required": ["b"]}]}, '{"a":1}',                  True,  True,   True,  "an alternative names a"),
    ({**OTHERS, "oneOf": [NEEDED, {"required": ["b"]}]}, '{"b":2,"a":1}',            False, False,  True,  "both alternatives hold"),
    (CONDITION,                                          '{"a":1,"b":2}',            True,  True,   True,  "a condition closes nothing"),
    (CONDITION,                                          '{"a":1,"b":3}',            False, False,  True,  "so it holds"),
    ({**OTHERS, "not": NEEDED},                          '{"b":2}',                  True,  True,   True,  "what is excluded is not closed"),
    ({"properties": {"a": {}, "b": {}}, "not": NEEDED},  '{"a":1,"b":2}',            False, False,  True,  "what is excluded is not closed"),
    ({"enum": [{"properties": {}}]},                     '{"properties":{}}',        True,  True,   False, "a value is no schema"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "text", "is_open", "is_closed", "changed", "why"),
    CLOSED,
    ids=[row[-1] for row in CLOSED],
)
def test_closed_objects_have_the_members_that_are_named(
    schema: dict[str, Any], text: str, is_open: bool, is_closed: bool, changed: bool, why: str
) -> None:
    assert Grammar.from_json_schema(schema).accepts(text) == is_open, why
    closed = Grammar.from_json_schema(schema, closed=True)
    assert closed.accepts(text) == is_closed, why
    assert closed.options == {"closed": True}
    assert closed.for_generation.options == {"closed": True, "whitespace": "one space"}
    assert (open_objects(json.dumps(schema)) is not None) == changed, why


def test_parts_that_double_are_looked_at_once() -> None:
    def twice(number: int) -> dict[str, Any]:
        return {"allOf": [{"$ref": f"#/$defs/{number + 1}"}] * 2}

    schemas = {str(number): twice(number) for number in range(40)} | {"40": {"type": "object"}}
    schema = {"title": "doubling", "$ref": "#/$defs/0", "$defs": schemas}
    assert Grammar.from_json_schema(schema, closed=True).accepts("{}")
