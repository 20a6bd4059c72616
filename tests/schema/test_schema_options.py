"""``x-guidance``: the whitespace it chooses, and which settings are reported as ignored."""

from __future__ import annotations

import pytest

from workbench.grammar.grammar import Grammar
from workbench.schema.json_schema import schema_grammar
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
def test_policy(asked: object, policy: str, ignored: list[str], because: str) -> None:
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
