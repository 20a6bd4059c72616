"""The suffix automaton of a text: the smallest DFA of all its substrings (Blumer & others 1985)."""

from __future__ import annotations

import numpy as np

from workbench.automata.nfa import Ints
from workbench.base.kernels import inner, int64, njit

#: The columns of an edge during the construction; ``_BEFORE`` is the previous edge of the same
#: source (a linked list).
_SOURCE, _LETTER, _TARGET, _BEFORE = range(4)
#: The rows of states: the suffix link (the state of the longest suffix of its substrings that
#: belongs to another state), the length of its longest substring, and its latest edge.
_LINK, _LONGEST, _LATEST = range(3)

_NONE = -1


@njit()
def suffix_automaton(letters: Ints) -> tuple[Ints, int]:
    """The edges (source, letter, target) of the automaton, and its number of states.

    State 0 is initial, every state is final. Letters are integers from 0.

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
        made = _copied_state(states, edges, slots, made, there, twin)
        states[_LINK, there] = states[_LINK, last] = twin
        _redirect(states, edges, slots, here, int64(letter), there, twin)
    return edges[:made, :_BEFORE].copy(), size


@inner
def _add(
    states: Ints, edges: Ints, slots: Ints, made: int, source: int, letter: int, target: int
) -> int:
    """Write an edge; return the new number of edges."""
    slots[_slot(edges, slots, source, letter)] = made
    edges[made, _SOURCE], edges[made, _LETTER], edges[made, _TARGET] = source, letter, target
    edges[made, _BEFORE] = states[_LATEST, source]
    states[_LATEST, source] = made
    return made + 1


@inner
def _copied_state(states: Ints, edges: Ints, slots: Ints, made: int, source: int, twin: int) -> int:
    """Copy all edges of a state to its twin; return the new number of edges."""
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
    """Redirect edges from ``there`` to the twin, along the suffix links while they lead there."""
    while here >= 0:
        found = slots[_slot(edges, slots, here, letter)]
        if edges[found, _TARGET] != there:
            break
        edges[found, _TARGET] = twin
        here = int64(states[_LINK, here])


@inner
def _slot(edges: Ints, slots: Ints, source: int, letter: int) -> int:
    """The hash slot of the edge of a state and letter, or the free slot for it.

    Searching a state's list of edges took time quadratic in a text of many different letters.
    """
    place = (source * 0x9E3779B1 ^ letter * 0x85EBCA77) & (len(slots) - 1)
    while slots[place] != _NONE:
        edge = slots[place]
        if edges[edge, _SOURCE] == source and edges[edge, _LETTER] == letter:
            break
        place = (place + 1) & (len(slots) - 1)
    return place
