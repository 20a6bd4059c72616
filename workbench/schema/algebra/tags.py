"""Tags: in comes a shape of objects, out come the few values that its required names may have.

Options are mostly told apart by one property with a value each (``"kind": {"const": "cat"}``). Two
shapes whose tags of one name have no value in common have none themselves, which is seen at a
glance: 250 options are 31,125 pairs.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.errors import BuildError, LimitError
from workbench.schema.algebra.names import nobody
from workbench.schema.values import Arrays, Circular, Later, Objects

#: By name, a stand-in for each value it may have.
Tags = Mapping[str, frozenset[object]]

#: So many words of one name are a tag.
_MOST_WORDS = 64


def tags_of(shape: Objects | Arrays) -> Tags:
    """The tags of a shape; arrays have none."""
    if isinstance(shape, Arrays):
        return {}
    found = {name: _tag(shape.properties[name]) for name in shape.required}
    return {name: tag for name, tag in found.items() if tag is not None}


def apart(one: Tags, other: Tags) -> bool:
    """Whether shapes with these tags have no value in common."""
    return any(name in other and tag.isdisjoint(other[name]) for name, tag in one.items())


def _tag(later: Later) -> frozenset[object] | None:
    try:
        values = later.raw
    except (Circular, BuildError, LimitError):
        return None  # whoever writes the set out is told
    words = values.texts.words
    if words is None or len(words) > _MOST_WORDS or values.arrays or values.objects:
        return None
    if not nobody(values.unsure) or not values.numbers.is_empty:
        return None
    return frozenset((*words, *values.booleans, *((None,) if values.null else ())))
