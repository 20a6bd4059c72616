"""The operations on sets of JSON values that the modules of this package call on each other.

A set refers to other sets, so each operation needs the whole algebra. ``Algebra`` and
``Subschemas`` implement these protocols; the other modules import only the protocols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from workbench.base.diagnostics import NOTHING_MEANT, Meant
from workbench.base.limits import Clock, Limits
from workbench.schema.normal_form import Arrays, LazySet, Objects, Values
from workbench.schema.references import Anchors, Dialect, References
from workbench.schema.schema_options import SchemaOptions
from workbench.schema.schema_reader import Effect, Json, Node


class SetAlgebra(Protocol):
    """The sets of one document; equal sets are the same object."""

    limits: Limits
    clock: Clock
    options: SchemaOptions
    #: The empty set and the set of all JSON values, as sets and as normal forms.
    nothing: LazySet
    anything: LazySet
    no_values: Values
    all_values: Values
    any_array: Arrays
    any_object: Objects

    def add_note(
        self,
        keyword: Node,
        message: str,
        meant: Meant = NOTHING_MEANT,
        *,
        at_value: bool = False,
        effect: Effect = Effect.WITHOUT_EFFECT,
    ) -> None:
        """Record a note (see ``schema_reader.note``); only the first one of a keyword is kept."""
        ...

    def atom(self, node: Node, make: Callable[[], Values]) -> LazySet:
        """A new set, computed on first use."""
        ...

    def intersection(self, left: LazySet, right: LazySet) -> LazySet:
        """The values in both sets."""
        ...

    def union(self, left: LazySet, right: LazySet) -> LazySet:
        """The values in at least one of two sets."""
        ...

    def complement(self, lazy: LazySet) -> LazySet:
        """The values that are not in a set."""
        ...

    def constant(self, value: Json, node: Node) -> LazySet:
        """The set of one value."""
        ...

    def is_empty(self, asked: LazySet | Arrays | Objects) -> bool:
        """Whether a set or a shape is known to be empty."""
        ...


class SubschemaSets(Protocol):
    """The subschemas of a document as sets, in one dynamic scope."""

    dialect: Dialect
    references: References
    #: The dynamic anchors to which a dynamic reference refers here.
    scope: Anchors
    #: The supported keywords of the dialect that restrict instances.
    keywords: frozenset[str]

    #: Whether objects have only the members that are named.
    closes: bool
    #: Whether a schema, or a part of it, names members; of those that were asked (``closing``).
    naming: dict[Node, bool]

    @property
    def algebra(self) -> SetAlgebra:
        """The algebra of these sets."""
        ...

    @property
    def open(self) -> SubschemaSets:
        """The same subschemas, none of which is closed because it names some members."""
        ...

    def of(self, node: Node, tracked: bool = False) -> LazySet:
        """The set of a subschema; if ``tracked``, its shapes record what they have evaluated."""
        ...
