"""Computes the regex of rules that need no stack.

Rules are inserted where they are called. Those that call each other in a cycle, each call at the
end of its rule (or each at the beginning), are states of a graph whose paths are the regex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.export.elimination import Paths, TooLongError
from workbench.export.regex_text import pattern
from workbench.export.terms import EMPTY, concat, either, repeat
from workbench.limits import Clock
from workbench.pushdown.cfg import calls
from workbench.pushdown.circles import circles
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.regex.tree import Regex
from workbench.syntax.tree_printer import Leaf

#: Before and after all rules of a circle: names no rule has.
_BEFORE, _AFTER = "<", ">"


class NotSoError(Exception):
    """The rules call themselves in another way than at their ends, or at their beginnings."""

    def __init__(self, call: Nonterminal) -> None:
        #: Such a call.
        self.call = call


class RuleRegexes:
    """The regexes of rules, each made once.

    Raises: NotSoError, TooLongError past ``most`` characters; LimitError past the clock's time.
    Source: Arden 1961, "Delayed-logic and finite-state machines", for right and left linear rules.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        leaf: Callable[[Leaf], Regex],
        most: int,
        clock: Clock,
    ) -> None:
        self._rules = rules
        self._leaf = leaf
        self._most = most
        self._clock = clock
        self._made: dict[str, Regex] = {}
        called = {name: {call.name for call in calls(body)} for name, body in rules.items()}
        self._circle = {name: circle for circle in circles(called) for name in circle}

    def regex(self, name: str) -> Regex:
        """The texts of a rule."""
        if name not in self._made:
            self._clock.check()
            circle = self._circle.get(name)
            made = self._of(self._rules[name]) if circle is None else self._in_circle(name, circle)
            if len(pattern(made)) > self._most:
                raise TooLongError
            self._made[name] = made
        return self._made[name]

    def _of(self, node: Expression) -> Regex:
        match node:
            case Nonterminal(name):
                return self.regex(name)
            case Sequence(items):
                return concat(*map(self._of, items))
            case Choice(options):
                return either(*map(self._of, options))
            case Repetition(item, low, high):
                return repeat(self._of(item), low, high)
            case leaf:
                return self._leaf(leaf)

    def _in_circle(self, name: str, circle: frozenset[str]) -> Regex:
        try:
            edges = [
                (member, regex, _AFTER if after is None else after)
                for member in sorted(circle)
                for regex, after in self._ways(self._rules[member], circle, at_end=True)
            ]
            return Paths([(_BEFORE, EMPTY, name), *edges], self._most).between(
                _BEFORE, _AFTER, self._clock
            )
        except NotSoError:
            edges = [
                (_BEFORE if before is None else before, regex, member)
                for member in sorted(circle)
                for regex, before in self._ways(self._rules[member], circle, at_end=False)
            ]
            return Paths([*edges, (name, EMPTY, _AFTER)], self._most).between(
                _BEFORE, _AFTER, self._clock
            )

    def _ways(
        self, node: Expression, circle: frozenset[str], *, at_end: bool
    ) -> Iterator[tuple[Regex, str | None]]:
        """The ways through a rule: what it reads, and the rule of the circle called beside it."""
        match node:
            case Nonterminal(name) if name in circle:
                yield EMPTY, name
            case Choice(options):
                for option in options:
                    yield from self._ways(option, circle, at_end=at_end)
            case Repetition(item, 0, 1):
                yield EMPTY, None
                yield from self._ways(item, circle, at_end=at_end)
            case Sequence((_, *_) as items):
                inner, outer = (items[:-1], items[-1]) if at_end else (items[1:], items[0])
                self._refuse(inner, circle)
                rest = concat(*map(self._of, inner))
                for regex, called in self._ways(outer, circle, at_end=at_end):
                    yield concat(rest, regex) if at_end else concat(regex, rest), called
            case _:
                self._refuse((node,), circle)
                yield self._of(node), None

    @staticmethod
    def _refuse(parts: tuple[Expression, ...], circle: frozenset[str]) -> None:
        """Raise NotSoError at the first call of a rule of the circle."""
        for part in parts:
            for call in calls(part):
                if call.name in circle:
                    raise NotSoError(call)
