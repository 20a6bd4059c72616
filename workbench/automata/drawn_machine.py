"""What a drawn automaton means: its minimal DFA, its states along a text, and advice on it.

The author's own states and edges are those of ``syntax.machine_text``. An edge whose items are
longer than a character is read by a separate automaton, as in the generalised automata of state
elimination.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from workbench.automata.build import regex_dfa
from workbench.automata.code_points import SURROGATES, CharacterFsa, character_edges
from workbench.automata.graphs import coreachable, reachable
from workbench.automata.nfa import NfaBuilder
from workbench.automata.small_dfa import smallest
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.diagnostics import Advice, AdvisedBuildError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.base.visible_text import count_of, visible
from workbench.syntax.machine_text import EPSILON, DrawnEdge, DrawnMachine, Item
from workbench.syntax.ranges import Ranges, contains, difference, intersection, size, union
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters

#: The most sets of states, and of items read in them, for which the states of the minimal DFA are
#: named: a third of a second.
_MAX_SETS, _MAX_READ = 2_000, 200_000

#: Characters of the alphabet that are listed in facts and messages.
_MAX_LISTED = 6


class ItemMachines:
    """The DFA of each item of a machine; items of one text share theirs."""

    def __init__(self, machine: DrawnMachine, limits: Limits = LIMITS) -> None:
        #: The DFA of each item with a regex, by the item's text.
        self.dfas: dict[str, Dfa] = {}
        for edge in machine.edges:
            for item in edge.items:
                if item.regex is not None and item.text not in self.dfas:
                    self.dfas[item.text] = regex_dfa(item.regex, limits)

    def is_nullable(self, item: Item) -> bool:
        """Whether the item may be the empty text."""
        if item.regex is None:
            return True
        dfa = self.dfas[item.text]
        return dfa.is_final(dfa.initial)

    def first(self, item: Item) -> Ranges:
        """The characters with which a text of the item may begin."""
        if item.regex is None:
            return ()
        if isinstance(item.regex, Characters):
            return item.regex.ranges
        dfa = self.dfas[item.text]
        return union(
            (), *(ranges for ranges, _ in character_edges(dfa.step, dfa.initial, dfa.classes))
        )


def machine_dfa(machine: DrawnMachine, limits: Limits = LIMITS) -> Dfa:
    """The smallest DFA over bytes that accepts the texts of a drawn machine.

    Raises: LimitError where subsets or the time exceed a limit.
    """
    items = ItemMachines(machine, limits)
    builder = NfaBuilder()
    numbers = {state.name: builder.new_state() for state in machine.states}
    for edge in machine.edges:
        source, target = numbers[edge.source], numbers[edge.target]
        for item in edge.items:
            if item.regex is None:
                builder.epsilon(source, target)
            else:
                builder.embed(items.dfas[item.text], source, target)
        limits.check("states", len(builder))
    initial = builder.new_state()
    for name in machine.initials:
        builder.epsilon(initial, numbers[name])
    finals = {numbers[name] for name in machine.finals}
    return smallest(builder.build(initial, finals), limits, limits.clock())


# -- the states along a text -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StateSet:
    """The states of a drawn machine after a beginning of a text, in their order."""

    states: tuple[str, ...]
    #: The edges, by their index, that entered one of these states by this character, or by ε
    #: after it.
    edges: tuple[int, ...]
    #: The edges of which a part has been read, by their index.
    inside: tuple[int, ...]
    #: Whether one of the states is final.
    is_final: bool


def state_sets(machine: DrawnMachine, text: str, limits: Limits = LIMITS) -> tuple[StateSet, ...]:
    """The states after each beginning of a text, from the empty one to the whole text.

    Raises: LimitError.
    """
    return tuple(_Walk(machine, limits).sets(text))


#: An edge, an item of it and a state of the item's DFA.
_Inside = tuple[int, str, State]


class _Walk:
    """Simulates the nondeterministic machine on a text, without determinization."""

    def __init__(self, machine: DrawnMachine, limits: Limits) -> None:
        self._machine = machine
        self._clock = limits.clock()
        #: How many items have been read.
        self.read = 0
        self._items = ItemMachines(machine, limits)
        self._edges_of: dict[str, list[tuple[int, DrawnEdge]]] = {}
        for index, edge in enumerate(machine.edges):
            self._edges_of.setdefault(edge.source, []).append((index, edge))

    def sets(self, text: str) -> Iterator[StateSet]:
        states, used = self.closure(self._machine.initials)
        inside: set[_Inside] = set()
        yield self._set(states, used, inside)
        for character in text:
            self._clock.check()
            states, used, inside = self.after(states, inside, character)
            yield self._set(states, used, inside)

    def after(
        self, states: Iterable[str], inside: Iterable[_Inside], character: str
    ) -> tuple[set[str], set[int], set[_Inside]]:
        """The states after a character, the edges that entered them, and the edges begun."""
        begun, through = set[_Inside](), set[int]()
        data = character.encode()
        for index, item, state in {*inside, *self._item_beginnings(states)}:
            self.read += 1
            dfa = self._items.dfas[item]
            if (after := dfa.run(data, state)) != DEAD:
                if dfa.is_final(after):
                    through.add(index)
                if (dfa.table[after] != DEAD).any():
                    begun.add((index, item, after))
        reached, used = self.closure(self._machine.edges[index].target for index in through)
        return reached, used | through, begun

    def characters(self, states: Iterable[str], inside: Iterable[_Inside]) -> Iterator[str]:
        """A character of each interval whose characters all lead to the same states."""
        bounds = set[int]()
        for _, item, state in {*inside, *self._item_beginnings(states)}:
            dfa = self._items.dfas[item]
            for ranges, _ in character_edges(dfa.step, state, dfa.classes):
                bounds.update(bound for low, high in ranges for bound in (low, high + 1))
        low, high = SURROGATES  # no text has one: an interval from there begins after them
        starts = {high + 1 if low <= bound <= high else bound for bound in bounds}
        return map(chr, sorted(starts - {sys.maxunicode + 1}))

    def _item_beginnings(self, states: Iterable[str]) -> Iterator[_Inside]:
        """The beginnings of all items of the edges that leave the states."""
        for state in states:
            for index, edge in self._edges_of.get(state, ()):
                for item in edge.items:
                    if item.regex is not None:
                        yield index, item.text, self._items.dfas[item.text].initial

    def closure(self, states: Iterable[str]) -> tuple[set[str], set[int]]:
        """The states that ε reaches, and the edges on the way."""
        reached, used = set(states), set()
        waiting = deque(reached)
        while waiting:
            state = waiting.popleft()
            for index, edge in self._edges_of.get(state, ()):
                if any(map(self._items.is_nullable, edge.items)):
                    used.add(index)
                    if edge.target not in reached:
                        reached.add(edge.target)
                        waiting.append(edge.target)
        return reached, used

    def character_steps(self, states: Iterable[str]) -> Iterator[tuple[Ranges, list[str]]]:
        """The targets of each interval of characters that leaves the states, if it has any.

        Every edge reads all characters of an interval or none.
        """
        leaving = [
            (self._items.first(item), edge.target)
            for state in states
            for _, edge in self._edges_of.get(state, ())
            for item in edge.items
        ]
        bounds = {low for ranges, _ in leaving for low, _ in ranges}
        bounds |= {high + 1 for ranges, _ in leaving for _, high in ranges}
        for low, after in pairwise(sorted(bounds)):
            targets = [target for ranges, target in leaving if contains(ranges, low)]
            if targets:
                yield ((low, after - 1),), targets

    def _set(self, states: set[str], used: set[int], inside: set[_Inside]) -> StateSet:
        return StateSet(
            tuple(state.name for state in self._machine.states if state.name in states),
            tuple(sorted(used)),
            tuple(sorted({index for index, _, _ in inside})),
            not states.isdisjoint(self._machine.finals),
        )


def sets_by_state(
    machine: DrawnMachine, dfa: Dfa, limits: Limits = LIMITS
) -> dict[State, tuple[tuple[str, ...], ...]]:
    """The sets of a drawn machine's states in which texts end that lead its DFA to a state.

    A minimal DFA has merged some of them, so a state may have several. Without states in which a
    text may end inside an edge; empty for a machine with too many sets.

    Raises: LimitError.
    """
    walk, clock = _Walk(machine, limits), limits.clock()
    ordered = [state.name for state in machine.states]
    sets_of: dict[State, dict[tuple[str, ...], None]] = {}
    unnamed = set[State]()
    first = frozenset(walk.closure(machine.initials)[0]), frozenset[_Inside](), dfa.initial
    cases = {first}
    waiting = deque([first])
    while waiting:
        states, inside, state = waiting.popleft()
        clock.check()
        if len(cases) > _MAX_SETS or walk.read > _MAX_READ:
            return {}
        if inside:
            unnamed.add(state)
        else:
            sets_of.setdefault(state, {})[tuple(name for name in ordered if name in states)] = None
        for character in walk.characters(states, inside):
            after = dfa.run(character.encode(), state)
            if after != DEAD:
                reached, _, begun = walk.after(states, inside, character)
                case = frozenset(reached), frozenset(begun), after
                if case not in cases:
                    cases.add(case)
                    waiting.append(case)
    return {state: tuple(sets) for state, sets in sets_of.items() if state not in unnamed}


# -- subsets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubsetMachine:
    """A deterministic machine whose states are sets of states of a drawn one.

    Source: Rabin & Scott 1959, "Finite automata and their decision problems", definition 11.
    """

    #: The sets in the order of a breadth-first search, each sorted by names; the first is initial.
    #: The empty set is left out.
    sets: tuple[tuple[str, ...], ...]
    #: The numbers of the sets with a final state.
    finals: tuple[int, ...]
    #: Source, characters, target, by the numbers of the sets; one edge for each pair.
    edges: tuple[tuple[int, Ranges, int], ...]


def long_item(machine: DrawnMachine, items: ItemMachines) -> Item | None:
    """The first item that may have a text of several characters."""
    return next(
        (
            item
            for _, item in _items(machine)
            if item.regex is not None and not _is_one_character(items.dfas[item.text])
        ),
        None,
    )


def subset_machine(machine: DrawnMachine, limits: Limits = LIMITS) -> SubsetMachine:
    """The subset construction on a machine without a ``long_item``.

    Raises: LimitError.
    """
    walk, clock = _Walk(machine, limits), limits.clock()

    def ordered(states: set[str]) -> tuple[str, ...]:
        return tuple(sorted(states, key=lambda name: (len(name), name)))  # q2 before q10

    first = ordered(walk.closure(machine.initials)[0])
    numbers = {first: 0}
    edges: dict[tuple[int, int], Ranges] = {}
    waiting = deque([first])
    while waiting:
        source = waiting.popleft()
        clock.check()
        limits.check("states", len(numbers))
        for characters, targets in walk.character_steps(source):
            after = ordered(walk.closure(targets)[0])
            if after not in numbers:
                numbers[after] = len(numbers)
                waiting.append(after)
            pair = numbers[source], numbers[after]
            edges[pair] = union(edges.get(pair, ()), characters)
    finals = (n for n, states in enumerate(numbers) if not machine.finals.isdisjoint(states))
    return SubsetMachine(
        tuple(numbers), tuple(finals), tuple((a, ranges, b) for (a, b), ranges in edges.items())
    )


# -- facts -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """Two items of one state that may begin with the same character."""

    state: str
    characters: Ranges
    #: The later of the two items.
    item: Item


@dataclass(frozen=True, slots=True)
class Facts:
    """The textbook properties of a drawn machine."""

    states: int
    #: Items that may read nothing.
    empty_items: int
    choices: tuple[Choice, ...]
    #: Items that may be longer than a character.
    long_items: int
    initials: int
    #: All characters of the labels.
    alphabet: Ranges
    #: The first state that lacks an edge for some character, and the characters; None if complete.
    lacking: tuple[str, Ranges] | None

    @property
    def is_deterministic(self) -> bool:
        """Whether no state can read a text in two ways; no edge reads nothing."""
        return self.initials <= 1 and not (self.empty_items or self.choices or self.long_items)

    @property
    def sentence(self) -> str:
        """``4 states, deterministic, complete over {a, b}``."""
        return ", ".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the sentence."""
        parts = [count_of(self.states, "state")]
        if self.is_deterministic:
            parts.append("deterministic")
            parts.append(self._completeness())
        else:
            parts.append("nondeterministic")
            if self.empty_items:
                parts.append(count_of(self.empty_items, "ε-edge"))
            if self.initials > 1:
                parts.append(f"{self.initials:,} initial states")
            if self.long_items:
                parts.append(f"{count_of(self.long_items, 'label')} longer than a character")
        return tuple(parts)

    def _completeness(self) -> str:
        if not self.alphabet:
            return "no characters"
        if self.lacking is None:
            return f"complete over {alphabet_text(self.alphabet)}"
        state, characters = self.lacking
        return f"partial: no edge from {state} for {listed(characters)}"


