"""A JSON Schema inside another document: which part is meant, and how it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source
from workbench.grammar.notations import Notation
from workbench.schema.wrapped_schema import schema_at, schema_text, wrapped_schema

SCHEMA = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/city"}},
    "required": ["city"],
    "$defs": {"city": {"type": "string"}},
}
TOOL = {"name": "weather", "description": "today's", "parameters": SCHEMA}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
OPENAPI = {
    "openapi": "3.0.3",
    "info": {"title": "pets", "version": "1"},
    "paths": {"/pets": {"post": {"requestBody": {"$ref": "#/components/requestBodies/b"}}}},
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "properties": {"owner": {"$ref": "#/components/schemas/Owner"}},
                "required": ["owner"],
            },
            "Owner": {"type": "string", "minLength": 2},
        }
    },
}
BODY = {"content": {"application/json": {"schema": SCHEMA}}}

#   document, what it is, where its schemas are
DOCUMENTS: list[tuple[Any, str, list[str]]] = [
    (TOOL, "a tool definition", ["/parameters"]),
    ({"type": "function", **TOOL}, "a tool definition", ["/parameters"]),
    ({"type": "function", "function": TOOL}, "a tool definition", ["/function/parameters"]),
    ([{"type": "function", "function": TOOL}], "a tool definition", ["/0/function/parameters"]),
    ([TOOL, TOOL], "a list of tools", ["/0/parameters", "/1/parameters"]),
    ({"tools": [TOOL]}, "a tool definition", ["/tools/0/parameters"]),
    ({"name": "f", "input_schema": SCHEMA}, "a tool definition", ["/input_schema"]),
    ({"name": "f", "inputSchema": SCHEMA}, "an MCP tool", ["/inputSchema"]),
    ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "f", "inputSchema": SCHEMA}]}},
     "an MCP tool", ["/result/tools/0/inputSchema"]),
    ({"functionDeclarations": [TOOL]}, "a tool definition", ["/functionDeclarations/0/parameters"]),
    (FORMAT, "a response format", ["/json_schema/schema"]),
    (FORMAT["json_schema"], "a response format", ["/schema"]),
    ({"response_format": FORMAT}, "a response format", ["/response_format/json_schema/schema"]),
    ({"type": "json_schema", "name": "x", "schema": SCHEMA}, "a response format", ["/schema"]),
    ({**CHAT, "response_format": FORMAT}, "a request to a model",
     ["/response_format/json_schema/schema"]),
    ({**CHAT, "tools": [{"type": "function", "function": TOOL}]}, "a request to a model",
     ["/tools/0/function/parameters"]),
    ({**CHAT, "format": SCHEMA}, "a request to a model", ["/format"]),
    ({**CHAT, "guided_json": SCHEMA}, "a request to a model", ["/guided_json"]),
    ({**CHAT, "structured_outputs": {"json": SCHEMA}}, "a request to a model",
     ["/structured_outputs/json"]),
    ({"contents": [], "generationConfig": {"responseSchema": SCHEMA}}, "a request to a model",
     ["/generationConfig/responseSchema"]),
    ({"model": "m", "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}},
     "a request to a model", ["/text/format/schema"]),
    (OPENAPI, "an OpenAPI document", ["/components/schemas/Pet", "/components/schemas/Owner"]),
    ({"swagger": "2.0", "definitions": {"a/b": SCHEMA}}, "an OpenAPI document",
     ["/definitions/a~1b"]),
    ({"openapi": "3.1.0", "paths": {"/p": {"post": {"requestBody": BODY}}}},
     "an OpenAPI document", ["/paths/~1p/post/requestBody/content/application~1json/schema"]),
]  # fmt: skip
NAMES = [f"{kind[2:].strip()}-{pointers[0]}" for _, kind, pointers in DOCUMENTS]


@pytest.mark.parametrize(("document", "kind", "pointers"), DOCUMENTS, ids=NAMES)
def test_a_document_around_a_schema(document: Any, kind: str, pointers: list[str]) -> None:
    for indent in (None, 2):
        wrapped = wrapped_schema(json.dumps(document, indent=indent))
        assert wrapped is not None
        assert (wrapped.kind, list(wrapped.pointers)) == (kind, pointers)


@pytest.mark.parametrize(("document", "kind", "pointers"), DOCUMENTS, ids=NAMES)
def test_the_part_that_is_meant_is_read(document: Any, kind: str, pointers: list[str]) -> None:
    """It accepts what the schema accepts, and its errors and notes are at their lines."""
    text = json.dumps(document, indent=2)
    part: Any = document
    for step in pointers[0].split("/")[1:]:
        step = step.replace("~1", "/")
        part = part[int(step)] if isinstance(part, list) else part[step]
    for given in (text, document):
        grammar = wb.Grammar.from_json_schema(given, at=pointers[0])
        assert not any(note.kind == "wrapped_schema" for note in grammar.notes)
        if part == SCHEMA:
            assert grammar.accepts('{"city": "Rome"}')
            assert not grammar.accepts('{"city": 3}')
            assert not grammar.accepts("3")
    if part == SCHEMA:
        assert json.loads(schema_at(Source(text, "t"), pointers[0]).text) == part
        where = text.index('"city"')
        assert schema_at(Source(text, "t"), pointers[0]).text.index('"city"') == where
        assert schema_text(text, pointers[0]).startswith('{\n  "type": "object"')


@pytest.mark.parametrize(("document", "kind", "pointers"), DOCUMENTS, ids=NAMES)
def test_a_document_as_a_schema_says_where_its_schema_is(
    document: Any, kind: str, pointers: list[str]
) -> None:
    """As an error where it is no schema, else as the one note on it."""
    try:
        grammar = wb.Grammar.from_json_schema(json.dumps(document))
    except ParseError as error:
        said = error.hint
        assert said.startswith(f"this is {kind}; ")
    else:
        assert grammar.accepts("3"), "it restricts nothing"
        (note,) = grammar.notes
        assert note.kind == "wrapped_schema"
        assert note.severity == "warning"
        assert note.message.startswith(f"this is {kind}, ")
        said = f"{note.message} {note.hint}"
    assert f"at {pointers[0]}" in said
    assert f"at={pointers[0]!r} or --at {pointers[0]}" in said


def test_schemas_that_refer_to_each_other_are_read_together() -> None:
    grammar = wb.Grammar.from_json_schema(OPENAPI, at="/components/schemas/Pet")
    assert grammar.accepts('{"owner": "Ada"}')
    assert not grammar.accepts('{"owner": "A"}')
    owner = wb.Grammar.from_json_schema(OPENAPI, at="#/components/schemas/Owner")
    assert owner.accepts('"Ada"')
    assert "paths" not in schema_text(json.dumps(OPENAPI), "/components/schemas/Pet")


def test_error_in_the_part_is_at_its_line() -> None:
    text = '{\n  "name": "f",\n  "parameters": {\n    "type": "strnig"\n  }\n}'
    with pytest.raises(ParseError) as raised:
        wb.Grammar.from_json_schema(text, at="/parameters", name="tool.json")
    assert "tool.json#/parameters, line 4, column 13" in str(raised.value)


def test_error_of_a_pointer_names_the_places() -> None:
    with pytest.raises(BuildError, match="there is no value at '/params'") as raised:
        wb.Grammar.from_json_schema(TOOL, at="/params")
    assert raised.value.hint == "did you mean '/parameters'?"
    with pytest.raises(BuildError) as raised:
        wb.Grammar.from_json_schema(TOOL, at="/x/y")
    assert raised.value.hint == "its schema is at /parameters"


def test_error_of_openapi_in_yaml() -> None:
    with pytest.raises(ParseError) as raised:
        wb.Grammar.from_json_schema("# pets\nopenapi: 3.0.3\ninfo:\n  title: pets\n")
    assert raised.value.hint.startswith("this is an OpenAPI document in YAML")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SCHEMA),
        '{"properties": {}, "name": "x", "parameters": {}}',  # a schema with custom keywords
        '{"type": "object", "name": "x", "parameters": {}}',
        '{"required": ["a"], "name": "x", "parameters": {}}',
        '{"properties": {"name": {"const": "f"}, "parameters": {"type": "object"}}}',
        '{"type": "string", "format": "date"}',
        '{"parameters": {"type": "object"}}',  # nothing is named
        '{"name": 3, "parameters": {}}',
        '{"name": "f", "parameters": true}',
        '{"openapi": "3.0.3", "paths": {}}',
        f"[{json.dumps(SCHEMA)}, {json.dumps(SCHEMA)}]",
        '{"name": "f", "parameters": {',
        "true",
        "",
    ],
)
def test_other_texts_are_no_document_around_a_schema(text: str) -> None:
    assert wrapped_schema(text) is None


def test_many_schemas_are_counted() -> None:
    wrapped = wrapped_schema(json.dumps([TOOL] * 7))
    assert wrapped is not None
    assert wrapped.places.endswith("/3/parameters and 3 more")


@pytest.mark.parametrize("notation", [Notation.KBNF, Notation.GBNF, Notation.LARK])
def test_error_of_a_tool_as_a_grammar_names_its_schema(notation: Notation) -> None:
    for text in (json.dumps(TOOL), json.dumps(TOOL, indent=2)):
        with pytest.raises(ParseError) as raised:
            wb.Grammar.from_text(text, notation)
        assert raised.value.hint.startswith("this looks like a tool definition: ")
        assert "--json-schema; its schema is at /parameters" in raised.value.hint
        assert raised.value.fix is None
        (problem,) = wb.problems(text, notation)
        assert problem.hint == raised.value.hint
