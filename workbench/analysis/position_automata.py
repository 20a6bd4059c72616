"""Position automata of rules and regexes: what is left of a piece after each byte.

A position is what is still to be read of one rule, as a list whose first part may have been begun:
equal lists are one object. Copies of a repetition are counted, not written out, so that
``(a|b)*a(a|b){20}`` has a few dozen positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.analysis.source_pieces import (
    NOTHING,
    AnyOf,
    Call,
    Leaf,
    Loop,
    Memory,
    OfMachine,
    Piece,
    Pieces,
    Reader,
    Row,
    Without,
    any_of,
    leaves,
    literal_piece,
    loop,
    regex_piece,
    row,
)
from workbench.base.limits import Limits
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


class _From(NamedTuple):
    """A row from one of its parts on."""

    row: Row
    first: int


class _Copies(NamedTuple):
    """A repetition of which some copies are read; no more are counted than are needed."""

    loop: Loop
    done: int


class _Begun(NamedTuple):
    """A leaf that has read something."""

    leaf: Leaf
    memory: Memory


_Head = Piece | _From | _Copies | _Begun


@dataclass(slots=True, eq=False)
class Position:
    """What is left to be read of a rule: a part, then the rest."""

    head: _Head | None
    rest: Position | None
    opened: Opened | None = None
    steps: dict[int, tuple[Position, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What may come first."""

    #: Leaves, with what they remember and what is left after them.
    reads: tuple[tuple[Leaf, Memory, Position], ...]
    #: Rules, and what is left after them.
    calls: tuple[tuple[Call, Position], ...]
    #: Whether nothing has to come.
    ends: bool


#: Nothing is left.
END = Position(None, None)


class _Found(NamedTuple):
    reads: dict[tuple[Leaf, Memory, Position], None]
    calls: dict[tuple[Call, Position], None]


class Positions:
    """All positions met so far.

    A part that may be empty is skipped, never read as nothing, so no loop turns on the spot.

    Source: the first and follow sets of Glushkov 1961, made as they are asked for.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[tuple[_Head, Position], Position] = {}

    def __len__(self) -> int:
        return len(self._known)

    def before(self, piece: Piece) -> Position:
        """All of a piece is left."""
        return self._position(piece, END)

    def begun(self, leaf: Leaf, memory: Memory, rest: Position) -> Position:
        """A leaf that remembers something, then the rest."""
        return self._position(_Begun(leaf, memory), rest)

    def step(self, position: Position, byte: int) -> tuple[Position, ...]:
        """Where a byte that the position's own leaves read leads."""
        known = position.steps.get(byte)
        if known is None:
            found: dict[Position, None] = {}
            for leaf, memory, rest in self.open(position).reads:
                after = leaf.reader.step(memory, byte)
                if after is None:
                    continue
                over = leaf.reader.is_over(after)
                found[rest if over else self.begun(leaf, after, rest)] = None
            known = position.steps[byte] = tuple(found)
        return known

    def open(self, position: Position) -> Opened:
        """What may come first at a position."""
        if position.opened is None:
            found = _Found({}, {})
            here: Position | None = position
            while here is not None and here.head is not None:
                assert here.rest is not None
                self._first(here.head, here.rest, found)
                here = here.rest if _may_be_empty(here.head) else None
            position.opened = Opened(tuple(found.reads), tuple(found.calls), here is END)
        return position.opened

    def _position(self, head: _Head, rest: Position) -> Position:
        key = (head, rest)
        known = self._known.get(key)
        if known is None:
            self._limits.check("states", len(self._known) + 1)
            known = self._known[key] = Position(head, rest)
        return known

    def _first(self, head: _Head, rest: Position, found: _Found) -> None:
        """All ways to read at least one byte of a part, then what is left of it and the rest."""
        match head:
            case _Begun(leaf=leaf, memory=memory):
                found.reads[leaf, memory, rest] = None
            case Leaf():
                found.reads[head, head.reader.initial, rest] = None
            case Call():
                found.calls[head, rest] = None
            case AnyOf(options=options):
                for option in options:
                    self._first(option, rest, found)
            case Row():
                self._first_of_row(head, 0, rest, found)
            case _From(row=row, first=first):
                self._first_of_row(row, first, rest, found)
            case Loop():
                self._first_copy(head, 0, rest, found)
            case _Copies(loop=loop, done=done):
                self._first_copy(loop, done, rest, found)

    def _first_of_row(self, row: Row, first: int, rest: Position, found: _Found) -> None:
        last = len(row.parts) - 1
        for place in range(first, last + 1):
            after = rest if place == last else self._position(_From(row, place + 1), rest)
            self._first(row.parts[place], after, found)
            if not row.parts[place].is_nullable:
                return

    def _first_copy(self, loop: Loop, done: int, rest: Position, found: _Found) -> None:
        if loop.high is None:
            after = self._position(_Copies(loop, min(done + 1, loop.low)), rest)
        elif done + 1 < loop.high:
            after = self._position(_Copies(loop, done + 1), rest)
        elif done < loop.high:
            after = rest
        else:
            return
        self._first(loop.part, after, found)


