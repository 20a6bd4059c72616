"""Dotted rules: what a state to return to is called, read off the automaton of its rule.

In come a ``Network`` and a state; out comes a text such as ``S → a S • b``: the shortest
way to it and the shortest way on. For rules with choices it is one example of the many.
"""

from __future__ import annotations

from collections import deque

from workbench.automata.dfa import DEAD, State
from workbench.pushdown.network import CALLS, Network

#: The longest piece shown on one side of the dot, in symbols.
_SHOWN = 8


def dotted(network: Network, state: State) -> str:
    """The rule of a state, with a dot where the state stands."""
    rule = int(network.owner[state])
    before = _shortest(network, network.initials[rule], {state})
    finals = {s for s in range(len(network)) if network.finals[s] and network.owner[s] == rule}
    after = _shortest(network, state, finals)
    left = _shown(network, before[-_SHOWN:], cut_left=len(before) > _SHOWN)
    right = _shown(network, after[:_SHOWN], cut_right=len(after) > _SHOWN)
    return " ".join(part for part in (f"{network.names[rule]} →", left, "•", right) if part)


def _shortest(network: Network, start: State, goals: set[State]) -> list[int]:
    """The symbols of a shortest path, bytes before calls."""
    came: dict[State, tuple[State, int]] = {}
    waiting = deque([start])
    seen = {start}
    # of the symbols of a class one is enough: the first, for they all lead to one state
    symbols: dict[int, int] = {}
    for symbol, its_class in enumerate(network.classes.tolist()):
        symbols.setdefault(its_class, symbol)
    while waiting:
        here = waiting.popleft()
        if here in goals:
            path: list[int] = []
            while here != start:
                here, symbol = came[here]
                path.append(symbol)
            return path[::-1]
        row = network.table[here].tolist()
        for its_class, symbol in symbols.items():
            there = row[its_class]
            if there != DEAD and there not in seen:
                seen.add(there)
                came[there] = here, symbol
                waiting.append(there)
    return []


def _shown(
    network: Network, symbols: list[int], *, cut_left: bool = False, cut_right: bool = False
) -> str:
    words: list[str] = []
    text = bytearray()
    for symbol in symbols:
        if symbol < CALLS:
            text.append(symbol)
            continue
        if text:
            words.append(text.decode("utf-8", "backslashreplace"))
            text.clear()
        words.append(network.names[symbol - CALLS])
    if text:
        words.append(text.decode("utf-8", "backslashreplace"))
    return " ".join([*(["…"] if cut_left else []), *words, *(["…"] if cut_right else [])])
