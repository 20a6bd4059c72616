"""Tokens as a transducer: Koo's Algorithm 1, the merging of prefixes, and composition, as films."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.automata.dfa import DEAD, Dfa
from workbench.constraint.compose import compose
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_dfa, draw_token_fsa
from workbench.drawing.text import visible
from workbench.drawing.transducers import Fst, FstEdge, detokenizer, merged_detokenizer
from workbench.lessons.lesson import Film, Frame, Given, Row, View
from workbench.lessons.world import World

#: A state of the composed machine: of the automaton, and of the transducer.
Pair = tuple[int, int]


def _drawn(machine: Fst, name: str) -> Graph:
    """The transducer with an edge of its own for every edge, so that each can come in its turn."""
    nodes = tuple(
        Node(str(s), "r" if s == machine.initial else str(s), _kinds(machine, s))
        for s in range(machine.states)
    )
    edges = tuple(
        Edge(
            str(edge.source),
            str(edge.target),
            (_label(edge),),
            ("epsilon",) if edge.reads is None else ("back",),
        )
        for edge in machine.edges
    )
    return Graph(name, nodes, edges)


def _kinds(machine: Fst, state: int) -> tuple[str, ...]:
    return ("initial",) * (state == machine.initial) + ("final",) * (state in machine.finals)


def _label(edge: FstEdge) -> str:
    reads = "ε" if edge.reads is None else visible(edge.reads)
    return f"{reads}:{visible(edge.writes or b'')}"


def algorithm_1(world: World, given: Given) -> Film:
    """A cycle for each token, edge after edge, as Koo's Algorithm 1 builds it."""
    machine = detokenizer(world.words)
    graph = _drawn(machine, "detokenizing transducer")
    nodes, edges = {"0"}, set[int]()
    frames = [Frame("A root state r, where every token begins and ends.", (_so_far(nodes, edges),))]
    rest = list(enumerate(machine.edges))
    for token in world.words:
        count = len(token.decode("utf-8", "surrogateescape"))
        own, rest = rest[:count], rest[count:]
        for number, edge in own:
            nodes.add(str(edge.target))
            edges.add(number)
        frames.append(
            Frame(
                _cycle_words(token, [edge for _, edge in own]),
                (_so_far(nodes, edges, tuple(number for number, _ in own)),),
                (Row("token", (visible(token),), 0),),
            )
        )
    say = f"{len(world.words)} tokens, {len(world.words)} cycles, {machine.states} states."
    frames.append(Frame(say, (_so_far(nodes, edges),)))
    return Film((graph,), tuple(frames))


def _so_far(nodes: set[str], edges: set[int], arcs: tuple[int, ...] = ()) -> View:
    return View((), arcs, frozenset(nodes), frozenset(edges))


def _cycle_words(token: bytes, edges: list[FstEdge]) -> str:
    if len(edges) == 1:
        return f"{visible(token)} is one character: a loop that reads the token and writes it."
    written = ", ".join(visible(edge.writes or b"") for edge in edges[:-1])
    last = visible(edges[-1].writes or b"")
    return (
        f"{visible(token)}: ε-edges write {written}; only the last edge reads the token, writes"
        f" {last} and returns to the root."
    )


def merging(world: World, given: Given) -> Film:
    """Above the cycles of Algorithm 1, below what is left when common beginnings are one."""
    tokens = world.words
    plain, merged = detokenizer(tokens), merged_detokenizer(tokens)
    above, below = _drawn(plain, "as Algorithm 1 builds it"), _drawn(merged, "prefixes merged")
    silent = [number for number, edge in enumerate(plain.edges) if edge.reads is None]
    first = [n for n in silent if plain.edges[n].source == 0]
    say = f"Of the ε-edges {len(first)} leave the root; some of them write the same character."
    hidden = View(nodes=frozenset(), edges=frozenset())
    frames = [Frame(say, (View((), tuple(first)), hidden))]
    kept = sum(edge.reads is None for edge in merged.edges)
    say = (
        f"Cycles that begin alike share their ε-edges: {len(silent)} become {kept}, and"
        f" {plain.states} states become {merged.states}. The last edge of a token is its own."
    )
    backs = tuple(n for n, edge in enumerate(merged.edges) if edge.reads is not None)
    frames.append(Frame(say, (View(), View((), backs))))
    return Film((above, below), tuple(frames))


