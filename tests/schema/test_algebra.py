"""The algebra compared with a simple validator, on generated schemas."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.oracles.schema_oracle import Endless, documents, instances, validates
from workbench.base.errors import BuildError
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.schema_reader import Document, schema_source


def algebra_of(schema: Any) -> Algebra:
    return Algebra(Document(schema_source(schema)))


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, instances, instances)
def test_membership_as_in_the_specification(schema: Any, one: Any, other: Any) -> None:
    try:
        algebra = algebra_of(schema)
        root = algebra.root
        raw, simplified = root.raw, root.values
    except BuildError:
        assume(False)
    for shape in simplified.objects:
        assert shape.required <= shape.properties.keys()
        assert shape.high is None or max(shape.low, len(shape.required)) <= shape.high
    for row in simplified.arrays:
        assert row.high is None or row.low <= row.high
    for instance in (one, other):
        try:
            found = raw.contains(instance)
            expected = validates(schema, instance)
        except (BuildError, Endless):
            continue
        assert found == expected, (json.dumps(schema), instance)
        assert simplified.contains(instance) == expected
        with suppress(BuildError):
            assert algebra.complement(root).raw.contains(instance) != expected
        if expected:
            assert not algebra.is_empty(root)
