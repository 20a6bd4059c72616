"""Finite automata become graphs: Nfa, Dfa (as a character FSA), TokenFsa.

Characters are shown, bytes are what runs: UTF-8 chains are folded, so the states of a picture are
those between characters, under the numbers they have in the machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from workbench.automata.describe import describe
from workbench.automata.dfa import Dfa
from workbench.automata.fold import fold
from workbench.automata.nfa import Nfa
from workbench.constraint.compose import TokenFsa
from workbench.drawing.characters import CharacterEdges, folded, read_back
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.text import visible
from workbench.syntax.regex_tree import Ranges

#: Tokens between two states that are all written out; of more, a few and their number.
WRITTEN_OUT = 3

#: The same where the whole vocabulary is small enough to know by heart.
WRITTEN_OUT_TOY = 8
TOY = 40

#: Tokens listed in the side panel, and tokens looked at for examples.
_LISTED = 60
_LOOKED_AT = 400


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


def draw_dfa(dfa: Dfa, name: str = "character automaton") -> Graph:
    """A byte automaton as the character FSA a reader expects."""
    read = folded(dfa)
    nodes = tuple(state_node(s, dfa.initial, bool(dfa.finals[s])) for s in sorted(read.states))
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
            (character_label(ranges),),
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
    return (*characters, *pieces)


def character_label(ranges: Ranges) -> str:
    """A set of characters in a picture: the character itself, or the set in brackets."""
    if not _many(ranges):
        return visible(chr(ranges[0][0]))
    told = describe(ranges)
    if told == "digit":
        return "[0-9]"  # a word would run into the letters of a chain
    return told.replace(" ", "·") if told.startswith("[") else told


def describe_bytes(ranges: Ranges) -> str:
    """Bytes as numbers: ``<0x80–0xBF>``."""
    return " ".join(
        f"<0x{low:02X}>" if low == high else f"<0x{low:02X}–0x{high:02X}>" for low, high in ranges
    )


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
    that they can is what tells this machine from the character automaton. States inside a
    character are not drawn; the tokens that lead through them are pieces of characters.
    """
    whole = np.zeros(len(dfa), np.bool_)
    whole[list(fold(dfa).states)] = True
    sources = np.repeat(np.arange(len(fsa), dtype=np.int64), np.diff(fsa.first))
    skips = passing_over(fsa, dfa, sources, whole)
    plain: list[Edge] = []
    pieces: list[Edge] = []
    for group in _groups(sources, fsa.targets, skips):
        source, target = int(sources[group[0]]), int(fsa.targets[group[0]])
        edge = _token_edge(fsa, source, target, bool(skips[group[0]]), group)
        (plain if whole[source] and whole[target] else pieces).append(edge)
    edges = (*plain, *_through(pieces, {str(s) for s in np.flatnonzero(whole)}))
    reached = {fsa.initial, *(int(end) for edge in edges for end in (edge.source, edge.target))}
    nodes = tuple(state_node(s, fsa.initial, bool(fsa.finals[s])) for s in sorted(reached))
    return Graph(name, nodes, edges, f"{len(sources):,} token edges")


def _groups(
    sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int32], skips: npt.NDArray[np.bool_]
) -> Iterator[npt.NDArray[np.int64]]:
    """The numbers of the edges that share source, target and whether they skip."""
    if not len(sources):
        return
    order = np.lexsort((skips, targets, sources))
    keys = np.stack((sources[order], targets[order], skips[order]))
    cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    yield from np.split(order, cuts)


def _through(pieces: list[Edge], whole: set[str]) -> Iterator[Edge]:
    """For every two character states one edge for all tokens that stop between them."""
    onward: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in pieces:
        onward[edge.source].append(edge)
    for source in (state for state in list(onward) if state in whole):
        passed = dict.fromkeys(edge.target for edge in onward[source])
        ends: dict[str, None] = {}
        waiting = list(passed)
        for inside in waiting:
            for edge in onward[inside]:
                if edge.target in whole:
                    ends[edge.target] = None
                elif edge.target not in passed:
                    passed[edge.target] = None
                    waiting.append(edge.target)
        count = sum(edge.count for edge in onward[source])
        listed = "\n".join(edge.detail for edge in onward[source])
        for end in ends:
            label = f"pieces of characters\n{_counted(count)}"
            title = f"{_counted(count)} that begin a character and do not end it"
            yield Edge(source, end, (label,), ("bytes",), count, (), title, listed, (), (*passed,))


def _counted(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _token_edge(
    fsa: TokenFsa, source: int, target: int, skips: bool, group: npt.NDArray[np.int64]
) -> Edge:
    seen = [fsa.vocabulary.tokens[int(fsa.token_ids[i])] or b"" for i in group[:_LOOKED_AT]]
    # some vocabularies have two tokens of the same bytes; one look at them is enough
    listed = list(dict.fromkeys(map(visible, seen[:_LISTED])))
    examples = tuple(sorted(dict.fromkeys(map(visible, seen)), key=_dull)[:WRITTEN_OUT])
    most = WRITTEN_OUT_TOY if len(fsa.vocabulary) <= TOY else WRITTEN_OUT
    written_out = len(listed) <= most and len(group) <= _LISTED
    labels = tuple(listed) if written_out else (f"{'  '.join(examples)}\n{_counted(len(group))}",)
    more = f"\nand {len(group) - _LISTED:,} more" if len(group) > _LISTED else ""
    over = " over other states" if skips else ""
    return Edge(
        str(source),
        str(target),
        labels,
        ("skip",) if skips else (),
        len(group),
        examples,
        title=f"{_counted(len(group))}{over}: {'  '.join(listed[:12])}",
        detail="\n".join(listed) + more,
    )


def _dull(token: str) -> tuple[bool, bool, bool]:
    """Sorts tokens a reader knows at sight to the front."""
    return "<" in token, not any(map(str.isalnum, token)), not 2 <= len(token) <= 8


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
