"""Films of constructions on automata: the subset construction, and minimisation.

A film is a function of a machine, of whichever grammar: lessons and the page use the same ones. The
constructions are written step by step as in their sources; tests compare the results with the
engine's, and what every frame shows with its definition.

Machines are read over characters, as in pictures. ``CharacterNfa`` and ``characters_of`` refuse
those that read bytes which are no characters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, View
from workbench.app.lessons.lesson_world import World
from workbench.automata.code_points import CharacterFsa, fold
from workbench.automata.graphs import coreachable
from workbench.automata.nfa import Nfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.visible_text import count_of
from workbench.drawing.edge_labels import read_back
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import character_label, draw_nfa, state_node
from workbench.syntax.machine_text import DrawnMachine
from workbench.syntax.ranges import Ranges, contains, normalized, union
from workbench.syntax.regex.tree import Characters

#: The most sets of states that the film of the subset construction finds.
MAX_SETS = 40

#: Nothing of a picture is visible.
HIDDEN = View(nodes=frozenset(), edges=frozenset())


def arcs_between(
    graph: Graph, sources: tuple[str, ...], targets: tuple[str, ...]
) -> tuple[int, ...]:
    """The numbers of the edges from one of ``sources`` to one of ``targets``."""
    return tuple(
        number
        for number, edge in enumerate(graph.edges)
        if edge.source in sources and edge.target in targets
    )


def _no_characters() -> LessonError:
    return LessonError(
        "this machine reads bytes that are no characters, or terminal labels",
        "the films read character by character; write the regex without them",
    )


# -- the subset construction ------------------------------------------------------------------

#: A set of states of a nondeterministic machine, which is one state of the deterministic one.
States = frozenset[int]


@dataclass(frozen=True, eq=False)
class CharacterNfa:
    """A nondeterministic automaton over sets of characters, with its picture."""

    graph: Graph
    initials: States
    finals: States
    #: For each state the targets of its ε-edges.
    epsilons: Mapping[int, Sequence[int]]
    #: For each state the characters of its edges, and the target.
    edges: Mapping[int, Sequence[tuple[Ranges, int]]]
    #: Names of states, where they are not numbers.
    names: Mapping[int, str] = field(default_factory=dict)

    @staticmethod
    def of(nfa: Nfa, name: str) -> CharacterNfa:
        """A byte automaton with its UTF-8 sequences as characters.

        Raises: LessonError where it reads bytes that are no characters.
        """
        solid = {s for s in range(len(nfa)) if nfa.epsilons[s]} | nfa.finals
        entries = [nfa.initial, *(target for targets in nfa.epsilons for target in targets)]
        read = read_back(nfa.edges, entries, solid)
        if read.raw or read.labels:
            raise _no_characters()
        edges: dict[int, list[tuple[Ranges, int]]] = {}
        for (source, target), letters in read.characters.items():
            edges.setdefault(source, []).append((letters, target))
        epsilons = {s: nfa.epsilons[s] for s in read.states}
        finals = nfa.finals & frozenset(read.states)
        return CharacterNfa(draw_nfa(nfa, name), frozenset({nfa.initial}), finals, epsilons, edges)

    def closure(self, states: Iterable[int]) -> States:
        """The ε-closure of some states."""
        waiting = list(states)
        reached = set(waiting)
        while waiting:
            for target in self.epsilons.get(waiting.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return frozenset(reached)

    def moved(self, states: Iterable[int], character: int) -> set[int]:
        """The states reached by edges with this character."""
        return {
            target
            for state in states
            for letters, target in self.edges.get(state, ())
            if contains(letters, character)
        }

    @staticmethod
    def drawn(machine: DrawnMachine) -> CharacterNfa:
        """An automaton with the states and names of its author.

        A label that may read more or less than one character gets additional states.

        Raises: LessonError where it reads bytes that are no characters.
        """
        number = {state.name: i for i, state in enumerate(machine.states)}
        names = dict(enumerate(number))
        finals = frozenset(number[name] for name in machine.finals)
        epsilons: dict[int, list[int]] = {}
        edges: dict[int, list[tuple[Ranges, int]]] = {}
        for edge in machine.edges:
            source, target = number[edge.source], number[edge.target]
            for item in edge.items:
                if item.regex is None:
                    epsilons.setdefault(source, []).append(target)
                elif isinstance(item.regex, Characters):
                    edges.setdefault(source, []).append((item.regex.ranges, target))
                else:
                    part, first = CharacterNfa.of(thompson(item.regex), item.text), len(names)
                    states = {s: first + i for i, s in enumerate(map(int, _ids(part.graph)))}
                    names |= {s: f"{edge.source}·{s - first + 1}" for s in states.values()}
                    epsilons.setdefault(source, []).extend(states[s] for s in part.initials)
                    for s in states:
                        ends = epsilons.setdefault(states[s], [])
                        ends += [states[t] for t in part.epsilons.get(s, ())]
                        if s in part.finals:
                            ends.append(target)
                        row = edges.setdefault(states[s], [])
                        row += [(letters, states[t]) for letters, t in part.edges.get(s, ())]
        initials = frozenset(number[name] for name in machine.initials)
        graph = _named_graph(names, initials, finals, epsilons, edges)
        return CharacterNfa(graph, initials, finals, epsilons, edges, names)

    @property
    def alphabet(self) -> list[Ranges]:
        """The classes of characters that no edge separates."""
        return classes_of(letters for row in self.edges.values() for letters, _ in row)

    def shown(self, states: Iterable[int]) -> str:
        """A set of states in braces: ``{0, 3}``."""
        return set_name(states, self.names)


def _ids(graph: Graph) -> tuple[str, ...]:
    return tuple(node.id for node in graph.nodes)


def _named_graph(
    names: Mapping[int, str],
    initials: States,
    finals: States,
    epsilons: Mapping[int, Sequence[int]],
    edges: Mapping[int, Sequence[tuple[Ranges, int]]],
) -> Graph:
    """A picture of an automaton whose states have names."""
    nodes = tuple(
        Node(
            str(state),
            name,
            state_kinds(initial=state in initials, final=state in finals),
            f"state {name}",
        )
        for state, name in names.items()
    )
    letters: dict[tuple[int, int], Ranges] = {}
    for source, row in edges.items():
        for ranges, target in row:
            letters[source, target] = union(letters.get((source, target), ()), ranges)
    reading = [
        Edge(str(source), str(target), (character_label(ranges),))
        for (source, target), ranges in letters.items()
        if ranges
    ]
    silent = [
        Edge(str(source), str(target), ("ε",), ("epsilon",))
        for source, row in epsilons.items()
        for target in dict.fromkeys(row)
    ]
    return Graph("the drawn machine", nodes, (*reading, *silent))


def set_name(states: Iterable[int], names: Mapping[int, str] | None = None) -> str:
    """A set of states in braces: ``{0, 3}``."""
    return "{" + ", ".join((names or {}).get(s, str(s)) for s in sorted(states)) + "}"


def classes_of(sets: Iterable[Ranges]) -> list[Ranges]:
    """The fewest classes of which every set is a union, by their first characters."""
    distinct = list(dict.fromkeys(sets))
    ends = sorted({end for ranges in distinct for low, high in ranges for end in (low, high + 1)})
    classes: dict[frozenset[int], list[tuple[int, int]]] = {}
    for low, after in pairwise(ends):
        inside = frozenset(i for i, ranges in enumerate(distinct) if contains(ranges, low))
        if inside:
            classes.setdefault(inside, []).append((low, after - 1))
    return [normalized(ranges) for ranges in classes.values()]


@dataclass(frozen=True, slots=True)
class Found:
    """One step of the subset construction: from a set, with characters, to a set."""

    source: States
    letters: Ranges
    target: States
    is_new: bool


def subset_steps(nfa: CharacterNfa) -> Iterator[Found]:
    """The subset construction with its worklist, class by class of characters.

    Source: Rabin & Scott 1959, theorem 11; Hopcroft, Motwani & Ullman 2001, §2.3.5.
    """
    alphabet = nfa.alphabet
    start = nfa.closure(nfa.initials)
    visited, waiting = {start}, deque([start])
    while waiting:
        source = waiting.popleft()
        for letters in alphabet:
            target = nfa.closure(nfa.moved(source, letters[0][0]))
            if not target:
                continue
            yield Found(source, letters, target, target not in visited)
            if target not in visited:
                visited.add(target)
                waiting.append(target)


def _first_steps(nfa: CharacterNfa) -> tuple[list[Found], bool]:
    """The steps that find at most ``MAX_SETS`` sets, and whether they are all."""
    steps: list[Found] = []
    sets = 1
    for step in subset_steps(nfa):
        sets += step.is_new
        if sets > MAX_SETS:
            return steps, False
        steps.append(step)
    return steps, True


def merged(steps: Iterable[Found]) -> list[Found]:
    """The steps, those from one set to another as one step with all characters."""
    together: dict[tuple[States, States], Found] = {}
    for step in steps:
        ends = (step.source, step.target)
        before = together.get(ends)
        letters = step.letters if before is None else union(before.letters, step.letters)
        is_new = step.is_new if before is None else before.is_new
        together[ends] = Found(step.source, letters, step.target, is_new)
    return list(together.values())


def subsets(world: World, given: Given) -> Film:
    """The subset construction of the world's regex."""
    return subset_film(CharacterNfa.of(world.nfa, f"/{world.regex}/ with choices"))


