"""The nodes of a regular expression, and the traversal that all syntax trees share.

A regex is a tree over characters (code points) or, in byte mode, over bytes. Every node has
the span it was written at. The parser resolves flags, escapes, classes and dialects, so that
only the mathematical core is left.

Traversal: ``node.children`` and ``node.rebuild(function)`` are the same for these nodes and
for those of a grammar (``grammar_tree``); ``walk`` iterates over a whole tree of either kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, cast

from workbench.base.source import Span, quick_init
from workbench.syntax.ranges import Ranges

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa


class Node(Protocol):
    """Any node of a syntax tree."""

    @property
    def children(self) -> tuple[Any, ...]:
        """The parts of the node, from left to right."""
        ...


class LeafNode:
    """A node without children."""

    __slots__ = ()

    #: Empty; an attribute is read faster than a property, and most nodes are leaves.
    children: ClassVar[tuple[()]] = ()

    def rebuild(self, function: Callable[[Any], Any]) -> Self:  # as for inner nodes
        """The node itself."""
        return self


_Node = TypeVar("_Node", bound=Node)


def walk(root: _Node) -> Iterator[_Node]:
    """Every node of a tree, a node before its children (pre-order, left to right).

    Iterative: a tree may be deeper than Python's recursion limit.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if children := node.children:
            stack.extend(children[::-1])


_Kind = TypeVar("_Kind")


def outermost(root: Node, kind: type[_Kind]) -> list[_Kind]:
    """The nodes of one class in the order of ``walk``, without those inside of such nodes.

    Faster than a search by ``walk``; every grammar is searched several times.
    """
    nodes: list[_Kind] = []
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if node.__class__ is kind:
            nodes.append(node)
        elif children := node.children:
            stack += children[::-1]
    return nodes


def same_nodes(old: tuple[object, ...], new: tuple[object, ...]) -> bool:
    """Whether two tuples of equal length hold the same objects."""
    return all(map(is_, old, new))


@quick_init
@dataclass(frozen=True, slots=True)
class Characters(LeafNode):
    """One code point of a set, never a surrogate. The empty set matches nothing."""

    ranges: Ranges
    span: Span


@dataclass(frozen=True, slots=True)
class Bytes(LeafNode):
    """One byte of a set (patterns in byte mode)."""

    ranges: Ranges
    span: Span


@quick_init
@dataclass(frozen=True, slots=True)
class Concat:
    """A concatenation; without parts the empty text."""

    parts: tuple[Regex, ...]
    span: Span

    @property
    def children(self) -> tuple[Regex, ...]:
        """The parts."""
        return self.parts

    def rebuild(self, function: Callable[[Regex], Regex]) -> Concat:
        """The node with ``function`` applied to its children; itself where none changes."""
        parts = tuple(map(function, self.parts))
        return self if same_nodes(self.parts, parts) else Concat(parts, self.span)


@dataclass(frozen=True, slots=True)
class Alternate:
    """Any of at least two options."""

    options: tuple[Regex, ...]
    span: Span

    @property
    def children(self) -> tuple[Regex, ...]:
        """The options."""
        return self.options

    def rebuild(self, function: Callable[[Regex], Regex]) -> Alternate:
        """The node with ``function`` applied to its children; itself where none changes."""
        options = tuple(map(function, self.options))
        return self if same_nodes(self.options, options) else Alternate(options, self.span)


