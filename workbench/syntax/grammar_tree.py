"""The nodes of a grammar tree, and the functions that read or rewrite expressions.

KBNF is read into these; GBNF, Lark and schemas can be read into the same nodes, so that
one machine builder serves every notation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from workbench.base.source import Source, Span
from workbench.syntax.regex.extensions import LABELS, Label, labels_in
from workbench.syntax.regex.tree import (
    Alternate,
    Concat,
    Group,
    Leaf,
    Regex,
    Repeat,
    same_nodes,
    walk,
)

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa


class Stop(Enum):
    """When a regex terminal may stop (reference: KBNF, ``#'…'``, ``#e'…'``, ``#ex'…'``)."""

    #: A full match, at every place it could stop.
    ANYWHERE = "anywhere"
    #: At the first non-empty match: no proper non-empty prefix matches.
    FIRST_MATCH = "first match"
    #: Any non-empty text no part of which matches.
    BEFORE_MATCH = "before match"


@dataclass(frozen=True, slots=True)
class Literal(Leaf):
    """Exactly these bytes."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Pattern(Leaf):
    """A regex terminal; ``text`` is the pattern as the regex parser read it."""

    regex: Regex
    stop: Stop
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Substrings(Leaf):
    """All contiguous pieces of a byte string, the empty one among them."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Except(Leaf):
    """A non-empty text that contains none of the excepted strings, of at most ``limit`` bytes.

    ``excepted`` is a literal, or a nonterminal which expands to an alternation of
    non-empty literals.
    """

    excepted: Literal | Nonterminal
    limit: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Automaton(Leaf):
    """The texts of a byte machine that its maker brings: a leaf no notation has a sign for.

    Leaves with the same machine, the same object, share its data however many they are.
    """

    machine: Dfa
    #: What pictures and explanations call it, such as ``any string``.
    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Nonterminal(Leaf):
    """A call of the rules with that name."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """One item after the other; no item: the empty text."""

    items: tuple[Expression, ...]
    span: Span

    @property
    def children(self) -> tuple[Expression, ...]:
        """The items."""
        return self.items

    def rebuild(self, function: Callable[[Expression], Expression]) -> Sequence:
        """The node with ``function`` applied to its children; itself where none changes."""
        items = tuple(map(function, self.items))
        return self if same_nodes(self.items, items) else Sequence(items, self.span)


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options; there are at least two."""

    options: tuple[Expression, ...]
    span: Span

    @property
    def children(self) -> tuple[Expression, ...]:
        """The options."""
        return self.options

    def rebuild(self, function: Callable[[Expression], Expression]) -> Choice:
        """The node with ``function`` applied to its children; itself where none changes."""
        options = tuple(map(function, self.options))
        return self if same_nodes(self.options, options) else Choice(options, self.span)


@dataclass(frozen=True, slots=True)
class Repetition:
    """From ``low`` to ``high`` copies of an item; ``high`` is None where there is no end."""

    item: Expression
    low: int
    high: int | None
    span: Span

    @property
    def children(self) -> tuple[Expression]:
        """The item."""
        return (self.item,)

    def rebuild(self, function: Callable[[Expression], Expression]) -> Repetition:
        """The node with ``function`` applied to its child; itself where that does not change."""
        item = function(self.item)
        return self if item is self.item else Repetition(item, self.low, self.high, self.span)


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


#: A node's kind and what it holds, nested; two nodes with one shape have one language.
Shape = tuple[object, ...]


def shape(node: Expression | Regex) -> Shape:
    """What a node says, wherever it is written."""
    return _shape(node)


def _shape(node: object) -> Shape:
    # every field of a node but its place; what is held is a node, nodes in a tuple, or plain
    held = (getattr(node, field.name) for field in fields(node) if field.name != "span")  # type: ignore[arg-type]
    return (type(node).__name__, *map(_held, held))


def _held(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_held, value))
    # what compares by identity, such as the machine of an ``Automaton``, stands for itself
    if hasattr(value, "__dataclass_fields__") and type(value).__eq__ is not object.__eq__:
        return _shape(value)
    return value


def calls(body: Expression) -> Iterator[Nonterminal]:
    """All calls in an expression, from left to right, without the rules ``except!`` names."""
    return (node for node in walk(body) if isinstance(node, Nonterminal))


def referenced(body: Expression) -> Iterator[Nonterminal]:
    """All calls in an expression and the rules ``except!`` names, from left to right."""
    for node in walk(body):
        named = node.excepted if isinstance(node, Except) else node
        if isinstance(named, Nonterminal):
            yield named


def holds(node: Expression | Regex, of_leaf: Callable[[Any], bool]) -> bool:
    """Whether a property of leaves holds of an expression or a regex.

    It holds of a row if it holds of every part, of a choice if it holds of some option, and of
    a repetition that may have no copy. "Derives some text" and "derives the empty text" are such
    properties; ``of_leaf`` decides them for literals, calls, terminals and character sets.
    """
    match node:
        case Leaf():
            return of_leaf(node)
        case Sequence() | Concat():
            return all(holds(part, of_leaf) for part in node.children)
        case Choice() | Alternate():
            return any(holds(option, of_leaf) for option in node.children)
        case Repetition(item=part, low=low) | Repeat(part=part, low=low):
            return low == 0 or holds(part, of_leaf)
        case Group(part=part):
            return holds(part, of_leaf)


def called(body: Expression) -> Iterator[str]:
    """The names an expression calls."""
    return (call.name for call in calls(body))


def all_called(body: Expression, rules: Mapping[str, Expression]) -> tuple[str, ...]:
    """All rules that an expression calls, and that those call; other names are left out."""
    names = dict.fromkeys(name for name in called(body) if name in rules)
    waiting = list(names)
    for name in waiting:  # grows while it is read
        for other in called(rules[name]):
            if other in rules and other not in names:
                names[other] = None
                waiting.append(other)
    return tuple(names)


def without_unused(rules: Iterable[Rule], idle: Container[str]) -> list[Rule]:
    """The rules, without those of the ``idle`` that no rule which is left calls but itself."""
    left = {rule.name: rule for rule in rules}
    others_of = {name: {*called(rule.body)} - {name} for name, rule in left.items()}
    callers = Counter(other for others in others_of.values() for other in others)
    waiting = [name for name in left if name in idle and not callers[name]]
    for name in waiting:  # grows while it is read
        del left[name]
        for other in others_of[name]:
            callers[other] -= 1
            if other in left and other in idle and not callers[other]:
                waiting.append(other)
    return list(left.values())


def renamed(body: Expression, name: Callable[[str], str]) -> Expression:
    """The expression with ``name`` of every name it calls; ``except!`` is left as it is."""
    if isinstance(body, Nonterminal):
        return Nonterminal(name(body.name), body.span)
    return body.rebuild(lambda part: renamed(part, name))


class Names:
    """The names that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, base: str) -> str:
        """The name, or with a number after it, such as no rule has; it is taken from now on."""
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


def may_have_labels(source: Source) -> bool:
    """Whether the name of a label stands in a text at all."""
    return any(label.name in source.text for label in LABELS)


def labels_in_rules(tree: GrammarTree) -> Iterator[tuple[Label, Span]]:
    """Every label of the rules with its place, from the first rule on."""
    for rule in tree.rules:
        for node in walk(rule.body):
            if isinstance(node, Pattern):
                yield from labels_in(node.regex)