def _may_be_empty(head: _Head) -> bool:
    match head:
        case _Begun(leaf=leaf, memory=memory):
            return leaf.reader.ends(memory)
        case _From(row=row, first=first):
            return all(part.is_nullable for part in row.parts[first:])
        case _Copies(loop=loop, done=done):
            return done >= loop.low
        case _:
            return head.is_nullable


class FirstMatch:
    """The first match of a regex, not empty (``#e'…'``); it remembers all ways to read it."""

    def __init__(self, piece: Piece, positions: Positions) -> None:
        self._piece, self._positions = piece, positions
        self.initial: Memory = frozenset((positions.before(piece),))

    def step(self, memory: Memory, byte: int) -> Memory | None:
        return frozenset(_after(self._positions, memory, byte)) or None

    def ends(self, memory: Memory) -> bool:
        return memory != self.initial and _any_ends(self._positions, memory)

    is_over = ends

    def boundaries(self) -> list[int]:
        return [edge for leaf in leaves(self._piece) for edge in leaf.reader.boundaries()]

    def reading(self, memory: Memory) -> list[tuple[Leaf, Memory]]:
        """The leaves of the regex that read next."""
        opened = (self._positions.open(position) for position in _members(memory))
        return list(dict.fromkeys((leaf, inner) for one in opened for leaf, inner, _ in one.reads))


class NoMatch:
    """Some bytes, no piece of which a regex matches (``#ex'…'``).

    It remembers all ways in which a match may have begun; None before anything is read.
    """

    initial: Memory = "nothing read"

    def __init__(self, piece: Piece | None, positions: Positions) -> None:
        self._piece, self._positions = piece, positions
        self._begins = frozenset(() if piece is None else (positions.before(piece),))

    def step(self, memory: Memory, byte: int) -> Memory | None:
        begun = self._begins if memory == self.initial else memory
        after = _after(self._positions, begun, byte)
        if _any_ends(self._positions, after):
            return None
        return frozenset(after | self._begins)

    def ends(self, memory: Memory) -> bool:
        return memory != self.initial

    def is_over(self, memory: Memory) -> bool:
        return False

    def boundaries(self) -> list[int]:
        if self._piece is None:
            return []
        return [edge for leaf in leaves(self._piece) for edge in leaf.reader.boundaries()]


def _members(memory: Memory) -> frozenset[Position]:
    assert isinstance(memory, frozenset)
    return memory


def _after(positions: Positions, memory: Memory, byte: int) -> set[Position]:
    return {there for here in _members(memory) for there in positions.step(here, byte)}


def _any_ends(positions: Positions, memory: Memory | set[Position]) -> bool:
    members = memory if isinstance(memory, set) else _members(memory)
    return any(positions.open(position).ends for position in members)


