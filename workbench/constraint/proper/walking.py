"""Walking: the tokens a machine can read from a state, and the places they lead to; kernels.

In come a machine and a trie; out come the edges of the permissive automaton. What a tokenizer's
guide makes of each token does not depend on the machine, so it is looked up (``guesses``): a guess
read beside the state, byte by byte, took the walk twice as long.
"""

from __future__ import annotations

import numpy as np

from workbench.automata.lazy import UNKNOWN
from workbench.constraint.proper.tables import (
    NO_ROOM,
    WITHIN,
    Ints,
    Machine,
    Nodes,
    Places,
)
from workbench.kernel import njit
from workbench.vocabulary.trie import DEPTH_AT, DEPTHS, SEVERAL, SIZE_AT, TOKEN_AT

_UNKNOWN = UNKNOWN
_NONE, _ONE, _BYTES = np.uint64(0), np.uint64(1), np.uint64(255)
_DEPTH_AT, _DEPTHS = np.uint64(DEPTH_AT), np.uint64(DEPTHS - 1)
_TOKEN_AT, _SEVERAL, _SIZE_AT = np.uint64(TOKEN_AT), np.uint64(SEVERAL), np.uint64(SIZE_AT)


@njit(cache=True, nogil=True, _nrt=False)
def permissive(
    machine: Machine, nodes: Nodes, path: Ints, begin: int, count: int, tokens: Ints, states: Ints
) -> tuple[int, int]:  # fmt: skip
    """Write every token that can be read from a state, and the state after it.

    Returns where the walk stands and how many were written so far: at a node whose step is
    ``UNKNOWN`` the machine has to grow first.

    Shape: ``path`` (height + 1,), the state at its head; ``tokens`` and ``states`` (V,), room.
    """
    at, stop = np.uint64(begin), np.uint64(len(nodes.records))
    while at < stop:
        record = nodes.records[at]
        level = (record >> _DEPTH_AT) & _DEPTHS
        there = machine.table[path[level] * machine.width + machine.classes[record & _BYTES]]
        if there == _UNKNOWN:
            break
        if there < 0:
            at += record >> _SIZE_AT
            continue
        path[level + _ONE] = there
        token = (record >> _TOKEN_AT) & _SEVERAL
        if token == _SEVERAL:
            for k in range(nodes.first[at], nodes.first[at + _ONE]):
                tokens[count], states[count] = nodes.token_ids[k], there
                count += 1
        elif token != _NONE:
            tokens[count], states[count] = np.int32(token - _ONE), there
            count += 1
        at += _ONE
    return int(np.int64(at)), count


@njit(cache=True, nogil=True, _nrt=False)
def guided(
    places: Places, after: Ints, tokens: Ints, states: Ints, taken: Ints, targets: Ints, ends: Ints
) -> int:  # fmt: skip
    """Of some edges write those a guide takes, the places and states they lead to; how many.

    A place that is met for the first time is numbered.

    Shape: ``after`` (V,) the guess after each token, −1 where there is none.
    """
    kept = 0
    for i in range(len(tokens)):
        guess = after[tokens[i]]
        if guess < 0:
            continue
        taken[kept], ends[kept] = tokens[i], states[i]
        if places.within[guess]:
            targets[kept] = WITHIN
        else:
            number = places.numbers[states[i], guess]
            targets[kept] = number if number >= 0 else _numbered(places, states[i], guess)
        kept += 1
    return kept


@njit(cache=True, nogil=True, _nrt=False)
def _numbered(places: Places, state: int, guess: int) -> int:
    number = np.int32(places.met[0])
    if number == len(places.states):
        return NO_ROOM
    places.met[0] = number + 1
    places.states[number], places.guesses[number] = state, guess
    places.numbers[state, guess] = number
    return int(number)
