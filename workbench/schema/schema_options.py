"""How the instances of a schema may be written: whitespace options, and ``x-guidance``.

The keyword ``x-guidance`` is llguidance's, not part of any draft. Its separators are regexes there;
the supported ones contain no special character, so they are compared as texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np

from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import WorkbenchError
from workbench.base.source import Span
from workbench.schema.schema_reader import Node
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    Literal,
    Nonterminal,
    Rule,
    Sequence,
)


class Whitespace(StrEnum):
    """The whitespace between the lexemes of an instance."""

    #: Any JSON whitespace, each run at most ``SchemaOptions.bound`` characters long.
    ANY = "any"
    #: Nothing: ``{"a":1,"b":2}``.
    COMPACT = "compact"
    #: One space after commas and colons, as ``json.dumps`` writes: ``{"a": 1, "b": 2}``.
    ONE_SPACE = "one space"


class Formats(StrEnum):
    """What the keyword ``format`` means."""

    #: Only strings of the format are instances.
    ASSERTED = "assert"
    #: It restricts nothing.
    ANNOTATION = "annotation"


class Order(StrEnum):
    """The order of the properties of an object."""

    #: The order in which the schema declares them.
    DECLARED = "declared"
    #: Any order.
    ANY = "any"


#: The default of ``bound``: a line feed and the indentation of depth 8 with four spaces each, plus
#: three for the blank line or carriage return of some writers. Measured with 20 properties and 131k
#: tokens: a mask takes 0.02 to 0.04 ms (with 12: half of that); with 68 up to 0.5 ms, because then
#: every token of many spaces has to be distinguished.
DEFAULT_BOUND = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """How instances are written, which a schema does not determine.

    Raises: WorkbenchError for an unknown choice or a bound below 1.
    """

    whitespace: Whitespace | str = Whitespace.ANY
    #: The longest run of whitespace; without a bound a model could write whitespace forever.
    bound: int = DEFAULT_BOUND
    format: Formats | str = Formats.ASSERTED
    order: Order | str = Order.DECLARED

    def __post_init__(self) -> None:
        _check("whitespace policy", self.whitespace, Whitespace)
        _check("meaning of 'format'", self.format, Formats)
        _check("order of properties", self.order, Order)
        if self.bound < 1:
            raise WorkbenchError(
                f"expected a whitespace bound of at least 1, not {self.bound}",
                "choose the policy 'compact' for no whitespace at all",
            )


def _check(what: str, chosen: str, choices: Iterable[str]) -> None:
    if chosen not in [*choices]:
        known = ", ".join(repr(str(choice)) for choice in choices)
        raise WorkbenchError(f"unknown {what} {str(chosen)!r}", f"choose one of {known}")


#: The default options.
OPTIONS = SchemaOptions()

KEYWORD = "x-guidance"

#: The policy of each pair of item and key separator, if whitespace is not flexible.
_POLICIES: dict[object, Whitespace] = {
    (",", ":"): Whitespace.COMPACT,
    (", ", ": "): Whitespace.ONE_SPACE,
}
_SEPARATORS = ("item_separator", ","), ("key_separator", ":")
_FLEXIBLE = "whitespace_flexible"
_LAYOUT = frozenset({_FLEXIBLE, *(name for name, _ in _SEPARATORS)})
#: Settings that always hold here: every JSON escape is accepted.
_ALWAYS = {"json_allow_general_unicode_escapes": True}


def apply_guidance(root: Node, options: SchemaOptions) -> tuple[SchemaOptions, tuple[Node, ...]]:
    """The options with the policy of ``x-guidance``, and its members that are not supported.

    A policy in ``options`` other than the default takes precedence.

    Law: the separators mean what they mean in llguidance 1.9, where whitespace is flexible unless
         a separator is given.
    """
    guidance = (root.members or {}).get(KEYWORD)
    if guidance is None:
        return options, ()
    if guidance.members is None:
        return options, (guidance,)
    policy = _policy(guidance.members)
    ignored = tuple(_unsupported(guidance.members, policy))
    if policy is not None and options.whitespace == Whitespace.ANY:
        options = replace(options, whitespace=policy)
    return options, ignored


def _policy(guidance: dict[str, Node]) -> Whitespace | None:
    """The policy of the layout settings; None if there is no such policy here."""
    given = {name: node.value for name, node in guidance.items() if name in _LAYOUT}
    separators = tuple(given.get(name, usual) for name, usual in _SEPARATORS)
    flexible = given.get(_FLEXIBLE, not given)
    if flexible is True:
        return Whitespace.ANY if separators == (",", ":") else None
    return _POLICIES.get(separators) if flexible is False else None


def _unsupported(guidance: dict[str, Node], policy: Whitespace | None) -> Iterator[Node]:
    for name, node in guidance.items():
        if name in _LAYOUT:
            if policy is None:
                yield node
        elif name not in _ALWAYS or node.value is not _ALWAYS[name]:
            yield node


#: JSON whitespace (RFC 8259, §2).
WHITESPACE_BYTES = b" \t\n\r"


@dataclass(frozen=True, slots=True)
class Spacing:
    """The punctuation of objects and arrays under one policy."""

    #: The separator of members, and of a name and its value, with whitespace.
    comma: Expression
    colon: Expression
    #: The whitespace inside brackets and at both ends of the text; None for none.
    blank: Expression | None
    #: The rules that these expressions call.
    rules: tuple[Rule, ...]

    @staticmethod
    def of(options: SchemaOptions, span: Span) -> Spacing:
        """The punctuation of a policy; ``span`` is the span of its rules."""
        match Whitespace(options.whitespace):
            case Whitespace.COMPACT:
                return Spacing(Literal(b",", span), Literal(b":", span), None, ())
            case Whitespace.ONE_SPACE:
                return Spacing(Literal(b", ", span), Literal(b": ", span), None, ())
            case Whitespace.ANY:
                return _any(options.bound, span)


def _any(bound: int, span: Span) -> Spacing:
    blank = Nonterminal("whitespace", span)
    comma = Sequence((blank, Literal(b",", span), blank), span)
    colon = Sequence((blank, Literal(b":", span), blank), span)
    run = Automaton(whitespace_machine(bound), f"up to {bound} blanks", span)
    rules = tuple(
        Rule(name, body, span, span)
        for name, body in (("comma", comma), ("colon", colon), ("whitespace", run))
    )
    return Spacing(Nonterminal("comma", span), Nonterminal("colon", span), blank, rules)


@lru_cache(maxsize=16)
def whitespace_machine(bound: int) -> Dfa:
    """At most ``bound`` characters of whitespace: a chain of ``bound + 1`` states."""
    classes = np.zeros(256, np.uint16)
    classes[[*WHITESPACE_BYTES]] = 1
    table = np.full((bound + 1, 2), DEAD, np.int32)
    table[:-1, 1] = np.arange(1, bound + 1)
    return Dfa(classes, table, np.ones(bound + 1, np.bool_))
