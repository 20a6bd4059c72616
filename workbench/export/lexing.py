"""Lexing: rules in, the terminals out that a reader who takes the longest one would read wrongly.

llguidance reads, of the terminals that may stand at a place, the one that goes on longest, and
Lark's dynamic lexer a regex as far as it goes. Rules mean the same to both where no text of a
terminal goes on as one of these, by a character that may also follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.operations import literals
from workbench.export.neighbours import Neighbours
from workbench.limits import Limits
from workbench.syntax.grammar_tree import Expression, Literal, Pattern
from workbench.syntax.ranges import intersection
from workbench.syntax.regex_tree import Alternate, Characters, Concat, Ranges, Regex, Repeat
from workbench.syntax.tree_printer import Leaf

#: More sets of states, more places of a regex: nobody looks whether it would be read well.
_SETS, _PLACES = 2_000, 200

#: The states the terminals at a place can be in, by their numbers.
_Place = frozenset[tuple[int, State]]


def misread(rules: Mapping[str, Expression], start: str, limits: Limits) -> set[int]:
    """The ``id`` of every terminal that is cut short by another, and of the other.

    Both are longer than one character, or only the other is: it has to be spelled.

    Cost:   a lexer's automaton for every set of terminals that may stand at one place.
    Raises: LimitError past ``limits.seconds``.
    """
    return set(_Lexers(rules, start, limits).found())


class _Lexers:
    """The automata of the terminals that may stand together."""

    def __init__(self, rules: Mapping[str, Expression], start: str, limits: Limits) -> None:
        self._limits = limits
        self._clock = limits.clock()
        self._machines: dict[object, Dfa] = {}
        self._around = Neighbours(rules, lambda _: False, id)
        self._leaves = self._around.leaves
        self._behind: dict[int, set[int]] = {}
        for left, right in self._around.pairs:
            self._behind.setdefault(left, set()).add(right)
        #: The sets of terminals that may stand at one place.
        self._together = {frozenset(found) for found in self._behind.values()}
        self._together.add(self._around.first(rules[start]))

    def found(self) -> Iterator[int]:
        for together in self._together:
            if any(not is_one(self._leaves[number]) for number in together):
                for number in self._cut(sorted(together)):
                    yield id(self._leaves[number])

    def _machine(self, number: int) -> Dfa:
        leaf = self._leaves[number]
        key = leaf.value if isinstance(leaf, Literal) else _pattern(leaf).text
        if (type(leaf), key) not in self._machines:
            made = (
                literals([leaf.value], self._limits)
                if isinstance(leaf, Literal)
                else regex_dfa(_pattern(leaf).regex, self._limits)
            )
            self._machines[type(leaf), key] = made
        return self._machines[type(leaf), key]

    def _begins(self, number: int) -> set[int]:
        """The bytes what stands behind a terminal may begin with."""
        return {
            byte
            for other in self._behind.get(number, ())
            for byte in range(256)
            if self._step(other, self._machine(other).initial, byte) != DEAD
        }

    def _step(self, number: int, state: State, byte: int) -> State:
        return self._machine(number).step(state, byte)

    def _cut(self, together: list[int]) -> set[int]:
        """Which of the terminals at one place cut each other."""
        begins = {number: self._begins(number) for number in together}
        columns = zip(*(self._machine(n).classes.tolist() for n in together), strict=True)
        some: dict[object, list[int]] = {}
        for byte, column in enumerate(columns):
            some.setdefault(column, []).append(byte)
        start: _Place = frozenset((n, self._machine(n).initial) for n in together)
        seen, waiting, bad = {start}, [start], set[int]()
        for place in waiting:  # grows while it is read
            self._clock.check("the terminals are too many to be told apart")
            if len(waiting) > _SETS:
                return {n for n in together if not is_one(self._leaves[n])}
            ended = [n for n, state in place if place != start and self._machine(n).finals[state]]
            for members in some.values():
                ways = ((n, self._step(n, state, members[0])) for n, state in place)
                there: _Place = frozenset((n, state) for n, state in ways if state != DEAD)
                cut = {n for n in ended if there and not begins[n].isdisjoint(members)}
                if cut:
                    bad |= cut | {n for n, _ in there}
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)
        return {n for n in bad if not is_one(self._leaves[n])}


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
