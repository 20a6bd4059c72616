"""Derivation trees written out one by one, from the definition.

It shares nothing with the parse forest: trees are nested tuples, a set for each rule and piece of
the text, which grows until nothing new comes or the set has enough trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.pushdown.cfg import Cfg
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Nonterminal, Repetition
from workbench.syntax.grammar_tree import Sequence as Row

#: A derivation; the number of an option, the name of a rule or the count of copies comes first.
Derivation = Any


def derivation_trees(cfg: Cfg, name: str, text: bytes, most: int) -> set[Derivation]:
    """At least ``most`` distinct derivation trees of a text from a rule, or all of them."""
    size = len(text)
    trees: dict[tuple[str, int, int], set[Derivation]] = {
        (rule, i, j): set()
        for rule in cfg.rules
        for i in range(size + 1)
        for j in range(i, size + 1)
    }

    def of(expression: Expression, i: int, j: int) -> Iterator[Derivation]:
        match expression:
            case Literal(value=value):
                if text[i:j] == value:
                    yield ("text", value)
            case Nonterminal(name=called):
                for tree in list(trees[called, i, j]):
                    yield ("rule", called, tree)
            case Choice(options=options):
                for number, option in enumerate(options):
                    for tree in of(option, i, j):
                        yield ("option", number, tree)
            case Row(items=items):
                for row in in_order(items, i, j):
                    yield ("row", row)
            case Repetition(item=item, low=low, high=high):
                enough = 0 if cfg.is_nullable(item) else low
                top = (j - i) if high is None else min(high, j - i)
                for copies in range(enough, top + 1):
                    for row in in_order((item,) * copies, i, j, empty=False):
                        yield ("row", row)
            case _:
                raise TypeError(expression)

    def in_order(
        items: tuple[Expression, ...], i: int, j: int, *, empty: bool = True
    ) -> Iterator[tuple[Derivation, ...]]:
        if not items:
            if i == j:
                yield ()
            return
        for middle in range(i if empty else i + 1, j + 1):
            lefts = list(of(items[0], i, middle))
            if lefts:
                for right in in_order(items[1:], middle, j, empty=empty):
                    for left in lefts:
                        yield (left, *right)

    changed = True
    while changed:
        changed = False
        for (rule, i, j), known in trees.items():
            if len(known) < most:
                for tree in of(cfg.rules[rule], i, j):
                    if tree not in known:
                        known.add(tree)
                        changed = True
                    if len(known) >= most:
                        break
    return trees[name, 0, size]


def in_brackets(name: str, tree: Derivation) -> str:
    """A derivation of a rule in one line, in brackets by rule."""

    def pieces(of: Derivation) -> Iterator[str]:
        match of:
            case ("text", value):
                if value:
                    yield value.decode()
            case ("rule", called, inner):
                yield in_brackets(called, inner)
            case ("option", _, inner):
                yield from pieces(inner)
            case ("row", row):
                for each in row:
                    yield from pieces(each)

    return f"{name}({' '.join(pieces(tree))})"
