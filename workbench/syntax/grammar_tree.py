"""The nodes of a grammar tree, and functions over expressions.

All notations of rules (KBNF, GBNF, Lark and others, JSON Schemas, dataclasses) become these nodes,
so that one builder serves them. Traversal is that of ``regex.tree``; the regex of a ``Pattern`` and
the argument of an ``Except`` are not children.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from workbench.base.source import Source, Span, quick_init
from workbench.syntax.permutation_phrases import PermutationPhrase
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.extensions import LABELS, Label, labels_in
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    LeafNode,
    Look,
    Machine,
    Operation,
    Regex,
    Repeat,
    asserted,
    combined,
    outermost,
    same_nodes,
    walk,
)

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa


_Node = TypeVar("_Node")


class Stop(Enum):
    """Where the match of a regex terminal may end (KBNF: ``#'…'``, ``#e'…'``, ``#ex'…'``)."""

    #: After any full match.
    ANYWHERE = "anywhere"
    #: After the shortest non-empty match: no proper non-empty prefix matches.
    FIRST_MATCH = "first match"
    #: Any non-empty text without a match inside.
    BEFORE_MATCH = "before match"


@quick_init
@dataclass(frozen=True, slots=True)
class Literal(LeafNode):
    """Exactly these bytes."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Mark(Literal):
    """The empty text, at which a permutation phrase begins or ends, or one of its elements is."""

    phrase: PermutationPhrase
    #: ``BEGIN``, ``END``, or ``FIRST_ELEMENT`` + the number of the element.
    number: int

    def __new__(
        cls, value: bytes, span: Span, phrase: PermutationPhrase, number: int
    ) -> Mark:  # the inherited one makes a literal
        return object.__new__(cls)

    def __reduce__(self) -> tuple[type[Mark], tuple[bytes, Span, PermutationPhrase, int]]:
        return Mark, (self.value, self.span, self.phrase, self.number)


@quick_init
@dataclass(frozen=True, slots=True)
class Pattern(LeafNode):
    """A regex terminal; ``text`` is the pattern after unescaping."""

    regex: Regex
    stop: Stop
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Substrings(LeafNode):
    """All substrings of a byte string, the empty one included."""

    value: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Except(LeafNode):
    """A non-empty text of at most ``limit`` bytes without any of the excepted strings.

    ``excepted`` is a literal, or a nonterminal that expands to an alternation of non-empty
    literals.
    """

    excepted: Literal | Nonterminal
    limit: int | None
    span: Span


@quick_init
@dataclass(frozen=True, slots=True)
class Automaton(LeafNode):
    """The texts of a byte automaton, from a translator; no notation has syntax for it.

    Leaves with the same ``machine`` object share its data.
    """

    machine: Dfa
    #: The name in pictures and explanations, such as ``any string``.
    label: str
    span: Span


@quick_init
@dataclass(frozen=True, slots=True)
class Nonterminal(LeafNode):
    """A call of the rules of that name."""

    name: str
    span: Span


@quick_init
@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence; without items the empty text."""

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


@quick_init
@dataclass(frozen=True, slots=True)
class Choice:
    """Any of at least two options."""

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


@quick_init
@dataclass(frozen=True, slots=True)
class Repetition:
    """From ``low`` to ``high`` copies of an item; ``high`` None is no upper bound."""

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


def choice(options: Row[Expression], span: Span) -> Expression:
    """One of the options; without options, an expression without texts."""
    return options[0] if len(options) == 1 else Choice(tuple(options), span)


def sequence(items: Row[Expression], span: Span) -> Expression:
    """The concatenation of the items."""
    return items[0] if len(items) == 1 else Sequence(tuple(items), span)


@quick_init
@dataclass(frozen=True, slots=True)
class Rule:
    """``name ::= body;``. Several rules of one name are alternatives."""

    name: str
    body: Expression
    #: The span of the name on the left.
    name_span: Span
    #: The span of the whole rule.
    span: Span
    #: Lark's priority of a terminal, which chooses between readings and not between texts.
    priority: int = 0

    @property
    def is_written(self) -> bool:
        """Whether the rule is in the text; a parser adds rules for large counts and other parts."""
        return self.name_span != self.span


@dataclass(frozen=True, slots=True, eq=False)
class GrammarTree:
    """All rules of a grammar in source order, with the source text."""

    rules: tuple[Rule, ...]
    source: Source
    #: The notation's syntax of a count, with ``{low}`` and ``{high}``; empty if there is none.
    counted: str = ""
    #: The rules as they are in the source, if the parser made most of ``rules`` as copies of them.
    written: tuple[Rule, ...] = ()
    #: The notation's syntax of a rule that only calls another, with ``{name}`` and ``{called}``.
    calling: str = ""


#: A node as nested tuples without spans; nodes with equal shapes have the same language.
Shape = tuple[object, ...]


def shape(node: Expression | Regex) -> Shape:
    """A node without its spans, as a hashable value."""
    return _shape(node)


def _shape(node: object) -> Shape:
    # all fields but the span: nodes, tuples of nodes, or plain values
    values = (getattr(node, field.name) for field in fields(node) if field.name != "span")  # type: ignore[arg-type]
    return (type(node).__name__, *map(_value, values))


def _value(value: object) -> object:
    if isinstance(value, tuple):  # ranges, tuples of pairs, are kept
        return value if value and isinstance(value[0], tuple) else tuple(map(_value, value))
    # an object that is compared by identity, such as the machine of an ``Automaton``, is kept
    if hasattr(value, "__dataclass_fields__") and type(value).__eq__ is not object.__eq__:
        return _shape(value)
    return value


def calls(body: Expression) -> list[Nonterminal]:
    """All calls in an expression, from left to right, without the rules ``except!`` names."""
    return outermost(body, Nonterminal)


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
        case LeafNode():
            return of_leaf(node)
        case Sequence() | Concat():
            return all(holds(part, of_leaf) for part in node.children)
        case Choice() | Alternate():
            return any(holds(option, of_leaf) for option in node.children)
        case Repetition(item=part, low=low) | Repeat(part=part, low=low):
            return low == 0 or holds(part, of_leaf)
        case Group(part=part):
            return holds(part, of_leaf)
        case Look():
            raise AssertionError("an assertion is inside an extension")


#: The most nodes of ``regex_of``, which copies the terminals that a terminal calls.
_MAX_REGEX_NODES = 20_000


def regex_of(
    node: Expression, rules: Mapping[str, Expression], most: int = _MAX_REGEX_NODES
) -> Regex | None:
    """The regex of a terminal that may call ``rules``, with its assertions.

    None if it calls itself, is very large, or has a leaf that no terminal of Lark's has.
    """
    remaining, open_calls = most, set[str]()

    def regex(node: Expression) -> Regex | None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            return None
        match node:
            case Literal(value, span):
                return Concat(tuple(_letters(value, span)), span)
            case Pattern(regex=found, stop=Stop.ANYWHERE):
                return asserted(found) or found
            case Automaton(machine, _, span):
                return cast("Regex", Machine(machine, len(machine.classes), span))
            case Nonterminal(name=name) if name in rules and name not in open_calls:
                open_calls.add(name)
                inner = regex(rules[name])
                open_calls.remove(name)
                return inner
            case Repetition(item=item, low=low, high=high, span=span):
                inner = regex(item)
                return None if inner is None else Repeat(inner, low, high, span)
            case Sequence(span=span) | Choice(span=span):
                parts = tuple(part for child in node.children if (part := regex(child)) is not None)
                kind = Concat if isinstance(node, Sequence) else Alternate
                return kind(parts, span) if len(parts) == len(node.children) else None
            case _:
                return None

    return regex(node)


def _letters(value: bytes, span: Span) -> Iterator[Regex]:
    try:
        yield from (Characters(((code, code),), span) for code in map(ord, value.decode()))
    except UnicodeDecodeError:
        yield from (Bytes(((byte, byte),), span) for byte in value)


def any_characters(low: int, high: int | None, span: Span) -> Regex:
    """All texts of some characters."""
    return Repeat(Characters(ANY_CHARACTER, span), low, high, span)


def first_match(regex: Regex) -> Regex:
    """The texts of a regex, not empty, without a shorter one that is not empty: KBNF's ``#e``."""
    some = any_characters(1, None, regex.span)
    return combined(Operation.SHORTEST, combined(Operation.BOTH, regex, some))


def asserted_pattern(regex: Regex, text: str, span: Span) -> Pattern:
    """A terminal whose regex has assertions."""
    return Pattern(Extension(Kind.ASSERTED, (regex,), span), Stop.ANYWHERE, text, span)


def called(body: Expression) -> list[str]:
    """The names an expression calls."""
    return [call.name for call in calls(body)]


def all_called(body: Expression, rules: Mapping[str, Expression]) -> tuple[str, ...]:
    """All rules that an expression calls, directly or not; unknown names are left out."""
    names = dict.fromkeys(name for name in called(body) if name in rules)
    waiting = deque(names)
    while waiting:
        name = waiting.popleft()
        for other in called(rules[name]):
            if other in rules and other not in names:
                names[other] = None
                waiting.append(other)
    return tuple(names)


def without_unused(rules: Iterable[Rule], idle: Container[str]) -> list[Rule]:
    """The rules without those of ``idle`` that no remaining other rule calls."""
    remaining = {rule.name: rule for rule in rules}
    others_of = {name: {*called(rule.body)} - {name} for name, rule in remaining.items()}
    callers = Counter(other for others in others_of.values() for other in others)
    waiting = deque([name for name in remaining if name in idle and not callers[name]])
    while waiting:
        name = waiting.popleft()
        del remaining[name]
        for other in others_of[name]:
            callers[other] -= 1
            if other in remaining and other in idle and not callers[other]:
                waiting.append(other)
    return list(remaining.values())


def renamed(body: Expression, name: Callable[[str], str]) -> Expression:
    """The expression with every called name replaced by ``name`` of it; not in ``except!``."""
    if isinstance(body, Nonterminal):
        return Nonterminal(name(body.name), body.span)
    return body.rebuild(lambda part: renamed(part, name))


def with_span(node: _Node, span: Span) -> _Node:
    """The node with one span for itself and everything inside."""
    moved: _Node = _with_span(node, span)
    return moved


def _with_span(node: Any, span: Span) -> Any:  # noqa: ANN401  # nodes of every kind
    if isinstance(node, Span):
        return span
    if isinstance(node, tuple):
        return tuple(_with_span(part, span) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    values = {field.name: _with_span(getattr(node, field.name), span) for field in fields(node)}
    return replace(node, **values)


class Names:
    """A set of names in use."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        #: The number that was appended last to each name.
        self._last: dict[str, int] = {}

    def fresh(self, base: str, between: str = "_") -> str:
        """An unused name, ``base`` or with a number appended; it is in use from now on."""
        name, number = base, self._last.get(base, 1)
        while name in self.taken:
            number += 1
            name = f"{base}{between}{number}"
        self._last[base] = number
        self.taken.add(name)
        return name


def may_have_labels(source: Source) -> bool:
    """Whether a text contains the name of a label."""
    return any(label.name in source.text for label in LABELS)


def labels_in_rules(tree: GrammarTree) -> Iterator[tuple[Label, Span]]:
    """Every label of the rules with its span, in source order."""
    for rule in tree.rules:
        for pattern in outermost(rule.body, Pattern):
            yield from labels_in(pattern.regex)
