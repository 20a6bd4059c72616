"""Live edges against their definition, worked out by brute force."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import cases, of_case, random_rules, toy
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.guide_states import NEW_PIECE, SAME_PIECE, Guesses
from workbench.constraint.methods.proper.live_edges import Live, distinct, live_edges
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

#: Source, mark, token, target; a place is a state and a guess.
Edge = tuple[tuple[int, int], int, int, tuple[int, int]]


def brute_force(dfa: Dfa, vocabulary: Vocabulary) -> tuple[set[Edge], set[Edge]]:
    """All edges of the places that are reached, and those that are live: the fixpoint itself."""
    bpe = Bpe.of(vocabulary)
    guesses = Guesses.of(bpe)
    places, edges = [(dfa.initial, guesses.start)], set()
    for state, guess in places:  # grows while it is read
        for token, text in enumerate(vocabulary.tokens):
            there = DEAD if text is None else dfa.run(text, state)
            for mark in (SAME_PIECE, NEW_PIECE):
                after = guesses.take_one(guess, token, mark)
                if there == DEAD or after < 0:
                    continue
                edges.add(((state, guess), mark, token, (there, after)))
                if (there, after) not in places:
                    places.append((there, after))
    live: set[Edge] = set()
    while True:
        more = {
            edge
            for edge in edges - live
            if (dfa.finals[edge[3][0]] and guesses.may_end(edge[3][1]))
            or any(
                other[0] == edge[3] and (other[1] == NEW_PIECE or bpe.pair_ok(edge[2], other[2]))
                for other in live
            )
        }
        if not more:
            return edges, live
        live |= more


def told(found: Live) -> tuple[set[tuple[tuple[int, int], int, int]], int]:
    rows = {
        (place, mark, token)
        for place, number in found.positions.items()
        for mark in (SAME_PIECE, NEW_PIECE)
        for token in range(len(found.bpe.vocabulary))
        if found.bits(number, mark)[token >> 5] >> (token & 31) & 1
    }
    return rows, found.edge_count


SHAPES = ("(a|b)*", "a*b*", "(ab|ba)*b?", "a(a|b)*b", "(aab|b)*a?", "ab", "(a|bb){0,3}")


@pytest.mark.parametrize("seed", range(20))
def test_random_tables(seed: int) -> None:
    vocabulary = toy("ab", random_rules(random.Random(seed), 6))
    for regex in SHAPES:
        dfa = dfa_of(regex)
        edges, live = brute_force(dfa, vocabulary)
        bpe = Bpe.of(vocabulary)
        found = live_edges(dfa, bpe, [Guesses.start])
        assert told(found) == ({edge[:3] for edge in live}, len(edges))
        assert len(found.dead) == len(edges) - len(live)


@pytest.mark.parametrize(
    "case",
    [case for case in cases("proper_pretokenized.json") if len(case["merges"]) < 4],
    ids=lambda case: case["id"],
)
def test_tables_with_a_pre_tokenizer(case: dict[str, Any]) -> None:
    vocabulary = of_case(case)
    dfa = dfa_of(case["regex"])
    edges, live = brute_force(dfa, vocabulary)
    bpe = Bpe.of(vocabulary)
    found, guesses = live_edges(dfa, bpe, [Guesses.start]), Guesses.of(bpe)
    if not bpe.words:
        assert told(found) == ({edge[:3] for edge in live}, len(edges))
        return
    # edges that depend on more than a base, or lead to such edges, are decided on demand
    rows, _ = told(found)
    undecided = {
        (place, mark, token)
        for place, number in found.positions.items()
        for mark in (SAME_PIECE, NEW_PIECE)
        for token in found.edges[mark][number].undecided[0].tolist()
    }
    wanted = {
        ((state, guesses.base(guess)), mark, token)
        for (state, guess), mark, token, _ in live
        if guesses.separate[token]
    }
    assert rows <= wanted
    assert {edge for edge in wanted if edge[0] in found.positions} <= rows | undecided


def test_error_too_many_positions() -> None:
    with pytest.raises(LimitError, match="states"):
        live_edges(dfa_of("a{9}"), Bpe.of(toy("a", [])), [0], Limits(states=5))


def test_error_rows_too_large() -> None:
    bpe = Bpe.of(Vocabulary.load("builtin"))
    with pytest.raises(LimitError, match="megabytes"):
        live_edges(dfa_of("[a-z]{0,1500}"), bpe, [Guesses.start], Limits(megabytes=1, seconds=30))


def test_distinct_values_are_sorted() -> None:
    assert distinct(np.array([7, -1, 7, 3], np.int32)) == [-1, 3, 7]
    assert distinct(np.array([], np.int32)) == []
