"""References to the meta-schemas, which are installed: nothing is fetched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.base.errors import BuildError
from workbench.grammar.grammar import Grammar
from workbench.schema.meta_schemas import meta_schemas_in

DRAFTS = [
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
#   a schema, whether the meta-schemas accept it
SCHEMAS: list[tuple[Any, bool]] = [
    (True, True),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, True),
    ({"items": {"enum": [1, 2], "minimum": 3}}, True),
    ({"type": 5}, False),
    ({"properties": {"a": {"minLength": -1}}}, False),
    ([], False),
]


@pytest.mark.parametrize("address", DRAFTS)
def test_a_schema_that_holds_a_schema(address: str) -> None:
    tool = {
        "properties": {"name": {"type": "string"}, "parameters": {"$ref": address}},
        "required": ["name", "parameters"],
    }
    grammar = Grammar.from_json_schema(tool, order="any")
    for schema, valid in SCHEMAS:
        text = json.dumps({"name": "x", "parameters": schema})
        assert grammar.accepts(text) == valid, schema


def test_the_schemas_of_one_draft_are_read() -> None:
    assert [*meta_schemas_in('{"$ref" : "http://json-schema.org/draft-07/schema#"}')] == [
        "http://json-schema.org/draft-07/schema"
    ]
    assert len(meta_schemas_in('{"$ref": "https://json-schema.org/draft/2020-12/schema"}')) == 9
    assert not meta_schemas_in('{"$schema": "https://json-schema.org/draft/2020-12/schema"}')


def test_a_given_document_comes_first() -> None:
    schema = {"$ref": DRAFTS[1]}
    mine = {"http://json-schema.org/draft-07/schema": {"type": "null"}}
    assert Grammar.from_json_schema(schema, documents=mine).accepts("null")


def test_error_where_there_is_no_such_draft() -> None:
    with pytest.raises(BuildError, match="nothing is fetched"):
        Grammar.from_json_schema({"$ref": "https://json-schema.org/draft/2031-01/schema"})
