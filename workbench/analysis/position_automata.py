"""Position automata of rules and regexes: the remainder of a piece after each byte.

A position is the remainder of one rule, as a linked list of pieces of which the first may be
partly read. Equal lists are one object. Copies of a repetition are counted, not unrolled, so
``(a|b)*a(a|b){20}`` has a few dozen positions.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.analysis.source_pieces import (
    EMPTY_PIECE,
    Alternation,
    Call,
    Concatenation,
    DfaMatcher,
    ExceptMatcher,
    Leaf,
    Matcher,
    MatcherState,
    Piece,
    Repeated,
    SubstringMatcher,
    alternation,
    concatenation,
    leaves,
    literal_piece,
    regex_piece,
    repeated,
)
from workbench.automata.graphs import reachable
from workbench.base.limits import Limits, check_time_budget
from workbench.base.source import Source
from workbench.pushdown.cfg import Terminal, derives, excepted_strings, gathered, least
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    Substrings,
    holds,
    referenced,
)


class _Suffix(NamedTuple):
    """A concatenation from its part ``first`` on."""

    row: Concatenation
    first: int


class _PartialRepeat(NamedTuple):
    """A repetition of which ``done`` copies are read; counted only as far as it matters."""

    loop: Repeated
    done: int


class _StartedLeaf(NamedTuple):
    """A leaf that has read at least one byte."""

    leaf: Leaf
    state: MatcherState


_Head = Piece | _Suffix | _PartialRepeat | _StartedLeaf


@dataclass(slots=True, eq=False)
class Position:
    """The remainder of a rule: a part, then the rest."""

    head: _Head | None
    rest: Position | None
    first_set: FirstSet | None = None
    steps: dict[int, tuple[Position, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class FirstSet:
    """What can be read first at a position (its first set)."""

    #: Leaves, with the matcher's state and the position after the leaf.
    reads: tuple[tuple[Leaf, MatcherState, Position], ...]
    #: Calls, with the position after the call.
    calls: tuple[tuple[Call, Position], ...]
    #: Whether the remainder is nullable.
    ends: bool


#: The end of a rule: nothing remains.
END = Position(None, None)


class _FirstSetBuilder(NamedTuple):
    reads: dict[tuple[Leaf, MatcherState, Position], None]
    calls: dict[tuple[Call, Position], None]


class Positions:
    """The interned positions; each is created when it is first reached.

    A nullable part is skipped and never read as the empty text, so no loop repeats without
    reading.

    Source: the first and follow sets of Glushkov 1961, computed on demand.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[tuple[_Head, Position], Position] = {}

    def __len__(self) -> int:
        return len(self._known)

    def before(self, piece: Piece) -> Position:
        """The position before a piece."""
        return self._position(piece, END)

    def begun(self, leaf: Leaf, state: MatcherState, rest: Position) -> Position:
        """The position inside a leaf whose matcher is in a given state."""
        return self._position(_StartedLeaf(leaf, state), rest)

    def step(self, position: Position, byte: int) -> tuple[Position, ...]:
        """The positions after a byte that is read by a leaf, not inside a call."""
        cached = position.steps.get(byte)
        if cached is None:
            targets: dict[Position, None] = {}
            for leaf, state, rest in self.first(position).reads:
                after = leaf.matcher.step(state, byte)
                if after is None:
                    continue
                over = leaf.matcher.is_exhausted(after)
                targets[rest if over else self.begun(leaf, after, rest)] = None
            cached = position.steps[byte] = tuple(targets)
        return cached

    def first(self, position: Position) -> FirstSet:
        """The first set of a position, computed once."""
        if position.first_set is None:
            builder = _FirstSetBuilder({}, {})
            current: Position | None = position
            while current is not None and current.head is not None:
                assert current.rest is not None
                self._first(current.head, current.rest, builder)
                current = current.rest if _is_nullable(current.head) else None
            position.first_set = FirstSet(
                tuple(builder.reads), tuple(builder.calls), current is END
            )
        return position.first_set

    def _position(self, head: _Head, rest: Position) -> Position:
        key = (head, rest)
        cached = self._known.get(key)
        if cached is None:
            self._limits.check("states", len(self._known) + 1)
            cached = self._known[key] = Position(head, rest)
        return cached

    def _first(self, head: _Head, rest: Position, builder: _FirstSetBuilder) -> None:
        """Adds the leaves and calls that can begin a part, with the position after each."""
        check_time_budget("the grammar has too many places that a text can continue at")
        match head:
            case _StartedLeaf(leaf=leaf, state=state):
                builder.reads[leaf, state, rest] = None
            case Leaf():
                builder.reads[head, head.matcher.initial, rest] = None
            case Call():
                builder.calls[head, rest] = None
            case Alternation(options=options):
                for option in options:
                    self._first(option, rest, builder)
            case Concatenation():
                self._first_of_suffix(head, 0, rest, builder)
            case _Suffix(row=row, first=first):
                self._first_of_suffix(row, first, rest, builder)
            case Repeated():
                self._first_copy(head, 0, rest, builder)
            case _PartialRepeat(loop=loop, done=done):
                self._first_copy(loop, done, rest, builder)

    def _first_of_suffix(
        self, row: Concatenation, first: int, rest: Position, builder: _FirstSetBuilder
    ) -> None:
        last = len(row.parts) - 1
        for index in range(first, last + 1):
            after = rest if index == last else self._position(_Suffix(row, index + 1), rest)
            self._first(row.parts[index], after, builder)
            if not row.parts[index].is_nullable:
                return

    def _first_copy(
        self, loop: Repeated, done: int, rest: Position, builder: _FirstSetBuilder
    ) -> None:
        if loop.high is None:
            after = self._position(_PartialRepeat(loop, min(done + 1, loop.low)), rest)
        elif done + 1 < loop.high:
            after = self._position(_PartialRepeat(loop, done + 1), rest)
        elif done < loop.high:
            after = rest
        else:
            return
        self._first(loop.part, after, builder)


