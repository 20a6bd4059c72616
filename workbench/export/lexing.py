"""Finds the terminals that a lexer with longest match would read wrongly.

llguidance reads, of the terminals that may stand at a place, the one that goes on longest, and
Lark's dynamic lexer a regex as far as it goes. Rules mean the same to both where no text of a
terminal goes on as one of these, by a character that may also follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.nfa import BYTES
from workbench.automata.operations import literals
from workbench.export.neighbours import Neighbours, Terminals, numbers
from workbench.limits import Limits
from workbench.syntax.grammar_tree import Expression, Literal, Pattern
from workbench.syntax.regex.tree import Characters
from workbench.syntax.tree_printer import Leaf

#: The states the terminals at a place can be in, by the numbers of their machines.
_Place = frozenset[tuple[int, State]]
#: Machines by their numbers.
_Machines = frozenset[int]
#: Bytes, one bit each.
_Bytes = int
#: Machines that end at a place, bytes that can be read there, machines that read them.
_Crossing = tuple[_Machines, _Bytes, _Machines]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A machine of a terminal, in lists."""

    rows: list[list[State]]
    classes: list[int]
    finals: list[bool]
    initial: State
    #: The bytes it may begin with.
    begins: _Bytes

    @staticmethod
    def of(dfa: Dfa) -> _Table:
        rows, classes = dfa.table.tolist(), dfa.classes.tolist()
        first = rows[dfa.initial]
        begins = sum(1 << byte for byte in range(BYTES) if first[classes[byte]] != DEAD)
        return _Table(rows, classes, dfa.finals.tolist(), dfa.initial, begins)


class Lexers:
    """The automata of terminals that may stand together, each made once for all rules asked of."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._clock = limits.clock()
        self._tables: list[_Table] = []
        self._numbers: dict[object, int] = {}
        self._known: dict[_Machines, tuple[list[_Crossing], frozenset[_Machines]]] = {}

    def misread(self, rules: Mapping[str, Expression], start: str) -> set[int]:
        """The ``id`` of every terminal that is cut short by another, and of the other.

        Not of those of one character: there is nothing to cut, and nothing goes on.

        Cost:   a lexer's automaton for every set of terminals that may stand at one place.
        Raises: LimitError past the time of the limits.
        """
        around = Neighbours(rules, lambda _: False, id, self._clock)
        if all(map(is_one, around.leaves)):
            return set()
        machines = [self._number(leaf) for leaf in around.leaves]
        found = _Walk(self, around, machines).found(around.first(rules[start]))
        return {id(around.leaves[number]) for number in numbers(found)}

    def _number(self, leaf: Leaf) -> int:
        """The machine of a terminal: those that are written alike have one."""
        key = leaf.value if isinstance(leaf, Literal) else _pattern(leaf).text
        if key not in self._numbers:
            made = (
                literals([leaf.value], self._limits)
                if isinstance(leaf, Literal)
                else regex_dfa(_pattern(leaf).regex, self._limits)
            )
            self._numbers[key] = len(self._tables)
            self._tables.append(_Table.of(made))
        return self._numbers[key]

    def begins(self, machine: int) -> _Bytes:
        """The bytes the texts of a machine may begin with."""
        return self._tables[machine].begins

    def walked(self, machines: _Machines) -> tuple[list[_Crossing], frozenset[_Machines]]:
        """The places of a lexer at which machines end and others go on; and all that end."""
        if machines in self._known:
            return self._known[machines]
        tables = {machine: self._tables[machine] for machine in sorted(machines)}
        some: dict[object, list[int]] = {}
        for byte, column in enumerate(zip(*(t.classes for t in tables.values()), strict=True)):
            some.setdefault(column, []).append(byte)
        start: _Place = frozenset((machine, table.initial) for machine, table in tables.items())
        seen, waiting = {start}, [start]
        crossings: list[_Crossing] = []
        ends = set[_Machines]()
        for place in waiting:  # grows while it is read
            self._clock.check()
            self._limits.check("states", len(waiting))
            ended = frozenset(m for m, state in place if tables[m].finals[state])
            if ended:
                ends.add(ended)
            for members in some.values():
                there = _stepped(place, tables, members[0])
                if ended and there:
                    going = frozenset(machine for machine, _ in there)
                    crossings.append((ended, sum(1 << byte for byte in members), going))
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)
        self._known[machines] = crossings, frozenset(ends)
        return self._known[machines]


class _Walk:
    """The sets of terminals that stand at one place, in the texts of some rules."""

    def __init__(self, lexers: Lexers, around: Neighbours, machine: list[int]) -> None:
        self._lexers = lexers
        self._behind = around.behind
        #: The machine of each terminal, and the terminals of each.
        self._machine = machine
        self._of_machine = dict.fromkeys(machine, 0)
        self._long: Terminals = 0
        for number, (one, leaf) in enumerate(zip(machine, around.leaves, strict=True)):
            self._of_machine[one] |= 1 << number
            self._long |= 0 if is_one(leaf) else 1 << number
        self._followers: dict[Terminals, Terminals] = {}
        self._after: dict[Terminals, _Bytes] = {}

    def found(self, first: Terminals) -> Terminals:
        """Walk from the terminals a text begins with to those that may stand behind, and so on.

        What ends at one place may be several terminals; then all stand there that follow any.
        """
        waiting = [first]
        seen = set(waiting)
        bad: Terminals = 0
        for together in waiting:  # grows while it is read
            parts = {
                machine: together & self._of_machine[machine]
                for machine in {self._machine[number] for number in numbers(together)}
            }
            crossings, ends = self._lexers.walked(frozenset(parts))
            for ended, members, going in crossings:
                cut = {machine for machine in ended if self._read_after(parts[machine]) & members}
                for machine in cut | going if cut else ():
                    bad |= parts[machine]
            for ended in ends:
                there = 0
                for machine in ended:
                    there |= self._all_behind(parts[machine])
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)
        return bad & self._long

    def _all_behind(self, terminals: Terminals) -> Terminals:
        """What may follow any of some terminals."""
        if terminals not in self._followers:
            found = 0
            for number in numbers(terminals):
                found |= self._behind[number]
            self._followers[terminals] = found
        return self._followers[terminals]

    def _read_after(self, terminals: Terminals) -> _Bytes:
        """The bytes that may follow any of some terminals."""
        if terminals not in self._after:
            followers = self._all_behind(terminals)
            found = 0
            for machine in {self._machine[number] for number in numbers(followers)}:
                found |= self._lexers.begins(machine)
            self._after[terminals] = found
        return self._after[terminals]


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
