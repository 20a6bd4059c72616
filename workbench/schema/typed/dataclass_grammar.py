"""The room's entry: a class or a text to rules, and texts back to instances.

``style`` is ``call`` (constructor calls, ``Person(name="Ada", age=36)``) or ``json`` (what
``json.dumps(dataclasses.asdict(instance))`` writes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.schema.typed.as_schema import schema_of
from workbench.schema.typed.calls import call_tree, regex_at
from workbench.schema.typed.instances import ClassMaker, Maker, RecordMaker, parse_call, parse_json
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.reflect import reflect
from workbench.schema.typed.types import Named, Type, Types
from workbench.syntax.grammar_tree import Expression, GrammarTree, Pattern, Rule


@dataclass(frozen=True, eq=False)
class Typed:
    """The rules of a dataclass, and what makes instances of it.

    ``tree.source`` is the text of the definitions: as it was typed, or written from the class.
    """

    types: Types
    tree: GrammarTree
    #: From a text to the value of a type that it stands for.
    _read: Callable[[Types, Maker, Source, Type], object]
    _maker: Maker

    def parse(self, text: str | bytes) -> object:
        """The instance an accepted text stands for; nothing of the text is executed.

        From a class it is one of the class; from a text a record with the same fields.

        Raises: ParseError for a text that stands for none.
        """
        # bytes that are no text are in no grammar's language; the sign put for them is told of
        written = text if isinstance(text, str) else text.decode("utf-8", "replace")
        source = Source(written, "text")
        return self._read(self.types, self._maker, source, Named(self.types.root))


def class_tree(cls: type, style: str = "call", limits: Limits = LIMITS) -> Typed:
    """The rules of the instances of a dataclass.

    Raises: BuildError of kind ``unsupported_type`` for what cannot be written, with the field;
            LimitError
    """
    types, classes = reflect(cls)
    return _typed(types, ClassMaker(classes), style, limits)


def text_tree(
    source: Source, style: str = "call", limits: Limits = LIMITS, root: str = ""
) -> Typed:
    """The rules of the dataclass of that name in a text, or of the last one.

    Raises: ParseError for what cannot be read or written, at its place; LimitError
    """
    types = read_types(source, root)
    return _typed(types, RecordMaker(types), style, limits)


def _typed(types: Types, maker: Maker, style: str, limits: Limits) -> Typed:
    if style not in _STYLES:
        known = " or ".join(map(repr, _STYLES))
        raise WorkbenchError(f"there is no style {style!r}", f"choose {known}")
    tree_of, read = _STYLES[style]
    return Typed(types, tree_of(types, limits), read, maker)


def _call_tree(types: Types, _: Limits) -> GrammarTree:
    return call_tree(types)


def _json_tree(types: Types, limits: Limits) -> GrammarTree:
    from workbench.schema.json_schema import (
        schema_tree,  # a room of its own, wanted by this style alone
    )

    schema = schema_of(types)
    return _placed(schema_tree(schema.source, limits=limits), schema.places, types.source)


def _placed(tree: GrammarTree, places: Sequence[tuple[Span, Span]], source: Source) -> GrammarTree:
    """The rules of a schema that nobody typed, pointing into the definitions instead.

    Each part points at what the innermost place around it was written for.
    """

    @cache
    def there(span: Span) -> Span:
        inner = [new for old, new in places if old.start <= span.start and span.end <= old.end]
        return inner[-1] if inner else Span(0, 0)

    def moved(node: Expression) -> Expression:
        span = there(node.span)
        if isinstance(node, Pattern):
            return replace(node, regex=regex_at(node.regex, span), span=span)
        return replace(node.rebuild(moved), span=span)

    rules = (
        Rule(rule.name, moved(rule.body), there(rule.name_span), there(rule.span))
        for rule in tree.rules
    )
    return GrammarTree(tuple(rules), source)


_Read = Callable[[Types, Maker, Source, Type], object]
#: How instances are written: what makes the rules, and what reads a text.
_STYLES: dict[str, tuple[Callable[[Types, Limits], GrammarTree], _Read]] = {
    "call": (_call_tree, parse_call),
    "json": (_json_tree, parse_json),
}