def _is_nullable(head: _Head) -> bool:
    match head:
        case _StartedLeaf(leaf=leaf, state=state):
            return leaf.matcher.is_final(state)
        case _Suffix(row=row, first=first):
            return all(part.is_nullable for part in row.parts[first:])
        case _PartialRepeat(loop=loop, done=done):
            return done >= loop.low
        case _:
            return head.is_nullable


class FirstMatchMatcher:
    """The first nonempty match of a regex (``#e'…'``); the state is a set of its positions."""

    def __init__(self, piece: Piece, positions: Positions) -> None:
        self._piece, self._positions = piece, positions
        self.initial: MatcherState = frozenset((positions.before(piece),))

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        return frozenset(_after(self._positions, state, byte)) or None

    def is_final(self, state: MatcherState) -> bool:
        return state != self.initial and _any_ends(self._positions, state)

    is_exhausted = is_final

    def boundaries(self) -> list[int]:
        return [edge for leaf in leaves(self._piece) for edge in leaf.matcher.boundaries()]

    def reading(self, state: MatcherState) -> list[tuple[Leaf, MatcherState]]:
        """The leaves of the regex that can read next."""
        first_sets = (self._positions.first(position) for position in _members(state))
        return list(
            dict.fromkeys(
                (leaf, inner) for first_set in first_sets for leaf, inner, _ in first_set.reads
            )
        )


class NoMatchMatcher:
    """A nonempty byte string with no substring that a regex matches (``#ex'…'``).

    The state is the set of positions of all matches that may have begun.
    """

    initial: MatcherState = "nothing read"

    def __init__(self, piece: Piece | None, positions: Positions) -> None:
        self._piece, self._positions = piece, positions
        self._begins = frozenset(() if piece is None else (positions.before(piece),))

    def step(self, state: MatcherState, byte: int) -> MatcherState | None:
        begun = self._begins if state == self.initial else state
        after = _after(self._positions, begun, byte)
        if _any_ends(self._positions, after):
            return None
        return frozenset(after | self._begins)

    def is_final(self, state: MatcherState) -> bool:
        return state != self.initial

    def is_exhausted(self, state: MatcherState) -> bool:
        return False

    def boundaries(self) -> list[int]:
        if self._piece is None:
            return []
        return [edge for leaf in leaves(self._piece) for edge in leaf.matcher.boundaries()]


def _members(state: MatcherState) -> frozenset[Position]:
    assert isinstance(state, frozenset)
    return state


