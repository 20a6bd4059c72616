from __future__ import annotations

import pytest

from workbench.base.limits import Limits
from workbench.constraint.methods.proper.boundaries import missing_bytes
from workbench.constraint.methods.proper.guide_states import SAME_PIECE, Guesses
from workbench.constraint.methods.proper.live_edges import live_edges
from workbench.constraint.methods.proper.proper import RegularRows, is_completable
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

LACKING = [
    (b"a", 0, "a whole character"),
    (b"\xc3", 1, "the first of two"),
    (b"ab\xe2\x80", 1, "two of three"),
    (b"\xf0", 3, "one of four"),
    (b"\xf0\x9f\x98", 1, "three of four"),
    (b"\xf0\x9f\x98\x80", 0, "all four"),
    (b"\x80\x80", 0, "the rest of a character that began earlier"),
    (b"\xff", 0, "no byte of a character"),
]


@pytest.mark.parametrize(("token", "wanted", "reason"), LACKING)
def test_missing_bytes(token: bytes, wanted: int, reason: str) -> None:
    assert missing_bytes(Vocabulary([token])).tolist() == [wanted], reason


def rows_of(regex: str) -> RegularRows:
    bpe, dfa = Bpe.of(Vocabulary.load("builtin")), Grammar.from_regex(regex).dfa
    assert dfa is not None
    return RegularRows(dfa, live_edges(dfa, bpe, [Guesses.start]), Limits(seconds=60))


@pytest.mark.slow
@pytest.mark.parametrize("regex", ['"[^"]*"', "[é-ÿ]{2}", "(日|月)+x", "[^a]x"])
def test_shared_completions_equal_a_search(regex: str) -> None:
    """Every half token of every place, decided together and one by one."""
    rows = rows_of(regex)
    looked_at = 0
    for place in rows.live.positions:
        inside, anew = rows.rows(place)
        for mark, row in enumerate((inside, anew)):
            for token, target in rows._edges_from(place, mark):
                looked_at += 1
                alone = rows.is_coaccessible(target, token)
                assert alone == bool(row[token >> 5] >> (token & 31) & 1), (token, mark)
    assert looked_at


def test_tokens_after_which_no_text_continues() -> None:
    """A lead byte that always merges with what may follow it is in no encoding."""
    rows = rows_of('"[^"]*"')
    quote = rows.bpe.vocabulary.ids('"')[0]
    place = rows.after(rows.initial, b'"'), rows.guesses.take_one(Guesses.start, quote, 1)
    halves = list(rows._edges_from(place, SAME_PIECE))
    answers = {is_completable(rows.bpe, token, target[1]) for token, target in halves}
    assert answers == {True, False}
