"""Lexing: rules in, the terminals out that a reader who takes the longest one would read wrongly.

llguidance reads, of the terminals that may stand at a place, the one that goes on longest, and
Lark's dynamic lexer a regex as far as it goes. Rules mean the same to both where no text of a
terminal goes on as one of these, by a character that may also follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.nfa import BYTES
from workbench.automata.operations import literals
from workbench.errors import LimitError
from workbench.export.neighbours import Neighbours
from workbench.limits import Limits
from workbench.syntax.grammar_tree import Expression, Literal, Pattern
from workbench.syntax.ranges import intersection
from workbench.syntax.regex_tree import Alternate, Characters, Concat, Ranges, Regex, Repeat
from workbench.syntax.tree_printer import Leaf

#: Of a regex with more places nobody looks whether it would be read well.
_PLACES = 200

#: The states the terminals at a place can be in, by the numbers of their machines.
_Place = frozenset[tuple[int, State]]


def misread(rules: Mapping[str, Expression], start: str, limits: Limits) -> set[int]:
    """The ``id`` of every terminal that is cut short by another, and of the other.

    Not of those of one character: there is nothing to cut, and nothing goes on. Where the time is
    over before all is known, of all others.

    Cost:   a lexer's automaton for every set of terminals that may stand at one place.
    """
    lexers = _Lexers(rules, start, limits)
    if not lexers.long:
        return set()
    try:
        return set(lexers.found())
    except LimitError:
        return lexers.long


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A machine of a terminal, in lists: a step takes a tenth of the time."""

    rows: list[list[State]]
    classes: list[int]
    finals: list[bool]
    initial: State
    #: The bytes it may begin with.
    begins: frozenset[int]

    @staticmethod
    def of(dfa: Dfa) -> _Table:
        rows, classes = dfa.table.tolist(), dfa.classes.tolist()
        first = rows[dfa.initial]
        begins = frozenset(byte for byte in range(BYTES) if first[classes[byte]] != DEAD)
        return _Table(rows, classes, dfa.finals.tolist(), dfa.initial, begins)


class _Lexers:
    """The automata of the terminals that may stand together."""

    def __init__(self, rules: Mapping[str, Expression], start: str, limits: Limits) -> None:
        self._limits = limits
        self._clock = limits.clock()
        around = Neighbours(rules, lambda _: False, id)
        self._leaves = around.leaves
        self._tables: list[_Table] = []
        self._is_one: list[bool] = []
        numbers: dict[object, int] = {}
        #: The machine of each terminal: those that are written alike have one.
        self._machine = [self._number(leaf, numbers) for leaf in self._leaves]
        self._behind: dict[int, set[int]] = {}
        for left, right in around.pairs:
            self._behind.setdefault(left, set()).add(right)
        #: The bytes that may follow each terminal.
        self._after = {
            number: frozenset[int]().union(*(self._table(other).begins for other in others))
            for number, others in self._behind.items()
        }
        self._first = around.first(rules[start])
        #: The ``id`` of those of several characters.
        self.long = {id(leaf) for leaf in self._leaves if not is_one(leaf)}

    def _number(self, leaf: Leaf, numbers: dict[object, int]) -> int:
        key = leaf.value if isinstance(leaf, Literal) else _pattern(leaf).text
        number = numbers.setdefault(key, len(self._tables))
        if number == len(self._tables):
            made = (
                literals([leaf.value], self._limits)
                if isinstance(leaf, Literal)
                else regex_dfa(_pattern(leaf).regex, self._limits)
            )
            self._tables.append(_Table.of(made))
            self._is_one.append(is_one(leaf))
        return number

    def _table(self, leaf: int) -> _Table:
        return self._tables[self._machine[leaf]]

    def found(self) -> Iterator[int]:
        """Walk from the terminals a text begins with to those that may stand behind, and so on.

        What ends at one place may be several terminals; then all stand there that follow any.
        """
        waiting = [self._first]
        seen = set(waiting)
        for together in waiting:  # grows while it is read
            machines, ends = self._cut(together)
            for number in together:
                if self._machine[number] in machines:
                    yield id(self._leaves[number])
            for ended in ends:
                last = (n for n in together if self._machine[n] in ended)
                there = frozenset[int]().union(*(self._behind.get(n, ()) for n in last))
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)

    def _cut(self, together: frozenset[int]) -> tuple[set[int], set[frozenset[int]]]:
        """Which machines of the terminals at one place cut each other; and which end together."""
        after: dict[int, frozenset[int]] = {}
        for number in together:
            machine = self._machine[number]
            after[machine] = after.get(machine, frozenset()) | self._after.get(number, frozenset())
        tables = {machine: self._tables[machine] for machine in sorted(after)}
        some: dict[object, list[int]] = {}
        for byte, column in enumerate(zip(*(t.classes for t in tables.values()), strict=True)):
            some.setdefault(column, []).append(byte)
        start: _Place = frozenset((machine, table.initial) for machine, table in tables.items())
        seen, waiting = {start}, [start]
        bad, ends = set[int](), set[frozenset[int]]()
        for place in waiting:  # grows while it is read
            self._clock.check()
            self._limits.check("states", len(waiting))
            ended = frozenset(m for m, state in place if tables[m].finals[state])
            if ended:
                ends.add(ended)
            for members in some.values():
                there = _stepped(place, tables, members[0])
                if not there:
                    continue
                cut = {m for m in ended if not after[m].isdisjoint(members)}
                if cut:
                    bad |= cut | {m for m, _ in there}
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
        return {m for m in bad if not self._is_one[m]}, ends


