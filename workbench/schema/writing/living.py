"""Living rules: rules some of which have no text come in, those that have one go out.

That a shape has no instance may show only when its members are counted, and others have been
written by then that ask for one of it.
"""

from __future__ import annotations

from collections.abc import Sequence as Sequences
from collections.abc import Set
from dataclasses import replace

from workbench.pushdown.cfg import calls, derives, least
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)


def living(rules: Sequences[Rule], start: str) -> list[Rule]:
    """What the start reaches, without what derives no text; nothing if the start derives none."""
    bodies = {rule.name: rule.body for rule in rules}
    # the machines of leaves all read something: sets without strings or numbers are not written
    alive = least(bodies, lambda body, known: derives(body, known, lambda _: True))
    found = {
        rule.name: replace(rule, body=body)
        for rule in rules
        if (body := _alive(rule.body, alive)) is not None
    }
    reached = dict.fromkeys([start] if start in found else [])
    waiting = list(reached)
    for name in waiting:  # grows while it is read
        new = [c.name for c in calls(found[name].body) if c.name not in reached]
        reached |= dict.fromkeys(new)
        waiting += dict.fromkeys(new)
    return [rule for name, rule in found.items() if name in reached]


def _alive(body: Expression, alive: Set[str]) -> Expression | None:
    """What of an expression derives a text; None where nothing does."""
    match body:
        case Nonterminal(name=name):
            return body if name in alive else None
        case Sequence(items=items, span=span):
            parts = [part for item in items if (part := _alive(item, alive)) is not None]
            row = tuple(part for part in parts if part != Sequence((), part.span))
            return Sequence(row, span) if len(parts) == len(items) else None
        case Choice(options=options, span=span):
            parts = [part for option in options if (part := _alive(option, alive)) is not None]
            return Choice(tuple(parts), span) if len(parts) > 1 else parts[0] if parts else None
        case Repetition(item=item, low=low, span=span):
            part = _alive(item, alive)
            if part is not None:
                return replace(body, item=part)
            return Sequence((), span) if low == 0 else None
        case _:
            return body
