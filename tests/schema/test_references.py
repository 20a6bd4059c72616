"""References to documents that the caller hands in, dynamic references, drafts and vocabularies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.base.errors import BuildError, ParseError, SourceError, WorkbenchError
from workbench.grammar.grammar import Grammar

TREE: dict[str, Any] = {
    "$id": "https://example.test/tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
}
STRICT: dict[str, Any] = {
    "$id": "https://example.test/strict-tree",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "unevaluatedProperties": False,
}
GENERIC: dict[str, Any] = {
    "$id": "list",
    "items": {"$dynamicRef": "#item"},
    "$defs": {"default": {"$dynamicAnchor": "item"}},
}


def list_of(name: str, kind: str) -> dict[str, Any]:
    """A schema of lists that says what the generic list's items are."""
    return {"$id": name, "$ref": "list", "$defs": {"i": {"$dynamicAnchor": "item", "type": kind}}}


LISTS: dict[str, Any] = {
    "properties": {
        "words": {"$ref": "words"},
        "counts": {"$ref": "counts"},
        "all": {"$ref": "list"},
    },
    "$defs": {
        "list": GENERIC,
        "words": list_of("words", "string"),
        "counts": list_of("counts", "integer"),
    },
}
OLD_TREE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2019-09/schema",
    "$id": "https://example.test/tree",
    "$recursiveAnchor": True,
    "properties": {"child": {"$recursiveRef": "#"}},
}
OLD_STRICT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2019-09/schema",
    "$id": "https://example.test/strict",
    "$recursiveAnchor": True,
    "$ref": "tree",
    "unevaluatedProperties": False,
}
WHOLE = {"$defs": {"count": {"$anchor": "c", "type": "integer", "minimum": 0}}}
LIMITED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/applicator": True},
}

#   schema, documents, instance, whether it is valid, why
CASES: list[tuple[Any, dict[str, Any], Any, bool | None, str]] = [
    ({"$ref": "n.json#/$defs/count"}, {"n.json": WHOLE}, 1, True, "a pointer into a document"),
    ({"$ref": "n.json#/$defs/count"}, {"n.json": WHOLE}, -1, False, "and its conditions apply"),
    ({"$ref": "n.json#c"}, {"n.json": WHOLE}, -1, False, "an anchor of a document"),
    ({"$ref": "n.json"}, {"n.json": False, "m.json": True}, None, None, "a document may be false"),
    ({"$ref": "n.json"}, {"n.json": '{"type": "null"}'}, None, True, "a document may be a text"),
    (
        {"$id": "https://example.test/a/b", "$ref": "c"},
        {"https://example.test/a/c": {"type": "null"}},
        1,
        False,
        "an address is relative to that of the schema",
    ),
    (
        {"$ref": "https://example.test/a"},
        {
            "https://example.test/a": {"$ref": "b"},
            "https://example.test/b": {"properties": {"next": {"$ref": "a"}}, "type": "object"},
        },
        {"next": {"next": 1}},
        False,
        "documents refer to each other",
    ),
    ({"$ref": "n", "$defs": {"a": {"$id": "n", "type": "null"}}}, {"n": True}, 1, False, "own first"),
    ({"$ref": "other"}, {"x": {"$id": "other", "type": "null"}}, 1, False, "by its identifier"),
    (
        {"$ref": "old"},
        {"old": {"$schema": "http://json-schema.org/draft-07/schema", "dependentRequired": {"a": ["b"]}}},
        {"a": 1},
        True,
        "the draft of a document decides what its keywords mean",
    ),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema",
            "properties": {"p": {"$ref": "new"}},
        },
        {
            "new": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "dependentRequired": {"a": ["b"]},
            }
        },
        {"p": {"a": 1}},
        False,
        "of a newer draft too",
    ),
    ({"$schema": "meta", "type": "null"}, {"meta": LIMITED}, 1, True, "no vocabulary of 'type'"),
    (
        {"$schema": "meta", "properties": {"a": False}},
        {"meta": LIMITED},
        {"a": 1},
        False,
        "but that of 'properties'",
    ),
    ({"$ref": "./n.json#c"}, {"n.json": WHOLE}, -1, False, "a path may begin with a dot"),
    ({"$ref": "n.json#c"}, {"./n.json": WHOLE}, -1, False, "so may the address of a document"),
    ({"$ref": "../n.json"}, {"../n.json": {"$ref": "m.json"}, "../m.json": {"const": 1}}, 2, False, "outside the folder"),
    ({"$ref": "d/n.json"}, {"d/n.json": {"$ref": "../m.json"}, "m.json": {"const": 1}}, 2, False, "back to the folder"),
    ({"$id": "d/s.json", "$ref": "n.json"}, {"d/n.json": {"const": 1}}, 2, False, "a relative base"),
    ({"$id": "d/s.json", "$ref": "/n.json"}, {"/n.json": {"const": 1}}, 2, False, "an absolute path"),
    (TREE, {}, {"children": [{"daat": 1}]}, True, "a tree alone is open"),
    (STRICT, {"t": TREE}, {"children": [{"data": 1}]}, True, "the strict tree"),
    (STRICT, {"t": TREE}, {"children": [{"daat": 1}]}, False, "is strict at every depth"),
    (LISTS, {}, {"words": ["a"], "counts": [1], "all": [None]}, True, "each list has its items"),
    (LISTS, {}, {"words": [1]}, False, "those of the schema that refers to it"),
    (LISTS, {}, {"counts": ["a"]}, False, "not of another one"),
    (OLD_STRICT, {"t": OLD_TREE}, {"child": {"child": {}}}, True, "the older spelling"),
    (OLD_STRICT, {"t": OLD_TREE}, {"child": {"chlid": {}}}, False, "is strict too"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "documents", "instance", "valid", "why"), CASES)
