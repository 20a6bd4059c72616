"""Subschemas as sets of JSON values.

``keywords`` computes the set of the keywords for one type. Keywords that combine subschemas
(``allOf`` and others, in ``combining``) are combined with it in the order of the text, which is
the order in which names are declared.

Every set is a ``LazySet`` with a key, the literals of a conjunction: the number of an atom, or its
negative for the complement. Equal keys are the same object. The sets inside a shape are again such
conjunctions, and there are finitely many of them over finitely many atoms, so a schema that refers
to itself terminates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from workbench.base.diagnostics import NOTHING_MEANT, VERY_SIMILAR, Meant, suggestion
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import replaced
from workbench.schema.algebra.closing import is_closed_around
from workbench.schema.algebra.combining import (
    COMBINING,
    UNEVALUATED,
    constant,
    restrict_unevaluated,
)
from workbench.schema.algebra.emptiness import Emptiness
from workbench.schema.algebra.keywords import (
    ARRAY_WORDS,
    NUMBER_WORDS,
    OBJECT_WORDS,
    TEXT_WORDS,
    arrays_of,
    numbers_of,
    objects_of,
    texts_of,
)
from workbench.schema.algebra.set_operations import complement, join, meet
from workbench.schema.algebra.simplify import in_text_order, simplified
from workbench.schema.normal_form import (
    Arrays,
    CircularReference,
    LazySet,
    Objects,
    Values,
    canonical,
)
from workbench.schema.numbers import NumberSet
from workbench.schema.references import ANNOTATIONS, UNNAMED, Anchors, Dialect, References
from workbench.schema.schema_options import OPTIONS, SchemaOptions
from workbench.schema.schema_reader import (
    Document,
    Effect,
    Json,
    Node,
    SchemaNote,
    UncomputableSet,
    at_keyword,
    first_keyword,
    invalid,
    note,
    unsupported,
)
from workbench.schema.set_protocols import SetAlgebra
from workbench.schema.string_sets import StringSet

#: References whose targets depend on the dynamic scope.
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))
_TYPED = {name: frozenset((name,)) for name in _TYPES}
_BOTH = frozenset((False, True))
_NEITHER: frozenset[bool] = frozenset()
#: The supported keywords, of all drafts.
_SUPPORTED = (
    frozenset(("type", "nullable"))
    | NUMBER_WORDS
    | TEXT_WORDS
    | ARRAY_WORDS
    | OBJECT_WORDS
    | UNEVALUATED
    | COMBINING.keys()
    | {"then", "else"}
)


@lru_cache(maxsize=64)
def _words_of(dialect: Dialect) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The supported keywords of a dialect, these and the annotations, and those that combine."""
    keywords = dialect.keywords & _SUPPORTED
    return keywords, keywords | ANNOTATIONS, keywords & COMBINING.keys()