@quick_init
@dataclass(frozen=True, slots=True)
class Repeat:
    """From ``low`` to ``high`` copies of a part; ``high`` None is no upper bound.

    A lazy one matches the same texts; only the order of a matcher's attempts differs.
    """

    part: Regex
    low: int
    high: int | None
    span: Span
    lazy: bool = False

    @property
    def children(self) -> tuple[Regex]:
        """The part."""
        return (self.part,)

    def rebuild(self, function: Callable[[Regex], Regex]) -> Repeat:
        """The node with ``function`` applied to its child; itself where that does not change."""
        part = function(self.part)
        same = part is self.part
        return self if same else Repeat(part, self.low, self.high, self.span, self.lazy)


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group, which does not change the language; pictures and explanations show it."""

    part: Regex
    name: str | None
    span: Span

    @property
    def children(self) -> tuple[Regex]:
        """The part."""
        return (self.part,)

    def rebuild(self, function: Callable[[Regex], Regex]) -> Group:
        """The node with ``function`` applied to its child; itself where that does not change."""
        part = function(self.part)
        return self if part is self.part else Group(part, self.name, self.span)


class Kind(StrEnum):
    """The language of an ``Extension``."""

    #: Every substring of a text, the empty one included.
    SUBSTRING_OF = "SUBSTRING_OF"
    #: Every text that ends with a phrase and has no earlier occurrence of it.
    TEXT_UNTIL = "TEXT_UNTIL"
    #: One or more of the items, in their order, with delimiters between them.
    DELIMITED_SUBSEQUENCE_OF = "DELIMITED_SUBSEQUENCE_OF"
    #: The texts of a regex with assertions (``Look``), its only part.
    ASSERTED = "assertions"


@dataclass(frozen=True, slots=True)
class Extension(LeafNode):
    """A language with a small automaton and no small regex; a leaf of the tree.

    ``parts`` are the letters of the text or phrase: sets of one character, or of all its cases.
    For a subsequence they are the delimiter and the items. A regex with assertions is a leaf too,
    because its language is not composed of the languages of its parts.

    Source: Koo et al. 2024, §2.5.2.
    """

    kind: Kind
    parts: tuple[Regex, ...]
    span: Span


class LookKind(StrEnum):
    """The kind of an assertion; the value is its syntax."""

    AHEAD = "(?="
    NOT_AHEAD = "(?!"
    BEHIND = "(?<="
    NOT_BEHIND = "(?<!"
    #: The part matches on exactly one side, or on both or none: ``part`` is the set of word
    #: characters.
    BOUNDARY = r"\b"
    INSIDE = r"\B"
    #: As ``NOT_BEHIND``: the part is any character, or any that does not end a line.
    START = "^"
    LINE_START = "(?m)^"
    #: As ``NOT_AHEAD``.
    END = "$"
    LINE_END = "(?m)$"


@dataclass(frozen=True, slots=True)
class Look:
    """An assertion: a condition on the text around a position, which reads nothing.

    ``part`` is what must match, or must not match, directly after or before the position. It
    occurs only inside an ``Extension`` of kind ``ASSERTED``.
    """

    kind: LookKind
    part: Regex
    span: Span

    @property
    def children(self) -> tuple[Regex]:
        """The part."""
        return (self.part,)

    def rebuild(self, function: Callable[[Regex], Regex]) -> Look:
        """The node with ``function`` applied to its child; itself where that does not change."""
        part = function(self.part)
        return self if part is self.part else Look(self.kind, part, self.span)


Regex = Characters | Bytes | Concat | Alternate | Repeat | Group | Extension | Look


class Operation(StrEnum):
    """What ``Combined`` does with its parts."""

    #: The texts of both parts.
    BOTH = "&"
    #: The texts of the first part that are not texts of the second one.
    BUT = "& ~"
    #: The texts of the only part without a proper prefix that is a text of it.
    SHORTEST = "lazy"
    #: The texts of which a backtracking matcher, given nothing after them, matches all.
    LEFTMOST_FIRST = "first"


@dataclass(frozen=True, slots=True)
class Combined:
    """An operation on regexes whose assertions look beyond the terminal.

    No regex of users contains it, so it is not one of the nodes of ``Regex``; it is inside an
    ``Extension`` of kind ``ASSERTED`` until the grammar's contexts are compiled.
    """

    operation: Operation
    parts: tuple[Regex, ...]
    span: Span

    @property
    def children(self) -> tuple[Regex, ...]:
        """The parts."""
        return self.parts

    def rebuild(self, function: Callable[[Regex], Regex]) -> Combined:
        """The node with ``function`` applied to its children; itself where none changes."""
        parts = tuple(map(function, self.parts))
        return self if same_nodes(self.parts, parts) else Combined(self.operation, parts, self.span)


@dataclass(frozen=True, slots=True)
class Machine(LeafNode):
    """The texts of an automaton inside a ``Combined``; from ``plain`` on symbols are assertions."""

    dfa: Dfa
    plain: int
    span: Span


def combined(operation: Operation, *parts: Regex) -> Regex:
    """The operation on some parts."""
    return cast("Regex", Combined(operation, parts, parts[0].span))


def asserted(regex: Regex) -> Regex | None:
    """The regex inside an ``Extension`` of kind ``ASSERTED``; None for other nodes."""
    if isinstance(regex, Extension) and regex.kind is Kind.ASSERTED:
        return regex.parts[0]
    return None


def without_looks(regex: Regex) -> Regex:
    """A regex of at least the texts that a regex with assertions matches in some context."""
    match regex:
        case Look():
            return Concat((), regex.span)
        case Extension(Kind.ASSERTED, (part,)):
            return without_looks(part)
        case Combined(_, (whole, *_)):
            return without_looks(whole)
    return regex.rebuild(without_looks)


def has_look(regex: Regex) -> bool:
    """Whether a regex contains an assertion that is not inside an ``Extension``."""
    return bool(outermost(regex, Look))
