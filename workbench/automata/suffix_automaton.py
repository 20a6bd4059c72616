"""The suffix automaton of a text: its edges for all substrings."""

from __future__ import annotations

import numpy as np

from workbench.automata.nfa import Ints
from workbench.base.kernels import inner, int64, njit

#: The columns of an edge while edges are made: the last one is the edge of its source before it.
_SOURCE, _LETTER, _TARGET, _BEFORE = range(4)
#: The rows of states: the longest proper ending of a state's pieces that is a state, the length
#: of its longest piece, and its latest edge.
_LINK, _LONGEST, _LATEST = range(3)

_NONE = -1


@njit(cache=True, nogil=True)
def suffix_automaton(letters: Ints) -> tuple[Ints, int]:
    """The edges (source, letter, target) of an automaton of all pieces, and how many states it has.

    State 0 is the beginning, every state an end. Letters are whole numbers from 0 on.

    Cost:   at most twice as many states as letters, and three times as many edges.
    Source: Blumer & others 1985, "The smallest automaton recognizing the subwords of a text".
    """
    count = len(letters)
    states, edges = np.empty((3, 2 * count + 1), np.int32), np.empty((3 * count + 1, 4), np.int32)
    places = 8
    while places < 2 * len(edges):
        places *= 2
    slots = np.full(places, _NONE, np.int32)
    states[_LINK, 0], states[_LONGEST, 0], states[_LATEST, 0] = _NONE, 0, _NONE
    size, made, last = int64(1), int64(0), int64(0)
    for letter in letters:
        here, last = last, size
        size += 1
        states[_LINK, last], states[_LATEST, last] = 0, _NONE
        states[_LONGEST, last] = states[_LONGEST, here] + 1
        while here >= 0 and slots[_slot(edges, slots, here, int64(letter))] == _NONE:
            made = _add(states, edges, slots, made, here, int64(letter), last)
            here = int64(states[_LINK, here])
        if here < 0:
            continue
        there = int64(edges[slots[_slot(edges, slots, here, int64(letter))], _TARGET])
        if states[_LONGEST, there] == states[_LONGEST, here] + 1:
            states[_LINK, last] = there
            continue
        twin = size
        size += 1
        states[_LINK, twin], states[_LATEST, twin] = states[_LINK, there], _NONE
        states[_LONGEST, twin] = states[_LONGEST, here] + 1
        made = _copy(states, edges, slots, made, there, twin)
        states[_LINK, there] = states[_LINK, last] = twin
        _redirect(states, edges, slots, here, int64(letter), there, twin)
    return edges[:made, :_BEFORE].copy(), size


@inner
def _add(
    states: Ints, edges: Ints, slots: Ints, made: int, source: int, letter: int, target: int
) -> int:
    """Write an edge; how many there are then."""
    slots[_slot(edges, slots, source, letter)] = made
    edges[made, _SOURCE], edges[made, _LETTER], edges[made, _TARGET] = source, letter, target
    edges[made, _BEFORE] = states[_LATEST, source]
    states[_LATEST, source] = made
    return made + 1


@inner
def _copy(states: Ints, edges: Ints, slots: Ints, made: int, source: int, twin: int) -> int:
    """Write all edges of a state for its twin too; how many edges there are then."""
    edge = states[_LATEST, source]
    while edge >= 0:
        letter, target = int64(edges[edge, _LETTER]), int64(edges[edge, _TARGET])
        made = _add(states, edges, slots, made, twin, letter, target)
        edge = edges[edge, _BEFORE]
    return made


@inner
def _redirect(
    states: Ints, edges: Ints, slots: Ints, here: int, letter: int, there: int, twin: int
) -> None:
    """Lead the letter's edges to the twin, from here on along the links as far as they met."""
    while here >= 0:
        found = slots[_slot(edges, slots, here, letter)]
        if edges[found, _TARGET] != there:
            break
        edges[found, _TARGET] = twin
        here = int64(states[_LINK, here])


@inner
def _slot(edges: Ints, slots: Ints, source: int, letter: int) -> int:
    """Where the edge of a state and letter is kept, or would be.

    One after the other through a state's edges took time quadratic in a text of many letters.
    """
    place = (source * 0x9E3779B1 ^ letter * 0x85EBCA77) & (len(slots) - 1)
    while slots[place] != _NONE:
        edge = slots[place]
        if edges[edge, _SOURCE] == source and edges[edge, _LETTER] == letter:
            break
        place = (place + 1) & (len(slots) - 1)
    return place
