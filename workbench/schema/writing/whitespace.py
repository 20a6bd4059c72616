"""Spacing: a whitespace policy in; the punctuation of JSON with the whitespace around it out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.schema.options import SchemaOptions, Whitespace
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    Literal,
    Nonterminal,
    Rule,
    Sequence,
)

#: The four characters that JSON skips (RFC 8259, §2).
BLANKS = b" \t\n\r"


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
    run = Automaton(blanks(bound), f"up to {bound} blanks", span)
    rules = tuple(
        Rule(name, body, span, span)
        for name, body in (("comma", comma), ("colon", colon), ("whitespace", run))
    )
    return Spacing(Nonterminal("comma", span), Nonterminal("colon", span), blank, rules)


@lru_cache(maxsize=16)
def blanks(bound: int) -> Dfa:
    """At most ``bound`` characters of whitespace: a chain of ``bound + 1`` states."""
    classes = np.zeros(256, np.uint16)
    classes[[*BLANKS]] = 1
    table = np.full((bound + 1, 2), DEAD, np.int32)
    table[:-1, 1] = np.arange(1, bound + 1)
    return Dfa(classes, table, np.ones(bound + 1, np.bool_))
