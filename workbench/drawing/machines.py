"""Finite automata become graphs: Nfa, Dfa (as a character FSA), TokenFsa.

Characters are shown, bytes are what runs: UTF-8 chains are folded, so the states of a picture are
those between characters, under the numbers they have in the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from workbench.automata.describe import describe

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.nfa import Nfa
from workbench.constraint.compose import TokenFsa
from workbench.drawing.characters import ByteEdge, CharacterEdges, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.text import visible
from workbench.syntax.regex_tree import Ranges

#: Tokens between two states that are all written out; of more, a few and their number.
WRITTEN_OUT = 3

#: The same where the whole vocabulary is small enough to know by heart.
WRITTEN_OUT_TOY = 8
TOY = 40

#: Tokens looked at for the hover text and the side panel.
_LISTED = 60


def draw_nfa(nfa: Nfa, name: str = "nondeterministic automaton") -> Graph:
    """A nondeterministic automaton, ε-edges and all."""
    solid = {s for s in range(len(nfa)) if nfa.epsilons[s]} | nfa.finals
    entries = [nfa.initial, *(target for targets in nfa.epsilons for target in targets)]
    read = read_back(nfa.edges, entries, solid)
    shown = _in_order(read.states)
    silent = [
        Edge(str(source), str(target), ("ε",), ("epsilon",))
        for source in shown
        for target in dict.fromkeys(nfa.epsilons[source])
    ]
    nodes = tuple(state_node(s, nfa.initial, s in nfa.finals) for s in shown)
    return Graph(name, nodes, (*reading_edges(read), *silent))


def draw_dfa(dfa: Dfa, name: str = "character automaton") -> Graph:
    """A byte automaton as the character FSA a reader expects."""
    rows = byte_edges(dfa.classes, dfa.table)
    read = read_back(rows, [dfa.initial], set(np.flatnonzero(dfa.finals).tolist()))
    nodes = tuple(state_node(s, dfa.initial, bool(dfa.finals[s])) for s in _in_order(read.states))
    return Graph(name, nodes, reading_edges(read))


def state_node(state: int, initial: int, final: bool, title: str = "", cluster: str = "") -> Node:
    """A state under its number."""
    kinds = ("initial",) * (state == initial) + ("final",) * final
    said = " · ".join(filter(None, (f"state {state}", *kinds, title)))
    return Node(str(state), str(state), kinds, said, cluster)


def reading_edges(read: CharacterEdges) -> tuple[Edge, ...]:
    """An edge for every two states: all characters that lead from one to the other."""
    characters = [
        Edge(
            str(source),
            str(target),
            (describe(ranges),),
            ("class",) if _many(ranges) else (),
            detail=_code_points(ranges),
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
    return (*characters, *pieces)


def describe_bytes(ranges: Ranges) -> str:
    """Bytes as numbers: ``<0x80–0xBF>``."""
    return " ".join(
        f"<0x{low:02X}>" if low == high else f"<0x{low:02X}–0x{high:02X}>" for low, high in ranges
    )


def byte_edges(
    classes: npt.NDArray[np.uint16], table: npt.NDArray[np.int32]
) -> list[list[ByteEdge]]:
    """The byte edges of every row of a table, neighbouring bytes of one class as one.

    Shape: ``classes`` (256 or more,), ``table`` (Q, C).
    """
    columns = classes[:256]
    cuts = [0, *(np.flatnonzero(np.diff(columns)) + 1).tolist(), 256]
    targets = table[:, columns[cuts[:-1]]].tolist()  # (Q, runs)
    runs = list(pairwise(cuts))
    return [
        [
            (low, end - 1, target)
            for (low, end), target in zip(runs, row, strict=True)
            if target != DEAD
        ]
        for row in targets
    ]


def _in_order(states: Iterable[int]) -> list[int]:
    return sorted(states)


def _many(ranges: Ranges) -> bool:
    return len(ranges) > 1 or ranges[0][0] != ranges[0][1]


def _code_points(ranges: Ranges) -> str:
    """The ranges as code points, for whoever wants to know exactly; the first few hundred."""
    told = ", ".join(
        f"U+{low:04X}" if low == high else f"U+{low:04X}–U+{high:04X}" for low, high in ranges[:200]
    )
    return told if len(ranges) <= 200 else f"{told} and {len(ranges) - 200:,} more ranges"


def draw_token_fsa(fsa: TokenFsa, dfa: Dfa, name: str = "token automaton") -> Graph:
    """The machine over tokens: for every two states one edge, with how many tokens and which.

    Tokens that pass over other character states make an edge of their own, drawn dashed:
    that they can is what tells this machine from the character automaton.
    """
    between = read_back(
        byte_edges(dfa.classes, dfa.table), [dfa.initial], set(np.flatnonzero(dfa.finals).tolist())
    )
    whole = np.zeros(len(dfa), np.bool_)
    whole[list(between.states)] = True
    sources = np.repeat(np.arange(len(fsa), dtype=np.int64), np.diff(fsa.first))
    skips = passing_over(fsa, dfa, sources, whole)
    keys = (sources * len(fsa) + fsa.targets) * 2 + skips
    order = np.argsort(keys, kind="stable")
    _, starts = np.unique(keys[order], return_index=True)
    edges = []
    for group in np.split(order, starts[1:]) if len(order) else ():
        source, target = int(sources[group[0]]), int(fsa.targets[group[0]])
        edges.append(_token_edge(fsa, source, target, bool(skips[group[0]]), group))
    reached = {fsa.initial, *(int(e.source) for e in edges), *(int(e.target) for e in edges)}
    nodes = tuple(_token_state(fsa, s, bool(whole[s])) for s in _in_order(reached))
    return Graph(name, nodes, tuple(edges), f"{len(order):,} token edges")


def _token_state(fsa: TokenFsa, state: int, whole: bool) -> Node:
    node = state_node(
        state, fsa.initial, bool(fsa.finals[state]), "" if whole else "inside a character"
    )
    if whole:
        return node
    return Node(node.id, node.label, (*node.kinds, "inside"), node.title)


def _token_edge(
    fsa: TokenFsa, source: int, target: int, skips: bool, group: npt.NDArray[np.int64]
) -> Edge:
    tokens = [fsa.vocabulary.tokens[int(fsa.token_ids[i])] or b"" for i in group[:_LISTED]]
    telling = sorted(tokens, key=lambda t: ("<0x" in visible(t), len(t) < 2))
    examples = tuple(visible(token) for token in telling[:WRITTEN_OUT])
    most = WRITTEN_OUT_TOY if len(fsa.vocabulary) <= TOY else WRITTEN_OUT
    listed = [visible(token) for token in tokens]
    more = f" and {len(group) - len(listed):,} more" if len(group) > len(listed) else ""
    if len(group) <= most:
        labels: tuple[str, ...] = tuple(listed)
    else:
        labels = (f"{'  '.join(examples)}\n{len(group):,} tokens",)
    counted = f"{len(group):,} token{'' if len(group) == 1 else 's'}"
    return Edge(
        str(source),
        str(target),
        labels,
        ("skip",) if skips else (),
        len(group),
        examples,
        title=f"{counted}{' over other states' if skips else ''}: {'  '.join(listed[:12])}",
        detail="\n".join(listed) + more,
    )


def passing_over(
    fsa: TokenFsa, dfa: Dfa, sources: npt.NDArray[np.int64], whole: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """For each token edge whether it passes a character state that is neither of its ends, (E,).

    Cost: all edges at once, one step for each byte of the longest token.
    """
    spelt, lengths = _padded([token or b"" for token in fsa.vocabulary.tokens])
    skips = np.zeros(len(sources), np.bool_)
    alive = np.arange(len(sources))
    state = sources.copy()
    for position in range(spelt.shape[1]):
        # the state after a token's last byte is its target, so the last step is not taken
        on = lengths[fsa.token_ids[alive]] > position + 1
        alive, state = alive[on], state[on]
        if not len(alive):
            break
        state = dfa.table[state, dfa.classes[spelt[fsa.token_ids[alive], position]]].astype(
            np.int64
        )
        other = (state != sources[alive]) & (state != fsa.targets[alive])
        skips[alive] |= other & whole[state]
    return skips


def _padded(tokens: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """All tokens as one array of bytes, (V, longest), and their lengths, (V,)."""
    lengths = np.array([len(token) for token in tokens], np.int64)
    longest = int(lengths.max(initial=1))
    joined = b"".join(token.ljust(longest, b"\0") for token in tokens)
    return np.frombuffer(joined, np.uint8).reshape(len(tokens), longest), lengths
