"""The textbook push-down automaton of a network, edge by edge, with dotted rules.

In come a ``Network`` and a state; out comes a text such as ``S → a S • b``: the shortest
way to it and the shortest way on. For rules with choices it is one example of the many.

In comes a ``Network``; out comes the tuple (Σ, Π, S, Q, I, F, E) of Koo et al. 2024, §3.1, for
pictures, lessons and small machines. Decoding runs on the network itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.base.dfa import DEAD, State
from workbench.pushdown.network import CALLS, Network
from workbench.syntax.ranges import Ranges

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


@dataclass(frozen=True, slots=True)
class PdaEdge:
    """One edge: what is read, what must lie on the stack and goes, what is put on it."""

    source: State
    target: State
    #: The bytes read; no range where nothing is read (ε).
    ranges: Ranges
    #: Stack symbols taken off, the top last.
    pops: tuple[int, ...]
    #: Stack symbols put on, the top last.
    pushes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pda:
    """A push-down automaton over bytes.

    Stack symbols are numbered; ``symbols`` holds what each stands for, a dotted rule:
    the place to return to (Earley 1970). Symbol 0 is the initial stack symbol S, which
    only the last edge takes off; the text is accepted in a final state.
    """

    states: int
    initial: State
    finals: frozenset[State]
    edges: tuple[PdaEdge, ...]
    symbols: tuple[str, ...]
    state_labels: tuple[str, ...]
    #: The network's number of each state; the last one, the end, has none.
    network_states: tuple[State, ...] = ()
    #: The state of the network each stack symbol returns to; symbol 0 has none.
    network_symbols: tuple[State, ...] = ()


#: The number of the initial stack symbol S.
BOTTOM = 0


def pda(network: Network) -> Pda:
    """The network written out as a PDA.

    A call and the first byte read inside it are one edge, as in Koo's Figure 6; a
    return is an ε edge that pops, and the end of the whole text is one that pops S.
    States nobody reaches (the first state of a rule that is only ever entered by such
    an edge) are left out.

    Source: Koo et al. 2024, §3.1 and Figure 6; Allauzen & Riley 2012, §4.5.
    """
    found, known = [network.initial], {network.initial}
    raw: list[tuple[State, State, Ranges, tuple[State, ...], tuple[State, ...]]] = []
    for state in found:
        for target, ranges, pops, pushes in _edges_from(network, state):
            raw.append((state, target, ranges, pops, pushes))
            if target not in known:
                known.add(target)
                found.append(target)
    number = {state: i for i, state in enumerate(found)}
    last = len(found)
    waiting = sorted({symbol for edge in raw for symbol in (*edge[3], *edge[4])})
    symbol = {state: i for i, state in enumerate(waiting, start=BOTTOM + 1)}
    edges = [
        PdaEdge(
            number[source],
            number[target],
            ranges,
            tuple(symbol[s] for s in pops),
            tuple(symbol[s] for s in pushes),
        )
        for source, target, ranges, pops, pushes in raw
    ]
    edges += [
        PdaEdge(number[state], last, (), (BOTTOM,), ())
        for state in found
        if network.finals[state] and network.owner[state] in network.ends_text
    ]
    names = [f"{network.names[network.owner[state]]} · {state}" for state in found]
    return Pda(
        states=last + 1,
        initial=number[network.initial],
        finals=frozenset({last}),
        edges=tuple(edges),
        symbols=("S", *(dotted(network, state) for state in waiting)),
        state_labels=(*names, "end"),
        network_states=tuple(found),
        network_symbols=(DEAD, *waiting),
    )


def _edges_from(
    network: Network, state: State
) -> Iterator[tuple[State, Ranges, tuple[State, ...], tuple[State, ...]]]:
    """Every edge of a state: (target, bytes read, popped, pushed)."""
    for inner, pushed in network.openings(state):
        targets: dict[State, list[int]] = {}
        row = network.table[inner, network.classes[:256]].tolist()
        for byte, target in enumerate(row):
            if target != DEAD:
                targets.setdefault(target, []).append(byte)
        for target, members in targets.items():
            yield target, _ranges(members), (), pushed
    if network.finals[state]:
        for waiting in network.returns[network.owner[state]]:
            yield waiting, (), (waiting,), ()


def _ranges(members: list[int]) -> Ranges:
    """Sorted bytes as inclusive ranges."""
    breaks = np.flatnonzero(np.diff(members) != 1) + 1
    return tuple((int(run[0]), int(run[-1])) for run in np.split(np.array(members), breaks))
