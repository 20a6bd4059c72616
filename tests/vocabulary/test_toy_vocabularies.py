"""Toy vocabularies."""

from __future__ import annotations

import pytest

from workbench.base.errors import VocabularyError
from workbench.vocabulary.toy_vocabularies import (
    TOYS,
    all_bytes,
    bytes_of,
    named_toy,
    toy,
    words_of,
)


def test_toy_has_its_end_token_last() -> None:
    vocabulary = toy(["a", b"\xff"])
    assert vocabulary.tokens == (b"a", b"\xff", None)
    assert vocabulary.end == 2
    assert toy(["a"], end=False).end is None


def test_bytes_of_a_text() -> None:
    assert bytes_of("abba é").tokens == (b" ", b"a", b"b", b"\xa9", b"\xc3", None)
    assert len(all_bytes()) == 257
    assert all_bytes().ids("A") == [65]


def test_words_of_a_text() -> None:
    words = [b"to", b" to", b"be", b" be"]
    assert words_of("to be to").tokens == (b" ", b"b", b"e", b"o", b"t", *words, None)
    assert words_of("a b").tokens == (b" ", b"a", b"b", b" a", b" b", None)


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_vocabulary_is_found_by_its_name(name: str) -> None:
    assert named_toy(name).name.replace(" ", "-") == name


def test_figure_7() -> None:
    """Koo et al. 2024, Figure 7."""
    assert named_toy("figure-7").tokens == (b"a", b"b", b"bb", b"aaab", None)


def test_error_no_such_toy() -> None:
    with pytest.raises(VocabularyError, match="expected a toy vocabulary, not 'x'"):
        named_toy("x")


def test_empty_word_is_a_special_token() -> None:
    assert toy(["a", ""]).tokens[:2] == (b"a", None)
