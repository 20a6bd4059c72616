"""``PermutationPhrase``: elements in any order, each at most once, as the properties of an object.

An automaton that reads the elements a, b and c in any order needs 2³ states, one for each set of
elements already written. Here the rule has one state between two elements, and the set is stored on
the stack, so only sets that occur in a text are created. The rule has *marks*
(``grammar_tree.Mark``), which read nothing: the one at the opening bracket begins an empty set, the
one at each element adds that element, and the one at the closing bracket tests that all required
elements were written::

    "{" BEGIN (("a" MARK(a) | "b" MARK(b)) ("," ("a" MARK(a) | "b" MARK(b)))*)? "}" END

A mark is free if the text can still be completed after it. Bytes after which no mark is free are
refused, so no text leads to a dead end.

Source: Cameron 1993, "Extending context-free grammars with permutation phrases".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.base.cached_property import cached_property
from workbench.base.limits import check_time_budget

#: The numbers of marks: the beginning of a phrase, its end, and from ``FIRST_ELEMENT`` on its
#: elements in order.
BEGIN, END, FIRST_ELEMENT = range(3)


class Element(NamedTuple):
    """One way to write an element.

    A condition says that a certain element was written, or that one of several was. Sets of
    conditions are bits of an int.
    """

    #: The conditions that writing it satisfies.
    satisfies: int
    #: The conditions each of which excludes it once satisfied.
    excluded_by: int


class Written(NamedTuple):
    """What a text has written of a phrase."""

    #: The conditions that are satisfied, as bits.
    satisfied: int
    #: The number of elements written; counting stops where more make no difference.
    elements: int


@dataclass(frozen=True, eq=False)
class PermutationPhrase:
    """Elements in any order; phrases are compared by identity.

    A text writes from ``low`` to ``high`` elements; None is no upper limit.
    """

    elements: tuple[Element, ...]
    #: The conditions that must hold at the end, as bits.
    required: int = 0
    low: int = 0
    high: int | None = None
    #: The elements that can be written, as bits; −1 are all.
    available: int = -1

    @property
    def marks(self) -> int:
        """The number of marks."""
        return FIRST_ELEMENT + len(self.elements)

    @property
    def initial(self) -> Written:
        """Nothing is written."""
        return Written(0, 0)

    def restricted(self, marks: Iterable[int]) -> PermutationPhrase:
        """The phrase where only the elements of these marks, by number, can be written."""
        elements = {number - FIRST_ELEMENT for number in marks if number >= FIRST_ELEMENT}
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
        """The number of elements where counting stops."""
        return max(self.low, self.high or 0)

    def following(self, written: Written | None, mark: int) -> Written | None:
        """What is written after a mark; None if the mark is not free.

        ``written`` is None before the phrase, where only ``BEGIN`` can follow.
        """
        if mark == BEGIN:
            return self.initial
        assert written is not None, "the phrase has begun"
        if not self.free(written) >> mark & 1:
            return None
        return written if mark == END else self.after(written, mark - FIRST_ELEMENT)

    def free(self, written: Written) -> int:
        """The marks that are free next, as bits."""
        satisfied, count = written
        elements = self._not_excluded(written)
        if self._is_plain:
            missing = self.required & ~satisfied
            if self.high is not None and self.high - count == missing.bit_count():
                elements &= self._satisfying(missing)
        else:
            decided: dict[Written, bool] = {}
            for number in _bits(elements):
                if not self._can_end(self.after(written, number), decided):
                    elements ^= 1 << number
        return elements << FIRST_ELEMENT | self._is_complete(written) << END

    def _is_complete(self, written: Written) -> bool:
        """Whether the phrase may end here."""
        return not self.required & ~written.satisfied and written.elements >= self.low

    def _not_excluded(self, written: Written) -> int:
        """The elements that neither conditions nor ``high`` exclude, as bits."""
        satisfied, count = written
        if self.high is not None and count >= self.high:
            return 0
        excluded = 0
        for condition in _bits(satisfied & self._excluding):
            excluded |= self._excluded_by[condition]
        return self._all & ~excluded

    @cached_property
    def _all(self) -> int:
        """The available elements, as bits; unlike ``available`` never negative."""
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
        """Whether each element has at most one condition, which excludes that element alone.

        This holds for names that occur at most once and for names that may be repeated. Then the
        number of elements decides whether a phrase can be completed.
        """
        elements = [self.elements[number] for number in _bits(self._all)]
        conditions = [element.satisfies for element in elements if element.satisfies]
        return (
            all(element.excluded_by == element.satisfies for element in elements)
            and all(condition.bit_count() == 1 for condition in conditions)
            and len({*conditions}) == len(conditions)
            and not self.required & ~sum(conditions)
        )

    @cached_property
    def _repeats(self) -> bool:
        """Whether an element may be repeated: it does not exclude itself."""
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

        ``decided`` has the answers of earlier searches; this one adds its own.

        Cost: exponential in the worst case.
        """
        stack, seen = [written], set[Written]()
        while stack:
            check_time_budget()
            current = stack.pop()
            if self._is_complete(current) or decided.get(current):
                decided[written] = True
                return True
            if current in seen or current in decided:
                continue
            seen.add(current)
            useful = self._useful(current)
            useful.sort(key=lambda number: -self.elements[number].satisfies.bit_count())
            stack += [self.after(current, number) for number in useful]
        decided |= dict.fromkeys(seen, False)
        return False

    def _useful(self, written: Written) -> list[int]:
        """The elements with which the search continues; none if it cannot succeed."""
        satisfied, count = written
        elements = self._not_excluded(written)
        if count < self.low:
            is_enough = self._repeats or count + elements.bit_count() >= self.low
            return [*_bits(elements)] if is_enough else []
        missing = self.required & ~satisfied
        useful = [*_bits(elements & self._satisfying(missing))]
        if self.high is not None:
            # later elements satisfy no more of the missing conditions than the best one does now
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
