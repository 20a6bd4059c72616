"""Rewrites counted repetitions as rules, for notations without counts.

Few copies are written out. More are rules of rules: twice as many are a rule called twice.
"""

from __future__ import annotations

from workbench.export.names import Names
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Expression,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.tree_printer import POSTFIX

#: So many copies are written out.
_FEW = 8


class Counts:
    """Repetitions for a notation that has ``? * +`` and nothing else."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._rules: list[Rule] = []
        self._known: dict[tuple[str, str, int], Expression] = {}

    def taken(self) -> list[Rule]:
        """The rules made since they were taken last."""
        made, self._rules = self._rules, []
        return made

    def repeated(self, item: Expression, low: int, high: int | None, rule: str) -> Expression:
        """From ``low`` to ``high`` copies of an item of a rule.

        A printer writes few copies out; here all is brought to few.
        """
        span = item.span
        few = low <= _FEW and (high is None or high - low <= _FEW)
        if (low, high) in POSTFIX or (few and (low, high) != (0, 0) and _is_short(item)):
            return Repetition(item, low, high, span)
        if high == 0:
            return Sequence((), span)
        one = item if isinstance(item, Nonterminal) else self._rule(item, f"{rule}_item")
        parts: list[Expression] = [] if low == 0 else [self._times(one, low)]
        if high is None:
            parts.append(Repetition(one, 0, None, span))
        elif high > low:
            parts.append(self._up_to(one, high - low))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), span)

    def _rule(self, body: Expression, wanted: str) -> Nonterminal:
        name = self._names.fresh(wanted)
        self._rules.append(Rule(name, body, body.span, body.span))
        return Nonterminal(name, body.span)

    def _times(self, one: Nonterminal, count: int) -> Expression:
        """Exactly so many copies."""
        if count <= _FEW:
            return one if count == 1 else _row([one] * count, one.span)
        key = (one.name, "times", count)
        if key not in self._known:
            half = self._times(one, count // 2)
            rest = [one] if count % 2 else []
            self._known[key] = self._rule(
                _row([half, half, *rest], one.span), f"{one.name}_times_{count}"
            )
        return self._known[key]

    def _up_to(self, one: Nonterminal, count: int) -> Expression:
        """So many copies or fewer: after each one the rest, or nothing.

        One way to read each text: ``x? x? x?`` has several.
        """
        first = (count - 1) % _FEW + 1
        node: Expression = Repetition(one, 0, first, one.span)
        for made in range(first + _FEW, count + 1, _FEW):
            key = (one.name, "up to", made)
            if key not in self._known:
                for _ in range(_FEW):
                    node = Repetition(_row([one, node], one.span), 0, 1, one.span)
                self._known[key] = self._rule(node, f"{one.name}_up_to_{made}")
            node = self._known[key]
        return node


def _is_short(item: Expression) -> bool:
    """Whether copies of an item may be written side by side."""
    return not isinstance(item, Sequence) and not hasattr(item, "options")


def _row(items: list[Expression] | list[Nonterminal], span: Span) -> Sequence:
    return Sequence(tuple(items), span)
