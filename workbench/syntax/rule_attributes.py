"""Attributes of rules, and the hooks for parts of a notation that need machines or schemas.

Syntax knows neither. The floor that reads texts in every notation hands in one who does; without
one, such parts of a grammar are refused by their names.

llguidance's Lark and xgrammar's EBNF have them.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.cursor import Cursor
from workbench.syntax.grammar_tree import Automaton, Expression, GrammarTree, Literal, Sequence

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa


#: The rules that expressions call, by name.
Rules = Mapping[str, Expression]


class Beyond(Protocol):
    """Operations on the texts of expressions; none of the rules they call needs a stack.

    Raises: BuildError where one does; LimitError.
    """

    def both(self, parts: abc.Sequence[Expression], rules: Rules) -> Dfa:
        """The texts of all the parts."""
        ...

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of the whole, or all texts, that are none of the part."""
        ...

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part no shorter beginning of which is one."""
        ...

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part that have no more characters."""
        ...

    def schema(self, source: Source) -> GrammarTree:
        """The rules of a JSON Schema, whose start is ``start``.

        Raises: ParseError, BuildError.
        """
        ...


#: These say how something is sampled or kept, and nothing about the texts.
_SILENT = frozenset({"capture", "stop_capture", "temperature"})
_DIGITS = 9
_HINT = "write for example [lazy]"


@dataclass(frozen=True, slots=True)
class Attribute:
    """``name`` or ``name=value`` between brackets after a rule's name."""

    name: str
    #: A number as it was written, a body of the notation, or nothing.
    value: object
    span: Span


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the attributes of a rule say about its texts."""

    #: The shortest texts alone.
    lazy: bool = False
    #: What comes after the body.
    end: object = None
    #: How many characters there may be.
    characters: int | None = None
    #: The attribute that says so, and its place.
    name: str = ""
    span: Span = Span(0, 0)  # noqa: RUF009  # frozen

    @property
    def plain(self) -> bool:
        """Whether nothing is said."""
        return not self.name


def take_attributes(cursor: Cursor, value: Callable[[], object]) -> tuple[Attribute, ...]:
    """attributes = "[" (attribute ("," attribute)*)? "]"; attribute = name ("=" value)?.

    Raises: ParseError
    """
    bracket = cursor.take("ATTRIBUTES")
    assert bracket is not None, "looked for before"
    cursor.enter(bracket)
    told: list[Attribute] = []
    while not cursor.ahead("RBRACKET"):
        start = cursor.here.start
        name = cursor.text(cursor.expect("NAME", "an attribute", _HINT))
        given = value() if cursor.take("EQUALS") else None
        told.append(Attribute(name, given, cursor.since(start)))
        if not cursor.take("COMMA") and not cursor.ahead("RBRACKET"):
            raise cursor.unexpected("',' or ']'", _HINT)
    cursor.leave("',' or ']'", _HINT)
    return tuple(told)


def wanted(source: Source, attributes: Iterable[Attribute]) -> Wanted:
    """What attributes ask for.

    ``stop`` and ``suffix`` come to the same texts: the first match of the body and what ends it.

    Raises: ParseError for one that asks for more than a text can show, or that does not exist.
    """
    want = Wanted()
    for attribute in attributes:
        if attribute.name in _SILENT:
            continue
        want = replace(_asked(source, attribute, want), name=attribute.name, span=attribute.span)
    return want


def _asked(source: Source, attribute: Attribute, want: Wanted) -> Wanted:
    name, value, span = attribute.name, attribute.value, attribute.span
    if name == "lazy" and value is None:
        return replace(want, lazy=True)
    if name in ("stop", "suffix") and value is not None and not isinstance(value, str):
        if isinstance(value, Literal) and not value.value:
            message = f"an empty {name} cannot be read: it needs the end token"
            hint = "write the text that ends it"
            raise ParseError(message, source, span, hint, "unsupported")
        return replace(want, lazy=True, end=value)
    if name == "max_chars" and isinstance(value, str) and value.isdigit():
        if len(value) > _DIGITS:
            hint = "leave the attribute out"
            raise ParseError("expected a smaller number", source, span, hint)
        return replace(want, characters=int(value))
    if name == "max_tokens":
        message = "max_tokens cannot be read: how many tokens a text has depends on the vocabulary"
        hint = "bound the characters: [max_chars=100], or a count such as {0,100}"
        raise ParseError(message, source, span, hint, "unsupported")
    message = f"there is no attribute {name!r} like this"
    hint = 'the attributes are lazy, stop="…", suffix="…", max_chars=10, capture, temperature=0.5'
    raise ParseError(message, source, span, hint)


def cut_short(
    body: Expression,
    end: Expression | None,
    want: Wanted,
    label: str,
    beyond: Beyond,
    called_by: Callable[[Expression], Rules],
) -> Expression:
    """A body as its attributes want it, with what ends it; ``called_by`` tells its rules.

    Raises: BuildError where its texts need a stack; LimitError.
    """
    span = body.span
    if end is not None:
        body = Sequence((body, end), span)
    if want.lazy:
        body = Automaton(beyond.shortest(body, called_by(body)), label, span)
    if want.characters is not None:
        machine = beyond.at_most(body, want.characters, called_by(body))
        body = Automaton(machine, label, span)
    return body
