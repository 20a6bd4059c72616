"""Packed is to its users the tuple of what it packs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.vocabulary.disk_cache import Packed
from workbench.vocabulary.vocabulary import Vocabulary

STRINGS = st.lists(st.none() | st.binary(max_size=5)).map(tuple)


@pytest.mark.slow
@given(STRINGS)
def test_it_is_the_tuple(strings: tuple[bytes | None, ...]) -> None:
    packed = Packed.of(strings)
    assert len(packed) == len(strings)
    assert [packed[i] for i in range(-len(strings), len(strings))] == [*strings, *strings]
    assert packed == strings == packed
    assert packed == Packed.of(packed) == Packed.of(strings)
    assert tuple(packed) == strings
    assert packed[1:3] == strings[1:3]
    assert packed[0:0] == ()
    assert [packed[i] for i in range(len(strings))] == list(strings), "once all are made too"
    assert all(string in packed for string in strings)
    assert b"longer than any" not in packed
    with pytest.raises(IndexError):
        packed[len(strings)]


@pytest.mark.slow
@given(STRINGS, STRINGS)
def test_it_differs_where_tuples_differ(
    left: tuple[bytes | None, ...], right: tuple[bytes | None, ...]
) -> None:
    assert (Packed.of(left) == Packed.of(right)) == (left == right)
    assert (Packed.of(left) == right) == (left == right)


@pytest.mark.slow
@given(STRINGS)
def test_strings_of_a_length(strings: tuple[bytes | None, ...]) -> None:
    packed = Packed.of(strings)
    for length in (1, 2):
        rows = [row.tobytes() for row in packed.of_length(length)]
        assert rows == [s for s in strings if s is not None and len(s) == length]


#   text     lengths        why it is refused
WRONG = [
    (b"abc", [1, 1],        "bytes left over"),
    (b"abc", [2, 2],        "bytes missing"),
    (b"abc", [3, -2],       "no length"),
    (b"abc", [],            "nothing to hold them"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lengths", "reason"), WRONG, ids=[w[2] for w in WRONG])
def test_error_arrays_that_do_not_fit(text: bytes, lengths: list[int], reason: str) -> None:
    with pytest.raises(ValueError, match="do not fit together"):
        Packed(np.frombuffer(text, np.uint8), np.array(lengths, np.int32))


def test_a_vocabulary_of_packed_tokens_is_the_same() -> None:
    tokens = (b"a", None, b"bc", b"a", b"\xff")
    plain = Vocabulary(tokens, end=1)
    packed = Vocabulary(Packed.of(tokens), end=1)
    assert isinstance(packed.tokens, Packed)
    for field in ("tokens", "special", "end", "single_bytes", "ids_of"):
        assert getattr(packed, field) == getattr(plain, field), field
    assert packed.trie.token_ids.tolist() == plain.trie.token_ids.tolist()
    assert packed.decode([2, 1, 0]) == b"bca"
    special = Vocabulary(Packed.of(tokens), end=2, special=(0,))
    assert special.tokens == (None, None, None, b"a", b"\xff")


def test_empty_packed_token_is_special() -> None:
    vocabulary = Vocabulary(Packed.of((b"a", b"", b"b")))
    assert [*vocabulary.tokens] == [b"a", None, b"b"]
    assert vocabulary.special == {1}
