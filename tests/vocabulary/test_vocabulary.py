"""Vocabulary: accepted arguments, and error messages."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.compile import compile
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

LETTERS = [b"a", b"\xc3\xa9", b"a\xc3\xa9"]


@pytest.mark.parametrize(
    "merges",
    [
        pytest.param([(b"a", b"\xc3\xa9")], id="bytes"),
        pytest.param([("a", "é")], id="text, read as UTF-8"),
        pytest.param([["a", "é"]], id="lists, as JSON has them"),
        pytest.param(iter([(b"a", "é")]), id="an iterator, which can be read only once"),
    ],
)
def test_merges_however_they_are_written(merges: Any) -> None:
    vocabulary = Vocabulary(LETTERS, merges=merges)
    assert vocabulary.tokenizer.merges == [(b"a", b"\xc3\xa9")]
    assert Bpe.of(vocabulary).encode("aéaaé") == [2, 0, 2]
    assert Bpe.of(vocabulary).merges == vocabulary.tokenizer.merges


def test_of_two_equal_rules_the_later_counts() -> None:
    """As in tokenizers, whose table of rules is filled in their order."""
    tokens = [b"a", b"b", b"c", b"ab", b"bc"]
    vocabulary = Vocabulary(tokens, merges=[(b"a", b"b"), (b"b", b"c"), (b"a", b"b")])
    assert Bpe.of(vocabulary).encode("abc") == [0, 4]


@pytest.mark.parametrize(
    ("end", "ends"),
    [(None, ()), (0, (0,)), (np.int64(2), (2,)), ((), ()), ([2, 0, 2], (2, 0)), (iter((1,)), (1,))],
)
def test_end_tokens_keep_their_order(end: Any, ends: tuple[int, ...]) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"c"], end)
    assert vocabulary.ends == ends
    assert vocabulary.end == (ends[0] if ends else None)
    assert vocabulary.special == {*ends}
    assert [i for i, token in enumerate(vocabulary.tokens) if token is None] == sorted(ends)
    copied = pickle.loads(pickle.dumps(vocabulary))
    assert (copied.ends, copied.end, copied.tokens) == (ends, vocabulary.end, vocabulary.tokens)


def made(tokens: Any, **rest: Any) -> Callable[[], Vocabulary]:
    return lambda: Vocabulary(tokens, **rest)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (made([]), "at least one token"),
        (made(["a"]), "expected a sequence of bytes or None as 'tokens'"),
        (made([b"a"], end=1), "special token id 1 is not below 1"),
        (made([b"a"], end="a"), "or None as 'end', not str: 'a'"),
        (made([b"a"], end=(0, 1)), "special token id 1 is not below 1"),
        (made([b"a"], merges=["a a"]), "of sequences or None as 'merges'"),
        (made([b"a"], merges=[(0, 0)]), r"as a pair of tokens, not \(0, 0\)"),
        (made([b"a"], merges=[(b"a",)]), "as a pair of tokens"),
    ],
)
def test_error_for_a_wrong_argument(make: Callable[[], Vocabulary], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        make()


@pytest.mark.parametrize("method", ["automaton", "composed", "online", "domino"])
def test_empty_token_is_never_allowed(method: str) -> None:
    vocabulary = Vocabulary([b"a", b"", b"aa", b"b"], end=3)
    constraint = compile(Grammar.from_regex("a*"), vocabulary, method)
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 2, 3]
    assert vocabulary.decode([0, 1, 2]) == b"aaa"
    with pytest.raises(TokenNotAllowed):
        constraint.advance(constraint.initial, 1)


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        (b"abc", 0, 2),  # the longest of a, ab and abcd that occurs
        (b"abcd", 0, 3),
        (b"abcd", 2, None),
        (b"xab", 1, 2),
        (b"a", 1, None),  # no bytes after the end
    ],
)
def test_the_longest_token_at_a_place(data: bytes, place: int, found: int | None) -> None:
    vocabulary = Vocabulary((b"a", b"b", b"ab", b"abcd", b"ab", b"<end>"), end=5)
    assert vocabulary.longest_at(data, place) == found
    assert vocabulary.longest == 4
