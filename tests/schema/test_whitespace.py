"""Whitespace: the kind and amount that each policy accepts between lexemes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build_separately
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.schema.json_schema import schema_tree
from workbench.schema.schema_options import LONGEST_RUN, SchemaOptions
from workbench.schema.schema_reader import schema_source
from workbench.vocabulary.vocabulary import Vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "null"}},
    "required": ["a"],
    "additionalProperties": False,
}

#: A text, and whether the policies "compact", "one space" and "any" accept it.
TEXTS = [
    ('{"a":[1,2],"b":null}', True, False, True),
    ('{"a": [1, 2], "b": null}', False, True, True),
    ('{"a": []}', False, True, True),
    ('{"a":[]}', True, False, True),
    ('{ "a": [1, 2] }', False, False, True),
    ('{"a" : []}', False, False, True),
    ('{"a":\t[\r\n]\n}\n', False, False, True),
    (' {"a": []}', False, False, True),
    ('{"a": [1 ,2]}', False, False, True),
    ('{"a": [\x0b]}', False, False, False),
    ('{"a": [\u00a0]}', False, False, False),
    ('{"a": [1 2]}', False, False, False),
]


def _accepts(text: str, options: SchemaOptions) -> bool:
    machine = build_separately(schema_tree(schema_source(json.dumps(SCHEMA)), options))
    if not isinstance(machine, Network):
        return machine.accepts(text.encode())
    runner = Runner(machine)
    return runner.is_final(end) if (end := runner.run(text.encode())) >= 0 else False


@pytest.mark.parametrize(("text", "compact", "one_space", "anything"), TEXTS)
def test_each_policy_accepts_its_whitespace(
    text: str, compact: bool, one_space: bool, anything: bool
) -> None:
    assert _accepts(text, SchemaOptions(whitespace="compact")) == compact
    assert _accepts(text, SchemaOptions(whitespace="one space")) == one_space
    assert _accepts(text, SchemaOptions()) == anything


@pytest.mark.parametrize("bound", [1, 2, 7])
def test_a_run_is_bounded(bound: int) -> None:
    options = SchemaOptions(whitespace=bound)
    for text in ('{%s"a":[]}', '{"a"%s:[]}', '{"a":%s[]}', '{"a":[%s]}', '{"a":[]}%s'):
        assert _accepts(text % (" " * bound), options)
        assert not _accepts(text % (" " * (bound + 1)), options)


def test_the_default_accepts_an_indent_of_four_at_depth_eight() -> None:
    value: object = 1
    for _ in range(8):
        value = [value]
    lines = json.dumps(value, indent=4).splitlines()
    assert max(len(line) - len(line.lstrip()) for line in lines) + len("\r\n") <= LONGEST_RUN


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"whitespace": "none"}, "unknown whitespace policy 'none'"),
        ({"whitespace": 0}, "expected runs of at least 1 character of whitespace, not 0"),
    ],
)
def test_error_for_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        SchemaOptions(**options)  # type: ignore[arg-type]


FLEXIBLE = {"whitespace_flexible": True, "item_separator": ",", "key_separator": ":"}
CLOSE = {"whitespace_flexible": False}

#   options                       x-guidance  accepts {"a" :1}  generates             why
GENERATED = [
    ({},                          None,       True,             '{"a": 1}',           "nothing chooses"),
    ({"whitespace": "auto"},      None,       True,             '{"a": 1}',           "the default, by its name"),
    ({"whitespace": "any"},       None,       True,             '{ "a"  :1}',         "chosen for both"),
    ({"whitespace": 2},           None,       True,             '{ "a"  :1}',         "chosen for both"),
    ({"whitespace": "one space"}, None,       False,            '{"a": 1}',           "chosen for both"),
    ({"whitespace": "compact"},   None,       False,            '{"a":1}',            "chosen for both"),
    ({},                          CLOSE,      False,            '{"a":1}',            "the schema chooses"),
    ({},                          FLEXIBLE,   True,             '{ "a"  :1}',         "the schema chooses any"),
    ({"whitespace": "compact"},   FLEXIBLE,   False,            '{"a":1}',            "the argument wins"),
    ({"order": "any"},            None,       True,             '{"a": 1}',           "other options are kept"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "guidance", "flexible", "generated", "why"), GENERATED)
def test_texts_are_generated_with_one_space_and_accepted_with_any(
    options: dict[str, Any], guidance: object, flexible: bool, generated: str, why: str
) -> None:
    schema = {"properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False}
    schema |= {"type": "object"} | ({"x-guidance": guidance} if guidance else {})
    grammar = Grammar.from_json_schema(schema, **options)
    assert grammar.accepts('{"a" :1}') == flexible, why
    written = grammar.for_generation
    assert written.for_generation is written
    assert written.accepts(generated), why
    assert grammar.accepts(generated), "what is generated is accepted"
    assert written.accepts('{"a" :1}') == (generated == '{ "a"  :1}'), why
    assert written.parse(generated) == {"a": 1}
    constraint = wb.compile(written, Vocabulary([bytes([each]) for each in range(128)]))
    state = constraint.initial
    for byte in generated.encode():
        assert byte in constraint.mask(state), why
        state = constraint.advance(state, byte)
    assert constraint.is_final(state)


_NUMBERS = {"type": "array", "items": {"type": "integer"}}
_TAG = {"type": "json_schema", "json_schema": _NUMBERS}


@pytest.mark.parametrize(
    ("notation", "text", "options", "free"),
    [
        ("lark", f"start: %json {json.dumps(_NUMBERS)}", {}, True),
        ("lark", f"start: %json {json.dumps(_NUMBERS)}", {"whitespace": "any"}, False),
        ("lark", 'start: "[1, 2]" | "[1,  2]"', {}, False),
        ("structural_tag", json.dumps({"type": "structural_tag", "format": _TAG}), {}, True),
        (
            "structural_tag",
            json.dumps({"type": "structural_tag", "format": _TAG | {"max_whitespace_cnt": 2}}),
            {},
            False,
        ),
        ("dataclass", "@dataclass\nclass P:\n    a: list[int]", {"style": "json"}, True),
        ("dataclass", "@dataclass\nclass P:\n    a: list[int]", {}, False),
    ],
)
def test_other_json_is_generated_with_one_space(
    notation: str, text: str, options: dict[str, Any], free: bool
) -> None:
    grammar = Grammar.from_text(text, notation, **options)
    writes = grammar.for_generation
    tight, wide = ("[1, 2]", "[1,  2]") if notation != "dataclass" else ('{"a": []}', '{"a":  []}')
    assert grammar.accepts(tight) == grammar.accepts(wide)
    assert writes.accepts(tight) == grammar.accepts(tight)
    assert writes.accepts(wide) == (grammar.accepts(wide) and not free)


def test_only_json_has_a_choice_of_white_space() -> None:
    with pytest.raises(WorkbenchError, match="only JSON has a choice of white space"):
        Grammar.from_dataclass("@dataclass\nclass P:\n    a: int", whitespace=3)


def test_what_fills_a_hole_may_have_any_white_space() -> None:
    filled = wb.fill('{ "a"', "}", Grammar.from_json_schema('{"type": "object"}'))
    assert filled.for_generation is filled
