"""Films of constructions of automata and of machines that read.

Every frame is the state of the engine's own machine; its sentence is derived from it.

Each is the algorithm as its source writes it, slow and step by step; the tests compare the
result with the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.app.lessons.lesson import Film, Frame, Given, Row, View
from workbench.app.lessons.world import World
from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa
from workbench.base.dfa import DEAD, Dfa
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import character_label, draw_dfa, draw_nfa
from workbench.drawing.visible_text import visible

#: Characters of a text a reader may type, tokens a reader may take.
LONGEST = 60


def characters(world: World, given: Given, *, text: str = "") -> Film:
    """The minimal automaton reading a text, character by character."""
    dfa, graph = world.dfa, draw_dfa(world.dfa, name_of(world))
    read = given if isinstance(given, str) else text
    frames = [_standing(graph, dfa, dfa.initial, read, 0, "The machine starts in state 0.")]
    here = dfa.initial
    for place, character in enumerate(read):
        there = dfa.run(character.encode(), here)
        if there == DEAD:
            say = f"No edge for {visible(character)} leaves state {here}: the text is rejected."
            frames.append(_standing(graph, dfa, None, read, place, say))
            return Film((graph,), tuple(frames), "text", opens_at(given))
        say = f"It reads {visible(character)} and goes from state {here} to state {there}."
        frames.append(_standing(graph, dfa, there, read, place + 1, say, here))
        here = there
    if read:
        final = dfa.is_final(here)
        ends = "a final state: the text is accepted" if final else "which is not final: rejected"
        frames.append(
            _standing(graph, dfa, here, read, len(read), f"It ends in state {here}, {ends}.")
        )
    return Film((graph,), tuple(frames), "text", opens_at(given))


def opens_at(given: Given) -> int:
    """A film that is played opens at its beginning, one of a typed text at its end."""
    return 0 if given is None else -1


def name_of(world: World) -> str:
    """What the automaton of a world is called in a picture."""
    return f"/{world.regex}/" if world.regex else "character automaton"


def _standing(
    graph: Graph,
    dfa: Dfa,
    state: int | None,
    text: str,
    place: int,
    say: str,
    came: int | None = None,
) -> Frame:
    lit = () if state is None else (str(state),)
    arcs = () if came is None else arcs_between(graph, (str(came),), lit)
    good = (
        None
        if state is not None and place < len(text)
        else state is not None and dfa.is_final(state)
    )
    return Frame(say, (View(lit, arcs),), reading(text, place), good=good if text else None)


def reading(text: str, place: int) -> tuple[Row, ...]:
    """The text, with the character before ``place`` as the one just read; no row for no text."""
    if not text:
        return ()
    chips = tuple(map(visible, text))
    return (Row("reads", chips, place - 1, next=place if place < len(text) else -1),)


def arcs_between(
    graph: Graph, sources: tuple[str, ...], targets: tuple[str, ...]
) -> tuple[int, ...]:
    """The numbers of the edges from one of these nodes to one of those."""
    return tuple(
        number
        for number, edge in enumerate(graph.edges)
        if edge.source in sources and edge.target in targets
    )


def nondeterministic(world: World, given: Given, *, text: str = "") -> Film:
    """Thompson's machine reading a text: all states it can be in."""
    nfa, graph = world.nfa, draw_nfa(world.nfa, name_of(world))
    read = given if isinstance(given, str) else text
    here = closure(nfa, {nfa.initial})
    frames = [_crowd(graph, nfa, here, read, 0, "It may start in {}, ε-edges cost nothing.")]
    for place, character in enumerate(read):
        there = here
        for byte in character.encode():
            there = closure(nfa, moved(nfa, there, byte))
        if not there:
            say = f"None of these states has an edge for {visible(character)}: rejected."
            frames.append(_crowd(graph, nfa, there, read, place, say))
            break
        say = f"After {visible(read[: place + 1])} it may be in {{}}."
        frames.append(_crowd(graph, nfa, there, read, place + 1, say, here))
        here = there
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _crowd(
    graph: Graph,
    nfa: Nfa,
    states: frozenset[int],
    text: str,
    place: int,
    say: str,
    came: frozenset[int] = frozenset(),
) -> Frame:
    lit = tuple(str(s) for s in sorted(states))
    arcs = arcs_between(graph, tuple(str(s) for s in came), lit)
    arcs = tuple(a for a in arcs if "epsilon" not in graph.edges[a].kinds)
    good = bool(states & nfa.finals) if text and (place == len(text) or not states) else None
    return Frame(say.format(set_name(states)), (View(lit, arcs),), reading(text, place), good=good)


def set_name(states: frozenset[int] | set[int]) -> str:
    """A set of states in braces: ``{0, 3}``."""
    return "{" + ", ".join(map(str, sorted(states))) + "}"


def closure(nfa: Nfa, states: set[int]) -> frozenset[int]:
    """The states reached without reading, these included."""
    found, waiting = set(states), list(states)
    while waiting:
        for target in nfa.epsilons[waiting.pop()]:
            if target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)


def moved(nfa: Nfa, states: frozenset[int], byte: int) -> set[int]:
    """The states an edge for this byte leads to."""
    return {t for s in states for low, high, t in nfa.edges[s] if low <= byte <= high}


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
