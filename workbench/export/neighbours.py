"""Neighbours: rules in, which terminal may stand directly behind which out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.limits import Clock
from workbench.pushdown.cfg import calls
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence
from workbench.syntax.tree_printer import Leaf

#: Terminals, each by the place it has among ``Neighbours.leaves``.
_Set = frozenset[int]


class Neighbours:
    """What may begin, end and follow in the texts of some rules.

    Terminals are told apart by ``key``: those with one key are one.

    Raises: LimitError past the time of the ``clock``.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        is_nullable: Callable[[Leaf], bool],
        key: Callable[[Leaf], object],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self.leaves: list[Leaf] = []
        self._numbers: dict[object, int] = {}
        self._key = key
        self._is_nullable = is_nullable
        self._nullable: set[str] = set()
        self._first: dict[str, _Set] = dict.fromkeys(rules, frozenset())
        self._last: dict[str, _Set] = dict.fromkeys(rules, frozenset())
        self._solve(rules)
        self.pairs = frozenset(pair for body in rules.values() for pair in self._pairs(body))

    def number(self, leaf: Leaf) -> int:
        """The number of a terminal among ``leaves``."""
        number = self._numbers.setdefault(self._key(leaf), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(leaf)
        return number

    def _solve(self, rules: Mapping[str, Expression]) -> None:
        """Grow what is known of each rule; callers are asked again when a rule has grown."""
        callers: dict[str, set[str]] = {}
        for name, body in rules.items():
            for call in calls(body):
                callers.setdefault(call.name, set()).add(name)
        waiting = dict.fromkeys(rules)
        while waiting:
            self._clock.check()
            name, _ = waiting.popitem()  # the last one: mostly a callee of those before it
            body = rules[name]
            before = name in self._nullable, self._first[name], self._last[name]
            if self.nullable(body):
                self._nullable.add(name)
            self._first[name] |= self.first(body)
            self._last[name] |= self.last(body)
            if before != (name in self._nullable, self._first[name], self._last[name]):
                waiting.update(dict.fromkeys(callers.get(name, ())))

    def nullable(self, node: Expression) -> bool:
        """Whether an expression may read nothing."""
        match node:
            case Nonterminal(name):
                return name in self._nullable
            case Sequence(items):
                return all(map(self.nullable, items))
            case Choice(options):
                return any(map(self.nullable, options))
            case Repetition(item, low):
                return low == 0 or self.nullable(item)
            case leaf:
                return self._is_nullable(leaf)

    def first(self, node: Expression) -> _Set:
        """The terminals an expression may begin with."""
        return self._edge(node, self._first, reverse=False)

    def last(self, node: Expression) -> _Set:
        """The terminals an expression may end with."""
        return self._edge(node, self._last, reverse=True)

    def _edge(self, node: Expression, known: Mapping[str, _Set], *, reverse: bool) -> _Set:
        match node:
            case Nonterminal(name):
                return known[name]
            case Sequence(items):
                found: _Set = frozenset()
                for item in reversed(items) if reverse else items:
                    found |= self._edge(item, known, reverse=reverse)
                    if not self.nullable(item):
                        break
                return found
            case Choice(options):
                return frozenset().union(*(self._edge(o, known, reverse=reverse) for o in options))
            case Repetition(item):
                return self._edge(item, known, reverse=reverse)
            case leaf:
                return frozenset((self.number(leaf),))

    def _pairs(self, node: Expression) -> Iterator[tuple[int, int]]:
        """A terminal and one that may stand behind it, wherever both are met in an expression."""
        match node:
            case Sequence(items):
                before: _Set = frozenset()
                for item in items:
                    self._clock.check()
                    yield from self._pairs(item)
                    yield from ((a, b) for a in before for b in self.first(item))
                    before = self.last(item) | (before if self.nullable(item) else frozenset())
            case Choice(options):
                for option in options:
                    yield from self._pairs(option)
            case Repetition(item, _, high):
                yield from self._pairs(item)
                if high is None or high > 1:
                    yield from ((a, b) for a in self.last(item) for b in self.first(item))