def facts_of(machine: DrawnMachine, limits: Limits = LIMITS) -> Facts:
    """The textbook properties of a machine.

    Raises: LimitError.
    """
    items = ItemMachines(machine, limits)
    read = {state.name: () for state in machine.states}  # type: dict[str, Ranges]
    choices: list[Choice] = []
    empty = long = 0
    for edge, item in _items(machine):
        first = items.first(item)
        if items.is_nullable(item):
            empty += 1
        elif not isinstance(item.regex, Characters):
            long += not _is_one_character(items.dfas[item.text])
        if common := intersection(read[edge.source], first):
            choices.append(Choice(edge.source, common, item))
        read[edge.source] = union(read[edge.source], first)
    alphabet = union((), *read.values())
    lacking = ((name, difference(alphabet, its)) for name, its in read.items())
    first_lacking = next(((name, states) for name, states in lacking if states), None)
    return Facts(
        len(machine.states),
        empty,
        tuple(choices),
        long,
        len(machine.initials),
        alphabet,
        first_lacking,
    )


def is_complete(folded: CharacterFsa, alphabet: Ranges) -> bool:
    """Whether each state of a deterministic machine has an edge for each character."""
    read = dict.fromkeys(folded.states, ())  # type: dict[State, Ranges]
    for source, ranges, _ in folded.edges:
        read[source] = union(read[source], ranges)
    return all(not difference(alphabet, its) for its in read.values())