def subset_film(nfa: CharacterNfa) -> Film:
    """A nondeterministic automaton, and below it the deterministic one, built set by set."""
    first_steps, is_whole = _first_steps(nfa)
    steps = merged(first_steps)
    start = nfa.closure(nfa.initials)
    making = _Subsets(nfa, start, steps)
    frames = [making.frame(_first_words(nfa, start), start)]
    for number, step in enumerate(steps):
        making.follow(step, number)
        frames.append(making.frame(_subset_words(nfa, step), step.target, step.source, number))
    frames.append(making.ending() if is_whole else making.frame(_STOPPED, None))
    return Film((nfa.graph, making.below), tuple(frames))


def _first_words(nfa: CharacterNfa, start: States) -> str:
    state = "start state" if len(nfa.initials) == 1 else "start states"
    free = "and what ε-edges reach from it" if start != nfa.initials else "which no ε-edge leaves"
    return f"The first set is the {state}, {free}: {nfa.shown(start)}."


def _subset_words(nfa: CharacterNfa, step: Found) -> str:
    new = "a new set, so a new state" if step.is_new else "this set is already there"
    is_single = step.letters[0][0] == step.letters[-1][1]
    what = "the letter" if is_single else "every character of"
    return (
        f"From {nfa.shown(step.source)} {what} {character_label(step.letters)} leads to"
        f" {nfa.shown(step.target)}: {new}."
    )


