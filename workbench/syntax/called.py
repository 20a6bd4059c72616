"""Calls: expressions in, the names they call out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence


def called(body: Expression) -> Iterator[str]:
    """The names of all calls in an expression, from left to right; not those of ``except!``."""
    match body:
        case Nonterminal(name, _):
            yield name
        case Sequence(parts, _) | Choice(parts, _):
            for part in parts:
                yield from called(part)
        case Repetition(item, _, _, _):
            yield from called(item)


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