class Subschemas:
    """The subschemas of a document as sets, in one dialect and one dynamic scope.

    The dynamic scope is what a schema that refers to a subschema determines: the schema to which
    each dynamic anchor refers. There are finitely many, so recursive schemas terminate.
    """

    def __init__(
        self,
        algebra: SetAlgebra,
        references: References,
        dialect: Dialect,
        scope: Anchors,
        family: dict[object, Subschemas],
        *,
        closes: bool,
    ) -> None:
        self.algebra = algebra
        #: Whether objects have only the members that are named.
        self.closes = closes
        self.naming: dict[Node, bool] = {}
        self.dialect = dialect
        self.references = references
        self.scope = scope
        #: The subschemas of all dialects and scopes, closed and open.
        self._family = family
        #: The supported keywords of this dialect; with the annotations; those that combine.
        self.keywords, self._recognized, self._combining_words = _words_of(dialect)
        self._is_simple = references.is_simple
        self._plain: dict[Node, LazySet] = {}
        self._tracked: dict[Node, LazySet] = {}
        self._reported_unknown: set[str] = set()

    def of(self, node: Node, tracked: bool = False) -> LazySet:
        """The set of a subschema; if ``tracked``, its shapes record what they have evaluated.

        A subschema that is only a ``$ref`` has the same set as its target.
        """
        subschemas = self if self._is_simple else self._entering(node)
        cache = subschemas._tracked if tracked else subschemas._plain
        lazy = cache.get(node)
        if lazy is not None:
            return lazy
        if self._is_simple and not (isinstance(node.value, dict) and "$ref" in node.value):
            lazy = cache[node] = self._new_subschema(node, tracked)
            return lazy
        aliases: list[tuple[Subschemas, Node]] = []
        target = node
        while (further := subschemas._ref_target(target)) is not None:
            aliases.append((subschemas, target))
            entered = subschemas._entering(further)
            if (entered, further) in aliases:
                reference = first_keyword(target, ("$ref", *_DYNAMIC))
                raise unsupported(reference, "it refers only to itself")
            subschemas, target = entered, further
        lazy = subschemas._cache(tracked).get(target) or subschemas._new_subschema(target, tracked)
        for owner, alias in (*aliases, (subschemas, target)):
            owner._cache(tracked)[alias] = lazy
        return lazy

    def _cache(self, tracked: bool) -> dict[Node, LazySet]:
        return self._tracked if tracked else self._plain

    def _entering(self, node: Node) -> Subschemas:
        """The subschemas in the dialect of a node, its dynamic anchors added to the scope."""
        if self._is_simple:
            return self
        dialect, anchors = self.references.context(node)
        scope = {**anchors, **self.scope}
        if dialect is self.dialect and scope == self.scope:
            return self
        return self._relative(dialect, scope, self.closes)

    @property
    def open(self) -> Subschemas:
        """The same subschemas, none of which is closed because it names some members."""
        return self._relative(self.dialect, self.scope, closes=False) if self.closes else self

    def _relative(self, dialect: Dialect, scope: Anchors, closes: bool) -> Subschemas:
        key = dialect, frozenset(scope.items()), closes
        if key not in self._family:
            self._family[key] = Subschemas(
                self.algebra, self.references, dialect, scope, self._family, closes=closes
            )
        return self._family[key]

    def _ref_target(self, node: Node) -> Node | None:
        """The target of a subschema that is only a reference; None for others."""
        members = node.members
        if members is None:
            return None
        if "$ref" not in members:
            if self._is_simple:
                return None
            word = next((word for word in _DYNAMIC if word in members), None)
            if word is None or self.keywords.intersection(members) != {word}:
                return None
            return self.references.dynamic_target(members[word], self.scope)
        if not self.dialect.refs_alone and len(members) > 1:
            if len(self.keywords.intersection(members)) > 1:
                return None
        elif len(members) > 1:
            self._note_ignored(node)
        return self.references.target(members["$ref"])

    def _note_ignored(self, node: Node) -> None:
        assert node.members is not None
        for word, member in node.members.items():
            if word in self.keywords and word != "$ref":
                self.algebra.add_note(member, f"this draft ignores {word!r} next to '$ref'")

    def _new_subschema(self, node: Node, tracked: bool) -> LazySet:
        algebra, value = self.algebra, node.value
        if value is True:
            return algebra.anything
        if value is False:
            return algebra.nothing
        if not isinstance(value, dict):
            raise invalid(node, "a schema: an object, true or false")
        if not self._recognized.issuperset(value):
            self._note_unknown(value)
        if algebra.options.unasserted:
            value = self._asserted(value)
        words = self.keywords.intersection(value)
        if not words:
            return algebra.anything
        if len(words) == 1 and "type" in words:
            named = value["type"].value
            if isinstance(named, str) and named in LEAVES_OF:
                leaves = LEAVES_OF[named]
                return algebra.atom(node, lambda: leaves).with_values(leaves)
        return algebra.atom(node, lambda: self._read(node, value, tracked))

    def _asserted(self, members: dict[str, Node]) -> dict[str, Node]:
        """The keywords of a subschema without those that are not asserted, which are noted."""
        left_out = self.keywords.intersection(self.algebra.options.unasserted, members)
        for word in sorted(left_out):
            self.algebra.add_note(
                members[word],
                f"{word!r} is not asserted, as was chosen",
                effect=Effect.UNASSERTED,
            )
        return {word: node for word, node in members.items() if word not in left_out}

    def _note_unknown(self, members: dict[str, Node]) -> None:
        """Add a note for each keyword that the draft does not have, once per word."""
        for word, node in members.items():
            if word not in self._recognized and word not in self._reported_unknown:
                self._reported_unknown.add(word)
                if not word.startswith(("x-", "_")):
                    message = f"unknown keyword {word!r}, ignored"
                    self.algebra.add_note(node, message, _keyword_meant(word, self._recognized))

    def _read(self, node: Node, members: dict[str, Node], tracked: bool) -> Values:
        """The set of all keywords of a subschema."""
        words = members.keys()
        closed = not tracked and is_closed_around(self, members)
        asks = closed or (not UNEVALUATED.isdisjoint(words) and UNEVALUATED & words & self.keywords)
        tracked = tracked or bool(asks)
        values = self._single_type(members, tracked)
        if not self._combining_words.isdisjoint(words):
            values = self._with_combining(values, members, tracked)
        if asks:
            values = restrict_unevaluated(self, values, members, closed)
        return values

    def _with_combining(self, values: Values, members: dict[str, Node], tracked: bool) -> Values:
        """The values that also meet the keywords that combine subschemas."""
        parts: dict[str, Values] = {}
        for word, keyword in members.items():
            if word in self._combining_words:
                try:
                    parts[word] = COMBINING[word](self, keyword, tracked)
                    values = meet(self.algebra, values, parts[word])
                except UncomputableSet as error:
                    raise unsupported(keyword, str(error)) from None
                except CircularReference as error:
                    error.keyword = error.keyword or keyword
                    raise
        if "properties" in members:
            objects = in_text_order(values.objects, members, parts)
            values = replaced(values, objects=tuple(objects))
        return values

    def _single_type(self, members: dict[str, Node], tracked: bool) -> Values:
        """The set of the keywords that restrict values of one type."""
        algebra, words = self.algebra, members.keys()
        types = self._types(members)
        none = algebra.no_values
        texts, numbers, arrays, objects = none.texts, none.numbers, none.arrays, none.objects
        undecided = none.undecided
        if "string" in types:
            texts = algebra.all_values.texts
            if not TEXT_WORDS.isdisjoint(words):
                texts, undecided = texts_of(self, members)
        if "number" in types or "integer" in types:
            numbers = numbers_of(self, members, "number" not in types)
        if "format" in words and "string" not in types:
            algebra.add_note(members["format"], "a format applies only to strings")
        if "array" in types:
            plain = ARRAY_WORDS.isdisjoint(words)
            arrays = algebra.all_values.arrays if plain else arrays_of(self, members, tracked)
        if "object" in types:
            plain = OBJECT_WORDS.isdisjoint(words)
            objects = algebra.all_values.objects if plain else objects_of(self, members, tracked)
        booleans = _BOTH if "boolean" in types else _NEITHER
        return Values("null" in types, booleans, numbers, texts, arrays, objects, undecided)

    def _types(self, members: dict[str, Node]) -> frozenset[str]:
        """The types in ``type`` and ``nullable``; all types without ``type``."""
        named = members.get("type")
        if named is None:
            return _TYPES
        if isinstance(named.value, str):
            types = _TYPED.get(named.value)
            if types is None:
                raise _no_type(named)
        else:
            if not isinstance(named.value, list) or not named.value:
                raise invalid(named, "the name of a type, or a list of them")
            for type_node in named.value:
                if not isinstance(type_node.value, str) or type_node.value not in _TYPES:
                    raise _no_type(type_node)
            types = frozenset(str(type_node.value) for type_node in named.value)
        nullable = members.get("nullable")
        if nullable is not None and "nullable" in self.keywords:
            if not isinstance(nullable.value, bool):
                raise invalid(nullable, "true or false")
            types |= {"null"} if nullable.value else types
        return types


@lru_cache(maxsize=256)
def _keyword_meant(word: str, keywords: frozenset[str]) -> Meant:
    """The keyword meant by an unknown one; the same ones occur in many schemas."""
    return suggestion(word, sorted(keywords), similar=VERY_SIMILAR)


#: Names of types elsewhere.
_TYPE_SYNONYMS = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number",
    "double": "number", "decimal": "number", "bool": "boolean", "list": "array", "tuple": "array",
    "dict": "object", "map": "object", "none": "null", "nil": "null",
}  # fmt: skip


def _no_type(node: Node) -> ParseError:
    """The error for a word that names no type."""
    names = sorted(_TYPES)
    word = node.value if isinstance(node.value, str) else ""
    meant = suggestion(word, names, synonyms=_TYPE_SYNONYMS)
    return invalid(node, "one of " + ", ".join(names), meant)


#: The empty set; and the values of each type whose values are leaves: most subschemas only name a
#: type.
_NO_VALUES = Values(False, _NEITHER, NumberSet.nothing(), StringSet.nothing(), (), ())
LEAVES_OF: dict[str, Values] = {
    "null": replaced(_NO_VALUES, null=True),
    "boolean": replaced(_NO_VALUES, booleans=_BOTH),
    "integer": replaced(_NO_VALUES, numbers=NumberSet.integers()),
    "number": replaced(_NO_VALUES, numbers=NumberSet.everything()),
    "string": replaced(_NO_VALUES, texts=StringSet.everything()),
}
#: Keywords that can make a set uncomputable: the first one present is named in the error.
_CAUSES = ("oneOf", "not", "if", "anyOf", "dependentRequired", "allOf", "format", "$ref")
#: Keywords whose automata or periods may exceed a limit.
_LARGE = ("multipleOf", "maxLength", "minLength", "pattern", "format", *_CAUSES)
#: The atom of the empty set; the empty key is the set of all values.
_NOTHING = 1