_STOPPED = (
    f"The film ends here: the construction finds more than {MAX_SETS} sets, which is its limit. The"
    " sets in the worklist still have edges."
)


class _Subsets:
    """The sets and edges that were found."""

    def __init__(self, nfa: CharacterNfa, start: States, steps: list[Found]) -> None:
        self.nfa = nfa
        self.order = list(dict.fromkeys((start, *(step.target for step in steps))))
        self.number = {states: str(i) for i, states in enumerate(self.order)}
        self.steps = steps
        self.below = self._graph()
        self.shown, self.edges, self.waiting = {start}, set[int](), [start]

    def _graph(self) -> Graph:
        nodes = tuple(
            Node(
                self.number[states],
                self.nfa.shown(states),
                state_kinds(initial=i == 0, final=bool(states & self.nfa.finals)),
                f"set {self.nfa.shown(states)}",
            )
            for i, states in enumerate(self.order)
        )
        edges = tuple(
            Edge(
                self.number[step.source],
                self.number[step.target],
                (character_label(step.letters),),
            )
            for step in self.steps
        )
        return Graph("sets of states", nodes, edges)

    def follow(self, step: Found, number: int) -> None:
        while self.waiting[0] != step.source:
            self.waiting = self.waiting[1:]
        self.edges.add(number)
        if step.target not in self.shown:
            self.shown.add(step.target)
            self.waiting.append(step.target)

    def frame(
        self,
        say: str,
        leading: States | None,
        source: States = frozenset(),
        arc: int | None = None,
        dead: frozenset[str] = frozenset(),
    ) -> Frame:
        above = self.nfa.graph
        lit = tuple(str(s) for s in sorted(leading or ()))
        arcs = arcs_between(above, tuple(str(s) for s in source), lit)
        arcs = tuple(a for a in arcs if "epsilon" not in above.edges[a].kinds)
        nodes = frozenset(self.number[states] for states in self.shown)
        below = View(
            () if leading is None else (self.number[leading],),
            () if arc is None else (arc,),
            nodes,
            frozenset(self.edges),
            dead,
        )
        chips = tuple(map(self.nfa.shown, self.waiting)) or ("empty",)
        row = Row("worklist", chips, 0 if self.waiting else -1)
        return Frame(say, (View(lit, arcs), below), (row,))

    def ending(self) -> Frame:
        """The last frame: sets that lead to no accepted text, and the number of states."""
        count = count_of(len(self.order), "set")
        self.waiting = []
        ends = [self.number[s] for s in self.order if s & self.nfa.finals]
        pairs = ((edge.source, edge.target) for edge in self.below.edges)
        dead = frozenset(self.number.values()) - set(coreachable(ends, pairs))
        states = count_of(len(self.order) - len(dead), "state")
        say = f"The worklist is empty: {count}, so {states}, and no choices."
        if dead:
            say = f"The worklist is empty: {count}. {len(dead)} of them reach no final set and are "
            say += f"left out, so {states}, and no choices."
        return self.frame(say, None, dead=dead)