def _stepped(place: _Place, tables: Mapping[int, _Table], byte: int) -> _Place:
    """Where the machines are that can read a byte."""
    found = []
    for machine, state in place:
        table = tables[machine]
        if (there := table.rows[state][table.classes[byte]]) != DEAD:
            found.append((machine, there))
    return frozenset(found)


def is_one(leaf: Leaf) -> bool:
    """Whether a terminal reads one character, so that nothing goes on inside it."""
    if isinstance(leaf, Literal):
        return len(leaf.value.decode()) == 1
    return isinstance(_pattern(leaf).regex, Characters)


def _pattern(leaf: Leaf) -> Pattern:
    assert isinstance(leaf, Pattern), "machines are regexes or rules by now"
    return leaf


class Places:
    """The places of a regex at which a character is read, with those that may come next.

    Source: Glushkov 1961; Brüggemann-Klein & Wood 1998, "One-unambiguous regular languages".
    """

    def __init__(self, regex: Regex) -> None:
        self._sets: list[Ranges] = []
        self._next: list[set[int]] = []
        #: Whether an option of a choice reads nothing: Python's ``re`` would take it at once.
        self._empty_option = False
        skips, self._first, _ = self._read(regex)
        #: Whether no text is empty.
        self.reads_something = not skips

    @property
    def go_one_way(self) -> bool:
        """Whether a character decides how to go on: then ``re`` finds the longest match."""
        if self._empty_option or len(self._sets) > _PLACES:
            return False
        return all(map(self._apart, (self._first, *self._next)))

    def _apart(self, places: set[int]) -> bool:
        order = sorted(places)
        return not any(
            intersection(self._sets[one], self._sets[other])
            for at, one in enumerate(order)
            for other in order[at + 1 :]
        )

    def _read(self, regex: Regex) -> tuple[bool, set[int], set[int]]:
        """Whether a part may read nothing, and the places it may begin and end at."""
        match regex:
            case Characters(ranges):
                self._sets.append(ranges)
                self._next.append(set())
                here = {len(self._sets) - 1}
                return False, here, here
            case Concat(parts):
                empty, first, last = True, set[int](), set[int]()
                for part in parts:
                    may_skip, begins, ends = self._read(part)
                    self._link(last, begins)
                    first = first | begins if empty else first
                    last = last | ends if may_skip else ends
                    empty = empty and may_skip
                return empty, first, last
            case Alternate(options):
                read = [self._read(option) for option in options]
                self._empty_option |= any(skips for skips, _, _ in read)
                firsts = set[int]().union(*(begins for _, begins, _ in read))
                lasts = set[int]().union(*(ends for _, _, ends in read))
                return any(skips for skips, _, _ in read), firsts, lasts
            case Repeat(part, low, high):
                may_skip, begins, ends = self._read(part)
                if high is None or high > 1:
                    self._link(ends, begins)
                return low == 0 or may_skip, begins, ends
            case _:
                raise AssertionError("all that terms are made of")

    def _link(self, ends: set[int], begins: set[int]) -> None:
        for place in ends:
            self._next[place] |= begins
