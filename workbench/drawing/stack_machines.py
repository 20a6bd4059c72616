"""Graphs of push-down machines: Pda and TokenPda.

States have the numbers they have in the network, so one live state is found in every picture.
Labels are what is read. The stack effect is a mark beside them: ``▲9`` pushes state 9, to which the
called rule returns, ``▼9`` pops it. An edge over tokens may do several: its mark counts them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.constraint.compose_pda import TokenPda, TokenPdaMove
from workbench.constraint.labels import LabelTokens, first_sign
from workbench.drawing.characters import ByteEdge, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import reading_edges
from workbench.drawing.text import printable
from workbench.drawing.token_edges import (
    LOOKED_AT,
    TOY,
    WRITTEN_OUT,
    WRITTEN_OUT_TOY,
    counted_edge,
    labels_among,
    terminal_edge,
)
from workbench.pushdown.pda import BOTTOM, Pda
from workbench.signs import SIGNS
from workbench.vocabulary.vocabulary import TokenId

#: The initial stack symbol (Koo et al. 2024, Figure 6).
_BOTTOM_NAME = "S"


def draw_pda(pda: Pda, name: str = "push-down automaton") -> Graph:
    """A push-down automaton over characters, with dotted rules as stack symbols."""
    # an edge that pushes is drawn as if it left a state of its own (a door), so that a
    # character whose first byte pushes is still read back as one character
    rows: list[list[ByteEdge]] = [[] for _ in range(pda.states)]
    doors: dict[tuple[int, tuple[int, ...]], int] = {}
    for edge in pda.edges:
        door = edge.source
        if edge.ranges and edge.pushes:
            door = doors.setdefault((edge.source, edge.pushes), len(rows))
            if door == len(rows):
                rows.append([])
        rows[door].extend((low, high, edge.target) for low, high in edge.ranges)
    quiet = [edge for edge in pda.edges if not edge.ranges]
    solid = {edge.source for edge in pda.edges if not edge.ranges or edge.pushes} | pda.finals
    read = read_back(rows, [pda.initial, *doors.values(), *(e.target for e in quiet)], solid)
    ids = _ids(pda.network_states, pda.states)
    behind = {door: (source, pushes) for (source, pushes), door in doors.items()}
    reading = [_pushing(pda, edge, behind, ids) for edge in reading_edges(read)]
    silent = [
        Edge(
            ids[edge.source],
            ids[edge.target],
            ("ε",),
            ("epsilon", *kinds_of(edge.pops, edge.pushes)),
            **_pda_effect(pda, edge.pops, edge.pushes),
        )
        for edge in quiet
    ]
    shown = [s for s in sorted(read.states) if s < pda.states]
    nodes = tuple(
        _state(ids[s], s == pda.initial, s in pda.finals, pda.state_labels[s]) for s in shown
    )
    return Graph(name, nodes, (*reading, *silent), STACK_NOTE)


#: How ``compose_pda`` numbers the state after the end, and the symbol under everything.
_END = -1

STACK_NOTE = "▲ pushes the state to return to, ▼ pops it; S lies on the stack at the beginning"


def _ids(network_states: tuple[int, ...], count: int) -> list[str]:
    """The id of each state: its number in the network; the end has none there."""
    known = [str(s) if s != _END else "end" for s in network_states]
    return known + ["end"] * (count - len(known))


def _state(identity: str, initial: bool, final: bool, title: str) -> Node:
    kinds = ("initial",) * initial + ("final",) * final
    said = " · ".join(dict.fromkeys((f"state {identity}", *kinds, printable(_labelled(title)))))
    return Node(identity, identity, kinds, said)


def _pushing(
    pda: Pda, edge: Edge, behind: dict[int, tuple[int, tuple[int, ...]]], ids: list[str]
) -> Edge:
    """The edge from the state behind the door, with what it pushes."""
    source, pushes = behind.get(int(edge.source), (int(edge.source), ()))
    return replace(
        edge,
        source=ids[source],
        target=ids[int(edge.target)],
        kinds=(*edge.kinds, *kinds_of((), pushes)),
        between=tuple(ids[int(state)] for state in edge.between),
        **_pda_effect(pda, (), pushes),
    )


def _pda_effect(pda: Pda, pops: tuple[int, ...], pushes: tuple[int, ...]) -> dict[str, Any]:
    """What an edge does to the stack, as fields of an edge."""
    marks = [f"▼{_number(pda, symbol)}" for symbol in pops]
    marks += [f"▲{_number(pda, symbol)}" for symbol in pushes]
    return {
        "pops": tuple(_item(pda.symbols, symbol) for symbol in pops),
        "pushes": tuple(_item(pda.symbols, symbol) for symbol in pushes),
        "mark": " ".join(marks),
    }


def _number(pda: Pda, symbol: int) -> str:
    """The state a stack symbol returns to."""
    return _BOTTOM_NAME if symbol == BOTTOM else str(pda.network_symbols[symbol])


def _item(symbols: tuple[str, ...], symbol: int) -> str:
    """A stack symbol as the rule and how far it has been read."""
    return _BOTTOM_NAME if symbol == BOTTOM else _one_line(symbols[symbol])


def _one_line(text: str) -> str:
    """A dotted rule with the line breaks it may have in its literals made visible."""
    return printable(_labelled(text).replace("\n", "⏎"))


def _labelled(text: str) -> str:
    """A dotted rule with labels for the signs in it."""
    for name, sign in SIGNS.items():
        text = text.replace(sign.decode("ascii", "backslashreplace"), name)
    return text


def kinds_of(pops: Sequence[object], pushes: Sequence[object]) -> tuple[str, ...]:
    """The kinds of an edge with these stack effects."""
    return ("pop",) * bool(pops) + ("push",) * bool(pushes)


def draw_token_pda(machine: TokenPda, name: str = "token push-down automaton") -> Graph:
    """The machine over tokens: an edge for all tokens that lead to one state with one stack effect.

    Source: Koo et al. 2024, Figure 7 (right).
    """
    edges = token_pda_edges(machine, range(machine.states))
    return Graph(name, token_pda_nodes(machine), edges, STACK_NOTE)


def token_pda_nodes(machine: TokenPda) -> tuple[Node, ...]:
    """The states of a machine over tokens."""
    ids = _ids(machine.network_states, machine.states)
    return tuple(
        _state(ids[s], s == machine.initial, s in machine.finals, machine.state_labels[s])
        for s in range(machine.states)
    )


def token_pda_edges(
    machine: TokenPda,
    states: Iterable[int],
) -> tuple[Edge, ...]:
    """The edges that leave some states, one for all tokens that do the same."""
    ids = _ids(machine.network_states, machine.states)
    trie = machine.vocabulary.trie
    place = np.zeros(len(machine.vocabulary), np.int32)
    place[trie.token_ids] = np.arange(len(trie.token_ids), dtype=np.int32)
    edges = []
    for state in states:
        tokens, choices = machine.row(state)
        order = np.argsort(place[tokens])
        tokens, choices = tokens[order], choices[order]
        groups: defaultdict[TokenPdaMove, list[npt.NDArray[np.int32]]] = defaultdict(list)
        for choice in dict.fromkeys(choices.tolist()):
            its_tokens = tokens[choices == choice]
            for move in machine.choices[choice]:
                groups[move].append(its_tokens)
        for move, parts in groups.items():
            group = np.concatenate(parts)
            if len(parts) > 1:
                group = group[np.argsort(place[group])]
            text = group[group < first_sign(machine.vocabulary)]
            if len(text):
                edges.append(_token_edge(machine, state, move, text.tolist(), ids))
            for one in labels_among(machine.vocabulary, group):
                edges.append(_label_edge(machine, state, move, one, ids))
    return tuple(edges)


def _label_edge(
    machine: TokenPda, source: int, move: TokenPdaMove, label: LabelTokens, ids: list[str]
) -> Edge:
    """The edge of a terminal label."""
    edge = terminal_edge(ids[source], ids[move.target], (label,))
    return replace(
        edge, kinds=(*edge.kinds, *kinds_of(move.pops, move.pushes)), **_effect(machine, move)
    )


def _token_edge(
    machine: TokenPda, source: int, move: TokenPdaMove, group: list[TokenId], ids: list[str]
) -> Edge:
    """The edge of all tokens that lead to one state and do the same to the stack."""
    tokens = [machine.vocabulary.tokens[token_id] or b"" for token_id in group[:LOOKED_AT]]
    few = WRITTEN_OUT_TOY if len(machine.vocabulary) <= TOY else WRITTEN_OUT
    edge = counted_edge(ids[source], ids[move.target], tokens, len(group), few)
    effect = _effect(machine, move)
    items = [f"pops {item}" for item in effect["pops"]]
    items += [f"pushes {item}" for item in effect["pushes"]]
    title = "\n".join((edge.title, *items))
    return replace(edge, kinds=kinds_of(move.pops, move.pushes), title=title, **effect)


def _effect(machine: TokenPda, move: TokenPdaMove) -> dict[str, Any]:
    """What a move does to the stack, as fields of an edge."""
    pops = tuple(_item(machine.symbols, symbol) for symbol in move.pops)
    pushes = tuple(_item(machine.symbols, symbol) for symbol in move.pushes)
    marks = (f"▼{len(pops)}" if pops else "", f"▲{len(pushes)}" if pushes else "")
    return {"pops": pops, "pushes": pushes, "mark": " ".join(filter(None, marks))}
