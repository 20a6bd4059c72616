"""The forced suffix, checked against its definition on finite languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.decoding.worlds import FiniteConstraint
from workbench.decoding.forced_suffix import forced_suffix
from workbench.vocabulary.toy_vocabularies import toy

TEXTS = st.frozensets(
    st.text(st.sampled_from("ab"), max_size=6).map(str.encode), min_size=1, max_size=4
)
VOCABULARIES = st.sampled_from(
    [toy(["a", "b"]), toy(["a", "b", "ab", "aba", "bb"]), toy(["ab", "a", "b", "a"], end=False)]
)


@given(TEXTS, VOCABULARIES, st.data())
def test_the_tokens_of_a_forced_suffix(
    texts: frozenset[bytes], vocabulary: wb.Vocabulary, data: st.DataObject
) -> None:
    constraint = FiniteConstraint(vocabulary, texts)
    text = data.draw(st.sampled_from(sorted(texts)))
    state = text[: data.draw(st.integers(0, len(text)))]
    left = [other[len(state) :] for other in texts if other.startswith(state)]
    if vocabulary.end is None:  # the loop continues while it can
        left = [one for one in left if not any(o != one and o.startswith(one) for o in left)]
    found = forced_suffix(constraint, state)
    if len(left) > 1:
        assert found == ()
        return
    assert vocabulary.decode([i for i in found if i != vocabulary.end]) == left[0]
    assert (vocabulary.end in found[-1:]) is (vocabulary.end is not None)
    for token_id in found:
        assert token_id in constraint.mask(state)
        state = constraint.advance(state, token_id)


@pytest.mark.parametrize(
    ("pattern", "because"),
    [
        ("a{2000}", "the limit on states is reached"),
        ("(ab)*", "there is no end to it"),
        ("ab?", "it may end after a"),
        ("ab|aab", "a begins both"),
    ],
)
def test_texts_that_differ_have_no_forced_suffix(pattern: str, because: str) -> None:
    constraint = wb.compile(wb.Grammar.from_regex(pattern), toy(["a", "b", "ab", "aa"]))
    assert forced_suffix(constraint, constraint.initial) == (), because


def test_the_longest_tokens_are_taken() -> None:
    vocabulary = toy(["a", "b", "ab", "aba", "ba"])
    constraint = wb.compile(wb.Grammar.from_regex("abab"), vocabulary)
    assert forced_suffix(constraint, constraint.initial) == (3, 1, vocabulary.end)
