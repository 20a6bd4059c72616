"""GCD's recogniser: an incremental chart parser, which reads every context-free grammar.

In comes a grammar, out comes a recogniser. Grammar-constrained decoding (Geng et al. 2023) asks the
incremental parser of the Grammatical Framework, a chart parser; the chart here is Earley's (1970)
over characters. Left recursion and ambiguity cost it no more than other rules.

A column of the chart is found again where the same items are read into it. So what repeats itself,
as the characters of a string or the items of a left-recursive list, makes no new columns, and
states come back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.base.limits import Limits
from workbench.constraint.methods.llama_stacks import EMPTY, Call, Elements, Read, Stack, Stacks
from workbench.constraint.methods.recogniser import ByCharacters, Range
from workbench.grammar.grammar import Grammar
from workbench.syntax.ranges import intersection

#: The number of a column.
Column = int

#: A rule, what of it is still to be read, and the column it began in.
Item = tuple[int, Stack, Column]

#: The rule of the whole text.
_TEXT = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One place in a text."""

    #: The items that read a character next.
    reading: list[Item] = field(default_factory=list)
    #: By rule the items that go on when it is finished, the call taken off.
    waiting: dict[int, list[Item]] = field(default_factory=dict)


class ChartRecogniser(ByCharacters[tuple[frozenset[Item], bool]]):
    """A chart that is grown character by character.

    A state holds the items that read next, and whether the text may end.

    Raises: WorkbenchError for terminals that are no plain characters; LimitError past
            ``limits.configurations`` items in a column, or ``limits.states`` columns.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        self._stacks = Stacks(self._elements, limits)
        self._columns: list[_Column] = []
        self._known: dict[frozenset[Item], tuple[frozenset[Item], bool]] = {}
        begin = self._stacks.pushed(self._elements.start, EMPTY)
        self.initial = self._column(frozenset({(_TEXT, begin, 0)})), b""

    def ends(self, whole: tuple[frozenset[Item], bool]) -> bool:
        return whole[1]

    def may_read(
        self, whole: tuple[frozenset[Item], bool], characters: Range
    ) -> tuple[frozenset[Item], bool] | None:
        items = frozenset(item for item in whole[0] if self._reads(item, characters))
        return (items, False) if items else None

    def read(self, whole: tuple[frozenset[Item], bool]) -> tuple[frozenset[Item], bool]:
        return self._column(
            frozenset((rule, self._stacks.top(rest)[1], begun) for rule, rest, begun in whole[0])
        )

    def _reads(self, item: Item, characters: Range) -> bool:
        top, _ = self._stacks.top(item[1])
        assert isinstance(top, Read), "items of a state read next"
        return bool(intersection(top.ranges, (characters,)))

    def _column(self, read: frozenset[Item]) -> tuple[frozenset[Item], bool]:
        """The column that some items are read into."""
        known = self._known.get(read)
        if known is None:
            self.limits.check("states", len(self._columns), "the text is too long for a chart")
            known = self._known[read] = self._completed(read)
        return known

    def _completed(self, read: frozenset[Item]) -> tuple[frozenset[Item], bool]:
        """Earley's predictor and completer, until nothing new follows."""
        column, here = _Column(), len(self._columns)
        self._columns.append(column)
        seen, waiting = set(read), list(read)
        finished: set[int] = set()  # rules that read nothing here
        ends = False
        while waiting:
            item = waiting.pop()
            if item[1] == EMPTY:
                ends |= item[0] == _TEXT
                if item[2] == here:
                    finished.add(item[0])
                further = set(self._columns[item[2]].waiting.get(item[0], ()))
            else:
                further = self._predicted(item, column, here, finished)
            waiting.extend(further - seen)
            seen |= further
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(column.reading), ends

    def _predicted(
        self, item: Item, column: _Column, here: Column, finished: set[int]
    ) -> set[Item]:
        """What an item asks for that is not finished."""
        rule, rest, begun = item
        match self._stacks.top(rest):
            case Read(), _:
                column.reading.append(item)
                return set()
            case Call(rule=called), below:
                after = rule, below, begun
                column.waiting.setdefault(called, []).append(after)
                begin = called, self._stacks.pushed(self._elements.rules[called], EMPTY), here
                # a rule that has read nothing already does not tell those that call it later
                return {begin, after} if called in finished else {begin}
            case _:
                return {(rule, apart, begun) for apart in self._stacks.taken_apart(rest)}