# -- minimisation ---------------------------------------------------------------------------


def characters_of(dfa: Dfa) -> CharacterFsa:
    """A deterministic automaton over characters.

    Raises: LessonError where it reads bytes that are no characters.
    """
    read = fold(dfa)
    if read.raw:
        raise _no_characters()
    return read


#: Blocks of states that no text of the length of the round distinguishes.
Blocks = list[frozenset[int]]


class Partitions:
    """Moore's rounds of partitions into undistinguished states, until no block splits.

    Source: Moore 1956, "Gedanken-experiments on sequential machines", theorem 4.
    """

    def __init__(self, machine: CharacterFsa) -> None:
        self.machine = machine
        self.alphabet = classes_of(letters for _, letters, _ in machine.edges)
        #: For each state the target of every class of characters, or ``DEAD``.
        self.targets = {state: [DEAD] * len(self.alphabet) for state in machine.states}
        for source, letters, target in machine.edges:
            for column, ranges in enumerate(self.alphabet):
                if contains(letters, ranges[0][0]):
                    self.targets[source][column] = target

    @property
    def rounds(self) -> list[Blocks]:
        """All rounds; a state of the minimal automaton for each block of the last one."""
        states, finals = frozenset(self.machine.states), self.machine.finals
        rounds: list[Blocks] = [[block for block in (states - finals, finals) if block]]
        while True:
            block_of = self._numbers(rounds[-1])
            pieces: Blocks = []
            for block in rounds[-1]:
                alike: dict[tuple[int, ...], set[int]] = {}
                for state in sorted(block):
                    row = tuple(block_of[target] for target in self.targets[state])
                    alike.setdefault(row, set()).add(state)
                pieces += map(frozenset, alike.values())
            if len(pieces) == len(rounds[-1]):
                return rounds
            rounds.append(pieces)

    @staticmethod
    def _numbers(blocks: Blocks) -> dict[int, int]:
        return {s: i for i, block in enumerate(blocks) for s in block} | {DEAD: DEAD}

    def difference(self, before: Blocks, after: Blocks) -> str:
        """Two states that a round distinguished, and the character that distinguishes them."""
        block_of = self._numbers(before)
        for block in before:
            inside = [piece for piece in after if piece <= block]
            if len(inside) < 2:
                continue
            first, other = min(inside[0]), min(inside[1])
            for column, letters in enumerate(self.alphabet):
                if block_of[self.targets[first][column]] == block_of[self.targets[other][column]]:
                    continue
                label = character_label(letters)
                if DEAD in (self.targets[first][column], self.targets[other][column]):
                    if self.targets[first][column] == DEAD:
                        first, other = other, first
                    read = f"state {first} reads {label} and state {other} does not"
                    return f"{read}, so they are separated"
                apart = f"states {first} and {other} into different blocks"
                return f"{label} leads {apart}, so they are separated"
        raise AssertionError("every round splits a block")


