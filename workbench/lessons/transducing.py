"""Tokens as a transducer: Koo's Algorithm 1 and the merging of prefixes, as films."""

from __future__ import annotations

from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.text import visible
from workbench.drawing.transducers import Fst, FstEdge, detokenizer, merged_detokenizer
from workbench.lessons.lesson import Film, Frame, Given, Row, View
from workbench.lessons.world import World


def drawn(machine: Fst, name: str) -> Graph:
    """The transducer with a separate drawn edge for every edge, so that each can be added alone."""
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
    graph = drawn(machine, "detokenizing transducer")
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
    """Above the cycles of Algorithm 1, below those with common prefixes merged."""
    tokens = world.words
    plain, merged = detokenizer(tokens), merged_detokenizer(tokens)
    above, below = drawn(plain, "as Algorithm 1 builds it"), drawn(merged, "prefixes merged")
    silent = [number for number, edge in enumerate(plain.edges) if edge.reads is None]
    first = [n for n in silent if plain.edges[n].source == 0]
    say = f"Of the ε-edges {len(first)} leave the root; some of them write the same character."
    hidden = View(nodes=frozenset(), edges=frozenset())
    frames = [Frame(say, (View((), tuple(first)), hidden))]
    kept = sum(edge.reads is None for edge in merged.edges)
    say = (
        f"Cycles that begin alike share their ε-edges: {len(silent)} become {kept}, and"
        f" {plain.states} states become {merged.states}. The last edges stay separate."
    )
    backs = tuple(n for n, edge in enumerate(merged.edges) if edge.reads is not None)
    frames.append(Frame(say, (View(), View((), backs))))
    return Film((above, below), tuple(frames))