# -- composition ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Joined:
    """One edge of the composed machine: both halves move over the same character."""

    source: Pair
    target: Pair
    #: The token read, or None where the transducer writes without reading.
    reads: bytes | None
    character: bytes


def compose_steps(dfa: Dfa, machine: Fst) -> Iterator[tuple[Pair, list[Joined]]]:
    """The composition with its worklist: every pair reached, with the edges that leave it.

    Source: Koo et al. 2024, §2.2 and Algorithm 2; Riley, Allauzen & Jansche 2009.
    """
    start = (dfa.initial, machine.initial)
    known, waiting = {start}, [start]
    for pair in waiting:  # grows while it is read
        found = []
        for edge in machine.edges:
            if edge.source != pair[1] or edge.writes is None:
                continue
            if (state := dfa.run(edge.writes, pair[0])) == DEAD:
                continue
            found.append(Joined(pair, (state, edge.target), edge.reads, edge.writes))
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


def composition(world: World, given: Given) -> Film:
    """Two machines walk together: pairs of their states, from a worklist, then the tokens alone."""
    dfa, machine = world.dfa, merged_detokenizer(world.words)
    steps = list(compose_steps(dfa, machine))
    joined = [one for _, found in steps for one in found]
    order = list(dict.fromkeys(pair for pair, _ in steps))
    above = draw_dfa(dfa, f"/{world.regex}/ over characters")
    pairs = _pair_graph(dfa, machine, order, joined)
    fsa = compose(dfa, world.vocabulary)
    last = draw_token_fsa(fsa, dfa, f"/{world.regex}/ over tokens")
    hidden = View(nodes=frozenset(), edges=frozenset())
    shown, edges, waiting = {_pair_id(order[0])}, set[int](), [order[0]]
    frames = [_pair_frame(_START, above, order[0], shown, edges, (), waiting, hidden)]
    number = 0
    for pair, found in steps:
        waiting = waiting[1:]
        arcs = tuple(range(number, number + len(found)))
        number += len(found)
        edges.update(arcs)
        waiting += [j.target for j in found if _pair_id(j.target) not in shown]
        waiting = list(dict.fromkeys(waiting))
        shown.update(_pair_id(j.target) for j in found)
        words = _pair_words(pair, found, dfa, machine)
        frames.append(_pair_frame(words, above, pair, shown, edges, arcs, waiting, hidden))
    alive = alive_pairs(dfa, joined)
    dead = frozenset(_pair_id(p) for p in order if p not in alive)
    said = "Every pair leads to an accepted text." if not dead else _dead_words(order, alive)
    whole = View(nodes=frozenset(shown), edges=frozenset(edges), dead=dead)
    frames.append(Frame(said, (View(), whole, hidden)))
    roots = sum(1 for p in order if not p[1] and p in alive)
    say = (
        f"ε-edges are taken out: what is left are the {roots} pairs at the root, one a state, with"
        " an edge a token."
    )
    frames.append(Frame(say, (View(), whole, View())))
    return Film((above, pairs, last), tuple(frames))


_START = "Both machines stand at their beginning: the pair (0, r) goes on the worklist."


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


def _pair_frame(
    say: str,
    above: Graph,
    pair: Pair | None,
    shown: set[str],
    edges: set[int],
    arcs: tuple[int, ...],
    waiting: list[Pair],
    hidden: View,
) -> Frame:
    lit = () if pair is None else (str(pair[0]),)
    here = () if pair is None else (_pair_id(pair),)
    middle = View(here, arcs, frozenset(shown), frozenset(edges))
    chips = tuple(map(_pair_name, waiting)) or ("empty",)
    row = Row("worklist", chips, 0 if waiting else -1)
    return Frame(say, (View(lit), middle, hidden), (row,))
