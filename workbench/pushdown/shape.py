"""The shape of recursion: which rules need a stack, and which can be written into their callers.

In comes a ``Cfg``; out comes the set of nonterminals that stay rules of their own. A rule that does
not recurse, or recurses only at its end, is a piece of automaton, written in where it is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg, calls
from workbench.pushdown.circles import circles
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)

#: The most machine states the written-in rules of a grammar may come to, estimated.
_WRITTEN_IN = 8_000


def kept_rules(cfg: Cfg, limits: Limits = LIMITS) -> frozenset[str]:
    """The nonterminals that must be called with a stack.

    Of every circle of calls that has a call not at its rule's end (self-embedding, the
    sign of a language that is not regular: Chomsky 1959) as few rules are kept as break
    the circle, the most called first; and, so that nothing explodes, rules whose copies
    would come to too many states.

    Raises: LimitError past ``limits.seconds``.
    """
    clock = limits.clock()
    uses = Counter(call.name for body in cfg.rules.values() for call in calls(body))
    # the most called first, among equals the one written first
    order = {name: (uses[name], -place) for place, name in enumerate(cfg.rules)}
    kept: set[str] = set()
    while embedding := [c for c in _circles(cfg, kept) if _embeds(cfg, c)]:
        kept |= {max(circle, key=order.__getitem__) for circle in embedding}
        clock.check()
    while True:
        clock.check()
        sizes = _sizes(cfg, frozenset(kept))
        if sum(sizes[name] for name in {*kept, cfg.start}) <= _WRITTEN_IN:
            return frozenset(kept)
        large = [n for n in cfg.rules if uses[n] > 1 and n not in kept and n != cfg.start]
        if not large:
            return frozenset(kept)
        kept.add(max(large, key=lambda name: sizes[name] * (uses[name] - 1)))


def _embeds(cfg: Cfg, circle: frozenset[str]) -> bool:
    """Whether a circle has a call of its own that is not at the end of a rule."""
    return any(called in circle for name in circle for called in _inner_calls(cfg.rules[name]))


def tail_calls(expression: Expression) -> Iterator[Nonterminal]:
    """The calls after which the expression reads nothing more."""
    match expression:
        case Nonterminal():
            yield expression
        case Choice(options=options):
            for option in options:
                yield from tail_calls(option)
        case Repetition(item=item, high=1):
            yield from tail_calls(item)
        case Sequence(items=items) if items:
            yield from tail_calls(items[-1])


def _inner_calls(expression: Expression) -> list[str]:
    """The names called somewhere that is not the end."""
    at_end = Counter(id(call) for call in tail_calls(expression))
    return [call.name for call in calls(expression) if not at_end[id(call)]]


def _circles(cfg: Cfg, without: set[str]) -> list[frozenset[str]]:
    """The sets of rules that call each other in circles, some rules left out."""
    called_by = {
        name: tuple(dict.fromkeys(c.name for c in calls(body) if c.name not in without))
        for name, body in cfg.rules.items()
        if name not in without
    }
    return circles(called_by)


def left_recursive(cfg: Cfg) -> frozenset[str]:
    """The nonterminals that can call themselves before reading anything, also behind nullables."""
    first = {
        name: tuple(dict.fromkeys(call.name for call in _first_calls(cfg, body)))
        for name, body in cfg.rules.items()
    }
    return frozenset(name for circle in circles(first) for name in circle)


def _first_calls(cfg: Cfg, expression: Expression) -> Iterator[Nonterminal]:
    """The calls an expression can begin with."""
    match expression:
        case Nonterminal():
            yield expression
        case Choice(options=options):
            for option in options:
                yield from _first_calls(cfg, option)
        case Repetition(item=item):
            yield from _first_calls(cfg, item)
        case Sequence(items=items):
            for item in items:
                yield from _first_calls(cfg, item)
                if not cfg.is_nullable(item):
                    return


def _sizes(cfg: Cfg, kept: frozenset[str]) -> dict[str, int]:
    """About how many states each rule comes to with everything but ``kept`` written in."""
    sizes: dict[str, int] = {}

    def size(expression: Expression) -> int:
        match expression:
            case Literal(value=value):
                return len(value)
            case Nonterminal(name=name):
                # a call that closes its own circle comes to nothing new
                return 1 if name in kept else sizes.get(name, 1)
            case Sequence(items=parts) | Choice(options=parts):
                return sum(map(size, parts))
            case Repetition(item=item, low=low, high=high):
                return size(item) * max(1, low, high or 0)
            case _:
                return len(cfg.machine(expression))

    for name in _callees_first(cfg):
        sizes[name] = min(size(cfg.rules[name]), 10 * _WRITTEN_IN)
    return sizes


def _callees_first(cfg: Cfg) -> list[str]:
    """All rules, each after the rules it calls (but for circles)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in cfg.rules:
        work = [(root, False)]
        while work:
            name, finished = work.pop()
            if finished:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                work.append((name, True))
                work.extend((call.name, False) for call in calls(cfg.rules[name]))
    return order