def _items(machine: DrawnMachine) -> Iterator[tuple[DrawnEdge, Item]]:
    return ((edge, item) for edge in machine.edges for item in edge.items)


def _is_one_character(dfa: Dfa) -> bool:
    """Whether every text of a machine is one character."""
    after = {target for _, target in character_edges(dfa.step, dfa.initial, dfa.classes)}
    return all(dfa.is_final(state) and (dfa.table[state] == DEAD).all() for state in after)


def alphabet_text(characters: Ranges) -> str:
    """``{a, b}``, or a class for many characters."""
    if size(characters) > _MAX_LISTED:
        return class_text(characters)
    return f"{{{listed(characters)}}}"


def listed(characters: Ranges) -> str:
    """``a, b`` for a few characters, a class for more."""
    if size(characters) > _MAX_LISTED:
        return class_text(characters)
    return ", ".join(visible(chr(c)) for low, high in characters for c in range(low, high + 1))


# -- advice ----------------------------------------------------------------------------------------


def machine_advice(machine: DrawnMachine, limits: Limits = LIMITS) -> tuple[Advice, ...]:
    """What a textbook would call a mistake, each at its place; the machine can be used.

    Raises: LimitError.
    """
    advice = [
        *_missing_states(machine),
        *_unused_states(machine),
        *_duplicates(machine),
        *_items_advice(machine),
        *(_choice_advice(choice) for choice in facts_of(machine, limits).choices),
    ]
    return tuple(sorted(advice, key=lambda item: item.span.start))


