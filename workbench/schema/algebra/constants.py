"""Values written out in a schema: in comes one JSON value, out comes the set of it alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.schema.numbers.numbers import Numbers
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Arrays, Json, Objects, Values

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra
    from workbench.schema.reading import Node

#: So few names of so few objects that are written out are read in any order: no schema declares
#: one. Each name more doubles the rules.
_ANY_ORDER = 4


def constant(algebra: Algebra, value: Json, node: Node) -> Values:
    """The set of one value."""
    return constants(algebra, [value], node)


def constants(algebra: Algebra, values: Sequence[Json], node: Node) -> Values:
    """The set of the values of ``enum`` or ``const``; ``node`` is where they stand."""
    texts = [value for value in values if isinstance(value, str)]
    booleans = [value for value in values if isinstance(value, bool)]
    numbers = [
        value
        for value in values
        if value is not None and not isinstance(value, (bool, str, list, dict))
    ]
    objects = [value for value in values if isinstance(value, dict)]
    return Values(
        None in values,
        frozenset(booleans),
        Numbers.of(numbers) if numbers else algebra.no_values.numbers,
        Texts.of(texts) if texts else algebra.no_values.texts,
        tuple(_array(algebra, value, node) for value in values if isinstance(value, list)),
        tuple(_object(algebra, value, node, len(objects)) for value in objects),
    )


def _array(algebra: Algebra, items: list[Json], node: Node) -> Arrays:
    prefix = tuple(algebra.constant(item, node) for item in items)
    return Arrays(prefix, algebra.nothing, len(items), len(items))


def _object(algebra: Algebra, members: dict[str, Json], node: Node, beside: int) -> Objects:
    """The object alone; ``beside``: of so many."""
    properties = {name: algebra.constant(value, node) for name, value in members.items()}
    names = frozenset(properties)
    loose = names if max(len(names), beside) <= _ANY_ORDER else frozenset()
    return Objects(properties, names, (), loose=loose)
