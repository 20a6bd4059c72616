"""``PermutationPhrase``: elements in any order, each at most once, as the properties of an object.

A rule of the elements a, b and c in any order needs 2³ states, one for each set of elements that
were written. Here the rule has one state between two elements, and the set is stored on the stack,
so it exists only once a text has written just these elements. The rule has *marks*
(``grammar_tree.Mark``), which read nothing: one at the opening bracket begins an empty set, one at
each element adds it, one at the closing bracket tests that all required ones were written::

    "{" BEGIN (("a" MARK(a) | "b" MARK(b)) ("," ("a" MARK(a) | "b" MARK(b)))*)? "}" END

A mark is free if the text can still be completed after it. The bytes before a mark are refused
where no mark that follows them is free, so no text leads to a dead end.

Source: Cameron 1993, "Extending context-free grammars with permutation phrases".
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.base.cached_property import cached_property
from workbench.base.limits import check_time_budget

#: The marks at the beginning and at the end of a phrase. Those of its elements have the numbers
#: from ``FIRST_ELEMENT`` on.
BEGIN, END, FIRST_ELEMENT = range(3)


class Element(NamedTuple):
    """One way to write an element.

    Conditions are bits: that a certain element was written, or that one of several was.
    """

    #: The conditions that it satisfies.
    satisfies: int
    #: It cannot be written once one of these is satisfied.
    excluded_by: int


class Written(NamedTuple):
    """What is written of a phrase until now."""

    #: The conditions that are satisfied.
    satisfied: int
    #: The number of elements, at most the largest number that makes a difference.
    elements: int


@dataclass(frozen=True, eq=False)
class PermutationPhrase:
    """Elements in any order; phrases are compared by identity.

    ``required`` are conditions that must hold at the end; there must be from ``low`` to ``high``
    elements.
    """

    elements: tuple[Element, ...]
    required: int = 0
    low: int = 0
    high: int | None = None
    #: The elements that can be written at all, as bits.
    available: int = -1

    @property
    def marks(self) -> int:
        """The number of marks."""
        return FIRST_ELEMENT + len(self.elements)

    @property
    def initial(self) -> Written:
        """Nothing is written."""
        return Written(0, 0)

    def restricted(self, elements: Set[int]) -> PermutationPhrase:
        """The phrase where only these elements, by number, can be written."""
        if len(elements) == len(self.elements):
            return self
        return replace(self, available=sum(1 << number for number in elements))

    @cached_property
    def is_possible(self) -> bool:
        """Whether the phrase has a text."""
        if not self._is_plain:
            return self._can_end(self.initial, {})
        fits = self.high is None or self.required.bit_count() <= self.high
        return fits and (self._repeats or self._all.bit_count() >= self.low)

    def after(self, written: Written, number: int) -> Written:
        """What is written after one more element, which must be free."""
        return Written(
            written.satisfied | self.elements[number].satisfies,
            min(written.elements + 1, self._max_counted),
        )

    @cached_property
    def _max_counted(self) -> int:
        return max(self.low, self.high or 0)

    def following(self, written: Written | None, mark: int) -> Written | None:
        """What is written after a mark, None if it is not free; before the phrase it is None."""
        if mark == BEGIN:
            return self.initial
        assert written is not None, "the phrase has begun"
        if not self.free(written) >> mark & 1:
            return None
        return written if mark == END else self.after(written, mark - FIRST_ELEMENT)

    def free(self, written: Written) -> int:
        """The marks that can follow, as bits, those of elements from ``FIRST_ELEMENT`` on."""
        satisfied, count = written
        marks = self._could_follow(satisfied) if self._is_below(count) else 0
        missing = self.required & ~satisfied
        if self._is_plain:
            if self.high is not None and self.high - count == missing.bit_count():
                marks &= self._satisfying(missing)
        else:
            decided: dict[Written, bool] = {}
            for number in _bits(marks):
                if not self._can_end(self.after(written, number), decided):
                    marks ^= 1 << number
        is_complete = not missing and count >= self.low
        return marks << FIRST_ELEMENT | is_complete << END

    def _is_below(self, count: int) -> bool:
        return self.high is None or count < self.high

    def _could_follow(self, satisfied: int) -> int:
        """The elements that are not excluded, as bits."""
        excluded = 0
        for condition in _bits(satisfied & self._excluding):
            excluded |= self._excluded_by[condition]
        return self._all & ~excluded

    @cached_property
    def _all(self) -> int:
        """All elements that can be written, as bits."""
        return ((1 << len(self.elements)) - 1) & self.available

    @cached_property
    def _excluding(self) -> int:
        """The conditions that exclude elements."""
        return sum(1 << condition for condition in self._excluded_by)

    @cached_property
    def _excluded_by(self) -> dict[int, int]:
        """For each condition the elements that it excludes, as bits."""
        excluded: dict[int, int] = {}
        for number, element in enumerate(self.elements):
            for condition in _bits(element.excluded_by):
                excluded[condition] = excluded.get(condition, 0) | 1 << number
        return excluded

    @cached_property
    def _is_plain(self) -> bool:
        """Whether each element has one condition at most, by which it excludes itself alone.

        Such are names that occur once, and names that may be repeated. Then the number of elements
        decides whether a phrase can be completed.
        """
        conditions = [self.elements[number] for number in _bits(self._all)]
        once = [element.satisfies for element in conditions if element.satisfies]
        return (
            all(each.excluded_by == each.satisfies for each in conditions)
            and all(condition.bit_count() == 1 for condition in once)
            and len({*once}) == len(once)
            and not self.required & ~sum(once)
        )

    @cached_property
    def _repeats(self) -> bool:
        """Whether an element may be written again and again."""
        return any(
            not self.elements[number].satisfies & self.elements[number].excluded_by
            for number in _bits(self._all)
        )

    def _satisfying(self, conditions: int) -> int:
        """The elements that satisfy one of some conditions, as bits."""
        elements = 0
        for condition in _bits(conditions):
            elements |= self._satisfied_by.get(condition, 0)
        return elements & self._all

    @cached_property
    def _satisfied_by(self) -> dict[int, int]:
        """For each condition the elements that satisfy it, as bits."""
        satisfied: dict[int, int] = {}
        for number, element in enumerate(self.elements):
            for condition in _bits(element.satisfies):
                satisfied[condition] = satisfied.get(condition, 0) | 1 << number
        return satisfied

    def _can_end(self, written: Written, decided: dict[Written, bool]) -> bool:
        """Whether further elements complete the phrase: a depth-first search.

        ``decided`` are answers of searches before; this one adds its own.

        Cost: exponential in the worst case.
        """
        waiting, seen = [written], set[Written]()
        while waiting:
            check_time_budget()
            satisfied, count = current = waiting.pop()
            missing = self.required & ~satisfied
            if decided.get(current, not missing and count >= self.low):
                decided[written] = True
                return True
            if current in seen or current in decided:
                continue
            seen.add(current)
            useful = self._useful(current, missing)
            useful.sort(key=lambda number: -self.elements[number].satisfies.bit_count())
            waiting += [self.after(current, number) for number in useful]
        decided |= dict.fromkeys(seen, False)
        return False

    def _useful(self, written: Written, missing: int) -> list[int]:
        """The elements with which the search continues; none if it cannot succeed."""
        satisfied, count = written
        if not self._is_below(count):
            return []
        could = self._could_follow(satisfied)
        if count < self.low:
            is_enough = self._repeats or count + could.bit_count() >= self.low
            return [*_bits(could)] if is_enough else []
        useful = [*_bits(could & self._satisfying(missing))]
        if self.high is not None:
            gains = ((self.elements[each].satisfies & missing).bit_count() for each in useful)
            if missing.bit_count() > (self.high - count) * max(gains, default=0):
                return []
        return useful


def _bits(number: int) -> Iterator[int]:
    """The positions of the ones of a number, in ascending order."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
