"""What Lark's lexer would read wrongly, and rules it would expand too far.

Lark makes of every rule the list of its alternatives: each ``?``, group and count multiplies them.
What has many alternatives becomes a separate rule.

llguidance reads, of the terminals that may stand at a place, the one that goes on longest, and
Lark's dynamic lexer a regex as far as it goes. Rules mean the same to both where no text of a
terminal goes on as one of these, by a character that may also follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from workbench.automata.build import regex_dfa
from workbench.automata.nfa import BYTES
from workbench.automata.operations import literals
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import Limits
from workbench.grammar.export.prepare import Neighbours, Terminals, numbers
from workbench.grammar.export.rule_names import Names
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.ranges import Ranges, intersection
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat
from workbench.syntax.tree_printer import Leaf

#: Of a regex with more places nobody looks whether it would be read well.
_PLACES = 200


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


#: Alternatives of one rule, and of a part that may stay inside a rule.
_RULE, _PART = 64, 4


class Expansions:
    """Rules with few alternatives each."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: list[Rule] = []
        self._rule = ""

    def of(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rules, each with those made for its parts behind it."""
        found: list[Rule] = []
        for rule in rules:
            self._rule, self._made = rule.name, []
            body = self._body(rule.body)
            found += [Rule(rule.name, body, rule.name_span, rule.span), *self._made]
        return tuple(found)

    def _body(self, node: Expression) -> Expression:
        """What may be the body of a rule: the options of a choice are alternatives anyway."""
        if isinstance(node, Choice):
            return Choice(tuple(self._few(self._inner(o), _RULE) for o in node.options), node.span)
        return self._few(self._inner(node), _RULE)

    def _inner(self, node: Expression) -> Expression:
        """The same with parts of few alternatives."""
        match node:
            case Repetition(item, low, high, span):
                inner = self._part(item)
                counted = (high or low) > 1  # every copy has the alternatives of the item
                if counted and alternatives(inner) > 1:
                    inner = self._apart(inner)
                return Repetition(inner, low, high, span)
            case _:
                return node.rebuild(self._part)

    def _part(self, node: Expression) -> Expression:
        made = self._inner(node)
        return self._apart(made) if alternatives(made) > _PART else made

    def _few(self, node: Expression, most: int) -> Expression:
        """A row with so few alternatives: its parts that have several become rules."""
        if alternatives(node) <= most or not isinstance(node, Sequence):
            return node
        items = tuple(self._apart(i) if alternatives(i) > 1 else i for i in node.items)
        return Sequence(items, node.span)

    def _apart(self, node: Expression) -> Expression:
        name = self._names.fresh(f"{self._rule}_part")
        self._made.append(Rule(name, self._few(node, _RULE), node.span, node.span))
        return Nonterminal(name, node.span)


def alternatives(node: Expression) -> int:
    """In how many ways Lark writes an expression out; what repeats without end is a rule."""
    match node:
        case Sequence(items):
            return prod(map(alternatives, items))
        case Choice(options):
            return sum(map(alternatives, options))
        case Repetition(item, low, None):
            return 1 + (low == 0) if low < 2 else alternatives(item) ** low
        case Repetition(item, low, high):
            assert high is not None, "the case before"
            return sum(alternatives(item) ** count for count in range(low, high + 1))
        case _:
            return 1


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
