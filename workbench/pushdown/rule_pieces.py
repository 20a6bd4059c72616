"""RulePieces: a grammar tree or a regex comes in, its rules as trees of places go out."""

from __future__ import annotations

from collections.abc import Mapping, Set

from workbench.limits import Limits
from workbench.pushdown.cfg import calls, derives, gathered, least
from workbench.pushdown.pieces import (
    NOTHING,
    Call,
    Leaf,
    Piece,
    any_of,
    leaves,
    literal_piece,
    loop,
    regex_piece,
    row,
)
from workbench.pushdown.positions import FirstMatch, NoMatch, Positions
from workbench.pushdown.readers import OfMachine, Pieces, Reader, Without
from workbench.pushdown.terminals import Terminal, excepted_strings
from workbench.source import Source
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
)


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
        match body:
            case Nonterminal(name=name):
                return name in known
            case Sequence(items=items):
                return all(self._may_be_empty(item, known) for item in items)
            case Choice(options=options):
                return any(self._may_be_empty(option, known) for option in options)
            case Repetition(item=item, low=low):
                return low == 0 or self._may_be_empty(item, known)
            case Literal(value=value):
                return not value
            case _:
                terminal = self._terminal(body)
                return terminal is not None and terminal.is_nullable

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
            waiting += [*_named(rules[name])]
    return found


def _named(body: Expression) -> list[str]:
    match body:
        case Except(excepted=Nonterminal(name=name)):
            return [name]
        case Sequence(items=parts) | Choice(options=parts):
            return [name for part in parts for name in _named(part)]
        case Repetition(item=item):
            return _named(item)
        case _:
            return [call.name for call in calls(body)]
