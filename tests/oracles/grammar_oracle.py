"""A slow recogniser of grammar trees whose terminals are literals.

It computes the positions at which an expression can end and whether the text can be continued,
by a fixed point over facts (rule, position), so it handles every recursion and ambiguity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.vocabulary.vocabulary import Vocabulary

T = TypeVar("T")
_Fact = tuple[str, int]


class GrammarOracle:
    """All questions about one text of one grammar."""

    def __init__(self, tree: GrammarTree, text: bytes, start: str = "start") -> None:
        self.rules = gathered(tree)
        self.text = text
        self.start = start
        self.productive = self._productive()
        self.ends: dict[_Fact, frozenset[int]] = {}
        self._grow(self.ends, lambda e, i: frozenset(self._ends(e, i)), frozenset())
        self.goes_on: dict[_Fact, bool] = {}
        self._grow(self.goes_on, self._goes_on, False)

    @property
    def accepts(self) -> bool:
        return len(self.text) in self.ends[self.start, 0]

    @property
    def is_prefix(self) -> bool:
        """Whether some accepted text begins with the text."""
        return self.goes_on[self.start, 0]

    def _productive(self) -> set[str]:
        known: set[str] = set()

        def holds(expression: Expression) -> bool:
            match expression:
                case Nonterminal(name=name):
                    return name in known
                case Sequence(items=items):
                    return all(map(holds, items))
                case Choice(options=options):
                    return any(map(holds, options))
                case Repetition(item=item, low=low):
                    return low == 0 or holds(item)
                case _:
                    return True

        while grown := {n for n, body in self.rules.items() if n not in known and holds(body)}:
            known |= grown
        return known

    def _grow(self, facts: dict[_Fact, T], of: Callable[[Expression, int], T], none: T) -> None:
        places = [(name, i) for name in self.rules for i in range(len(self.text) + 1)]
        facts.update(dict.fromkeys(places, none))
        changed = True
        while changed:
            changed = False
            for name, i in places:
                value = of(self.rules[name], i)
                if value != facts[name, i]:
                    facts[name, i] = value
                    changed = True

    def _ends(self, expression: Expression, i: int) -> Iterator[int]:
        match expression:
            case Literal(value=value):
                if self.text.startswith(value, i):
                    yield i + len(value)
            case Nonterminal(name=name):
                yield from self.ends[name, i]
            case Choice(options=options):
                for option in options:
                    yield from self._ends(option, i)
            case Sequence(items=items):
                yield from self._sequence_ends(items, {i})
            case Repetition(item=item, low=low, high=high):
                here, found = {i}, {i} if low == 0 else set()
                for count in range(1, (high or low + len(self.text) + 1) + 1):
                    here = self._sequence_ends((item,), here)
                    found |= here if count >= low else set()
                yield from found

    def _sequence_ends(self, items: Iterable[Expression], here: set[int]) -> set[int]:
        for item in items:
            here = {j for i in here for j in self._ends(item, i)}
        return here

    def _goes_on(self, expression: Expression, i: int) -> bool:
        """Whether some text of the expression begins with all that is left of the text."""
        if not self._is_productive(expression):
            return False
        match expression:
            case Literal(value=value):
                return value.startswith(self.text[i:])
            case Nonterminal(name=name):
                return self.goes_on[name, i]
            case Choice(options=options):
                return any(self._goes_on(option, i) for option in options)
            case Sequence(items=items):
                here = {i}
                for item in items:
                    if any(self._goes_on(item, j) for j in here):
                        return True
                    here = self._sequence_ends((item,), here)
                return len(self.text) in here
            case Repetition(item=item, low=low, high=high):
                copies = min(high or low + len(self.text) + 1, low + len(self.text) + 1)
                here = {i}
                for _ in range(copies):
                    if any(self._goes_on(item, j) for j in here):
                        return True
                    here = self._sequence_ends((item,), here)
                return len(self.text) in set(self._ends(expression, i))
            case _:
                raise TypeError(f"the oracle does not know {type(expression).__name__}")

    def _is_productive(self, expression: Expression) -> bool:
        match expression:
            case Nonterminal(name=name):
                return name in self.productive
            case Sequence(items=items):
                return all(map(self._is_productive, items))
            case Choice(options=options):
                return any(map(self._is_productive, options))
            case Repetition(item=item, low=low):
                return low == 0 or self._is_productive(item)
            case _:
                return True


def brute_mask(tree: GrammarTree, vocabulary: Vocabulary, text: bytes) -> set[int]:
    """The mask after a text by trying every token (all single bytes must be tokens)."""
    allowed = {
        i
        for i, token in enumerate(vocabulary.tokens)
        if token is not None and GrammarOracle(tree, text + token).is_prefix
    }
    if GrammarOracle(tree, text).accepts:
        allowed.update(vocabulary.ends)
    return allowed
