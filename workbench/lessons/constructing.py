"""Films of textbook constructions of automata, step by step.

Each is the algorithm as its source writes it, slow and step by step; the tests compare the
result with the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.automata.determinize import determinize
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import character_label, draw_dfa, draw_nfa
from workbench.lessons.lesson import Film, Frame, Given, Row, View
from workbench.lessons.running import arcs_between, closure, moved, set_name
from workbench.lessons.world import World

#: A set of states of a nondeterministic machine, which is one state of the deterministic one.
States = frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """One step of the subset construction: from a set, with a byte, to a set."""

    source: States
    byte: int
    target: States
    is_new: bool


def subset_steps(nfa: Nfa) -> Iterator[Found]:
    """The subset construction with its worklist, edge by edge, over bytes.

    Source: Rabin & Scott 1959, theorem 11; Hopcroft, Motwani & Ullman 2001, §2.3.5.
    """
    used = sorted(
        {b for edges in nfa.edges for low, high, _ in edges for b in range(low, high + 1)}
    )
    start = closure(nfa, {nfa.initial})
    known, waiting = {start}, [start]
    for source in waiting:  # grows while it is read
        for byte in used:
            target = closure(nfa, moved(nfa, source, byte))
            if not target:
                continue
            yield Found(source, byte, target, target not in known)
            if target not in known:
                known.add(target)
                waiting.append(target)


def subsets(world: World, given: Given) -> Film:
    """Above Thompson's machine, below the deterministic one growing out of it, set by set."""
    nfa = world.nfa
    steps, above = list(subset_steps(nfa)), draw_nfa(world.nfa, f"/{world.regex}/ with choices")
    start = closure(nfa, {nfa.initial})
    order = list(dict.fromkeys((start, *(step.target for step in steps))))
    below = _subset_graph(nfa, order, steps)
    shown, edges, waiting = {start}, set[int](), [start]
    frames = [_subset_frame(_first_words(nfa, start), start, above, order, shown, edges, waiting)]
    for place, step in enumerate(steps):
        while waiting[0] != step.source:
            waiting = waiting[1:]
        shown.add(step.target)
        edges.add(place)
        if step.is_new:
            waiting.append(step.target)
        frames.append(
            _subset_frame(
                _subset_words(step), step.target, above, order, shown, edges, waiting, step.source,
                place,
            )
        )  # fmt: skip
    say = f"The worklist is empty: {len(order)} sets, so {len(order)} states, and no choices."
    frames.append(_subset_frame(say, None, above, order, shown, edges, []))
    return Film((above, below), tuple(frames))


def _first_words(nfa: Nfa, start: States) -> str:
    free = "and what ε-edges reach from it" if len(start) > 1 else "which no ε-edge leaves"
    return f"The first set is the start state, {free}: {set_name(start)}."


def _subset_words(step: Found) -> str:
    new = "a new set, so a new state" if step.is_new else "this set is already there"
    return (
        f"From {set_name(step.source)} the letter {chr(step.byte)} leads to"
        f" {set_name(step.target)}: {new}."
    )


def _subset_graph(nfa: Nfa, order: list[States], steps: list[Found]) -> Graph:
    number = {states: str(i) for i, states in enumerate(order)}
    nodes = tuple(
        Node(
            number[states],
            set_name(states),
            ("initial",) * (i == 0) + ("final",) * bool(states & nfa.finals),
            f"set {set_name(states)}",
        )
        for i, states in enumerate(order)
    )
    edges = tuple(
        Edge(number[step.source], number[step.target], (chr(step.byte),)) for step in steps
    )
    return Graph("sets of states", nodes, edges)


def _subset_frame(
    say: str,
    here: States | None,
    above: Graph,
    order: list[States],
    shown: set[States],
    edges: set[int],
    waiting: list[States],
    source: States | None = None,
    arc: int | None = None,
) -> Frame:
    lit_above = tuple(str(s) for s in sorted(here or ()))
    arcs_above = arcs_between(above, tuple(str(s) for s in source or ()), lit_above)
    arcs_above = tuple(a for a in arcs_above if "epsilon" not in above.edges[a].kinds)
    nodes = frozenset(str(order.index(states)) for states in shown)
    lit_below = () if here is None else (str(order.index(here)),)
    rows = (Row("worklist", tuple(map(set_name, waiting)) or ("empty",), 0 if waiting else -1),)
    below = View(lit_below, () if arc is None else (arc,), nodes, frozenset(edges))
    return Frame(say, (View(lit_above, arcs_above), below), rows)


# -- minimisation ---------------------------------------------------------------------------


def partitions(dfa: Dfa) -> list[list[frozenset[int]]]:
    """Moore's rounds: blocks of states not distinguished yet, until nothing splits.

    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4.
    """
    every = range(len(dfa))
    split = [frozenset(s for s in every if dfa.is_final(s) is is_end) for is_end in (False, True)]
    rounds = [[block for block in split if block]]
    while True:
        block_of = {s: i for i, block in enumerate(rounds[-1]) for s in block} | {DEAD: DEAD}
        pieces: list[frozenset[int]] = []
        for block in rounds[-1]:
            alike: dict[tuple[int, ...], set[int]] = {}
            for state in sorted(block):
                row = tuple(block_of[int(target)] for target in dfa.table[state])
                alike.setdefault(row, set()).add(state)
            pieces += map(frozenset, alike.values())
        if len(pieces) == len(rounds[-1]):
            return rounds
        rounds.append(pieces)


def minimise(world: World, given: Given) -> Film:
    """The machine of the subset construction, split into blocks, then one state a block."""
    large = determinize(world.nfa)
    above, below = draw_dfa(large, "before"), draw_dfa(minimize(large), "after")
    rounds = partitions(large)
    hidden = View(nodes=frozenset(), edges=frozenset())
    frames = []
    for number, blocks in enumerate(rounds):
        say = (
            "At first there are two blocks: the states that accept, and those that do not."
            if number == 0
            else f"Round {number}: {_difference(large, rounds[number - 1], blocks)}."
        )
        row = Row("blocks", tuple(map(set_name, blocks)))
        new = [b for b in blocks if number == 0 or b not in rounds[number - 1]]
        lit = tuple(str(s) for s in sorted(new[-1])) if new else ()
        frames.append(Frame(say, (View(lit), hidden), (row,)))
    say = (
        f"No block splits any more. Each block becomes one state: {len(rounds[-1])} instead of"
        f" {len(large)}, and no machine of this language has fewer."
    )
    row = Row("blocks", tuple(map(set_name, rounds[-1])))
    frames.append(Frame(say, (View(), View()), (row,)))
    return Film((above, below), tuple(frames))


def _difference(dfa: Dfa, before: list[frozenset[int]], after: list[frozenset[int]]) -> str:
    """Two states that a round distinguished, and the letter that distinguishes them."""
    block_of = {s: i for i, block in enumerate(before) for s in block} | {DEAD: DEAD}
    for block in before:
        inside = [piece for piece in after if piece <= block]
        if len(inside) < 2:
            continue
        one, other = min(inside[0]), min(inside[1])
        for column in range(dfa.table.shape[1]):
            ends = [block_of[int(dfa.table[state, column])] for state in (one, other)]
            if ends[0] != ends[1]:
                letters = [b for b in range(256) if dfa.classes[b] == column]
                label = character_label(((letters[0], letters[0]),))
                apart = f"states {one} and {other} into different blocks"
                return f"{label} leads {apart}, so they are separated"
    raise AssertionError("a round that splits nothing is none")
