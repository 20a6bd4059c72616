"""Schemas inside tool descriptions: their pointers, and texts without one."""

from __future__ import annotations

import pytest

from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.notation_guess import schema_inside

SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}}'
NAMED = '"name": "weather", "description": "today\'s"'

#   text                                                                    where, why
FOUND = [
    (f'{{{NAMED}, "parameters": {SCHEMA}}}',                                  "/parameters"),
    (f'{{"type": "function", "function": {{{NAMED}, "parameters": {SCHEMA}}}}}', "/function/parameters"),
    (f'{{"type": "function", {NAMED}, "parameters": {SCHEMA}}}',              "/parameters"),
    (f'[{{{NAMED}, "input_schema": {SCHEMA}}}]',                              "/0/input_schema"),
    (f'{{{NAMED}, "inputSchema": {SCHEMA}}}',                                 "/inputSchema"),
    (f'{{"type": "json_schema", "json_schema": {{{NAMED}, "strict": true, "schema": {SCHEMA}}}}}', "/json_schema/schema"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pointer"), FOUND, ids=[row[1] for row in FOUND])
def test_the_schema_of_a_tool(text: str, pointer: str) -> None:
    assert schema_inside(text) == {"pointer": pointer, "text": SCHEMA}


def test_its_lines_move_to_the_margin() -> None:
    text = (
        '{\n  "name": "f",\n  "parameters": {\n    "type": "object",\n    "properties": {}\n  }\n}'
    )
    found = schema_inside(text)
    assert found is not None
    assert found["text"] == '{\n  "type": "object",\n  "properties": {}\n}'


@pytest.mark.parametrize(
    "text",
    [
        SCHEMA,
        '{"properties": {}, "name": "x", "parameters": {}}',  # a schema with custom keywords
        '{"parameters": {"type": "object"}}',  # nothing is named
        '{"name": 3, "parameters": {}}',
        '{"name": "f", "parameters": true}',
        f"[{SCHEMA}, {SCHEMA}]",
        '{"name": "f", "parameters": {',
        "true",
        "",
    ],
)
def test_anything_else_is_left_alone(text: str) -> None:
    assert schema_inside(text) is None


def test_compile_record_has_the_schema(handlers: Handlers) -> None:
    for text, pointer in FOUND:
        reported = compile_grammar(handlers, {"text": text, "notation": "json_schema"})
        assert reported["inside"]["pointer"] == pointer
        assert compile_grammar(handlers, {"text": text, "notation": "kbnf"})["inside"] is None
    assert compile_grammar(handlers, {"text": SCHEMA, "notation": "json_schema"})["inside"] is None
