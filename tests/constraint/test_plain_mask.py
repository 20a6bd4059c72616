"""The masks of the exact engine are those of the plain walk over plain recognisers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.laws.test_mask_laws import ended, grammar_of, slow, tokens, trees
from tests.oracles.plain_recognisers import recogniser_of
from workbench.constraint import plain_mask as plain_mask_module
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.plain_mask import Recogniser, plain_mask
from workbench.grammar.gallery import Example, load_gallery
from workbench.syntax.grammar_tree import GrammarTree

#: All bytes, and some of the embedded model's tokens.
_WORDS = wb.Vocabulary.load("builtin").tokens[256:6000:15]
VOCABULARY = wb.Vocabulary(
    (*(bytes((b,)) for b in range(256)), *_WORDS, None), end=256 + len(_WORDS)
)

_PLACES = 12


def along(
    grammar: wb.Grammar, vocabulary: wb.Vocabulary, picks: Iterator[int]
) -> Iterator[tuple[wb.TokenMask, wb.TokenMask]]:
    """Both masks before each token of a walk that picks any of the allowed tokens."""
    exact = automaton(grammar, vocabulary, wb.Limits())
    plain: Recogniser = recogniser_of(grammar, vocabulary)
    state, plain_state = exact.initial, plain.initial
    for pick in picks:
        mask = exact.mask(state)
        yield mask, plain_mask(plain, vocabulary, plain_state)
        choices = mask.without(vocabulary.ends).ids
        if not len(choices):
            return
        token_id = int(choices[pick % len(choices)])
        state = exact.advance(state, token_id)
        for byte in vocabulary.tokens[token_id] or b"":
            plain_state = plain.step(plain_state, byte)


def test_the_plain_form_is_short() -> None:
    """CONTRIBUTING shows it first, because it is read in a few minutes."""
    assert len(inspect.getsource(plain_mask_module).splitlines()) <= 80


@pytest.mark.parametrize("example", load_gallery().values(), ids=lambda example: example.name)
def test_masks_of_the_gallery_are_those_of_the_plain_walk(example: Example) -> None:
    grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
    for seed in (1, 7):
        picks = iter([(seed * 7919 * (step + 1)) % 1013 for step in range(_PLACES)])
        for exact, plain in along(grammar, VOCABULARY, picks):
            assert exact == plain


@pytest.mark.exhaustive
@settings(slow, max_examples=200)
@given(trees(), tokens, st.lists(st.integers(0, 99), min_size=4, max_size=4), st.data())
def test_masks_of_random_grammars_are_those_of_the_plain_walk(
    tree: GrammarTree, more: list[bytes], picks: list[int], data: st.DataObject
) -> None:
    """Most bytes are no tokens, so that there are dead ends."""
    vocabulary = ended((b"a", b"bb", b"c", *more), data)
    try:
        compared = list(along(grammar_of(tree), vocabulary, iter(picks)))
    except (wb.VocabularyError, wb.LimitError):  # no text in these tokens; too many to search
        return
    assert all(exact == plain for exact, plain in compared)
