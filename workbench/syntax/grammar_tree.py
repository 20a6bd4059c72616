"""The nodes of a grammar; each knows the place it was written at.

KBNF is read into these; GBNF, Lark and schemas can be read into the same nodes, so that
one machine builder serves every notation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from workbench.source import Source, Span
from workbench.syntax.regex.tree import Regex

if TYPE_CHECKING:  # what a leaf holds is named, and nothing of that floor is run
    from workbench.automata.dfa import Dfa


class Stop(Enum):
    """When a regex terminal may stop (reference: KBNF, ``#'…'``, ``#e'…'``, ``#ex'…'``)."""

    #: A full match, at every place it could stop.
    ANYWHERE = "anywhere"
    #: At the first non-empty match: no proper non-empty prefix matches.
    FIRST_MATCH = "first match"
    #: Any non-empty text no part of which matches.
    BEFORE_MATCH = "before match"


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly these bytes."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regex terminal; ``text`` is the pattern as the regex parser read it."""

    regex: Regex
    stop: Stop
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Substrings:
    """All contiguous pieces of a byte string, the empty one among them."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Except:
    """A non-empty text that contains none of the excepted strings, of at most ``limit`` bytes.

    ``excepted`` is a literal, or a nonterminal which expands to an alternation of
    non-empty literals.
    """

    excepted: Literal | Nonterminal
    limit: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Automaton:
    """The texts of a byte machine that its maker brings: a leaf no notation has a sign for.

    Leaves with the same machine, the same object, share its data however many they are.
    """

    machine: Dfa
    #: What pictures and explanations call it, such as ``any string``.
    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Nonterminal:
    """A call of the rules with that name."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """One item after the other; no item: the empty text."""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options; there are at least two."""

    options: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Repetition:
    """From ``low`` to ``high`` copies of an item; ``high`` is None where there is no end."""

    item: Expression
    low: int
    high: int | None
    span: Span


Expression = (
    Literal
    | Pattern
    | Substrings
    | Except
    | Automaton
    | Nonterminal
    | Sequence
    | Choice
    | Repetition
)


@dataclass(frozen=True, slots=True)
class Rule:
    """``name ::= body;``. Several rules of one name are alternatives."""

    name: str
    body: Expression
    #: The place of the name on the left.
    name_span: Span
    #: The place of the whole rule.
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class GrammarTree:
    """All rules of a grammar, in the order they were written, with the text they come from."""

    rules: tuple[Rule, ...]
    source: Source
    #: How a count is written after an item, of ``low`` and ``high``; empty where none can be.
    counted: str = ""
