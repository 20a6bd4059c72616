"""Emptiness test of sets of JSON values: True, False, or None for unknown.

Values are finite trees, so this is a least fixed point: a set is empty if it is empty under the
assumption that the sets on the current recursion path are. A result that depends on such an
assumption is cached only for the set that was assumed. Only True has to be correct; a wrong False
costs a rule without texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.base.errors import BuildError, LimitError
from workbench.schema.algebra.set_operations import smaller_bound
from workbench.schema.normal_form import (
    Arrays,
    CircularReference,
    Contains,
    LazySet,
    NamedSets,
    Objects,
    Values,
    item_of,
)
from workbench.schema.set_protocols import SetAlgebra

#: The sets visited and the recursion depth of one query; past them the result is unknown.
_MAX_STEPS = 300
_MAX_DEPTH = 40


class Emptiness:
    """The emptiness test of the sets of one algebra, with its recursion state."""

    def __init__(self, algebra: SetAlgebra) -> None:
        self.algebra = algebra
        #: The sets on the current recursion path, assumed to be empty, each with its depth.
        self._assumed: dict[LazySet, int] = {}
        #: The smallest depth of an assumption that the current result depends on.
        self._lowest_assumed = 0
        self._steps = 0
        #: Whether the query has left out a set: its other answers are not cached then.
        self._left_out = False
        #: The answers about shapes.
        self._known: dict[Arrays | Objects, bool] = {}

    def is_surely_empty(self, condition: LazySet | Arrays | Objects) -> bool:
        """Whether a set or a shape is known to be empty.

        A set may be computed during a query about another one, and its value must not depend on
        that query: this call starts without the assumptions of the queries in progress.
        """
        if not isinstance(condition, LazySet) and condition in self._known:
            return self._known[condition]
        outer = self._assumed, self._lowest_assumed, self._left_out
        if not self._assumed:
            self._steps = 0
        self._assumed, self._lowest_assumed, self._left_out = {}, 0, False
        try:
            if isinstance(condition, LazySet):
                empty = self.of_set(condition) is True
                if not empty and self._steps > _MAX_STEPS:
                    condition.empty = False  # do not repeat a query that found nothing
            else:
                empty = self.of_shape(condition) is True
                if empty or not self._left_out:
                    self._known[condition] = empty
        finally:
            self._assumed, self._lowest_assumed, self._left_out = outer
        return empty

    def of_set(self, lazy: LazySet) -> bool | None:
        """Whether a set is empty; None where that is not known."""
        if lazy.empty is not None:
            return lazy.empty
        level = self._assumed.get(lazy)
        if level is not None:
            self._lowest_assumed = min(self._lowest_assumed, level)
            return True
        level = len(self._assumed)
        self._steps += 1
        if level > _MAX_DEPTH or self._steps > _MAX_STEPS:
            self._left_out = True
            return None
        try:
            values = lazy.raw
        except (CircularReference, BuildError, LimitError):
            self._left_out = True
            return None  # the error is reported when the set is written as rules
        return self._of_values(lazy, values, level)

    def _of_values(self, lazy: LazySet, values: Values, level: int) -> bool | None:
        before, self._lowest_assumed = self._lowest_assumed, level + 1
        self._assumed[lazy] = level
        try:
            empty = self.of_values(values)
        finally:
            del self._assumed[lazy]
        leaning = self._lowest_assumed
        if empty is None and leaning >= level and not self._left_out:
            empty = False  # not known to be empty: another query would find no more
        if empty is False or (empty is True and leaning >= level):
            lazy.empty = empty
            leaning = level + 1
        self._lowest_assumed = min(before, leaning)
        return empty

    def of_values(self, values: Values) -> bool | None:
        """Whether a normal form is empty; None where that is not known."""
        if values.null or values.booleans:
            return False
        if not values.texts.is_empty or not values.numbers.is_empty:
            return False
        if not values.undecided.is_empty:
            return None
        shapes: tuple[Arrays | Objects, ...] = (*values.objects, *values.arrays)
        return all_of(self.of_shape(shape) for shape in shapes)

    def of_shape(self, shape: Arrays | Objects) -> bool | None:
        """Whether a shape has no value; None where that is not known."""
        return self._objects(shape) if isinstance(shape, Objects) else self._arrays(shape)

    def _objects(self, shape: Objects) -> bool | None:
        if shape.high is not None and shape.high < max(shape.low, len(shape.required)):
            return True
        empty = any_of(self.of_set(shape.properties[name]) for name in shape.required)
        if empty is True or not (shape.some or shape.low > len(shape.required)):
            return empty
        room = self._room(shape)
        if room is not None and room < shape.low:
            return True
        if any_of(self._without(shape, pairs) for pairs in shape.some) is True:
            return True
        return empty if room is None and not shape.some else None

    def _room(self, shape: Objects) -> int | None:
        """An upper bound on the number of properties; None if it is above ``shape.low``."""
        count = sum(self.of_set(lazy) is not True for lazy in shape.properties.values())
        for names, lazy in shape.extras:
            if self.of_set(lazy) is not True:
                few = names.finite(shape.low)
                if few is None:
                    return None
                count += len(few)
        return count

    def _without(self, shape: Objects, pairs: NamedSets) -> bool | None:
        """Whether no property can match one of the (names, values) pairs; None if unknown."""
        intersection, held = self.algebra.intersection, list[LazySet]()
        for names, lazy in pairs:
            declared = (values for name, values in shape.properties.items() if names.contains(name))
            others = (values for those, values in shape.extras if not (those & names).is_empty)
            held += [intersection(values, lazy) for values in (*declared, *others)]
        return all_of(self.of_set(part) for part in held)

    def _arrays(self, shape: Arrays) -> bool | None:
        if shape.high is not None and shape.high < shape.low:
            return True
        if any(
            condition.high is not None and condition.high < condition.low
            for condition in shape.contains
        ):
            return True
        places = min(shape.low, len(shape.prefix) + 1)
        empty = any_of(self.of_set(item_of(shape, index)) for index in range(places))
        if empty is True or not (shape.contains or (shape.unique and shape.low > 1)):
            return empty
        for condition in shape.contains:
            if self._count(shape, condition) < condition.low:
                return True
        return None

    def _count(self, shape: Arrays, condition: Contains) -> int:
        """An upper bound on the items of the condition's kind, exact below ``condition.low``."""
        high = self._length(shape)
        intersection, count = self.algebra.intersection, 0
        ends = len(shape.prefix) if high is None else min(high, len(shape.prefix))
        for index in range(condition.start, ends):
            count += self.of_set(intersection(shape.prefix[index], condition.values)) is not True
        if (
            count < condition.low
            and self.of_set(intersection(shape.rest, condition.values)) is not True
        ):
            first = max(condition.start, len(shape.prefix))
            count += condition.low if high is None else max(0, high - first)
        return count

    def _length(self, shape: Arrays) -> int | None:
        """An upper bound on the number of items; None for no bound."""
        for index in range(len(shape.prefix) + 1):
            if self.of_set(item_of(shape, index)) is True:
                return smaller_bound(shape.high, index)
        return shape.high


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued conjunction: None is unknown."""
    return _decide(answers, decisive=False)


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued disjunction: None is unknown."""
    return _decide(answers, decisive=True)


def _decide(answers: Iterable[bool | None], *, decisive: bool) -> bool | None:
    all_known = True
    for answer in answers:
        if answer is decisive:
            return decisive
        all_known = all_known and answer is not None
    return not decisive if all_known else None
