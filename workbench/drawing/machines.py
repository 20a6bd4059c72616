"""Graphs of automata, networks of rules and push-down automata.

Machines run on bytes, but pictures show characters: UTF-8 chains are folded, so the states of a
picture are those between characters. States keep the numbers of the machine or the network, so the
current state is found in every picture.

A label shows what an edge reads. A mark next to it shows the stack effect: ``▲9`` pushes state 9,
to which the called rule returns, ``▼9`` pops it. An edge over tokens may have several: its mark
counts them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.automata.class_descriptions import describe
from workbench.automata.nfa import Nfa
from workbench.base.dfa import Dfa
from workbench.base.visible_text import printable, visible
from workbench.constraint.engine.compose import TokenFsa
from workbench.constraint.engine.compose_pda import TokenPda, TokenPdaMove
from workbench.constraint.labels import LabelTokens, first_label_id
from workbench.drawing.edge_labels import ByteEdge, CharacterEdges, byte_edges, folded, read_back
from workbench.drawing.graph import Edge, Graph, Node, budgeted, state_kinds
from workbench.drawing.token_edges import (
    MAX_SEARCHED,
    MAX_TOY_TOKENS,
    MAX_WRITTEN_OUT,
    MAX_WRITTEN_OUT_TOY,
    TokenRows,
    counted_edge,
    labels_among,
    terminal_edge,
    token_edges,
)
from workbench.grammar.label_encoding import LABEL_CODES
from workbench.pushdown.network import Network
from workbench.pushdown.textbook_pda import BOTTOM, Pda
from workbench.syntax.ranges import Ranges
from workbench.vocabulary.vocabulary import TokenId


def draw_nfa(nfa: Nfa, name: str = "nondeterministic automaton") -> Graph:
    """A nondeterministic automaton with its ε-edges."""
    solid = {s for s in range(len(nfa)) if nfa.epsilons[s]} | nfa.finals
    entries = [nfa.initial, *(target for targets in nfa.epsilons for target in targets)]
    read = read_back(nfa.edges, entries, solid)
    shown = sorted(read.states)
    silent = [
        Edge(str(source), str(target), ("ε",), ("epsilon",))
        for source in shown
        for target in dict.fromkeys(nfa.epsilons[source])
    ]
    nodes = tuple(state_node(s, nfa.initial, s in nfa.finals) for s in shown)
    return Graph(name, nodes, (*reading_edges(read), *silent))


def draw_dfa(
    dfa: Dfa, name: str = "character automaton", written: Mapping[Ranges, str] | None = None
) -> Graph:
    """A byte automaton as a character automaton.

    ``written`` are the labels of character classes as in the grammar's text.
    """
    read = folded(dfa)
    nodes = tuple(state_node(s, dfa.initial, bool(dfa.finals[s])) for s in sorted(read.states))
    return Graph(name, nodes, reading_edges(read, written))


def state_node(state: int, initial: int, final: bool, title: str = "", cluster: str = "") -> Node:
    """A state under its number."""
    kinds = state_kinds(initial=state == initial, final=final)
    full = " · ".join(filter(None, (f"state {state}", *kinds, title)))
    return Node(str(state), str(state), kinds, full, cluster)


def reading_edges(
    read: CharacterEdges, written: Mapping[Ranges, str] | None = None
) -> tuple[Edge, ...]:
    """An edge for every two states: all characters that lead from one to the other."""
    characters = [
        Edge(
            str(source),
            str(target),
            (character_label(ranges, written),),
            ("class",) if _many(ranges) else (),
            detail=_code_points(ranges),
            between=tuple(map(str, read.between.get((source, target), ()))),
            reads=ranges,
        )
        for (source, target), ranges in budgeted(read.characters.items())
    ]
    pieces = [
        Edge(
            str(source),
            str(target),
            (describe_bytes(ranges),),
            ("bytes",),
            title=f"bytes {describe_bytes(ranges)}, a piece of a character",
        )
        for (source, target), ranges in budgeted(read.raw.items())
    ]
    labels = [
        Edge(
            str(source),
            str(target),
            tuple(label.name for label in labels),
            ("terminal",),
            title="\n".join(f"{label.name}: {label.what}" for label in labels),
            between=tuple(map(str, read.between[source, target])),
        )
        for (source, target), labels in read.labels.items()
    ]
    return (*characters, *pieces, *labels)


def character_label(ranges: Ranges, written: Mapping[Ranges, str] | None = None) -> str:
    """A set of characters in a picture: the character itself, or the set in brackets."""
    if not _many(ranges):
        return visible(chr(ranges[0][0]))
    if written and ranges in written:
        return visible(written[ranges])
    text = describe(ranges)
    ascii_only = tuple((low, min(high, 0x7E)) for low, high in ranges if low < 0x7F)
    others = sum(high - max(low, 0x7F) + 1 for low, high in ranges if high >= 0x7F)
    if (
        len(ranges) > _MAX_LISTED_RANGES
        and ascii_only
        and others
        and not text.startswith(("\\", "[^"))
    ):
        # letters of all scripts are not informative, and few fonts have them
        return f"{character_label(ascii_only)} +{others:,}"
    if text == "digit":
        return "[0-9]"  # a word would be confused with the letters of a chain
    return text.replace(" ", "·") if text.startswith("[") else text


#: The most ranges of a set with characters beyond ASCII that are written out.
_MAX_LISTED_RANGES = 4


def describe_bytes(ranges: Ranges) -> str:
    """Bytes as numbers: ``<0x80–0xBF>``."""
    return " ".join(
        f"<0x{low:02X}>" if low == high else f"<0x{low:02X}–0x{high:02X}>" for low, high in ranges
    )


def _many(ranges: Ranges) -> bool:
    return len(ranges) > 1 or ranges[0][0] != ranges[0][1]


def _code_points(ranges: Ranges) -> str:
    """The ranges as code points, for the card of an edge; at most the first 200."""
    listed = ", ".join(
        f"U+{low:04X}" if low == high else f"U+{low:04X}–U+{high:04X}" for low, high in ranges[:200]
    )
    return listed if len(ranges) <= 200 else f"{listed} and {len(ranges) - 200:,} more ranges"


def draw_token_fsa(fsa: TokenFsa, dfa: Dfa, name: str = "token automaton") -> Graph:
    """The machine over tokens: for every two states one edge, with its tokens and their number.

    Tokens that pass over other character states have a separate, dashed edge: they are the
    difference from the character automaton. States inside a character are not drawn; the
    tokens that lead through them are pieces of characters.
    """
    whole = np.zeros(len(dfa), np.bool_)
    whole[list(folded(dfa).states)] = True
    rows = TokenRows.of(fsa)
    edges = token_edges(rows, dfa, whole)
    reached = {fsa.initial, *(int(end) for edge in edges for end in (edge.source, edge.target))}
    nodes = tuple(state_node(s, fsa.initial, bool(fsa.finals[s])) for s in sorted(reached))
    return Graph(name, nodes, edges, f"{len(rows.sources):,} token edges")


def draw_network(
    network: Network,
    name: str = "rules",
    leaves: Mapping[str, str] | None = None,
    written: Mapping[Ranges, str] | None = None,
) -> Graph:
    """The rules of a grammar, a small machine each; a call is a box between two states.

    Boxes have the id ``call-<rule>-<return state>``. The stack holds return states, so the
    current stack can be shown on the boxes. Rules of ``leaves`` are one edge with that label;
    ``leaf_states`` maps their states. ``written`` are the labels of character classes as in the
    grammar's text.
    """
    labels = _labels(network, leaves or {})
    read, callers = _folded_rules(network, labels)
    nodes = [_rule_state(network, s) for s in sorted(read.states)]
    edges = list(reading_edges(read, written))
    for (rule, back), sources in budgeted(callers.items()):
        box = f"call-{rule}-{back}"
        called = printable(network.names[rule])
        title = f"calls {called}, then continues in state {back}"
        home = network.names[network.owner[back]]
        entered = network.names[rule]
        nodes.append(Node(box, f"→ {called}", ("call",), title, home, entered))
        edges.append(Edge(box, str(back), kinds=("call",)))
        edges += [Edge(str(source), box, kinds=("call",)) for source in sources]
    for rule, label in labels.items():
        initial = network.initials[rule]
        end = f"{initial}-end"
        nodes.append(Node(end, "", ("final",), f"the end of {label}", network.names[rule]))
        edges.append(Edge(str(initial), end, (printable(label),), ("terminal",), title=label))
    return Graph(name, tuple(nodes), tuple(edges))


def count_states(network: Network, leaves: Mapping[str, str]) -> int:
    """The number of states in the picture of ``draw_network``."""
    labels = _labels(network, leaves)
    return len(_folded_rules(network, labels)[0].states) + len(labels)


def _folded_rules(
    network: Network, labels: Collection[int]
) -> tuple[CharacterEdges, dict[tuple[int, int], list[int]]]:
    """The character edges of all rules that are not one edge; the callers of each call."""
    rows = byte_edges(network.classes, network.table)
    for state in _states_of(network, labels):
        rows[state] = []
    callers: dict[tuple[int, int], list[int]] = {}
    for state, calling in enumerate(network.calling):
        for call in calling:
            callers.setdefault(call, []).append(state)
    finals = set(np.flatnonzero(network.finals).tolist())
    solid = finals.union(*callers.values())
    entries = [*network.initials, *(back for _, back in callers)]
    return read_back(rows, entries, solid), callers


def _labels(network: Network, leaves: Mapping[str, str]) -> dict[int, str]:
    """The label of every rule that is drawn as one edge."""
    return {rule: leaves[name] for rule, name in enumerate(network.names) if name in leaves}


def _states_of(network: Network, rules: Collection[int]) -> list[int]:
    states: list[int] = np.flatnonzero(np.isin(network.owner, list(rules))).tolist()
    return states


def leaf_states(network: Network, leaves: Mapping[str, str]) -> dict[str, str]:
    """For the states of rules that are drawn as one edge, the drawn state."""
    states = _states_of(network, _labels(network, leaves))
    return {str(state): str(network.initials[network.owner[state]]) for state in states}


def leaf_numbers(network: Network, leaves: Mapping[str, str]) -> dict[str, str]:
    """For the states of rules that are drawn as one edge, which one it is of its rule's states."""
    labels = _labels(network, leaves)
    found: dict[str, str] = {}
    for rule in labels:
        states = _states_of(network, [rule])
        found |= {str(state): f"{n} of {len(states)}" for n, state in enumerate(states, 1)}
    return found