def minimise(world: World, given: Given) -> Film:
    """The automaton of the subset construction, split into blocks; each becomes one state."""
    return minimisation_film(deterministic(CharacterNfa.of(world.nfa, world.regex)))


def deterministic(nfa: CharacterNfa, most: int = MAX_SETS) -> CharacterFsa:
    """The result of the subset construction; its states have the numbers of the sets in the film.

    Raises: LimitError above ``most`` sets.
    """
    number = {nfa.closure(nfa.initials): 0}
    steps: list[Found] = []
    for step in subset_steps(nfa):
        number.setdefault(step.target, len(number))
        steps.append(step)
        if len(number) > most:
            raise LimitError(
                f"the machine has more than {most} states; the film shows at most {most}",
                "states",
                "choose a smaller part of the grammar",
            )
    finals = frozenset(i for states, i in number.items() if states & nfa.finals)
    edges = [(number[s.source], s.letters, number[s.target]) for s in merged(steps)]
    alive = {0, *coreachable(finals, ((source, target) for source, _, target in edges))}
    return CharacterFsa(
        0,
        tuple(sorted(alive)),
        finals,
        tuple(edge for edge in edges if edge[0] in alive and edge[2] in alive),
        (),
    )


def _character_graph(machine: CharacterFsa, name: str) -> Graph:
    nodes = tuple(
        state_node(state, machine.initial, state in machine.finals) for state in machine.states
    )
    edges = tuple(
        Edge(str(source), str(target), (character_label(letters),))
        for source, letters, target in machine.edges
    )
    return Graph(name, nodes, edges)


def _block_graph(machine: CharacterFsa, blocks: Blocks) -> Graph:
    """The minimal automaton: a state for each block."""
    block_of = {state: str(number) for number, block in enumerate(blocks) for state in block}
    nodes = tuple(
        Node(
            str(number),
            set_name(block),
            state_kinds(initial=machine.initial in block, final=bool(block & machine.finals)),
            f"block {set_name(block)}",
        )
        for number, block in enumerate(blocks)
    )
    letters: dict[tuple[str, str], Ranges] = {}
    for source, ranges, target in machine.edges:
        ends = (block_of[source], block_of[target])
        letters[ends] = union(letters.get(ends, ()), ranges)
    edges = tuple(
        Edge(source, target, (character_label(ranges),))
        for (source, target), ranges in letters.items()
    )
    return Graph("after", nodes, edges)


def minimisation_film(machine: CharacterFsa) -> Film:
    """A deterministic automaton split into blocks; each becomes a state of the minimal one."""
    partitions = Partitions(machine)
    rounds = partitions.rounds
    graphs = (_character_graph(machine, "before"), _block_graph(machine, rounds[-1]))
    frames = []
    for number, blocks in enumerate(rounds):
        say = _first_blocks(blocks, machine)
        if number:
            apart = partitions.difference(rounds[number - 1], blocks)
            say = f"Round {number}: {apart}."
        new = [b for b in blocks if number == 0 or b not in rounds[number - 1]]
        lit = tuple(str(s) for s in sorted(new[-1])) if new else ()
        frames.append(Frame(say, (View(lit), HIDDEN), (_blocks_row(blocks),)))
    say = (
        f"No block splits any more. Each block becomes one state: {len(rounds[-1])} instead of"
        f" {len(machine.states)}, and no machine of this language has fewer."
    )
    if len(rounds[-1]) == len(machine.states):
        say = "No block splits any more, and each has one state: this machine is minimal already."
    frames.append(Frame(say, (View(), View()), (_blocks_row(rounds[-1]),)))
    return Film(graphs, tuple(frames))


def _first_blocks(blocks: Blocks, machine: CharacterFsa) -> str:
    if len(blocks) == 2:
        return "At first there are two blocks: the states that accept, and those that do not."
    does = "accept" if machine.finals else "do not accept"
    return f"At first there is one block: all states {does}."


def _blocks_row(blocks: Blocks) -> Row:
    return Row("blocks", tuple(map(set_name, blocks)))