class RulePieces:
    """The rules the start symbol reaches, without alternatives that derive no text.

    Raises: BuildError for what ``except!`` cannot except; KeyError for a rule there is none of.
    """

    def __init__(self, tree: GrammarTree, start: str, positions: Positions, limits: Limits) -> None:
        self._source: Source = tree.source
        self._positions = positions
        self._limits = limits
        self._written = _reached(gathered(tree), start)
        self._terminals: dict[int, Piece | None] = {}
        self._productive = least(self._written, self._derives)
        self._nullable = least(self._written, self._may_be_empty)
        self.rules = {name: self._rule(name) for name in self._written if name in self._productive}

    def _rule(self, name: str) -> Piece:
        piece = self._piece(self._written[name])
        assert piece is not None, "productive"
        return piece

    def _derives(self, body: Expression, known: Set[str]) -> bool:
        return derives(body, known, lambda terminal: self._terminal(terminal) is not None)

    def _may_be_empty(self, body: Expression, known: Set[str]) -> bool:
        def is_empty(leaf: Literal | Nonterminal | Terminal) -> bool:
            match leaf:
                case Nonterminal(name=name):
                    return name in known
                case Literal(value=value):
                    return not value
            terminal = self._terminal(leaf)
            return terminal is not None and terminal.is_nullable

        return holds(body, is_empty)

    def _piece(self, body: Expression) -> Piece | None:
        match body:
            case Nonterminal(name=name, span=span):
                known = name in self._productive
                return Call(name, span, name in self._nullable) if known else None
            case Sequence(items=items):
                return row([self._piece(item) for item in items])
            case Choice(options=options):
                return any_of([self._piece(option) for option in options])
            case Repetition(item=item, low=low, high=high):
                return loop(self._piece(item), low, high)
            case Literal():
                return literal_piece(body, self._source)
            case _:
                return self._terminal(body)

    def _terminal(self, terminal: Terminal) -> Piece | None:
        """A terminal; None where it has no text."""
        key = id(terminal)
        if key not in self._terminals:
            self._terminals[key] = self._made(terminal)
        return self._terminals[key]

    def _made(self, terminal: Terminal) -> Piece | None:
        match terminal:
            case Pattern():
                return self._pattern(terminal)
            case Substrings(value=value, span=span):
                return Leaf(Pieces(value), span, span, is_nullable=True) if value else NOTHING
            case Except(limit=limit, span=span):
                strings = excepted_strings(terminal, self._written, self._source, self._limits)
                return _if_it_reads(Leaf(Without(strings, limit), span, span))
            case Automaton(machine=machine, span=span):
                if not machine.is_empty:
                    empty = machine.is_final(machine.initial)
                    return Leaf(OfMachine(machine), span, span, is_nullable=empty)
                return None

    def _pattern(self, pattern: Pattern) -> Piece | None:
        piece = regex_piece(pattern.regex, pattern.span)
        if pattern.stop is Stop.ANYWHERE:
            return piece
        if pattern.stop is Stop.BEFORE_MATCH:
            if piece is not None and piece.is_nullable:
                return None
            return _if_it_reads(Leaf(NoMatch(piece, self._positions), pattern.span, pattern.span))
        if piece is None or not any(leaves(piece)):
            return None
        reader: Reader = FirstMatch(piece, self._positions)
        return Leaf(reader, pattern.span, pattern.span)


def _if_it_reads(leaf: Leaf) -> Leaf | None:
    """The leaf, unless no byte at all may come first."""
    reader = leaf.reader
    return leaf if any(reader.step(reader.initial, b) is not None for b in range(256)) else None


def _reached(rules: Mapping[str, Expression], start: str) -> dict[str, Expression]:
    """The rules that a rule calls, itself or through others, and those its ``except!`` name."""
    found: dict[str, Expression] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = rules[name]
            waiting += [call.name for call in referenced(rules[name])]
    return found
