"""A film of the composition of an automaton with a vocabulary, pair by pair.

Source: Koo et al. 2024, §2.2 and Algorithm 2; Riley, Allauzen & Jansche 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.automata.dfa import DEAD, Dfa
from workbench.constraint.compose import compose
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_dfa, draw_token_fsa
from workbench.drawing.text import visible
from workbench.drawing.transducers import Fst, merged_detokenizer
from workbench.lessons.lesson import Film, Frame, Given, Row, View
from workbench.lessons.running import arcs_between
from workbench.lessons.transducing import drawn
from workbench.lessons.world import World

#: A state of the composed machine: of the automaton, and of the transducer.
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Joined:
    """One edge of the composed machine: both halves move over the same character."""

    source: Pair
    target: Pair
    #: The token read, or None where the transducer writes without reading.
    reads: bytes | None
    character: bytes
    #: The number of the transducer's edge.
    edge: int


def compose_steps(dfa: Dfa, machine: Fst) -> Iterator[tuple[Pair, list[Joined]]]:
    """The composition with its worklist: every pair reached, with the edges that leave it."""
    start = (dfa.initial, machine.initial)
    known, waiting = {start}, [start]
    for pair in waiting:  # grows while it is read
        found = []
        for number, edge in enumerate(machine.edges):
            if edge.source != pair[1] or edge.writes is None:
                continue
            if (state := dfa.run(edge.writes, pair[0])) == DEAD:
                continue
            found.append(Joined(pair, (state, edge.target), edge.reads, edge.writes, number))
        yield pair, found
        for joined in found:
            if joined.target not in known:
                known.add(joined.target)
                waiting.append(joined.target)


def alive_pairs(dfa: Dfa, joined: list[Joined]) -> set[Pair]:
    """The pairs from which a whole token sequence leads to an accepted text."""
    alive = {
        end for j in joined for end in (j.source, j.target) if not end[1] and dfa.finals[end[0]]
    }
    while True:
        more = {j.source for j in joined if j.target in alive} - alive
        if not more:
            return alive
        alive |= more


_HIDDEN = View(nodes=frozenset(), edges=frozenset())


def composition(world: World, given: Given) -> Film:
    """Two machines walk together: pairs of their states, from a worklist, then the tokens alone."""
    dfa, machine = world.dfa, merged_detokenizer(world.words)
    steps = list(compose_steps(dfa, machine))
    joined = [one for _, found in steps for one in found]
    order = [pair for pair, _ in steps]
    graphs = (
        draw_dfa(dfa, f"A: /{world.regex}/ over characters"),
        drawn(machine, "T: tokens into characters"),
        _pair_graph(dfa, machine, order, joined),
        draw_token_fsa(compose(dfa, world.vocabulary), dfa, "A ∘ T: the same over tokens"),
    )
    reel = _Reel(graphs[0], {order[0]}, [order[0]])
    frames = [reel.frame(_START, order[0], [])]
    for pair, found in steps:
        reel.follow(found)
        frames.append(reel.frame(_pair_words(pair, found, dfa, machine), pair, found))
    alive = alive_pairs(dfa, joined)
    dead = frozenset(_pair_id(p) for p in order if p not in alive)
    said = "Every pair leads to an accepted text." if not dead else _dead_words(order, alive)
    whole = View(dead=dead)
    frames.append(Frame(said, (View(), View(), whole, _HIDDEN)))
    roots = sum(1 for p in order if not p[1] and p in alive)
    say = f"Without ε-edges the {roots} pairs at the root are left, with tokens between them."
    frames.append(Frame(say, (View(), View(), whole, View())))
    return Film(graphs, tuple(frames))


@dataclass(slots=True)
class _Reel:
    """The states and edges that have been found."""

    automaton: Graph
    shown: set[Pair]
    waiting: list[Pair]
    edges: int = 0
    arcs: tuple[int, ...] = field(default=())

    def follow(self, found: list[Joined]) -> None:
        """Take the first pair off the worklist and put on it what was found from there."""
        new = [j.target for j in found if j.target not in self.shown]
        self.waiting = [*self.waiting[1:], *dict.fromkeys(new)]
        self.shown.update(new)
        self.arcs = tuple(range(self.edges, self.edges + len(found)))
        self.edges += len(found)

    def frame(self, say: str, pair: Pair, found: list[Joined]) -> Frame:
        """Both machines at a pair, the edges both can take, and the pairs found before."""
        here = (str(pair[0]),)
        ends = tuple(str(j.target[0]) for j in found)
        views = (
            View(here, arcs_between(self.automaton, here, ends)),
            View((str(pair[1]),), tuple(j.edge for j in found)),
            View(
                (_pair_id(pair),),
                self.arcs,
                frozenset(map(_pair_id, self.shown)),
                frozenset(range(self.edges)),
            ),
            _HIDDEN,
        )
        chips = tuple(map(_pair_name, self.waiting)) or ("empty",)
        return Frame(say, views, (Row("worklist", chips, 0 if self.waiting else -1),))


_START = "Both machines are in their initial state: the pair (0, r) goes on the worklist."


def _pair_id(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _pair_name(pair: Pair) -> str:
    return f"({pair[0]}, {'r' if not pair[1] else pair[1]})"


def _pair_graph(dfa: Dfa, machine: Fst, order: list[Pair], joined: list[Joined]) -> Graph:
    nodes = tuple(
        Node(
            _pair_id(pair),
            _pair_name(pair),
            ("initial",) * (i == 0)
            + ("final",) * (pair[1] in machine.finals and dfa.is_final(pair[0])),
        )
        for i, pair in enumerate(order)
    )
    edges = tuple(
        Edge(
            _pair_id(j.source),
            _pair_id(j.target),
            ("ε" if j.reads is None else visible(j.reads),),
            ("epsilon",) if j.reads is None else (),
        )
        for j in joined
    )
    return Graph("pairs", nodes, edges)


def _pair_words(pair: Pair, found: list[Joined], dfa: Dfa, machine: Fst) -> str:
    offered = [edge.writes or b"" for edge in machine.edges if edge.source == pair[1]]
    refused = sorted({visible(c) for c in offered} - {visible(j.character) for j in found})
    moves = [
        f"over {visible(j.character)} to {_pair_name(j.target)}"
        + ("" if j.reads is None else f", reading {visible(j.reads)}")
        for j in found
    ]
    told = (
        f"{_pair_name(pair)} goes " + "; ".join(moves) if moves else f"{_pair_name(pair)} is stuck"
    )
    if refused:
        told += f"; the automaton does not read {', '.join(refused)} in state {pair[0]}"
    return told + "."


def _dead_words(order: list[Pair], alive: set[Pair]) -> str:
    dead = ", ".join(_pair_name(p) for p in order if p not in alive)
    return f"No whole token leads on from {dead}: they are taken out."
