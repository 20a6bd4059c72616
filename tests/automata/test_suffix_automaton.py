"""The suffix automaton, compared with the substrings of its text."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.automata.substrings import suffix_automaton

TEXTS = st.lists(st.integers(0, 3), max_size=24) | st.lists(st.integers(0, 40_000), max_size=24)


@given(TEXTS)
def test_its_paths_are_the_substrings(text: list[int]) -> None:
    edges, size = suffix_automaton(np.array(text, np.int32))
    assert size <= max(1, 2 * len(text))
    assert len(edges) <= 3 * len(text)
    steps = {(source, letter): target for source, letter, target in edges.tolist()}
    assert len(steps) == len(edges), "one edge for each state and letter"
    positions = range(len(text) + 1)
    substrings = {tuple(text[begin:end]) for begin in positions for end in positions}
    paths: set[tuple[int, ...]] = {()}
    here: dict[tuple[int, ...], int] = {(): 0}
    while here:
        here = {
            (*path, letter): steps[state, letter]
            for path, state in here.items()
            for letter in set(text)
            if (state, letter) in steps
        }
        paths |= here.keys()
    assert paths == substrings


def test_a_long_text_of_different_letters() -> None:
    edges, size = suffix_automaton(np.arange(20_000, dtype=np.int32))
    assert (size, len(edges)) == (20_001, 39_999)