class Algebra:
    """The sets of one document; equal sets are the same object.

    Raises: BuildError of kind ``unsupported_schema`` for an unsupported keyword, with its span and
            JSON pointer; ParseError of kind ``schema`` for an invalid schema.
    """

    def __init__(
        self,
        document: Document,
        limits: Limits = LIMITS,
        options: SchemaOptions = OPTIONS,
        others: Sequence[Document] = (),
    ) -> None:
        self.document = document
        self.limits = limits
        self.options = options
        self.clock = limits.clock()
        self._notes: dict[Node, SchemaNote] = {}
        self._conjunctions: dict[frozenset[int], LazySet] = {}
        self._complements: dict[frozenset[int], LazySet] = {}
        self._unions: dict[frozenset[frozenset[int]], LazySet] = {}
        self._constants: dict[object, LazySet] = {}
        self._atoms = _NOTHING
        self._settle: Callable[[Values], Values] = partial(simplified, self)
        root = document.root
        #: The empty set and the set of all JSON values.
        self.nothing = self._new_set(frozenset((_NOTHING,)), root, lambda: self.no_values)
        self.anything = self._new_set(frozenset(), root, lambda: self.all_values)
        self.nothing.empty = True
        self.any_array = Arrays((), self.anything)
        self.any_object = Objects({}, frozenset(), ((StringSet.everything(), self.anything),))
        self.no_values: Values = _NO_VALUES
        self.all_values: Values = Values(
            True,
            _BOTH,
            NumberSet.everything(),
            StringSet.everything(),
            (self.any_array,),
            (self.any_object,),
        )
        self.anything.with_values(self.all_values)
        self._emptiness = Emptiness(self)
        references = References(document, others)
        dialect = references.dialect
        if dialect is UNNAMED and root.members and "$schema" in root.members:
            message = "unknown $schema; keywords of all supported drafts are applied"
            self.add_note(root.members["$schema"], message)
        self.subschemas = Subschemas(self, references, dialect, {}, {}, closes=options.closed)

    @property
    def root(self) -> LazySet:
        """The instances of the whole schema."""
        return self.subschemas.of(self.document.root)

    @property
    def notes(self) -> list[SchemaNote]:
        """Notes that are not errors, in the order in which they were added."""
        return list(self._notes.values())

    def add_note(
        self,
        keyword: Node,
        message: str,
        meant: Meant = NOTHING_MEANT,
        *,
        at_value: bool = False,
        effect: Effect = Effect.WITHOUT_EFFECT,
    ) -> None:
        """Record a note (see ``note``); only the first note of a keyword is kept."""
        if keyword not in self._notes:
            self._notes[keyword] = note(keyword, message, meant, at_value=at_value, effect=effect)

    def atom(self, node: Node, make: Callable[[], Values]) -> LazySet:
        """A new set, computed on first use."""
        self._atoms += 1
        return self._new_set(frozenset((self._atoms,)), node, make)

    def intersection(self, left: LazySet, right: LazySet) -> LazySet:
        """The values in both sets."""
        if left is right or not right.key:
            return left
        if not left.key:
            return right
        key = left.key | right.key
        cached = self._conjunctions.get(key)
        if cached is not None:
            return cached
        if _NOTHING in key or any(-literal in left.key for literal in right.key):
            return self.nothing
        return self._new_set(key, left.node, lambda: meet(self, left.raw, right.raw))

    def complement(self, lazy: LazySet) -> LazySet:
        """The values that are not in a set."""
        if not lazy.key:
            return self.nothing
        if lazy is self.nothing:
            return self.anything
        cached = self._complements.get(lazy.key)
        if cached is None:
            if len(lazy.key) == 1:
                key = frozenset(-literal for literal in lazy.key)
            else:
                self._atoms += 1
                key = frozenset((self._atoms,))
            cached = self._new_set(key, lazy.node, lambda: complement(self, lazy.raw))
            self._complements[lazy.key] = cached
            self._complements[cached.key] = lazy
        return cached

    def union(self, left: LazySet, right: LazySet) -> LazySet:
        """The values in at least one of two sets."""
        if left is right or right is self.nothing or not left.key:
            return left
        if left is self.nothing or not right.key:
            return right
        key = frozenset((left.key, right.key))
        cached = self._unions.get(key)
        if cached is None:
            cached = self.atom(left.node, lambda: join(self, [left.raw, right.raw]))
            self._unions[key] = cached
        return cached

    def constant(self, value: Json, node: Node) -> LazySet:
        """The set of one value."""
        key = canonical(value)
        cached = self._constants.get(key)
        if cached is None:
            cached = self.atom(node, lambda: constant(self, value, node))
            self._constants[key] = cached
        return cached

    def is_empty(self, asked: LazySet | Arrays | Objects) -> bool:
        """Whether a set or a shape is known to be empty; False does not prove the opposite."""
        if isinstance(asked, LazySet) and asked.empty is not None:
            return asked.empty
        return self._emptiness.is_surely_empty(asked)

    def _new_set(self, key: frozenset[int], node: Node, make: Callable[[], Values]) -> LazySet:
        lazy = LazySet(key, node, make, self._compute, self._settle)
        return self._conjunctions.setdefault(key, lazy)

    def _compute(self, lazy: LazySet, make: Callable[[], Values]) -> Values:
        self.clock.check()
        try:
            return make()
        except UncomputableSet as error:
            raise unsupported(first_keyword(lazy.node, _CAUSES), str(error)) from None
        except RecursionError:
            raise unsupported(lazy.node, "it is nested too deeply to compare") from None
        except LimitError as error:
            raise at_keyword(error, first_keyword(lazy.node, _LARGE)) from None
        except CircularReference as error:
            if error.lazy is not lazy:
                raise
            why = "the schema refers to itself without a property or an item in between"
            raise unsupported(error.keyword or lazy.node, why) from None
