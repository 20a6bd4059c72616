"""How the instances of a schema may be written: options, ``x-guidance``, white space.

No draft has this keyword. Its separators are regexes to llguidance; those of the policies have no
sign in them.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """What may stand between the lexemes of an instance."""

    #: Any JSON whitespace, each run at most ``SchemaOptions.bound`` characters long.
    ANY = "any"
    #: Nothing: ``{"a":1,"b":2}``.
    COMPACT = "compact"
    #: One space after commas and colons, as ``json.dumps`` writes: ``{"a": 1, "b": 2}``.
    ONE_SPACE = "one space"


#: What ``bound`` is where nobody says: a line feed and the margin of depth 8 at four spaces, and
#: what is left over takes the blank line or carriage return that some writers add. Measured with 20
#: properties and 131k tokens: a mask takes 0.02 to 0.04 ms (with 12: half of that); with 68 up to
#: 0.5 ms, for then every token of many spaces is told apart.
DEFAULT_BOUND = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """The choices a schema leaves to whoever writes instances.

    Raises: WorkbenchError for a policy there is none of, or a bound below 1.
    """

    whitespace: Whitespace | str = Whitespace.ANY
    #: Characters of a run of whitespace, at most; without one a model may write blanks for ever.
    bound: int = DEFAULT_BOUND

    def __post_init__(self) -> None:
        if self.whitespace not in [*Whitespace]:
            known = ", ".join(repr(str(policy)) for policy in Whitespace)
            raise WorkbenchError(
                f"there is no whitespace policy {str(self.whitespace)!r}", f"choose one of {known}"
            )
        if self.bound < 1:
            raise WorkbenchError(
                f"a run of whitespace of at most {self.bound} characters is none",
                "choose the policy 'compact' for no whitespace at all",
            )


KEYWORD = "x-guidance"

#: The policy of an item and a key separator where whitespace is not flexible.
_POLICIES: dict[object, Whitespace] = {
    (",", ":"): Whitespace.COMPACT,
    (", ", ": "): Whitespace.ONE_SPACE,
}
_SEPARATORS = ("item_separator", ","), ("key_separator", ":")
_FLEXIBLE = "whitespace_flexible"
_LAYOUT = frozenset({_FLEXIBLE, *(name for name, _ in _SEPARATORS)})
#: What is so here: every escape of JSON is read.
_SO_ANYWAY = {"json_allow_general_unicode_escapes": True}


def apply_guidance(root: Node, options: SchemaOptions) -> tuple[SchemaOptions, tuple[Node, ...]]:
    """The options with the policy a schema asks for, and the members of it nobody here follows.

    A policy that is not the usual one was chosen by somebody: it stays.

    Law: the separators are those of llguidance 1.9, which takes whitespace to be flexible unless a
         separator is given.
    """
    asked = (root.members or {}).get(KEYWORD)
    if asked is None:
        return options, ()
    if asked.members is None:
        return options, (asked,)
    policy = _policy(asked.members)
    ignored = tuple(_not_followed(asked.members, policy))
    if policy is not None and options.whitespace == Whitespace.ANY:
        options = replace(options, whitespace=policy)
    return options, ignored


def _policy(asked: dict[str, Node]) -> Whitespace | None:
    """The policy that layout asks for; None where it is none of ours."""
    given = {name: node.value for name, node in asked.items() if name in _LAYOUT}
    separators = tuple(given.get(name, usual) for name, usual in _SEPARATORS)
    flexible = given.get(_FLEXIBLE, not given)
    if flexible is True:
        return Whitespace.ANY if separators == (",", ":") else None
    return _POLICIES.get(separators) if flexible is False else None


def _not_followed(asked: dict[str, Node], policy: Whitespace | None) -> Iterator[Node]:
    for name, node in asked.items():
        if name in _LAYOUT:
            if policy is None:
                yield node
        elif name not in _SO_ANYWAY or node.value is not _SO_ANYWAY[name]:
            yield node


#: The four characters that JSON skips (RFC 8259, §2).
WHITESPACE_BYTES = b" \t\n\r"


@dataclass(frozen=True, slots=True)
class Spacing:
    """The punctuation of objects and arrays under one policy."""

    #: Between two members, and between a name and its value.
    comma: Expression
    colon: Expression
    #: What may stand inside brackets and at both ends of the text; None for nothing.
    blank: Expression | None
    #: The rules these call.
    rules: tuple[Rule, ...]

    @staticmethod
    def of(options: SchemaOptions, span: Span) -> Spacing:
        """The spacing a policy asks for; ``span`` is the place its rules point at."""
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
