"""Finds terminals that Lark's lexers would read wrongly, and splits rules it would expand too far.

Lark expands every rule into the list of its alternatives; each ``?``, group and count multiplies
them. A part with many alternatives therefore becomes a separate rule.

llguidance reads the longest match among the terminals that are possible at a position, and Lark's
dynamic lexer the longest match of each regex. Both agree with the grammar if no text of a terminal
can be continued, within a possible terminal, by a character that may also follow it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from workbench.automata.build import regex_dfa
from workbench.automata.nfa import BYTES
from workbench.automata.operations import literals
from workbench.base.dfa import DEAD, Dfa, LazyRows, State, table_rows
from workbench.base.limits import Limits, check_time_budget
from workbench.grammar.export.prepare import FollowSets, Terminals, numbers
from workbench.grammar.export.rule_names import Names
from workbench.syntax.grammar_printer import Leaf
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

#: A regex with more positions is not analysed and counts as nondeterministic.
_MAX_POSITIONS = 200


class PositionAutomaton:
    """The position automaton of a regex: a state for each character set in it.

    Source: Glushkov 1961; Brüggemann-Klein & Wood 1998, "One-unambiguous regular languages".
    """

    def __init__(self, regex: Regex) -> None:
        self._sets: list[Ranges] = []
        self._next: list[set[int]] = []
        #: Whether an option of a choice is empty: Python's ``re`` would take it first.
        self._empty_option = False
        skips, self._first, _ = self._read(regex)
        #: Whether the empty text does not match.
        self.reads_something = not skips

    @property
    def is_deterministic(self) -> bool:
        """Whether the next character decides the next position: then ``re`` matches the longest."""
        if self._empty_option or len(self._sets) > _MAX_POSITIONS:
            return False
        return all(map(self._are_disjoint, (self._first, *self._next)))

    def _are_disjoint(self, positions: set[int]) -> bool:
        check_time_budget()
        order = sorted(positions)
        return not any(
            intersection(self._sets[first], self._sets[other])
            for index, first in enumerate(order)
            for other in order[index + 1 :]
        )

    def _read(self, regex: Regex) -> tuple[bool, set[int], set[int]]:
        """Whether a part may be empty, and its first and last positions."""
        check_time_budget()
        match regex:
            case Characters(ranges):
                self._sets.append(ranges)
                self._next.append(set())
                positions = {len(self._sets) - 1}
                return False, positions, positions
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
                raise AssertionError("regexes of automata have no other nodes")

    def _link(self, ends: set[int], begins: set[int]) -> None:
        for end in ends:
            check_time_budget()
            self._next[end] |= begins


#: The most alternatives of a rule, and of a part inside a rule.
_MAX_IN_RULE, _MAX_IN_PART = 64, 4


class Expansions:
    """Splits rules so that each has few alternatives."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: list[Rule] = []
        self._rule = ""

    def of(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rules, each followed by the new rules for its parts."""
        expanded: list[Rule] = []
        for rule in rules:
            self._rule, self._made = rule.name, []
            body = self._body(rule.body)
            expanded += [Rule(rule.name, body, rule.name_span, rule.span), *self._made]
        return tuple(expanded)

    def _body(self, node: Expression) -> Expression:
        """The body of a rule; the options of its outermost choice are counted separately."""
        if isinstance(node, Choice):
            return Choice(
                tuple(self._few(self._inner(o), _MAX_IN_RULE) for o in node.options), node.span
            )
        return self._few(self._inner(node), _MAX_IN_RULE)

    def _inner(self, node: Expression) -> Expression:
        """The expression with parts of few alternatives."""
        check_time_budget()
        match node:
            case Repetition(item, low, high, span):
                inner = self._part(item)
                counted = (high or low) > 1  # every copy has the alternatives of the item
                if counted and alternatives(inner) > 1:
                    inner = self._separate(inner)
                return Repetition(inner, low, high, span)
            case _:
                return node.rebuild(self._part)

    def _part(self, node: Expression) -> Expression:
        inner = self._inner(node)
        return self._separate(inner) if alternatives(inner) > _MAX_IN_PART else inner

    def _few(self, node: Expression, most: int) -> Expression:
        """A sequence of at most ``most`` alternatives: parts with several become rules."""
        if alternatives(node) <= most or not isinstance(node, Sequence):
            return node
        items = tuple(self._separate(i) if alternatives(i) > 1 else i for i in node.items)
        return Sequence(items, node.span)

    def _separate(self, node: Expression) -> Expression:
        name = self._names.fresh(f"{self._rule}_part")
        self._made.append(Rule(name, self._few(node, _MAX_IN_RULE), node.span, node.span))
        return Nonterminal(name, node.span)


def alternatives(node: Expression) -> int:
    """The number of alternatives into which Lark expands an expression; a star becomes a rule."""
    match node:
        case Sequence(items):
            return prod(map(alternatives, items))
        case Choice(options):
            return sum(map(alternatives, options))
        case Repetition(item, low, None):
            return 1 + (low == 0) if low < 2 else alternatives(item) ** low
        case Repetition(item, low, high):
            assert high is not None, "handled by the case before"
            return sum(alternatives(item) ** count for count in range(low, high + 1))
        case _:
            return 1


#: The state of a lexer: the current state of each terminal's automaton, by its number.
_LexerState = frozenset[tuple[int, State]]
#: A set of automata, by number.
_Machines = frozenset[int]
#: A set of bytes, one bit each.
_Bytes = int
#: Automata that accept in a lexer state, bytes it can read, and the automata that read them.
_Crossing = tuple[_Machines, _Bytes, _Machines]


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The automaton of a terminal, as lists of numbers."""

    rows: LazyRows[State]
    classes: list[int]
    finals: list[bool]
    initial: State
    #: The bytes its texts may begin with.
    begins: _Bytes

    @staticmethod
    def of(dfa: Dfa) -> _Table:
        rows, classes = table_rows(dfa.table), dfa.classes.tolist()
        first = rows[dfa.initial]
        begins = sum(1 << byte for byte in range(BYTES) if first[classes[byte]] != DEAD)
        return _Table(rows, classes, dfa.finals.tolist(), dfa.initial, begins)


class Lexers:
    """The lexer automata of sets of terminals that are possible at one position; cached."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.clock = limits.clock()
        self._tables: list[_Table] = []
        self._numbers: dict[object, int] = {}
        self._known: dict[_Machines, tuple[list[_Crossing], frozenset[_Machines]]] = {}

    def misread(self, rules: Mapping[str, Expression], start: str) -> set[int]:
        """The ``id`` of every terminal whose end a longest match misses, and of its rivals.

        Terminals of one character are never among them.

        Cost:   one lexer automaton for every set of terminals that are possible at one position.
        Raises: LimitError past the time of the limits.
        """
        sets = FollowSets(rules, lambda _: False, id, self.clock)
        if all(map(is_one, sets.leaves)):
            return set()
        machines = [self._number(leaf) for leaf in sets.leaves]
        terminals = _Walk(self, sets, machines).found(sets.first(rules[start]))
        return {id(sets.leaves[number]) for number in numbers(terminals)}

    def _number(self, leaf: Leaf) -> int:
        """The number of a terminal's automaton; terminals with equal text share one."""
        key = leaf.value if isinstance(leaf, Literal) else _pattern(leaf).text
        if key not in self._numbers:
            machine = (
                literals([leaf.value], self._limits)
                if isinstance(leaf, Literal)
                else regex_dfa(_pattern(leaf).regex, self._limits)
            )
            self._numbers[key] = len(self._tables)
            self._tables.append(_Table.of(machine))
        return self._numbers[key]

    def begins(self, machine: int) -> _Bytes:
        """The bytes with which the texts of an automaton may begin."""
        return self._tables[machine].begins

    def lexer(self, machines: _Machines) -> tuple[list[_Crossing], frozenset[_Machines]]:
        """The lexer states where some automata accept and some continue; all accepting sets."""
        if machines in self._known:
            return self._known[machines]
        tables = {machine: self._tables[machine] for machine in sorted(machines)}
        some: dict[object, list[int]] = {}
        for byte, column in enumerate(zip(*(t.classes for t in tables.values()), strict=True)):
            some.setdefault(column, []).append(byte)
        start: _LexerState = frozenset(
            (machine, table.initial) for machine, table in tables.items()
        )
        seen, waiting = {start}, deque([start])
        crossings: list[_Crossing] = []
        ends = set[_Machines]()
        while waiting:
            current = waiting.popleft()
            self.clock.check()
            self._limits.check("states", len(seen))
            ended = frozenset(m for m, state in current if tables[m].finals[state])
            if ended:
                ends.add(ended)
            for members in some.values():
                there = _step(current, tables, members[0])
                if ended and there:
                    going = frozenset(machine for machine, _ in there)
                    crossings.append((ended, sum(1 << byte for byte in members), going))
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)
        self._known[machines] = crossings, frozenset(ends)
        return self._known[machines]


