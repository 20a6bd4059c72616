"""Typical schemas: all compile and accept exactly their valid instances.

The rows of ``tests/data/common_schemas.jsonl.gz`` were written for this test: discriminated unions
as OpenAPI and pydantic write them, tools of chat models, manifests, workflows, deployments,
conditions on fields, syntax trees. The validity was checked with python-jsonschema 4.26.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from workbench.audits.instances import in_declared_order
from workbench.grammar.grammar import Grammar

with gzip.open(
    Path(__file__).parents[1] / "data" / "common_schemas.jsonl.gz", "rt", encoding="utf-8"
) as lines:
    ROWS: list[dict[str, Any]] = [json.loads(line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_exactly_the_valid_instances_are_accepted(row: dict[str, Any]) -> None:
    schema = row["schema"]
    grammar = Grammar.from_json_schema(schema)
    for instance in row["valid"]:
        text = json.dumps(in_declared_order(schema, instance))
        assert grammar.accepts(text), text
    for instance in row["invalid"]:
        for value in (instance, in_declared_order(schema, instance)):
            assert not grammar.accepts(json.dumps(value)), instance
