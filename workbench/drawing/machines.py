"""Graphs of finite automata: Nfa, Dfa (as a character FSA), TokenFsa.

Characters are shown, bytes are what runs: UTF-8 chains are folded, so the states of a picture are
those between characters, under the numbers they have in the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.automata.describe import describe
from workbench.automata.dfa import Dfa
from workbench.automata.nfa import Nfa
from workbench.constraint.compose import TokenFsa
from workbench.drawing.characters import CharacterEdges, folded, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.text import visible
from workbench.drawing.token_edges import TokenRows, token_edges
from workbench.syntax.regex.tree import Ranges


def draw_nfa(nfa: Nfa, name: str = "nondeterministic automaton") -> Graph:
    """A nondeterministic automaton, ε-edges and all."""
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
    """A byte automaton as the character FSA a reader expects.

    ``written`` are the labels of character classes as their author wrote them.
    """
    read = folded(dfa)
    nodes = tuple(state_node(s, dfa.initial, bool(dfa.finals[s])) for s in sorted(read.states))
    return Graph(name, nodes, reading_edges(read, written))


def state_node(state: int, initial: int, final: bool, title: str = "", cluster: str = "") -> Node:
    """A state under its number."""
    kinds = ("initial",) * (state == initial) + ("final",) * final
    said = " · ".join(filter(None, (f"state {state}", *kinds, title)))
    return Node(str(state), str(state), kinds, said, cluster)


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
        )
        for (source, target), ranges in read.characters.items()
    ]
    pieces = [
        Edge(
            str(source),
            str(target),
            (describe_bytes(ranges),),
            ("bytes",),
            title=f"bytes {describe_bytes(ranges)}, a piece of a character",
        )
        for (source, target), ranges in read.raw.items()
    ]
    labels = [
        Edge(
            str(source),
            str(target),
            tuple(label.name for label in found),
            ("terminal",),
            title="\n".join(f"{label.name}: {label.what}" for label in found),
            between=tuple(map(str, read.between[source, target])),
        )
        for (source, target), found in read.labels.items()
    ]
    return (*characters, *pieces, *labels)


def character_label(ranges: Ranges, written: Mapping[Ranges, str] | None = None) -> str:
    """A set of characters in a picture: the character itself, or the set in brackets."""
    if not _many(ranges):
        return visible(chr(ranges[0][0]))
    if written and ranges in written:
        return visible(written[ranges])
    told = describe(ranges)
    ascii_only = tuple((low, min(high, 0x7E)) for low, high in ranges if low < 0x7F)
    others = sum(high - max(low, 0x7F) + 1 for low, high in ranges if high >= 0x7F)
    if len(ranges) > _LISTED and ascii_only and others and not told.startswith(("\\", "[^")):
        # letters of all scripts say nothing to a reader of one, and few fonts have them
        return f"{character_label(ascii_only)} +{others:,}"
    if told == "digit":
        return "[0-9]"  # a word would run into the letters of a chain
    return told.replace(" ", "·") if told.startswith("[") else told


#: Ranges up to which a set with characters beyond ASCII is written out.
_LISTED = 4


def describe_bytes(ranges: Ranges) -> str:
    """Bytes as numbers: ``<0x80–0xBF>``."""
    return " ".join(
        f"<0x{low:02X}>" if low == high else f"<0x{low:02X}–0x{high:02X}>" for low, high in ranges
    )


def _many(ranges: Ranges) -> bool:
    return len(ranges) > 1 or ranges[0][0] != ranges[0][1]


def _code_points(ranges: Ranges) -> str:
    """The ranges as code points, for the card of an edge; at most the first few hundred."""
    told = ", ".join(
        f"U+{low:04X}" if low == high else f"U+{low:04X}–U+{high:04X}" for low, high in ranges[:200]
    )
    return told if len(ranges) <= 200 else f"{told} and {len(ranges) - 200:,} more ranges"


def draw_token_fsa(fsa: TokenFsa, dfa: Dfa, name: str = "token automaton") -> Graph:
    """The machine over tokens: for every two states one edge, with how many tokens and which.

    Tokens that pass over other character states make a separate edge, drawn dashed:
    that they can is what tells this machine from the character automaton. States inside a
    character are not drawn; the tokens that lead through them are pieces of characters.
    """
    whole = np.zeros(len(dfa), np.bool_)
    whole[list(folded(dfa).states)] = True
    rows = TokenRows.of(fsa)
    edges = token_edges(rows, dfa, whole)
    reached = {fsa.initial, *(int(end) for edge in edges for end in (edge.source, edge.target))}
    nodes = tuple(state_node(s, fsa.initial, bool(fsa.finals[s])) for s in sorted(reached))
    return Graph(name, nodes, edges, f"{len(rows.sources):,} token edges")
