"""The textbook pushdown automaton (Σ, Π, S, Q, I, F, E) of a network (Koo et al. 2024, §3.1).

For pictures, lessons and small machines; decoding runs on the network itself. States are labelled
with dotted rules such as ``S → a S • b``: a shortest path to the state, and a shortest path from
it to the end of the rule. For rules with choices this is one example of many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.automata.graphs import reachable
from workbench.base.dfa import DEAD, State
from workbench.pushdown.network import CALLS, Network
from workbench.syntax.ranges import Ranges

#: The most symbols shown on each side of the dot.
_MAX_SHOWN = 8


def dotted(network: Network, state: State) -> str:
    """The rule of a state, with a dot at the position of the state."""
    rule = int(network.owner[state])
    before = _shortest(network, network.initials[rule], {state})
    finals = {s for s in range(len(network)) if network.finals[s] and network.owner[s] == rule}
    after = _shortest(network, state, finals)
    left = _display_symbols(network, before[-_MAX_SHOWN:], cut_left=len(before) > _MAX_SHOWN)
    right = _display_symbols(network, after[:_MAX_SHOWN], cut_right=len(after) > _MAX_SHOWN)
    return " ".join(part for part in (f"{network.names[rule]} →", left, "•", right) if part)


def _shortest(network: Network, start: State, goals: set[State]) -> list[int]:
    """The symbols of a shortest path, bytes before calls."""
    came_from: dict[State, tuple[State, int]] = {}
    waiting = deque([start])
    seen = {start}
    # the first symbol of a class represents the class: all lead to the same state
    symbols: dict[int, int] = {}
    for symbol, its_class in enumerate(network.classes.tolist()):
        symbols.setdefault(its_class, symbol)
    while waiting:
        state = waiting.popleft()
        if state in goals:
            path: list[int] = []
            while state != start:
                state, symbol = came_from[state]
                path.append(symbol)
            return path[::-1]
        row = network.table[state].tolist()
        for its_class, symbol in symbols.items():
            target = row[its_class]
            if target != DEAD and target not in seen:
                seen.add(target)
                came_from[target] = state, symbol
                waiting.append(target)
    return []


def _display_symbols(
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
    """One edge: the bytes read, the symbols popped from the stack, the symbols pushed."""

    source: State
    target: State
    #: The bytes read; empty for an ε-edge.
    ranges: Ranges
    #: Stack symbols popped, the top last.
    pops: tuple[int, ...]
    #: Stack symbols pushed, the top last.
    pushes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pda:
    """A pushdown automaton over bytes.

    Stack symbols are numbered; ``symbols`` are their labels: dotted rules, which show the position
    to return to (Earley 1970). Symbol 0 is the initial stack symbol S, which only the last edge
    pops; the text is accepted in a final state.
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
    """The network as a PDA.

    A call and the first byte read inside it are one edge, as in Koo's Figure 6; a return is an
    ε-edge that pops its target, and the end of the text is an ε-edge that pops S. States that
    cannot be reached (the initial state of a rule that is only entered by such edges) are left out.

    Source: Koo et al. 2024, §3.1 and Figure 6; Allauzen & Riley 2012, §4.5.
    """
    raw: list[tuple[State, State, Ranges, tuple[State, ...], tuple[State, ...]]] = []

    def targets(state: State) -> list[State]:
        edges = list(_edges_from(network, state))
        raw.extend((state, *edge) for edge in edges)
        return [edge[0] for edge in edges]

    states = list(reachable([network.initial], targets))
    number = {state: i for i, state in enumerate(states)}
    last = len(states)
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
        for state in states
        if network.finals[state] and network.owner[state] in network.ends_text
    ]
    names = [f"{network.names[network.owner[state]]} · {state}" for state in states]
    return Pda(
        states=last + 1,
        initial=number[network.initial],
        finals=frozenset({last}),
        edges=tuple(edges),
        symbols=("S", *(dotted(network, state) for state in waiting)),
        state_labels=(*names, "end"),
        network_states=tuple(states),
        network_symbols=(DEAD, *waiting),
    )


def _edges_from(
    network: Network, state: State
) -> Iterator[tuple[State, Ranges, tuple[State, ...], tuple[State, ...]]]:
    """The edges of a state: (target, bytes read, popped, pushed)."""
    for opened, pushed in network.openings(state):
        targets: dict[State, list[int]] = {}
        row = network.table[opened, network.classes[:256]].tolist()
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
