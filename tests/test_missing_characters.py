"""Literals and characters that no tokens produce are reported, and no others."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.advice import lint
from workbench.analysis.missing_characters import TokenCoverage
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary


def vocabulary(*tokens: str) -> Vocabulary:
    return Vocabulary((*(token.encode() for token in tokens), None), end=len(tokens), name="words")


WORDS = vocabulary("foo", "od", "b", "ar ", "x y", "é")

#   piece       held, why
PIECES = [
    ("foo",     True, "a token"),
    ("oo",      True, "inside a token"),
    ("oood",    True, "the end of one and another"),
    ("dfo",     True, "over a border"),
    ("foofoo",  True, "a token twice"),
    ("bb",      True, "a letter twice"),
    ("of",      True, "the end of one and the beginning of another"),
    ("ya",      True, "over a border, both cut"),
    ("oa",      True, "the end of foo and the beginning of ar"),
    ("dd",      False, "d ends od alone, and no token begins with it"),
    ("q",       False, "no token holds it"),
    ("",        True, "nothing to spell"),
]  # fmt: skip


def held_by_hand(tokens: list[bytes], piece: bytes, most: int) -> bool:
    """Whether some sequence of a few tokens contains the piece."""
    return any(
        piece in b"".join(row) for n in range(1, most + 1) for row in product(tokens, repeat=n)
    )


@pytest.mark.parametrize(("piece", "held", "why"), PIECES)
def test_pieces_of_a_small_vocabulary(piece: str, held: bool, why: str) -> None:
    assert TokenCoverage(WORDS).holds(piece.encode()) is held, why
    tokens = [token for token in WORDS.tokens if token]
    assert TokenCoverage(WORDS).holds(piece.encode()) == (
        not piece or held_by_hand(tokens, piece.encode(), 4)
    )


@pytest.mark.slow
@given(
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4, unique=True),
    st.text("abc", max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_holds_agrees_with_all_sequences(tokens: list[str], piece: str) -> None:
    coverage = TokenCoverage(vocabulary(*tokens))
    spelt = [token.encode() for token in tokens]
    # a piece of n bytes touches at most n tokens
    assert coverage.holds(piece.encode()) == (
        not piece or held_by_hand(spelt, piece.encode(), max(1, len(piece)))
    )


#   notation, text                                   pieces that cannot be spelled, and kinds
TOLD = [
    ("regex", "foo(bar |q+)",                        [("q", "unspellable")]),
    ("regex", "[qz]x y",                             [("[qz]", "unspellable")]),
    ("regex", "[bq]+é",                              [("[bq]", "partly_unspellable")]),
    ("regex", "(foo|b)*",                            []),
    ("kbnf",  "start ::= 'foo' | 'quux';",           [("'quux'", "unspellable")]),
    ("kbnf",  "start ::= 'b' #'[0-9]';",             [("[0-9]", "unspellable")]),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "message"), TOLD, ids=[text for _, text, _ in TOLD])
def test_error_unspellable_pieces(notation: str, text: str, message: list[tuple[str, str]]) -> None:
    grammar = Grammar.from_regex(text) if notation == "regex" else Grammar.from_kbnf(text)
    found = [one for one in lint(grammar, WORDS, seconds=0.1).advice if "spell" in one.kind]
    assert [(text[one.span.start : one.span.end], one.kind) for one in found] == message
    assert all("words" in one.message for one in found)


def test_a_vocabulary_of_all_bytes_spells_everything() -> None:
    everything = Vocabulary((*(bytes([byte]) for byte in range(256)), None), end=256)
    assert TokenCoverage(everything).covers_all
    assert lint(Grammar.from_regex("\U0001f600é\x00"), everything).advice == ()
