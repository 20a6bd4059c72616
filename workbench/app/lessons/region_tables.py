"""Tables of Vegas configurations: cuts of a regex, regions and repetitions.

The text between two cuts is tokenized independently of the rest. Here cuts are found by characters:
the border between x and y is hard if no canonical token contains xy.

Source: Tran-Thien 2024, Figure 6; ``constraint/methods/proper/proper_methods.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.app.lessons.lesson import (
    Film,
    Frame,
    Given,
    Question,
    Row,
    Table,
    View,
    options_question,
)
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.merge_automata_films import star_of, symbols_of
from workbench.base.cached_property import cached_property
from workbench.base.visible_text import count_of, visible
from workbench.constraint.methods.proper.direct_merge import TokenDfa, permissive
from workbench.drawing.graph import Edge, Graph, Node, state_kinds

State = int


@dataclass(frozen=True, eq=False)
class Cut:
    """A regex's automaton over characters, and which of its edges are cuts."""

    machine: TokenDfa
    #: The texts of the canonical tokens.
    tokens: tuple[str, ...]

    def hard(self, before: str, after: str) -> bool:
        """Whether every token ends between these characters."""
        return not any(before + after in token for token in self.tokens)

    @cached_property
    def entering(self) -> dict[State, set[str]]:
        """State → the characters of its entering edges."""
        characters: dict[State, set[str]] = {state: set() for state in self.machine.edges}
        for row in self.machine.edges.values():
            for label, target in row.items():
                characters[target].add(label.decode())
        return characters

    def is_cut(self, state: State, character: str) -> bool:
        """Whether every token ends before this edge."""
        return all(self.hard(before, character) for before in self.entering[state])

    def steps(self, state: State, *, cut: bool) -> dict[str, State]:
        """The leaving edges of a state that are cuts, or the others: label → target."""
        row = self.machine.edges[state].items()
        pairs = sorted((label.decode(), target) for label, target in row)
        return {label: t for label, t in pairs if self.is_cut(state, label) is cut}

    def is_exit(self, state: State) -> bool:
        """Whether the region may be left in this state."""
        return state in self.machine.finals or bool(self.steps(state, cut=True))


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the machine between cuts."""

    entry: State
    #: Its states in breadth-first order.
    inner: tuple[State, ...]
    #: Equal for regions with equal tokenizations.
    key: tuple[object, ...]
    #: The number of its token edges, with those of its entering cuts.
    edges: int


def cut_of(world: World) -> Cut:
    """The step's automaton over characters, with its cuts."""
    return Cut(permissive(world.dfa, symbols_of(world)), star_of(world).tokens)


def regions_of(world: World) -> list[Region]:
    """One region for each state with a leaving cut."""
    cut = cut_of(world)
    whole = permissive(world.dfa, [token.encode() for token in cut.tokens])
    states = [state for state in sorted(cut.machine.edges) if cut.steps(state, cut=True)]
    return [_region(cut, whole, state) for state in states]


def _region(cut: Cut, whole: TokenDfa, entry: State) -> Region:
    entered = cut.steps(entry, cut=True)
    numbers: dict[State, int] = {}
    waiting = deque(entered.values())
    while waiting:
        state = waiting.popleft()
        if state not in numbers:
            numbers[state] = len(numbers)
            waiting.extend(cut.steps(state, cut=False).values())
    key = (
        tuple((label, numbers[target]) for label, target in entered.items()),
        tuple(
            (
                cut.is_exit(state),
                tuple((c, numbers[t]) for c, t in cut.steps(state, cut=False).items()),
            )
            for state in numbers
        ),
    )
    through = sum(cut.is_cut(entry, _first(label)) for label in whole.edges[entry])
    within = sum(
        not cut.is_cut(state, _first(label)) for state in numbers for label in whole.edges[state]
    )
    return Region(entry, tuple(numbers), key, through + within)


def _first(label: bytes) -> str:
    return label.decode()[0]


def cuts(world: World, given: Given) -> Film:
    """The automaton, its cuts, and each region between them."""
    cut, regions = cut_of(world), regions_of(world)
    arcs = [
        (state, label.decode(), target)
        for state, row in sorted(cut.machine.edges.items())
        for label, target in sorted(row.items())
    ]
    graph = _graph(cut, arcs)
    hard = tuple(i for i, (state, label, _) in enumerate(arcs) if cut.is_cut(state, label))
    frames = [
        Frame("The machine over characters.", (View(),)),
        Frame(f"{len(hard)} of {len(arcs)} edges are cuts: a token ends before them.",
              (View((), hard),)),
    ]  # fmt: skip
    first: dict[tuple[object, ...], int] = {}
    for number, region in enumerate(regions, start=1):
        same = first.setdefault(region.key, number)
        inner = {region.entry, *region.inner}
        region_arcs = tuple(
            i
            for i, (state, label, target) in enumerate(arcs)
            if state in inner
            and target in region.inner
            and cut.is_cut(state, label) is (state == region.entry)
        )
        edges = count_of(region.edges, "token edge")
        say = f"Region {number}: from state {region.entry} through a cut, {edges}."
        if same != number:
            say += f" It is region {same} again: nothing has to be computed."
        row = Row("regions", tuple(str(first[r.key]) for r in regions[:number]), number - 1)
        frames.append(Frame(say, (View(tuple(map(str, region.inner)), region_arcs),), (row,)))
    return Film((graph,), tuple(frames))


def _graph(cut: Cut, arcs: Sequence[tuple[State, str, State]]) -> Graph:
    machine = cut.machine
    nodes = tuple(
        Node(str(s), str(s), state_kinds(initial=s == machine.initial, final=s in machine.finals))
        for s in sorted(machine.edges)
    )
    edges = tuple(
        Edge(str(s), str(t), (visible(label),), ("back",) if cut.is_cut(s, label) else ())
        for s, label, t in arcs
    )
    return Graph("cuts", nodes, edges)


def regions(world: World) -> Table:
    """The regions, which of them are equal, and the edges that are stored."""
    rows, first, stored, total = [], dict[tuple[object, ...], int](), 0, 0
    for number, region in enumerate(regions_of(world), start=1):
        same = first.setdefault(region.key, number)
        total += region.edges
        stored += region.edges if same == number else 0
        rows.append(
            (
                str(number),
                str(region.entry),
                "  ".join(map(str, region.inner)),
                str(region.edges),
                "" if same == number else f"as {same}",
            )
        )
    heads = ("region", "entered from", "its states", "token edges", "stored")
    return Table(f"{total} token edges, {stored} of them stored", heads, tuple(rows))


def hard(world: World, *, options: Sequence[str]) -> Question:
    """Between which of these characters every token ends."""
    cut = cut_of(world)
    right = {i for i, pair in enumerate(options) if cut.hard(pair[0], pair[1])}

    def why(number: int) -> str:
        token = next(t for t in cut.tokens if options[number] in t)
        return f"the token {visible(token)} has them side by side"

    return options_question(tuple(map(visible, options)), right, why)