def test_a_reference_is_resolved_in_the_documents(
    schema: Any, documents: dict[str, Any], instance: Any, valid: bool | None, why: str
) -> None:
    if valid is None:
        with pytest.raises(BuildError, match="no JSON value"):
            Grammar.from_json_schema(schema, documents=documents)
        return
    grammar = Grammar.from_json_schema(schema, documents=documents)
    assert grammar.accepts(json.dumps(instance)) == valid, why


def test_rules_of_a_document_have_the_place_of_the_reference() -> None:
    document = {"type": "object", "properties": {"a": {"type": "array"}}, "description": "-" * 200}
    grammar = Grammar.from_json_schema('{"items": {"$ref": "d"}}', documents={"d": document})
    assert grammar.tree is not None
    assert all(rule.span.end <= len(grammar.source.text) for rule in grammar.tree.rules)
    places = {grammar.source.text[rule.span.start : rule.span.end] for rule in grammar.tree.rules}
    assert '"d"' in places


def test_error_for_an_address_like_another_one() -> None:
    schema = '{"$id": "https://example.test/a/b", "$ref": "defs.jsn#/x"}'
    near = "https://example.test/a/defs.json"
    with pytest.raises(BuildError, match=r"which is 'https://example\.test/a/defs\.jsn'") as caught:
        Grammar.from_json_schema(schema, documents={near: {"x": True}})
    assert caught.value.hint == f"did you mean {near!r}?"
    assert caught.value.fix == f'"{near}#/x"'


#   schema, documents, the name of the text with the error, words of the message
ERRORS = [
    ({"$ref": "a"}, {"b": True}, "schema", "not in this text, and nothing is fetched"),
    ({"$ref": "a#/b"}, {"a": True}, "schema", "there is no schema"),
    ({"$ref": "a"}, {"a": "{"}, "a", "expected"),
    ({"$ref": "a"}, {"a": {"type": 5}}, "a", "/type"),
    ({"$ref": "a"}, {"a": {"pattern": r"(.)\1"}}, "a", "/pattern"),
]


@pytest.mark.parametrize(("schema", "documents", "name", "words"), ERRORS)
def test_errors_name_their_document(
    schema: Any, documents: dict[str, Any], name: str, words: str
) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_json_schema(schema, documents=documents)
    assert caught.value.source.name == name
    assert words in caught.value.message


def test_a_document_must_be_json() -> None:
    with pytest.raises(ParseError, match="not a JSON value"):
        Grammar.from_json_schema({}, documents={"a": {1, 2}})  # type: ignore[dict-item]


def test_format_as_annotation() -> None:
    schema = {"items": {"format": "date"}, "properties": {"a": {"format": "idn-hostname"}}}
    grammar = Grammar.from_json_schema(schema, format="annotation")
    assert grammar.accepts('["soon"]')
    assert not grammar.notes
    with pytest.raises(BuildError):
        Grammar.from_json_schema(schema)


def test_error_for_an_address_that_is_no_text() -> None:
    with pytest.raises(WorkbenchError, match="expected the address of a schema"):
        Grammar.from_json_schema(True, documents={5: True})  # type: ignore[dict-item]
