"""Pieces of a row of chunks: chunks in, rules of the tree out, as many as there are chunks.

``%regex`` of llguidance and ``Substring()`` of xgrammar: any chunks that stand beside each other,
joined; none of them too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Row

from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Rule,
    Sequence,
    Substrings,
)

_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")


def words(text: str) -> tuple[str, ...]:
    """Words, white space and what stands between, as ``substring_words`` has them."""
    return tuple(_WORDS.findall(text))


def pieces(chunks: Row[str], name: str, span: Span) -> tuple[Expression, tuple[Rule, ...]]:
    """The pieces as an expression, and the rules it calls; their names begin with ``name``.

    Characters that are a byte each are a ``Substrings`` leaf. Else there is a rule for every
    place in the row: what begins there is nothing, or its chunk and what begins at the next.
    """
    chunks = [chunk for chunk in chunks if chunk]
    if all(len(chunk) == 1 and chunk.isascii() for chunk in chunks):
        return Substrings("".join(chunks).encode(), span), ()
    nothing = Sequence((), span)
    names = [f"{name}_{number}" for number in range(1, len(chunks) + 1)]
    rules = []
    for number, (its_name, chunk) in enumerate(zip(names, chunks, strict=True), 1):
        here: Expression = Literal(chunk.encode(), span)
        if number < len(chunks):
            rest = Choice((nothing, Nonterminal(names[number], span)), span)
            here = Sequence((here, rest), span)
        rules.append(Rule(its_name, here, span, span))
    calls = tuple(Nonterminal(name, span) for name in names)
    return Choice((nothing, *calls), span), tuple(rules)
