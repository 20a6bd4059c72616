"""Rules move to another text: the tree of a schema in, the same rules out, but with other places.

A dataclass written as JSON has its rules from a schema that nobody typed; messages and pictures
are to point into the definitions instead.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace
from functools import cache

from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Pattern,
    Repetition,
    Rule,
    Sequence,
)
from workbench.typed.literals import regex_at


def placed(tree: GrammarTree, places: Several[tuple[Span, Span]], source: Source) -> GrammarTree:
    """The same rules; each part points at what the innermost place around it was written for."""

    @cache
    def there(span: Span) -> Span:
        inner = [new for old, new in places if old.start <= span.start and span.end <= old.end]
        return inner[-1] if inner else Span(0, 0)

    def moved(node: Expression) -> Expression:
        span = there(node.span)
        match node:
            case Sequence(items=items):
                return Sequence(tuple(map(moved, items)), span)
            case Choice(options=options):
                return Choice(tuple(map(moved, options)), span)
            case Repetition(item=item):
                return replace(node, item=moved(item), span=span)
            case Pattern(regex=regex):
                return replace(node, regex=regex_at(regex, span), span=span)
        return replace(node, span=span)

    rules = (
        Rule(rule.name, moved(rule.body), there(rule.name_span), there(rule.span))
        for rule in tree.rules
    )
    return GrammarTree(tuple(rules), source)