def no_text(machine: DrawnMachine, source: Source, notes: tuple[Advice, ...]) -> AdvisedBuildError:
    """The error for a machine that accepts no text; ``notes`` is all advice on it."""
    reasons = [note for note in notes if note.kind in ("no_initial_state", "no_final_state")]
    first = (
        reasons[0]
        if reasons
        else Advice(
            "no path leads from an initial state to a final one, so no text is accepted",
            machine.states[0].span if machine.source is source else Span(0, 0),
            "empty_language",
            "draw the edges that are missing",
        )
    )
    error = AdvisedBuildError(first.message, source, first.span, first.hint, first.kind)
    error.notes = tuple(note for note in notes if note is not first)
    return error


def _missing_states(machine: DrawnMachine) -> Iterator[Advice]:
    first = machine.states[0] if machine.states else None
    span = Span(0, len(machine.source.text)) if first is None else first.span
    names = {"initial": machine.initials, "final": machine.finals}
    for word in (word for word, named in names.items() if not named):
        yield Advice(
            f"no state is {word}, so no text is accepted",
            span,
            f"no_{word}_state",
            f"add a line such as '{word} {first.name if first else 'q0'}'",
        )


def _unused_states(machine: DrawnMachine) -> Iterator[Advice]:
    """States that no initial state reaches, and states from which no final state is reached."""
    after: dict[str, list[str]] = {state.name: [] for state in machine.states}
    for edge in machine.edges:
        after[edge.source].append(edge.target)
    accessible = set(reachable(list(machine.initials), lambda name: after[name]))
    pairs = ((edge.source, edge.target) for edge in machine.edges)
    useful = set(coreachable(machine.finals, pairs))
    for state in machine.states:
        if machine.initials and state.name not in accessible:
            yield Advice(
                f"no path from an initial state leads to {state.name}",
                state.span,
                "unreachable_state",
                f"draw an edge to {state.name}, or delete it: it changes no text",
            )
        elif machine.finals and state.name not in useful:
            yield Advice(
                f"no path from {state.name} leads to a final state: a text that comes here is "
                "refused",
                state.span,
                "trap_state",
                "such a trap state makes a machine complete; otherwise draw an edge out of it",
            )


