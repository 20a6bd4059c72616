"""Strings of a pattern with large bounds of their length, which are counted in blocks."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest

from workbench.analysis.difference import equivalent
from workbench.base.errors import LimitError
from workbench.grammar.grammar import Grammar
from workbench.schema import counting, write_values
from workbench.schema.string_sets import StringSet

PATTERNS = ["aa", "^a+(b+a)*$", "^ab", "b$", "^(aab?)*$", "^(?!b*$)", "^a{3,}b?$"]
BOUNDS = [(0, 6), (0, 5), (3, 7), (4, 4), (0, 3), (1, None), (5, None), (2, 3), (7, 7)]


def grammar(pattern: str, low: int, high: int | None) -> Grammar:
    bounds = {"minLength": low} | ({} if high is None else {"maxLength": high})
    asked = {"type": "string", "pattern": pattern, **bounds}
    return Grammar.from_json_schema(asked, whitespace="compact")


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_string(
    pattern: str, low: int, high: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = grammar(pattern, low, high)
    monkeypatch.setattr(counting, "_CHARACTERS", 2)
    monkeypatch.setattr(counting, "_BLOCKS", 2)
    monkeypatch.setattr(write_values, "needs_blocks", lambda texts: texts.content is not None)
    counted = grammar(pattern, low, high)
    for length in range(9):
        for letters in product("ab", repeat=length):
            text = "".join(letters)
            fits = low <= length <= (length if high is None else high)
            fits = fits and re.search(pattern, text) is not None
            assert plain.accepts(f'"{text}"') == counted.accepts(f'"{text}"') == fits, text
    assert equivalent(plain, counted)


@pytest.mark.parametrize("high", [10_000, 16 * 32 * 9, 16 * 32 * 9 - 1, 65_535])
@pytest.mark.parametrize("low", [0, 300, 16 * 32 + 1])
@pytest.mark.parametrize(
    ("pattern", "text"),
    [("^[a-z]+(-[a-z]+)*$", "ab-cde-f"), ("é", "xé"), (r"\S", " "), ("^https?://", "https://x")],
)
def test_lengths_at_the_bounds(pattern: str, text: str, low: int, high: int) -> None:
    made = grammar(pattern, low, high)
    for length in (0, 1, low - 1, low, low + 1, 16, high - 1, high, high + 1):
        if length < 0:
            continue
        word = text + "z" * (length - len(text)) if length >= len(text) else text[:length]
        fits = low <= length <= high and re.search(pattern, word) is not None
        for literal in {json.dumps(word), json.dumps(word, ensure_ascii=False)}:
            assert made.accepts(literal) == fits, (length, literal[:40])


def test_a_string_in_two_places_is_written_once() -> None:
    held = {"type": "string", "pattern": "aa", "maxLength": 20_000}
    once = Grammar.from_json_schema({"type": "object", "properties": {"a": held}}).tree
    twice = Grammar.from_json_schema({"type": "object", "properties": {"a": held, "b": held}}).tree
    assert once is not None
    assert twice is not None
    assert len(twice.rules) <= len(once.rules) + 2


def test_only_long_strings_of_small_patterns_are_counted_in_blocks() -> None:
    long = StringSet.lengths(0, 5_000)
    assert counting.needs_blocks(StringSet.pattern("foo") & long)
    assert not counting.needs_blocks(StringSet.pattern("foo") & StringSet.lengths(0, 100))
    assert not counting.needs_blocks(long)
    for name in ("hostname", "uri"):
        texts = StringSet.format(name)
        assert texts is not None
        assert not counting.needs_blocks(texts & long)


@pytest.mark.parametrize("pattern", ["a.{9}b", "a.{4}b"])
def test_patterns_with_many_states_are_refused_with_a_pointer(pattern: str) -> None:
    asked = {"properties": {"x": {"type": "string", "maxLength": 9_000, "pattern": pattern}}}
    with pytest.raises(LimitError, match="/properties/x/maxLength: "):
        Grammar.from_json_schema(asked)
