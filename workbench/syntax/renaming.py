"""Renaming: an expression in, the same with other names called out."""

from __future__ import annotations

from collections.abc import Callable

from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence


def renamed(body: Expression, name: Callable[[str], str]) -> Expression:
    """The expression with ``name`` of every name it calls; ``except!`` is left as it is."""
    match body:
        case Nonterminal(called, span):
            return Nonterminal(name(called), span)
        case Sequence(items, span):
            return Sequence(tuple(renamed(item, name) for item in items), span)
        case Choice(options, span):
            return Choice(tuple(renamed(option, name) for option in options), span)
        case Repetition(item, low, high, span):
            return Repetition(renamed(item, name), low, high, span)
        case _:
            return body
