"""Calls: expressions in, the names they call out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)


def calls(body: Expression) -> Iterator[Nonterminal]:
    """All calls in an expression, from left to right; what ``except!`` names is none."""
    match body:
        case Nonterminal():
            yield body
        case Sequence(parts, _) | Choice(parts, _):
            for part in parts:
                yield from calls(part)
        case Repetition(item, _, _, _):
            yield from calls(item)


def called(body: Expression) -> Iterator[str]:
    """The names an expression calls."""
    return (call.name for call in calls(body))


def all_called(body: Expression, rules: Mapping[str, Expression]) -> tuple[str, ...]:
    """All rules that an expression calls, and that those call; other names are left out."""
    names = dict.fromkeys(name for name in called(body) if name in rules)
    waiting = list(names)
    for name in waiting:  # grows while it is read
        for other in called(rules[name]):
            if other in rules and other not in names:
                names[other] = None
                waiting.append(other)
    return tuple(names)


def without_idle(rules: Iterable[Rule], idle: Container[str]) -> list[Rule]:
    """The rules, without those of the ``idle`` that no rule which is left calls but itself."""
    left = {rule.name: rule for rule in rules}
    others_of = {name: {*called(rule.body)} - {name} for name, rule in left.items()}
    callers = Counter(other for others in others_of.values() for other in others)
    waiting = [name for name in left if name in idle and not callers[name]]
    for name in waiting:  # grows while it is read
        del left[name]
        for other in others_of[name]:
            callers[other] -= 1
            if other in left and other in idle and not callers[other]:
                waiting.append(other)
    return list(left.values())
