"""Push-down machines become graphs: Pda and TokenPda.

States have the numbers they have in the network, so one live state is found in every picture.
A label has what is read on top, then what goes off the stack marked ``)`` and what is put on it
marked ``(``; the initial stack symbol is a dot between ``[`` and ``]`` (Koo et al. 2024, Figure 6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.constraint.compose_pda import TokenPda, TokenPdaEdge, TokenPdaMove
from workbench.constraint.labels import LabelTokens, first_sign
from workbench.drawing.characters import ByteEdge, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import reading_edges
from workbench.drawing.text import printable
from workbench.drawing.token_edges import (
    TOY,
    WRITTEN_OUT,
    WRITTEN_OUT_TOY,
    labels_among,
    look,
    terminal_edge,
)
from workbench.pushdown.network import Network
from workbench.pushdown.pda import BOTTOM, Pda
from workbench.signs import SIGNS
from workbench.vocabulary.vocabulary import TokenId

#: The initial stack symbol, as Koo et al. write it.
_DOT = "·"


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
            ("\n".join(("ε", *_edits(pda.symbols, edge.pops, edge.pushes))),),
            ("epsilon", *_kinds(edge.pops, edge.pushes)),
        )
        for edge in quiet
    ]
    shown = [s for s in sorted(read.states) if s < pda.states]
    nodes = tuple(
        _state(ids[s], s == pda.initial, s in pda.finals, pda.state_labels[s]) for s in shown
    )
    return Graph(name, nodes, (*reading, *silent), _NOTE)


#: How ``compose_pda`` numbers the state after the end, and the symbol under everything.
_END = -1

_NOTE = "the stack holds one dot at the beginning; the last edge takes it off"


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
    """The edge from the state behind the door, with what it pushes under what it reads."""
    source, pushes = behind.get(int(edge.source), (int(edge.source), ()))
    return replace(
        edge,
        source=ids[source],
        target=ids[int(edge.target)],
        labels=("\n".join((*edge.labels, *_edits(pda.symbols, (), pushes))),),
        kinds=(*edge.kinds, *_kinds((), pushes)),
        between=tuple(ids[int(state)] for state in edge.between),
    )


def _edits(
    symbols: tuple[str, ...], pops: tuple[int, ...], pushes: tuple[int, ...]
) -> Iterator[str]:
    for symbol in pops:
        yield f"]{_DOT}" if symbol == BOTTOM else f"){_one_line(symbols[symbol])}"
    for symbol in pushes:
        yield f"[{_DOT}" if symbol == BOTTOM else f"({_one_line(symbols[symbol])}"


def _one_line(text: str) -> str:
    """A dotted rule with the line breaks it may have in its literals made visible."""
    return printable(_labelled(text).replace("\n", "⏎"))


def _labelled(text: str) -> str:
    """A dotted rule with labels for the signs in it."""
    for name, sign in SIGNS.items():
        text = text.replace(sign.decode("ascii", "backslashreplace"), name)
    return text


def _kinds(pops: tuple[int, ...], pushes: tuple[int, ...]) -> tuple[str, ...]:
    return ("pop",) * bool(pops) + ("push",) * bool(pushes)


def draw_token_pda(
    machine: TokenPda, network: Network, name: str = "token push-down automaton"
) -> Graph:
    """The machine over tokens; brackets stand between a token's characters, where they happen.

    Source: Koo et al. 2024, Figure 7 (right).
    """
    edges = token_pda_edges(machine, network, range(machine.states))
    return Graph(name, token_pda_nodes(machine), edges, _NOTE)


def token_pda_nodes(machine: TokenPda) -> tuple[Node, ...]:
    """The states of a machine over tokens."""
    ids = _ids(machine.network_states, machine.states)
    return tuple(
        _state(ids[s], s == machine.initial, s in machine.finals, machine.state_labels[s])
        for s in range(machine.states)
    )


def token_pda_edges(machine: TokenPda, network: Network, states: Iterable[int]) -> tuple[Edge, ...]:
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
                edges.append(_token_edge(machine, network, state, move, text.tolist(), ids))
            for one in labels_among(machine.vocabulary, group):
                edges.append(_label_edge(machine, network, state, move, one, ids))
    return tuple(edges)


def _label_edge(
    machine: TokenPda,
    network: Network,
    source: int,
    move: TokenPdaMove,
    label: LabelTokens,
    ids: list[str],
) -> Edge:
    """The edge of a label, with brackets around its name."""
    edge = terminal_edge(ids[source], ids[move.target], (label,))
    written = bracketed(machine, network, TokenPdaEdge(source, label.sign, *move))
    sign = "".join(look(bytes((byte,)))[1] for byte in SIGNS[label.label.name])
    named = edge.labels[0].replace(label.label.name, written.replace(sign, label.label.name))
    return replace(edge, labels=(named,), kinds=(*edge.kinds, *_kinds(move.pops, move.pushes)))


def _token_edge(
    machine: TokenPda,
    network: Network,
    source: int,
    move: TokenPdaMove,
    group: list[TokenId],
    ids: list[str],
) -> Edge:
    most = WRITTEN_OUT_TOY if len(machine.vocabulary) <= TOY else WRITTEN_OUT
    written = [
        bracketed(machine, network, TokenPdaEdge(source, token_id, *move))
        for token_id in group[: max(most, 3)]
    ]
    seen = [look(machine.vocabulary.tokens[token_id] or b"")[1] for token_id in group[:_LISTED]]
    labels = tuple(written)
    if len(group) > most:
        labels = (f"{'  '.join(written[:3])}\n{len(group):,} tokens",)
    edits = "\n".join(_edits(machine.symbols, move.pops, move.pushes))
    counted = f"{len(group):,} token{'' if len(group) == 1 else 's'}: {'  '.join(seen[:3])}"
    more = f"\nand {len(group) - _LISTED:,} more" if len(group) > _LISTED else ""
    return Edge(
        ids[source],
        ids[move.target],
        labels,
        _kinds(move.pops, move.pushes),
        len(group),
        tuple(seen[:3]),
        title=f"{counted}\n{edits}" if edits else counted,
        detail="\n".join(dict.fromkeys(seen)) + more,
    )


#: Tokens listed for whoever asks what an edge stands for.
_LISTED = 60


def bracketed(machine: TokenPda, network: Network, edge: TokenPdaEdge) -> str:
    """The token with a bracket wherever something is put on the stack or taken off."""
    token = machine.vocabulary.tokens[edge.token_id] or b""
    goal = (
        machine.network_states[edge.target],
        tuple(machine.network_symbols[symbol] for symbol in edge.pops),
        tuple(machine.network_symbols[symbol] for symbol in edge.pushes),
    )
    for way in _ways(network, machine.network_states[edge.source], token, (), ()):
        if way[1:] == goal:
            return way[0]
    raise ValueError(f"edge {edge} is not in the network it is said to come from")


#: What was read, with brackets; the state after it; popped; pushed.
_Way = tuple[str, int, tuple[int, ...], tuple[int, ...]]


def _ways(
    network: Network, state: int, token: bytes, popped: tuple[int, ...], pushed: tuple[int, ...]
) -> Iterator[_Way]:
    """Every way to read the token: as text with brackets, where it ends, popped and pushed."""
    if not token:
        yield "", state, popped, pushed
    elif state != _END:
        byte_class = int(network.byte_classes[token[0]])
        letter = look(token[:1])[1]
        for target, opened in network.moves(state, byte_class):
            read = "(" * len(opened) + letter
            for way in _returns(network, target, popped, (*pushed, *opened)):
                for rest in _ways(network, way[1], token[1:], way[2], way[3]):
                    yield read + way[0] + rest[0], *rest[1:]


def _returns(
    network: Network, state: int, popped: tuple[int, ...], pushed: tuple[int, ...]
) -> Iterator[_Way]:
    """The state itself, and every state it can return to without reading."""
    yield "", state, popped, pushed
    if not network.finals[state]:
        return
    if pushed:
        ends = [(pushed[-1], popped, pushed[:-1])]
    else:
        callers = network.returns[network.owner[state]]
        ends = [(waiting, (*popped, waiting), ()) for waiting in callers]
    # a token takes one symbol off at most as often as it is long, plus once: no endless ways
    for end, off, on in ends if len(popped) < 32 else ():
        for way in _returns(network, end, off, on):
            yield ")" + way[0], *way[1:]
    if not pushed and network.owner[state] in network.ends_text:
        yield "]", _END, (*popped, _END), ()