class _Walk:
    """Enumerates the sets of terminals that are possible at one position of some text."""

    def __init__(self, lexers: Lexers, sets: FollowSets, machine: list[int]) -> None:
        self._lexers = lexers
        self._follow = sets.follow
        #: The automaton of each terminal, and the terminals of each automaton.
        self._machine = machine
        self._of_machine = dict.fromkeys(machine, 0)
        self._long: Terminals = 0
        for number, (automaton, leaf) in enumerate(zip(machine, sets.leaves, strict=True)):
            self._of_machine[automaton] |= 1 << number
            self._long |= 0 if is_one(leaf) else 1 << number
        self._followers: dict[Terminals, Terminals] = {}
        self._after: dict[Terminals, _Bytes] = {}

    def found(self, first: Terminals) -> Terminals:
        """The misread terminals, starting from the ``first`` terminals of a text.

        Several terminals may end at one position; then the followers of all of them are possible.
        """
        seen, waiting = {first}, deque([first])
        bad: Terminals = 0
        while waiting:
            together = waiting.popleft()
            self._lexers.clock.check()
            parts = {
                machine: together & self._of_machine[machine]
                for machine in {self._machine[number] for number in numbers(together)}
            }
            crossings, ends = self._lexers.lexer(frozenset(parts))
            for ended, members, going in crossings:
                cut = {machine for machine in ended if self._read_after(parts[machine]) & members}
                for machine in cut | going if cut else ():
                    bad |= parts[machine]
            for ended in ends:
                there = 0
                for machine in ended:
                    there |= self._followers_of(parts[machine])
                if there and there not in seen:
                    seen.add(there)
                    waiting.append(there)
        return bad & self._long

    def _followers_of(self, terminals: Terminals) -> Terminals:
        """The terminals that may follow any terminal of a set."""
        if terminals not in self._followers:
            followers = 0
            for number in numbers(terminals):
                followers |= self._follow[number]
            self._followers[terminals] = followers
        return self._followers[terminals]

    def _read_after(self, terminals: Terminals) -> _Bytes:
        """The bytes that may follow any terminal of a set."""
        if terminals not in self._after:
            followers = self._followers_of(terminals)
            read_bytes = 0
            for machine in {self._machine[number] for number in numbers(followers)}:
                read_bytes |= self._lexers.begins(machine)
            self._after[terminals] = read_bytes
        return self._after[terminals]


def _step(current: _LexerState, tables: Mapping[int, _Table], byte: int) -> _LexerState:
    """The lexer state after a byte."""
    states = []
    for machine, state in current:
        table = tables[machine]
        if (there := table.rows[state][table.classes[byte]]) != DEAD:
            states.append((machine, there))
    return frozenset(states)


def is_one(leaf: Leaf) -> bool:
    """Whether a terminal is a single character."""
    if isinstance(leaf, Literal):
        return len(leaf.value.decode()) == 1
    return isinstance(_pattern(leaf).regex, Characters)


def _pattern(leaf: Leaf) -> Pattern:
    assert isinstance(leaf, Pattern), "automata have become regexes or rules"
    return leaf