def _after(positions: Positions, state: MatcherState, byte: int) -> set[Position]:
    return {there for position in _members(state) for there in positions.step(position, byte)}


def _any_ends(positions: Positions, state: MatcherState | set[Position]) -> bool:
    members = state if isinstance(state, set) else _members(state)
    return any(positions.first(position).ends for position in members)


class RulePieces:
    """The pieces of the rules the start symbol reaches, without alternatives that derive no text.

    Raises: BuildError for what ``except!`` cannot except; KeyError for an undefined rule.
    """

    def __init__(self, tree: GrammarTree, start: str, positions: Positions, limits: Limits) -> None:
        self._source: Source = tree.source
        self._positions = positions
        self._limits = limits
        rules = gathered(tree)
        reached = reachable([start], lambda name: (call.name for call in referenced(rules[name])))
        self._written = {name: body for name, body in rules.items() if name in reached}
        self._terminals: dict[int, Piece | None] = {}
        self._productive = least(self._written, self._derives)
        self._nullable = least(self._written, self._is_nullable)
        self.rules = {name: self._rule(name) for name in self._written if name in self._productive}

    def _rule(self, name: str) -> Piece:
        piece = self._piece(self._written[name])
        assert piece is not None, "the rule is productive"
        return piece

    def _derives(self, body: Expression, names: Set[str]) -> bool:
        return derives(body, names, lambda terminal: self._terminal(terminal) is not None)

    def _is_nullable(self, body: Expression, names: Set[str]) -> bool:
        def is_empty(leaf: Literal | Nonterminal | Terminal) -> bool:
            match leaf:
                case Nonterminal(name=name):
                    return name in names
                case Literal(value=value):
                    return not value
            terminal = self._terminal(leaf)
            return terminal is not None and terminal.is_nullable

        return holds(body, is_empty)

    def _piece(self, body: Expression) -> Piece | None:
        check_time_budget()
        match body:
            case Nonterminal(name=name, span=span):
                is_productive = name in self._productive
                return Call(name, span, name in self._nullable) if is_productive else None
            case Sequence(items=items):
                return concatenation([self._piece(item) for item in items])
            case Choice(options=options):
                return alternation([self._piece(option) for option in options])
            case Repetition(item=item, low=low, high=high):
                return repeated(self._piece(item), low, high)
            case Literal():
                return literal_piece(body, self._source)
            case _:
                return self._terminal(body)

    def _terminal(self, terminal: Terminal) -> Piece | None:
        """The piece of a terminal, computed once; None if it has no text."""
        key = id(terminal)
        if key not in self._terminals:
            self._terminals[key] = self._new_terminal(terminal)
        return self._terminals[key]

    def _new_terminal(self, terminal: Terminal) -> Piece | None:
        match terminal:
            case Pattern():
                return self._pattern(terminal)
            case Substrings(value=value, span=span):
                return (
                    Leaf(SubstringMatcher(value), span, span, is_nullable=True)
                    if value
                    else EMPTY_PIECE
                )
            case Except(limit=limit, span=span):
                strings = excepted_strings(terminal, self._written, self._source, self._limits)
                return _unless_empty(Leaf(ExceptMatcher(strings, limit), span, span))
            case Automaton(machine=machine, span=span):
                if not machine.is_empty:
                    empty = machine.is_final(machine.initial)
                    return Leaf(DfaMatcher(machine), span, span, is_nullable=empty)
                return None

    def _pattern(self, pattern: Pattern) -> Piece | None:
        piece = regex_piece(pattern.regex, pattern.span)
        if pattern.stop is Stop.ANYWHERE:
            return piece
        if pattern.stop is Stop.BEFORE_MATCH:
            if piece is not None and piece.is_nullable:
                return None
            return _unless_empty(
                Leaf(NoMatchMatcher(piece, self._positions), pattern.span, pattern.span)
            )
        if piece is None or not any(leaves(piece)):
            return None
        matcher: Matcher = FirstMatchMatcher(piece, self._positions)
        return Leaf(matcher, pattern.span, pattern.span)


def _unless_empty(leaf: Leaf) -> Leaf | None:
    """The leaf; None if it can read no byte."""
    matcher = leaf.matcher
    return leaf if any(matcher.step(matcher.initial, b) is not None for b in range(256)) else None
