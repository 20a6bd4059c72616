"""Nodes: what lark reads by ``kbnf.lark`` becomes a grammar tree, rule by rule as they are reduced.

Every part comes with the place it was written at, brackets included; they leave no node.
"""

from __future__ import annotations

from typing import cast

from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.kbnf.scanner import Part

#: Digits of an ``except!`` limit: a thousand million bytes are no limit.
_LIMIT_DIGITS = 9


class BadLimitError(Exception):
    """An ``except!`` has a limit that is none."""

    def __init__(self, number: Part) -> None:
        super().__init__(
            f"expected a limit between 1 and 10^{_LIMIT_DIGITS} - 1 bytes",
            "leave the comma and the number out where there is no limit",
        )
        self.span = Span(number.start, number.end)


class Nodes:
    """A method for each name in ``kbnf.lark``; lark calls it with the parts of that rule."""

    def grammar(self, rules: list[Rule]) -> list[Rule]:
        return rules

    def rule(self, parts: list[Part]) -> Rule:
        name, _, body, end = parts
        called = Span(name.start, name.end)
        return Rule(cast("str", name.node), _node(body), called, Span(name.start, end.end))

    def choice(self, parts: list[Part]) -> Part:
        start, end = parts[0].start, parts[-1].end
        options = tuple(map(_node, parts[::2]))  # a bar after each
        return Part("", Choice(options, Span(start, end)), start, end)

    def sequence(self, parts: list[Part]) -> Part:
        start, end = parts[0].start, parts[-1].end
        items = tuple(_node(part) for part in parts if part.type != "_COMMA")
        return Part("", Sequence(items, Span(start, end)), start, end)

    def call(self, parts: list[Part]) -> Part:
        (name,) = parts
        name.node = Nonterminal(cast("str", name.node), Span(name.start, name.end))
        return name

    def optional(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 0, 1)

    def star(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 0, None)

    def plus(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 1, None)

    def group(self, parts: list[Part]) -> Part:
        return Part("", parts[1].node, parts[0].start, parts[-1].end)

    def optional_group(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[1], 0, 1)

    def star_group(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[1], 0, None)

    def excepting(self, parts: list[Part]) -> Part:
        """``except!(S)`` or ``except!(S, n)``."""
        start, end, excepted = parts[0].start, parts[-1].end, parts[2]
        if excepted.type == "NAME":
            self.call([excepted])
        limit = _limit(parts[4]) if len(parts) > 4 else None
        what = cast("Literal | Nonterminal", excepted.node)
        return Part("", Except(what, limit, Span(start, end)), start, end)


def _node(part: Part) -> Expression:
    return cast("Expression", part.node)


def _repeated(parts: list[Part], item: Part, low: int, high: int | None) -> Part:
    start, end = parts[0].start, parts[-1].end
    return Part("", Repetition(_node(item), low, high, Span(start, end)), start, end)


def _limit(number: Part) -> int:
    digits = cast("str", number.node).lstrip("0")
    if not 0 < len(digits) <= _LIMIT_DIGITS:
        raise BadLimitError(number)
    return int(digits)
