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
    size, edge_count, last = int64(1), int64(0), int64(0)
    for letter in letters:
        state, last = last, size
        size += 1
        states[_LINK, last], states[_LATEST, last] = 0, _NONE
        states[_LONGEST, last] = states[_LONGEST, state] + 1
        while state >= 0 and slots[_slot(edges, slots, state, int64(letter))] == _NONE:
            edge_count = _add(states, edges, slots, edge_count, state, int64(letter), last)
            state = int64(states[_LINK, state])
        if state < 0:
            continue
        next_state = int64(edges[slots[_slot(edges, slots, state, int64(letter))], _TARGET])
        if states[_LONGEST, next_state] == states[_LONGEST, state] + 1:
            states[_LINK, last] = next_state
            continue
        twin = size
        size += 1
        states[_LINK, twin], states[_LATEST, twin] = states[_LINK, next_state], _NONE
        states[_LONGEST, twin] = states[_LONGEST, state] + 1
        edge_count = _copied_state(states, edges, slots, edge_count, next_state, twin)
        states[_LINK, next_state] = states[_LINK, last] = twin
        _redirect(states, edges, slots, state, int64(letter), next_state, twin)
    return edges[:edge_count, :_BEFORE].copy(), size


@inner
def _add(
    states: Ints, edges: Ints, slots: Ints, edge_count: int, source: int, letter: int, target: int
) -> int:
    """Write an edge; return the new number of edges."""
    slots[_slot(edges, slots, source, letter)] = edge_count
    edges[edge_count, _SOURCE], edges[edge_count, _LETTER], edges[edge_count, _TARGET] = (
        source,
        letter,
        target,
    )
    edges[edge_count, _BEFORE] = states[_LATEST, source]
    states[_LATEST, source] = edge_count
    return edge_count + 1


@inner
def _copied_state(
    states: Ints, edges: Ints, slots: Ints, edge_count: int, source: int, twin: int
) -> int:
    """Copy all edges of a state to its twin; return the new number of edges."""
    edge = states[_LATEST, source]
    while edge >= 0:
        letter, target = int64(edges[edge, _LETTER]), int64(edges[edge, _TARGET])
        edge_count = _add(states, edges, slots, edge_count, twin, letter, target)
        edge = edges[edge, _BEFORE]
    return edge_count


@inner
def _redirect(
    states: Ints, edges: Ints, slots: Ints, state: int, letter: int, old_target: int, twin: int
) -> None:
    """Redirect edges from ``old_target`` to the twin, along the suffix links that share it."""
    while state >= 0:
        edge = slots[_slot(edges, slots, state, letter)]
        if edges[edge, _TARGET] != old_target:
            break
        edges[edge, _TARGET] = twin
        state = int64(states[_LINK, state])


@inner
def _slot(edges: Ints, slots: Ints, source: int, letter: int) -> int:
    """The hash slot of the edge of a state and letter, or the free slot for it.

    Searching a state's list of edges took time quadratic in a text of many different letters.
    """
    slot = (source * 0x9E3779B1 ^ letter * 0x85EBCA77) & (len(slots) - 1)
    while slots[slot] != _NONE:
        edge = slots[slot]
        if edges[edge, _SOURCE] == source and edges[edge, _LETTER] == letter:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot
