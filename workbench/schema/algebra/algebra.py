"""The algebra of sets of JSON values: in come subschemas, out come their conjunctions and the like.

Every set is a ``Later`` with a key: the literals of a conjunction, an atom's number where the atom
is asked for and its negative where its complement is. Same key, same object. What shapes hold
below themselves are such conjunctions again, and of finitely many atoms there are finitely many,
which is why a schema that refers to itself ends.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.limits import LIMITS, Limits
from workbench.schema.algebra.complement import complement
from workbench.schema.algebra.conjunction import join, meet
from workbench.schema.algebra.constants import constant
from workbench.schema.algebra.emptiness import Emptiness
from workbench.schema.algebra.settling import settled
from workbench.schema.algebra.subschemas import Subschemas
from workbench.schema.dialect import UNNAMED, dialect_of
from workbench.schema.numbers.numbers import Numbers
from workbench.schema.reading import Document, Node
from workbench.schema.refusals import SchemaNote, Untold, blamed, note, unsupported
from workbench.schema.resolve import References
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Arrays, Circular, Json, Later, Objects, Values, canonical

#: Keywords that part values into cases, or leave out those of a subschema.
_PARTING = ("oneOf", "not", "if", "anyOf", "dependentRequired", "allOf", "format", "$ref")
#: The atom without a value; the empty key has them all.
_NOTHING = 1


class Algebra:
    """The sets of one document, each made once.

    Raises: BuildError of kind ``unsupported_schema`` for what cannot be honoured, with the
            keyword's place and JSON pointer; ParseError of kind ``schema`` for what is no schema.
    """

    def __init__(self, document: Document, limits: Limits = LIMITS) -> None:
        self.document = document
        self.limits = limits
        self.clock = limits.clock()
        self._told: dict[Node, SchemaNote] = {}
        self._known: dict[frozenset[int], Later] = {}
        self._opposites: dict[frozenset[int], Later] = {}
        self._unions: dict[frozenset[frozenset[int]], Later] = {}
        self._constants: dict[object, Later] = {}
        self._atoms = _NOTHING
        root = document.root
        #: No JSON value, and all of them.
        self.nothing = self._later(frozenset((_NOTHING,)), root, lambda _: self.no_values)
        self.anything = self._later(frozenset(), root, lambda _: self.all_values)
        self.nothing.empty, self.anything.empty = True, False
        self.any_array = Arrays((), self.anything)
        self.any_object = Objects({}, frozenset(), ((Texts.everything(), self.anything),))
        self.no_values = Values(False, frozenset(), Numbers.nothing(), Texts.nothing(), (), ())
        self.all_values = Values(
            True,
            frozenset((False, True)),
            Numbers.everything(),
            Texts.everything(),
            (self.any_array,),
            (self.any_object,),
        )
        self.emptiness = Emptiness(self)
        dialect = dialect_of(root)
        if dialect is UNNAMED and root.members and "$schema" in root.members:
            message = "unknown $schema; keywords of all supported drafts are applied"
            self.tell(root.members["$schema"], message)
        self.subschemas = Subschemas(self, dialect, References(document, dialect))

    @property
    def root(self) -> Later:
        """The instances of the whole schema."""
        return self.subschemas.of(self.document.root)

    @property
    def notes(self) -> list[SchemaNote]:
        """What is no error and should be known, in the order it was met."""
        return list(self._told.values())

    def tell(self, keyword: Node, message: str) -> None:
        """Note something about a keyword, once."""
        if keyword not in self._told:
            self._told[keyword] = note(keyword, message)

    def atom(self, node: Node, make: Callable[[], Values]) -> Later:
        """A new set, made by a call when it is first asked for."""
        self._atoms += 1
        return self._later(frozenset((self._atoms,)), node, lambda _: make())

    def both(self, left: Later, right: Later) -> Later:
        """The values in both sets."""
        if left is right or not right.key:
            return left
        if not left.key:
            return right
        key = left.key | right.key
        known = self._known.get(key)
        if known is not None:
            return known
        if _NOTHING in key or any(-literal in left.key for literal in right.key):
            return self.nothing
        return self._later(key, left.node, lambda _: meet(self, left.raw, right.raw))

    def complement(self, later: Later) -> Later:
        """The values that are not in a set."""
        if not later.key:
            return self.nothing
        if later is self.nothing:
            return self.anything
        known = self._opposites.get(later.key)
        if known is None:
            if len(later.key) == 1:
                key = frozenset(-literal for literal in later.key)
            else:
                self._atoms += 1
                key = frozenset((self._atoms,))
            known = self._later(key, later.node, lambda _: complement(self, later.raw))
            self._opposites[later.key] = known
            self._opposites[known.key] = later
        return known

    def either(self, left: Later, right: Later) -> Later:
        """The values in one of two sets, or in both."""
        if left is right or right is self.nothing or not left.key:
            return left
        if left is self.nothing or not right.key:
            return right
        key = frozenset((left.key, right.key))
        known = self._unions.get(key)
        if known is None:
            known = self.atom(left.node, lambda: join(self, [left.raw, right.raw]))
            self._unions[key] = known
        return known

    def constant(self, value: Json, node: Node) -> Later:
        """The set of one value."""
        key = canonical(value)
        known = self._constants.get(key)
        if known is None:
            known = self.atom(node, lambda: constant(self, value, node))
            self._constants[key] = known
        return known

    def is_empty(self, later: Later) -> bool:
        """Whether a set surely has no value; it may have none where this says no."""
        return self.emptiness.surely(later)

    def _later(self, key: frozenset[int], node: Node, make: Callable[[Later], Values]) -> Later:
        later = Later(key, node, lambda later: self._made(later, make), self._settled)
        return self._known.setdefault(key, later)

    def _made(self, later: Later, make: Callable[[Later], Values]) -> Values:
        self.clock.check()
        try:
            return make(later)
        except Untold as error:
            raise unsupported(blamed(later.node, _PARTING), str(error)) from None
        except RecursionError:
            raise unsupported(later.node, "it is nested too deep to compare") from None
        except Circular as error:
            if error.later is not later:
                raise
            why = "it makes a schema directly a part of itself"
            raise unsupported(error.keyword or later.node, why) from None

    def _settled(self, values: Values) -> Values:
        return settled(self, values)
