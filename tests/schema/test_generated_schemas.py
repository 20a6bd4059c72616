"""The rules of generated schemas compared with a simple validator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, permutations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.oracles.schema_oracle import Endless, documents, instances, validates
from workbench.analysis.random_texts import samples
from workbench.base.errors import BuildError, LimitError
from workbench.grammar.grammar import Grammar

#: The number of member orders tried for an instance.
_ORDERS = 200


def orders(value: Any) -> Iterator[Any]:
    """A value with the members of its objects in all orders."""
    if isinstance(value, list):
        for items in product(*(list(orders(item)) for item in value)):
            yield list(items)
    elif isinstance(value, dict):
        for names in permutations(value):
            for held in product(*(list(orders(value[name])) for name in names)):
                yield dict(zip(names, held, strict=True))
    else:
        yield value


def _grammar(schema: Any, whitespace: str) -> Grammar:
    try:
        return Grammar.from_json_schema(json.dumps(schema), whitespace=whitespace)
    except (BuildError, LimitError):
        assume(False)
        raise


@pytest.mark.exhaustive
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, st.lists(instances, min_size=3, max_size=6))
def test_valid_instances_in_some_order_and_invalid_ones_in_none(
    schema: Any, values: list[Any]
) -> None:
    grammar = _grammar(schema, "compact")
    for value in values:
        try:
            expected = validates(schema, value)
        except Endless:
            continue
        texts = (json.dumps(one, separators=(",", ":")) for one in orders(value))
        accepted = [text for text in islice(texts, _ORDERS) if grammar.accepts(text)]
        if expected and any("can distinguish" in note.message for note in grammar.notes):
            continue  # not all arrays of unique items are accepted
        assert bool(accepted) == expected, (json.dumps(schema), value)


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, st.integers(0, 1_000))
def test_samples_validate(schema: Any, seed: int) -> None:
    grammar = _grammar(schema, "any")
    for text in samples(grammar, 4, seed=seed, longest=50):
        repeated: list[bool] = []

        def members(
            pairs: list[tuple[str, Any]], is_repeated: list[bool] = repeated
        ) -> dict[str, Any]:
            is_repeated.append(len(dict(pairs)) < len(pairs))
            return dict(pairs)

        value = json.loads(text, object_pairs_hook=members)
        if any(repeated) or re.search("[0-9][eE]", text):
            continue  # undeclared names may repeat; exponents may go beyond floats
        with suppress(Endless):
            assert validates(schema, value), (json.dumps(schema), text)