def _duplicates(machine: DrawnMachine) -> Iterator[Advice]:
    counted: Counter[tuple[str, str]] = Counter()
    for mention in machine.mentions:
        counted[mention.keyword, mention.name] += 1
        if counted[mention.keyword, mention.name] > 1:
            what = "has a place" if mention.keyword == "place" else f"is {mention.keyword}"
            message = f"{mention.name} {what} already"
            yield Advice(message, mention.span, "duplicate_state", "delete one of the two")
    seen: Counter[tuple[str, str, str]] = Counter()
    for edge, item in _items(machine):
        key = (edge.source, edge.target, "" if item.regex is None else item.text)
        seen[key] += 1
        if seen[key] == 2:
            yield Advice(
                f"this edge from {edge.source} to {edge.target} reads "
                f"{item.text or EPSILON} already",
                item.span,
                "duplicate_edge",
                "delete one of the two",
            )


def _items_advice(machine: DrawnMachine) -> Iterator[Advice]:
    """Items that read something else than a reader of textbooks may expect."""
    for edge, item in _items(machine):
        if item.text in ("λ", "lambda", "epsilon"):
            yield Advice(
                f"this is the text {item.text!r}, not the empty text",
                item.span,
                "epsilon",
                "write ε for the empty text",
                EPSILON,
            )
        elif not item.text and len(edge.items) > 1:
            yield Advice(
                "an item of this label is empty, so the edge may read nothing",
                edge.label_span,
                "epsilon",
                "delete the comma, or write ε",
            )


def _choice_advice(choice: Choice) -> Advice:
    return Advice(
        f"state {choice.state} reads {listed(choice.characters)} in two ways",
        choice.item.span,
        "nondeterministic",
        "a nondeterministic machine is fine here; Convert writes a deterministic one",
    )
