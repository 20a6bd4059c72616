"""GCD's recogniser: an incremental chart parser, which reads every context-free grammar.

Grammar-constrained decoding (Geng et al. 2023) uses the incremental parser of the Grammatical
Framework, a chart parser; the chart here is Earley's (1970), over characters. Left recursion and
ambiguity cost no more than other rules.

A column of the chart is shared by all positions at which the same items are read. So repetitions,
such as the characters of a string or the elements of a left-recursive list, make no new columns,
and their states are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.base.limits import Limits
from workbench.constraint.methods.grammar_recognisers import (
    EMPTY,
    Call,
    Elements,
    Read,
    Stack,
    Stacks,
)
from workbench.constraint.methods.recogniser import CharacterRecogniser, Range
from workbench.grammar.grammar import Grammar
from workbench.syntax.ranges import intersection

#: The number of a column.
Column = int

#: An Earley item: a rule, the stack of elements still to be read, and the column it began in.
Item = tuple[int, Stack, Column]

#: The rule of the whole text.
_TEXT = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """The items at one position of a text."""

    #: The items that read a character next.
    scannable: list[Item] = field(default_factory=list)
    #: By called rule: the items that continue after it, without the call.
    callers: dict[int, list[Item]] = field(default_factory=dict)


class ChartRecogniser(CharacterRecogniser[tuple[frozenset[Item], bool]]):
    """An Earley chart that grows character by character.

    The state after a text is the items that read a character next, and whether the text is
    accepted.

    Raises: WorkbenchError for terminals that are not plain characters; LimitError past
            ``limits.configurations`` items in a column, or ``limits.states`` columns.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        self._stacks = Stacks(self._elements, limits)
        self._columns: list[_Column] = []
        self._cache: dict[frozenset[Item], tuple[frozenset[Item], bool]] = {}
        begin = self._stacks.pushed(self._elements.start, EMPTY)
        self.initial = self._column_of(frozenset({(_TEXT, begin, 0)})), b""

    def accepts(self, progress: tuple[frozenset[Item], bool]) -> bool:
        return progress[1]

    def may_read(
        self, progress: tuple[frozenset[Item], bool], characters: Range
    ) -> tuple[frozenset[Item], bool] | None:
        items = frozenset(item for item in progress[0] if self._reads(item, characters))
        return (items, False) if items else None

    def read(self, progress: tuple[frozenset[Item], bool]) -> tuple[frozenset[Item], bool]:
        return self._column_of(
            frozenset((rule, self._stacks.top(rest)[1], begun) for rule, rest, begun in progress[0])
        )

    def _reads(self, item: Item, characters: Range) -> bool:
        top, _ = self._stacks.top(item[1])
        assert isinstance(top, Read), "items of a state read next"
        return bool(intersection(top.ranges, (characters,)))

    def _column_of(self, read: frozenset[Item]) -> tuple[frozenset[Item], bool]:
        """The state of the column whose kernel items are ``read``."""
        cached = self._cache.get(read)
        if cached is None:
            self.limits.check("states", len(self._columns), "the text is too long for a chart")
            cached = self._cache[read] = self._complete(read)
        return cached

    def _complete(self, read: frozenset[Item]) -> tuple[frozenset[Item], bool]:
        """Earley's predictor and completer, to a fixed point."""
        column, number = _Column(), len(self._columns)
        self._columns.append(column)
        seen, queue = set(read), list(read)
        finished: set[int] = set()  # rules that derive the empty text here
        accepts = False
        while queue:
            item = queue.pop()
            if item[1] == EMPTY:
                accepts |= item[0] == _TEXT
                if item[2] == number:
                    finished.add(item[0])
                new_items = set(self._columns[item[2]].callers.get(item[0], ()))
            else:
                new_items = self._predict(item, column, number, finished)
            queue.extend(new_items - seen)
            seen |= new_items
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(column.scannable), accepts

    def _predict(
        self, item: Item, column: _Column, number: Column, finished: set[int]
    ) -> set[Item]:
        """The items that an unfinished item predicts."""
        rule, rest, begun = item
        match self._stacks.top(rest):
            case Read(), _:
                column.scannable.append(item)
                return set()
            case Call(rule=called), below:
                after = rule, below, begun
                column.callers.setdefault(called, []).append(after)
                begin = called, self._stacks.pushed(self._elements.rules[called], EMPTY), number
                # a rule that is already finished here does not complete later callers by itself
                return {begin, after} if called in finished else {begin}
            case _:
                return {(rule, apart, begun) for apart in self._stacks.expansions(rest)}