def _rule_state(network: Network, state: int) -> Node:
    rule = int(network.owner[state])
    plain = state_node(
        state, network.initial, bool(network.finals[state]), cluster=network.names[rule]
    )
    if state != network.initials[rule]:
        return plain
    return Node(plain.id, plain.label, (*plain.kinds, "rule"), plain.title, plain.cluster)


#: The initial stack symbol (Koo et al. 2024, Figure 6).
_BOTTOM_NAME = "S"


def draw_pda(pda: Pda, name: str = "push-down automaton") -> Graph:
    """A push-down automaton over characters, with dotted rules as stack symbols."""
    # an edge that pushes is treated as leaving a separate state (a door), so that a character
    # whose first byte pushes is still folded to one character
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


#: The number that ``compose_pda`` gives the state after the end.
_END = -1

STACK_NOTE = "▲ pushes the state to return to, ▼ pops it; S lies on the stack at the beginning"


def _ids(network_states: tuple[int, ...], count: int) -> list[str]:
    """The id of each state: its number in the network, or ``end``."""
    ids = [str(s) if s != _END else "end" for s in network_states]
    return ids + ["end"] * (count - len(ids))


def _state(identity: str, initial: bool, final: bool, title: str) -> Node:
    kinds = state_kinds(initial=initial, final=final)
    full = " · ".join(
        dict.fromkeys((f"state {identity}", *kinds, printable(_with_label_names(title))))
    )
    return Node(identity, identity, kinds, full)


