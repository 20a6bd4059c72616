"""Whether a set of JSON values is empty: in come sets and shapes, out comes yes, no, or unknown.

A value is made of smaller values, so a set is empty if it is under the assumption that the sets
which are being asked about right now are (the least fixed point). An answer that leans on such an
assumption is kept only by the set it is about. Only a yes has to be right: a no that is none
costs a rule without texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.base.errors import BuildError, LimitError
from workbench.schema.algebra.interface import SetAlgebra
from workbench.schema.algebra.set_operations import smaller_bound
from workbench.schema.normal_form import (
    Arrays,
    CircularReference,
    Contains,
    LazySet,
    NamedSets,
    Objects,
    Values,
    is_empty,
    item_of,
)

#: Sets one question may look into, and how deep inside each other: the walk is made of calls.
_MOST_STEPS = 300
_DEEPEST = 40


class Emptiness:
    """What is known about the emptiness of the sets of one algebra."""

    def __init__(self, algebra: SetAlgebra) -> None:
        self.algebra = algebra
        #: The sets that the question under way is about, each with how many were before it.
        self._open: dict[LazySet, int] = {}
        #: The least of those that the answer under way assumes to be empty.
        self._leaning = 0
        self._steps = 0

    def surely(self, asked: LazySet | Arrays | Objects) -> bool:
        """Whether a set or a shape is empty, whatever is being asked about meanwhile.

        Sets are made while others are asked about, and what they are must not hang on that:
        nothing is assumed here of the questions under way.
        """
        outer = self._open, self._leaning
        if not self._open:
            self._steps = 0
        self._open, self._leaning = {}, 0
        try:
            answer = self.of_later(asked) if isinstance(asked, LazySet) else self.of_shape(asked)
            if answer is None and self._steps > _MOST_STEPS and isinstance(asked, LazySet):
                asked.empty = False  # it is not worth asking again
        finally:
            self._open, self._leaning = outer
        return answer is True

    def of_later(self, later: LazySet) -> bool | None:
        """Whether a set is empty; None where that is not known."""
        if later.empty is not None:
            return later.empty
        level = self._open.get(later)
        if level is not None:
            self._leaning = min(self._leaning, level)
            return True
        level = len(self._open)
        self._steps += 1
        if level > _DEEPEST or self._steps > _MOST_STEPS:
            return None
        try:
            values = later.raw
        except (CircularReference, BuildError, LimitError):
            return None  # whoever writes the set out is told
        return self._of_values(later, values, level)

    def _of_values(self, later: LazySet, values: Values, level: int) -> bool | None:
        before, self._leaning = self._leaning, level + 1
        self._open[later] = level
        try:
            empty = self.of_values(values)
        finally:
            del self._open[later]
        leaning = self._leaning
        if empty is False or (empty is True and leaning >= level):
            later.empty = empty
            leaning = level + 1
        self._leaning = min(before, leaning)
        return empty

    def of_values(self, values: Values) -> bool | None:
        """Whether a normal form is empty; None where that is not known."""
        if values.null or values.booleans:
            return False
        if not values.texts.is_empty or not values.numbers.is_empty:
            return False
        if not is_empty(values.unsure):
            return None
        shapes: tuple[Arrays | Objects, ...] = (*values.objects, *values.arrays)
        return all_of(self.of_shape(shape) for shape in shapes)

    def of_shape(self, shape: Arrays | Objects) -> bool | None:
        """Whether a shape has no value; None where that is not known."""
        return self._objects(shape) if isinstance(shape, Objects) else self._arrays(shape)

    def _objects(self, shape: Objects) -> bool | None:
        if shape.high is not None and shape.high < max(shape.low, len(shape.required)):
            return True
        empty = any_of(self.of_later(shape.properties[name]) for name in shape.required)
        if empty is True or not (shape.some or shape.low > len(shape.required)):
            return empty
        room = self._room(shape)
        if room is not None and room < shape.low:
            return True
        if any_of(self._without(shape, pairs) for pairs in shape.some) is True:
            return True
        return empty if room is None and not shape.some else None

    def _room(self, shape: Objects) -> int | None:
        """The most properties an object of a shape can have, so far as is known; None: any."""
        count = sum(self.of_later(later) is not True for later in shape.properties.values())
        for names, later in shape.extras:
            if self.of_later(later) is not True:
                few = names.finite(shape.low)
                if few is None:
                    return None
                count += len(few)
        return count

    def _without(self, shape: Objects, pairs: NamedSets) -> bool | None:
        """Whether no property can have a name and a value of one of some pairs."""
        both, held = self.algebra.both, list[LazySet]()
        for names, later in pairs:
            declared = (own for name, own in shape.properties.items() if names.contains(name))
            others = (own for those, own in shape.extras if not is_empty(those & names))
            held += [both(own, later) for own in (*declared, *others)]
        return all_of(self.of_later(one) for one in held)

    def _arrays(self, shape: Arrays) -> bool | None:
        if shape.high is not None and shape.high < shape.low:
            return True
        if any(asked.high is not None and asked.high < asked.low for asked in shape.contains):
            return True
        places = min(shape.low, len(shape.prefix) + 1)
        empty = any_of(self.of_later(item_of(shape, index)) for index in range(places))
        if empty is True or not (shape.contains or (shape.unique and shape.low > 1)):
            return empty
        for asked in shape.contains:
            if self._count(shape, asked) < asked.low:
                return True
        return None

    def _count(self, shape: Arrays, asked: Contains) -> int:
        """No more items than this can be of a kind, so far as is known, up to what is asked."""
        high = self._length(shape)
        both, count = self.algebra.both, 0
        ends = len(shape.prefix) if high is None else min(high, len(shape.prefix))
        for index in range(asked.start, ends):
            count += self.of_later(both(shape.prefix[index], asked.values)) is not True
        if count < asked.low and self.of_later(both(shape.rest, asked.values)) is not True:
            first = max(asked.start, len(shape.prefix))
            count += asked.low if high is None else max(0, high - first)
        return count

    def _length(self, shape: Arrays) -> int | None:
        """The most items an array of a shape can have, so far as is known."""
        for index in range(len(shape.prefix) + 1):
            if self.of_later(item_of(shape, index)) is True:
                return smaller_bound(shape.high, index)
        return shape.high


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Yes if every answer is; no if one is no; else unknown."""
    sure = True
    for answer in answers:
        if answer is False:
            return False
        sure = sure and answer is True
    return True if sure else None


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """Yes if one answer is; no if every one is no; else unknown."""
    sure = True
    for answer in answers:
        if answer is True:
            return True
        sure = sure and answer is False
    return False if sure else None
