"""The tree of an ANTLR grammar before it is translated.

Bodies consist of nodes of ``grammar_tree`` and of those here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.base.source import Span
from workbench.syntax.grammar_tree import Expression

#: The channel of the parser.
_DEFAULT = frozenset({"DEFAULT_TOKEN_CHANNEL", "0"})


@dataclass(frozen=True, slots=True)
class LazyRepetition:
    """``x*?``: as few copies as possible, in a rule of the lexer."""

    item: Expression
    low: int
    high: int | None
    span: Span

    @property
    def children(self) -> tuple[Expression]:
        """The item."""
        return (self.item,)

    def rebuild(self, function: Callable[[Expression], Expression]) -> LazyRepetition:
        """The node with ``function`` applied to its item."""
        return LazyRepetition(function(self.item), self.low, self.high, self.span)


@dataclass(frozen=True, slots=True)
class AnyToken:
    """``.`` or ``~(A | 'b')`` in a rule of the parser: a token that is none of these."""

    #: Names of tokens, and texts of literals between quotes.
    excluded: tuple[str, ...]
    span: Span

    @property
    def children(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    def rebuild(self, _: Callable[[Expression], Expression]) -> AnyToken:
        """The node itself."""
        return self


@dataclass(frozen=True, slots=True)
class EndOfText:
    """``EOF``: the end of the text follows."""

    span: Span

    @property
    def children(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    def rebuild(self, _: Callable[[Expression], Expression]) -> EndOfText:
        """The node itself."""
        return self


@dataclass(frozen=True, slots=True)
class Command:
    """``-> name(argument)`` after an alternative of a rule of the lexer."""

    name: str
    argument: str
    span: Span


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative of a rule, with its commands."""

    body: Expression
    commands: tuple[Command, ...] = ()

    @property
    def is_ignored(self) -> bool:
        """Whether the parser never has a token of it."""
        return any(
            command.name == "skip"
            or (
                command.name == "channel" and command.argument not in ("DEFAULT_TOKEN_CHANNEL", "0")
            )
            for command in self.commands
        )


@dataclass(frozen=True, slots=True)
class AntlrRule:
    """A rule of the parser or the lexer."""

    name: str
    alternatives: tuple[Alternative, ...]
    name_span: Span
    span: Span
    is_fragment: bool = False

    @property
    def is_lexical(self) -> bool:
        """Whether it is a rule of the lexer: its name begins with a capital letter."""
        return self.name[:1].isupper()


@dataclass(slots=True, eq=False)
class AntlrGrammar:
    """All rules, and the places of what is not read."""

    rules: dict[str, AntlrRule] = field(default_factory=dict)
    #: Tokens that ``tokens { … }`` declares.
    declared: dict[str, Span] = field(default_factory=dict)
    #: The places of actions, predicates and commands that change the mode.
    actions: list[Span] = field(default_factory=list)
    predicates: list[Span] = field(default_factory=list)
    modes: list[Span] = field(default_factory=list)
    #: The grammar whose tokens are used, or empty.
    vocabulary: str = ""
    #: The texts of the strings in rules of the parser.
    literals: dict[str, Expression] = field(default_factory=dict)
