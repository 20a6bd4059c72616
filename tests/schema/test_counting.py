"""Lengths of long strings and arrays, at the limits of bounds and of blocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar
from workbench.schema.counting import BLOCK

#: Longer texts take seconds to read.
_MAX_READ = 70_000
#: The least and the largest length.
BOUNDS = [
    (0, 257),
    (0, 5 * BLOCK),
    (3, 5 * BLOCK + 2),
    (0, 65_535),
    (BLOCK**2, 2 * BLOCK**2 + 70),
    (0, 1_000_000),
    (300, None),
    (5 * BLOCK, None),
    (300, 300),
    (5 * BLOCK, 6 * BLOCK),
    (257, 258),
]


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_lengths_of_strings(low: int, high: int | None) -> None:
    schema = {"type": "string", "minLength": low} | ({} if high is None else {"maxLength": high})
    _check_lengths(schema, low, high, lambda length: json.dumps("x" * length))


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_lengths_of_strings_of_one_class(low: int, high: int | None) -> None:
    schema = {"type": "string", "pattern": "^[xé]*$", "minLength": low}
    schema |= {} if high is None else {"maxLength": high}
    _check_lengths(
        schema, low, high, lambda length: json.dumps("x" * (length - 1) + "é" * (length > 0))
    )
    grammar = Grammar.from_json_schema(schema)
    assert not grammar.is_prefix(b'"xy')


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_lengths_of_arrays(low: int, high: int | None) -> None:
    schema = {"items": {"type": "integer"}, "minItems": low}
    schema |= {"type": "array"} | ({} if high is None else {"maxItems": high})
    _check_lengths(schema, low, high, lambda length: json.dumps([7] * length))


def _check_lengths(
    schema: dict[str, Any], low: int, high: int | None, text: Callable[[int], str]
) -> None:
    """Checks that exactly the lengths within the bounds are accepted."""
    grammar = Grammar.from_json_schema(schema, limits=Limits(seconds=20))  # texts of 200,000 bytes
    edges = {0, 1, low - 1, low, low + 1, *(BLOCK * k + d for k in range(7) for d in (-1, 0, 1))}
    edges |= {BLOCK**2 + d for d in (-1, 0, 1)}
    edges |= {high - 1, high, high + 1} if high is not None else {low + 1_000}
    for length in sorted(edge for edge in edges if 0 <= edge <= _MAX_READ):
        expected = low <= length and (high is None or length <= high)
        assert grammar.accepts(text(length)) == expected, length


@pytest.mark.parametrize("character", ["é", "\n", '"', "\\", "\x01", "\uffff", "𝄞", "日"])
def test_every_encoding_is_one_character(character: str) -> None:
    grammar = Grammar.from_json_schema({"type": "string", "minLength": 300, "maxLength": 300})
    for is_ascii in (True, False):
        assert grammar.accepts(json.dumps(character * 300, ensure_ascii=is_ascii))
        assert not grammar.accepts(json.dumps(character * 299, ensure_ascii=is_ascii))
        assert not grammar.accepts(json.dumps(character * 301, ensure_ascii=is_ascii))


def test_a_lone_surrogate_is_not_a_character() -> None:
    grammar = Grammar.from_json_schema({"type": "string", "maxLength": 300})
    assert grammar.accepts(r'"\uD834\uDD1E"')
    assert not grammar.accepts(r'"\uD834"')
    assert not grammar.accepts(r'"\uDD1E"')
