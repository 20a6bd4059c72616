"""Computes which terminals may directly follow which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.limits import Clock
from workbench.pushdown.cfg import calls
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence
from workbench.syntax.tree_printer import Leaf

#: Terminals: bit n stands for the one at place n among ``Neighbours.leaves``. With sets of numbers
#: the slowest tenth of the schemas took 2.5 s to be written as Lark, and now 1.4 s.
Terminals = int


def numbers(terminals: Terminals) -> Iterator[int]:
    """The places of some terminals, in order."""
    while terminals:
        lowest = terminals & -terminals
        yield lowest.bit_length() - 1
        terminals ^= lowest


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
        #: Which may stand directly behind each of ``leaves``, in some text.
        self.behind: list[Terminals] = []
        self._numbers: dict[object, int] = {}
        self._key = key
        self._is_nullable = is_nullable
        self._nullable: set[str] = set()
        self._first: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._last: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._solve(rules)
        for body in rules.values():
            self._meet(body)

    def number(self, leaf: Leaf) -> int:
        """The number of a terminal among ``leaves``."""
        number = self._numbers.setdefault(self._key(leaf), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(leaf)
            self.behind.append(0)
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

    def first(self, node: Expression) -> Terminals:
        """The terminals an expression may begin with."""
        return self._edge(node, self._first, reverse=False)

    def last(self, node: Expression) -> Terminals:
        """The terminals an expression may end with."""
        return self._edge(node, self._last, reverse=True)

    def _edge(
        self, node: Expression, known: Mapping[str, Terminals], *, reverse: bool
    ) -> Terminals:
        match node:
            case Nonterminal(name):
                return known[name]
            case Sequence(items):
                found = 0
                for item in reversed(items) if reverse else items:
                    found |= self._edge(item, known, reverse=reverse)
                    if not self.nullable(item):
                        break
                return found
            case Choice(options):
                found = 0
                for option in options:
                    found |= self._edge(option, known, reverse=reverse)
                return found
            case Repetition(item):
                return self._edge(item, known, reverse=reverse)
            case leaf:
                return 1 << self.number(leaf)

    def _meet(self, node: Expression) -> None:
        """Note what may stand behind what, wherever both are met in an expression."""
        match node:
            case Sequence(items):
                self._clock.check()
                before = 0
                for item in items:
                    self._meet(item)
                    self._put(before, self.first(item) if before else 0)
                    before = self.last(item) | (before if self.nullable(item) else 0)
            case Choice(options):
                for option in options:
                    self._meet(option)
            case Repetition(item, _, high):
                self._meet(item)
                if high is None or high > 1:
                    self._put(self.last(item), self.first(item))

    def _put(self, left: Terminals, right: Terminals) -> None:
        for number in numbers(left) if right else ():
            self.behind[number] |= right