def _pushing(
    pda: Pda, edge: Edge, behind: dict[int, tuple[int, tuple[int, ...]]], ids: list[str]
) -> Edge:
    """The edge from the state behind the door, with its pushes."""
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
    """The stack effect of an edge of the PDA, as fields of ``Edge``."""
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
    """A stack symbol as a dotted rule."""
    return _BOTTOM_NAME if symbol == BOTTOM else _one_line(symbols[symbol])


def _one_line(text: str) -> str:
    """A dotted rule on one line: line breaks in its literals are drawn as glyphs."""
    return printable(_with_label_names(text).replace("\n", "⏎"))


def _with_label_names(text: str) -> str:
    """A dotted rule with encoded labels replaced by their names."""
    for name, sign in LABEL_CODES.items():
        text = text.replace(sign.decode("ascii", "backslashreplace"), name)
    return text


def kinds_of(pops: Sequence[object], pushes: Sequence[object]) -> tuple[str, ...]:
    """The kinds of an edge with these stack effects."""
    return (*(("pop",) if pops else ()), *(("push",) if pushes else ()))


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
        for s in budgeted(range(machine.states))
    )


def token_pda_edges(
    machine: TokenPda,
    states: Iterable[int],
) -> tuple[Edge, ...]:
    """The edges that leave some states, one for all tokens with the same effect."""
    ids = _ids(machine.network_states, machine.states)
    trie = machine.vocabulary.trie
    rank = np.zeros(len(machine.vocabulary), np.int32)
    rank[trie.token_ids] = np.arange(len(trie.token_ids), dtype=np.int32)
    edges = []
    for state in budgeted(states):
        tokens, choices = machine.row(state)
        order = np.argsort(rank[tokens])
        tokens, choices = tokens[order], choices[order]
        groups: defaultdict[TokenPdaMove, list[npt.NDArray[np.int32]]] = defaultdict(list)
        for choice in budgeted(dict.fromkeys(choices.tolist())):
            its_tokens = tokens[choices == choice]
            for move in machine.choices[choice]:
                groups[move].append(its_tokens)
        for move, parts in budgeted(groups.items()):
            group = np.concatenate(parts)
            if len(parts) > 1:
                group = group[np.argsort(rank[group])]
            text = group[group < first_label_id(machine.vocabulary)]
            if len(text):
                edges.append(_token_edge(machine, state, move, text.tolist(), ids))
            for label in labels_among(machine.vocabulary, group):
                edges.append(_label_edge(machine, state, move, label, ids))
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
    """The edge of all tokens that lead to one state with the same stack effect."""
    tokens = [machine.vocabulary.tokens[token_id] or b"" for token_id in group[:MAX_SEARCHED]]
    few = MAX_WRITTEN_OUT_TOY if len(machine.vocabulary) <= MAX_TOY_TOKENS else MAX_WRITTEN_OUT
    edge = counted_edge(ids[source], ids[move.target], tokens, len(group), few)
    effect = _effect(machine, move)
    items = [f"pops {item}" for item in effect["pops"]]
    items += [f"pushes {item}" for item in effect["pushes"]]
    title = "\n".join((edge.title, *items))
    return replace(edge, kinds=kinds_of(move.pops, move.pushes), title=title, **effect)


def _effect(machine: TokenPda, move: TokenPdaMove) -> dict[str, Any]:
    """The stack effect of a move over a token, as fields of ``Edge``."""
    pops = tuple(_item(machine.symbols, symbol) for symbol in move.pops)
    pushes = tuple(_item(machine.symbols, symbol) for symbol in move.pushes)
    marks = (f"▼{len(pops)}" if pops else "", f"▲{len(pushes)}" if pushes else "")
    return {"pops": pops, "pushes": pushes, "mark": " ".join(filter(None, marks))}
