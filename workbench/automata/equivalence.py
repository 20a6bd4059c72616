"""Equality of languages: two machines in, a text that tells them apart out."""

from __future__ import annotations

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.explore import nothing
from workbench.automata.operations import joint_classes


def witness(left: Dfa, right: Dfa) -> bytes | None:
    """The shortest text exactly one of two machines accepts; None if there is none.

    Among the shortest it is the first by bytes.

    Cost: at most |Q left| × |Q right| pairs, walked breadth first.
    """
    classes, pairs = joint_classes(left, right)
    symbols = [classes.tolist().index(c) for c in range(len(pairs))]
    start = (left.initial, right.initial)
    came_from: dict[tuple[State, State], tuple[tuple[State, State], int]] = {}
    seen = {start, (DEAD, DEAD)}
    waiting = [start]
    for here in waiting:  # grows while it is read
        if _accepts(left, here[0]) != _accepts(right, here[1]):
            return _text(here, came_from)
        for symbol, (a, b) in zip(symbols, pairs, strict=True):
            there = (_step(left, here[0], a), _step(right, here[1], b))
            if there not in seen:
                seen.add(there)
                came_from[there] = (here, symbol)
                waiting.append(there)
    return None


def equivalent(left: Dfa, right: Dfa) -> bool:
    """Whether two machines accept the same texts."""
    return witness(left, right) is None


def shortest(dfa: Dfa) -> bytes | None:
    """The shortest text a machine accepts, the first by bytes; None if there is none."""
    return witness(dfa, nothing(len(dfa.classes)))


def _accepts(dfa: Dfa, state: State) -> bool:
    return state != DEAD and bool(dfa.finals[state])


def _step(dfa: Dfa, state: State, its_class: int) -> State:
    return DEAD if state == DEAD else int(dfa.table[state, its_class])


def _text(
    place: tuple[State, State],
    came_from: dict[tuple[State, State], tuple[tuple[State, State], int]],
) -> bytes:
    symbols: list[int] = []
    while place in came_from:
        place, symbol = came_from[place]
        symbols.append(symbol)
    return bytes(reversed(symbols))
