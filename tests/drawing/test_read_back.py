"""read_back(): UTF-8 chains become their code points, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.automata.build import regex_dfa
from workbench.automata.thompson import thompson
from workbench.base.source import Span
from workbench.drawing.edge_labels import byte_edges, folded, joined, read_back
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import Alternate, Characters, Concat

POINTS = st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF) | st.integers(0, 0x17F)
SETS = st.lists(
    st.tuples(POINTS, POINTS).map(lambda ends: (min(ends), max(ends))),
    min_size=1,
    max_size=5,
).map(lambda found: _without_surrogates(joined(found)))


def _without_surrogates(ranges: Ranges) -> Ranges:
    parts = [(low, min(high, 0xD7FF)) for low, high in ranges]
    parts += [(max(low, 0xE000), high) for low, high in ranges]
    return tuple((low, high) for low, high in joined(p for p in parts if p[0] <= p[1]))


@given(SETS)
def test_a_set_of_characters_comes_back_from_an_nfa(ranges: Ranges) -> None:
    nfa = thompson(Characters(ranges, Span(0, 0)))
    read = read_back(nfa.edges, [nfa.initial], nfa.finals)
    (final,) = nfa.finals
    assert read.characters == {(nfa.initial, final): joined(ranges)}
    assert not read.raw
    assert set(read.states) == {nfa.initial, final}


@pytest.mark.slow
@given(SETS)
def test_a_set_of_characters_comes_back_from_a_dfa(ranges: Ranges) -> None:
    dfa = regex_dfa(Characters(ranges, Span(0, 0)))
    finals = {state for state in range(len(dfa)) if dfa.finals[state]}
    read = read_back(byte_edges(dfa.classes, dfa.table), [dfa.initial], finals)
    assert list(read.characters.values()) == [joined(ranges)]
    assert folded(dfa).characters == read.characters
    assert set(folded(dfa).states) == set(read.states)
    inside = {state for passed in read.between.values() for state in passed}
    assert inside | set(read.states) == set(range(len(dfa)))


Row = list[tuple[int, int, int]]

#   rows                                                       raw edges                because
BROKEN: list[tuple[list[Row], dict[tuple[int, int], Ranges], str]] = [
    ([[(0x80, 0x80, 1)], []],                                  {(0, 1): ((0x80, 0x80),)},
     "no character begins so"),
    ([[(0xFF, 0xFF, 1)], []],                                  {(0, 1): ((0xFF, 0xFF),)},
     "no character holds this byte"),
    ([[(0xC3, 0xC3, 1)], []],                                  {(0, 1): ((0xC3, 0xC3),)},
     "the second byte is missing"),
    ([[(0xC3, 0xC3, 1)], [(0x61, 0x61, 2)], []],               {(0, 1): ((0xC3, 0xC3),)},
     "a letter where the second byte should be"),
    ([[(0xE2, 0xE2, 1)], [(0x82, 0x82, 2)], []],               {(0, 1): ((0xE2, 0xE2),),
                                                                (1, 2): ((0x82, 0x82),)},
     "the third byte is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "raw", "because"), BROKEN, ids=[row[2] for row in BROKEN])
def test_bytes_that_are_no_characters_stay_bytes(
    rows: list[Row], raw: dict[tuple[int, int], Ranges], because: str
) -> None:
    assert read_back(rows, [0], {len(rows) - 1}).raw == raw, because


def test_nothing_happens_inside_a_character() -> None:
    rows: list[Row] = [[(0xC3, 0xC3, 1)], [(0xA9, 0xA9, 2)], []]
    assert read_back(rows, [0], {2}).characters == {(0, 2): ((0xE9, 0xE9),)}
    assert read_back(rows, [0], {1, 2}).raw == {(0, 1): ((0xC3, 0xC3),), (1, 2): ((0xA9, 0xA9),)}


def test_all_of_unicode_is_fast_and_one_label() -> None:
    everything: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
    dfa = regex_dfa(Characters(everything, Span(0, 0)))
    read = read_back(byte_edges(dfa.classes, dfa.table), [0], set(dfa.finals.nonzero()[0].tolist()))
    assert list(read.characters.values()) == [everything]


@pytest.mark.slow
@given(SETS, SETS)
def test_both_algorithms_find_the_same_states_inside(left: Ranges, right: Ranges) -> None:
    span = Span(0, 0)
    parts = (Characters(left, span), Characters(right, span))
    dfa = regex_dfa(Alternate((Concat(parts, span), parts[1]), span))
    finals = {state for state in range(len(dfa)) if dfa.finals[state]}
    read = read_back(byte_edges(dfa.classes, dfa.table), [dfa.initial], finals)
    other = folded(dfa)
    assert other.characters == read.characters
    assert {k: set(v) for k, v in other.between.items()} == {
        k: set(v) for k, v in read.between.items()
    }
