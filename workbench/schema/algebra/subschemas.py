"""Subschemas become sets: in comes a node, out comes what its keywords say about instances.

Each keyword is read by the module that knows its type; what combines whole subschemas (``allOf``
and the like) is met with the rest in the order of the text, which is the order in which names are
declared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.schema.algebra.combining import COMBINING
from workbench.schema.algebra.conjunction import meet
from workbench.schema.algebra.leaves import NUMBER_WORDS, TEXT_WORDS, numbers_of, texts_of
from workbench.schema.algebra.ordering import as_written
from workbench.schema.algebra.shapes import ARRAY_WORDS, OBJECT_WORDS, arrays_of, objects_of
from workbench.schema.algebra.unevaluated import UNEVALUATED, restricted
from workbench.schema.dialect import ANNOTATIONS, Dialect
from workbench.schema.reading import Node
from workbench.schema.refusals import Untold, unsupported, wrong
from workbench.schema.resolve import References
from workbench.schema.values import Circular, Later, Values

if TYPE_CHECKING:
    from workbench.schema.algebra.algebra import Algebra

_TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))
_TYPED = {name: frozenset((name,)) for name in _TYPES}
_BOTH = frozenset((False, True))
_NEITHER: frozenset[bool] = frozenset()
#: The words that are honoured, in any draft.
_KNOWN = (
    frozenset(("type", "nullable"))
    | NUMBER_WORDS
    | TEXT_WORDS
    | ARRAY_WORDS
    | OBJECT_WORDS
    | UNEVALUATED
    | COMBINING.keys()
    | {"then", "else"}
)


class Subschemas:
    """The subschemas of a document, each a set."""

    def __init__(self, algebra: Algebra, dialect: Dialect, references: References) -> None:
        self.algebra = algebra
        self.dialect = dialect
        self.references = references
        #: The words of this dialect that say something about instances.
        self.keywords = dialect.keywords & _KNOWN
        self._ordinary = self.keywords | ANNOTATIONS
        self._combining = self.keywords & COMBINING.keys()
        self._tracked: dict[Node, Later] = {}
        self._strange: set[str] = set()

    def of(self, node: Node, tracked: bool = False) -> Later:
        """The set a subschema means; ``tracked``: its shapes say what they have evaluated.

        A subschema that says nothing but where another stands is that other.
        """
        known = self._tracked.get(node) if tracked else node.later
        if known is not None:
            return known
        passed: list[Node] = []
        here = node
        while (further := self._elsewhere(here)) is not None:
            passed.append(here)
            if further in passed:
                reference = (here.members or {})["$ref"]
                raise unsupported(reference, "it refers to itself, and to nothing else")
            here = further
        later = self._tracked.get(here) if tracked else here.later
        if later is None:
            later = self._made(here, tracked)
        for one in (*passed, here):
            if tracked:
                self._tracked[one] = later
            else:
                one.later = later
        return later

    def _elsewhere(self, node: Node) -> Node | None:
        """Where a subschema refers to if that is all it does."""
        members = node.members
        if members is None or "$ref" not in members:
            return None
        if not self.dialect.refs_alone and len(members) > 1:
            if len(self.keywords & members.keys()) > 1:
                return None
        elif len(members) > 1:
            self._note_ignored(node)
        return self.references.target(members["$ref"])

    def _note_ignored(self, node: Node) -> None:
        assert node.members is not None
        for word, member in node.members.items():
            if word in self.keywords and word != "$ref":
                self.algebra.tell(member, f"this draft ignores {word!r} next to '$ref'")

    def _made(self, node: Node, tracked: bool) -> Later:
        algebra, value = self.algebra, node.value
        if value is True:
            return algebra.anything
        if value is False:
            return algebra.nothing
        if not isinstance(value, dict):
            raise wrong(node, "a schema: an object, true or false")
        if not self._ordinary.issuperset(value):
            self._note_unknown(value)
        if self.keywords.isdisjoint(value):
            return algebra.anything
        return algebra.atom(node, lambda: self._read(node, value, tracked))

    def _note_unknown(self, members: dict[str, Node]) -> None:
        """Tell of each word once that the draft does not have."""
        for word, node in members.items():
            if word not in self._ordinary and word not in self._strange:
                self._strange.add(word)
                if not word.startswith(("x-", "_")):
                    message = f"unknown keyword {word!r}, ignored"
                    self.algebra.tell(node, message)

    def _read(self, node: Node, members: dict[str, Node], tracked: bool) -> Values:
        """What the keywords of a subschema say, all together."""
        words = members.keys()
        asks = not UNEVALUATED.isdisjoint(words) and UNEVALUATED & words & self.keywords
        tracked = tracked or bool(asks)
        values = self._own(members, tracked)
        if not self._combining.isdisjoint(words):
            values = self._combined(values, members, tracked)
        if asks:
            values = restricted(self, values, members)
        return values

    def _combined(self, values: Values, members: dict[str, Node], tracked: bool) -> Values:
        """The values that meet the keywords which combine subschemas as well."""
        parts: dict[str, Values] = {}
        for word, keyword in members.items():
            if word in self._combining:
                try:
                    parts[word] = COMBINING[word](self, keyword, tracked)
                    values = meet(self.algebra, values, parts[word])
                except Untold as error:
                    raise unsupported(keyword, str(error)) from None
                except Circular as error:
                    error.keyword = error.keyword or keyword
                    raise
        if "properties" in members:
            objects = as_written(values.objects, members, parts)
            values = replace(values, objects=tuple(objects))
        return values

    def _own(self, members: dict[str, Node], tracked: bool) -> Values:
        """What the keywords say that hold for one type each."""
        algebra, words = self.algebra, members.keys()
        types = self._types(members)
        none = algebra.no_values
        texts, numbers, arrays, objects = none.texts, none.numbers, none.arrays, none.objects
        unsure = none.unsure
        if "string" in types:
            texts = algebra.all_values.texts
            if not TEXT_WORDS.isdisjoint(words):
                texts, unsure = texts_of(self, members)
        if "number" in types or "integer" in types:
            numbers = numbers_of(self, members, "number" not in types)
        if "format" in words and "string" not in types:
            algebra.tell(members["format"], "a format applies only to strings")
        if "array" in types:
            plain = ARRAY_WORDS.isdisjoint(words)
            arrays = algebra.all_values.arrays if plain else arrays_of(self, members, tracked)
        if "object" in types:
            plain = OBJECT_WORDS.isdisjoint(words)
            objects = algebra.all_values.objects if plain else objects_of(self, members, tracked)
        booleans = _BOTH if "boolean" in types else _NEITHER
        return Values("null" in types, booleans, numbers, texts, arrays, objects, unsure)

    def _types(self, members: dict[str, Node]) -> frozenset[str]:
        """The types a subschema names, all of them if it names none."""
        named = members.get("type")
        if named is None:
            return _TYPES
        if isinstance(named.value, str):
            types = _TYPED.get(named.value)
            if types is None:
                raise wrong(named, "one of " + ", ".join(sorted(_TYPES)))
        else:
            if not isinstance(named.value, list) or not named.value:
                raise wrong(named, "the name of a type, or a list of them")
            for one in named.value:
                if not isinstance(one.value, str) or one.value not in _TYPES:
                    raise wrong(one, "one of " + ", ".join(sorted(_TYPES)))
            types = frozenset(str(one.value) for one in named.value)
        nullable = members.get("nullable")
        if nullable is not None and "nullable" in self.keywords:
            if not isinstance(nullable.value, bool):
                raise wrong(nullable, "true or false")
            types |= {"null"} if nullable.value else types
        return types
