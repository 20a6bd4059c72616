"""The entry of this package: a class or its text to rules of calls, and texts to instances.

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
from workbench.schema.typed.calls import call_tree, regex_at
from workbench.schema.typed.instances import (
    ClassFactory,
    InstanceFactory,
    RecordFactory,
    parse_call,
    parse_json,
)
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.reflect import reflect
from workbench.schema.typed.type_printer import schema_of
from workbench.schema.typed.types import (
    Named,
    Type,
    Types,
)
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Pattern,
    Rule,
)


@dataclass(frozen=True, eq=False)
class TypedGrammar:
    """The rules of a dataclass, and the parser of its instances.

    ``tree.source`` is the text of the definitions: the given text, or one printed from the class.
    """

    types: Types
    tree: GrammarTree
    #: Parses a text as a value of a type.
    _parse: Callable[[Types, InstanceFactory, Source, Type], object]
    _factory: InstanceFactory

    def parse(self, text: str | bytes) -> object:
        """The instance that an accepted text denotes; nothing of the text is executed.

        It is an instance of the class, or, if only a text was given, a record with its fields.

        Raises: ParseError for a text that denotes no instance.
        """
        # no grammar accepts bytes that are not UTF-8; the error points at the replacement character
        written = text if isinstance(text, str) else text.decode("utf-8", "replace")
        source = Source(written, "text")
        return self._parse(self.types, self._factory, source, Named(self.types.root))


def class_tree(
    cls: type, style: str = "call", limits: Limits = LIMITS, whitespace: str | int = "auto"
) -> TypedGrammar:
    """The rules of the instances of a dataclass; ``whitespace`` is that of JSON.

    Raises: BuildError of kind ``unsupported_type`` for unsupported types, with the field;
            LimitError.
    """
    types, classes = reflect(cls)
    return _typed_grammar(types, ClassFactory(classes), style, limits, whitespace)


def text_tree(
    source: Source,
    style: str = "call",
    limits: Limits = LIMITS,
    root: str = "",
    whitespace: str | int = "auto",
) -> TypedGrammar:
    """The rules of the dataclass named ``root`` in a text, or of the last one.

    Raises: ParseError for unsupported text, with its span; LimitError.
    """
    types = read_types(source, root)
    return _typed_grammar(types, RecordFactory(types), style, limits, whitespace)


def _typed_grammar(
    types: Types, factory: InstanceFactory, style: str, limits: Limits, whitespace: str | int
) -> TypedGrammar:
    if style not in _STYLES:
        styles = " or ".join(map(repr, _STYLES))
        raise WorkbenchError(f"unknown style {style!r}", f"choose {styles}")
    tree_of, read = _STYLES[style]
    return TypedGrammar(types, tree_of(types, limits, whitespace), read, factory)


def _call_tree(types: Types, _: Limits, whitespace: str | int) -> GrammarTree:
    if whitespace != "auto":
        raise WorkbenchError("only JSON has a choice of white space", "choose the style 'json'")
    return call_tree(types)


def _json_tree(types: Types, limits: Limits, whitespace: str | int) -> GrammarTree:
    # lazy: other styles do not need it
    from workbench.schema.json_schema import schema_tree
    from workbench.schema.schema_options import SchemaOptions

    schema, options = schema_of(types), SchemaOptions(whitespace=whitespace)
    tree = schema_tree(schema.source, options, limits)
    return _with_spans(tree, schema.places, types.source)


def _with_spans(
    tree: GrammarTree, places: Sequence[tuple[Span, Span]], source: Source
) -> GrammarTree:
    """The rules of a generated schema, with spans in the definitions instead of in the schema.

    Each span is replaced by the one that the innermost recorded span around it comes from.
    """

    @cache
    def new_span(span: Span) -> Span:
        inner = [new for old, new in places if old.start <= span.start and span.end <= old.end]
        return inner[-1] if inner else Span(0, 0)

    def with_span(node: Expression) -> Expression:
        span = new_span(node.span)
        if isinstance(node, Pattern):
            return replace(node, regex=regex_at(node.regex, span), span=span)
        return replace(node.rebuild(with_span), span=span)

    rules = (
        Rule(rule.name, with_span(rule.body), new_span(rule.name_span), new_span(rule.span))
        for rule in tree.rules
    )
    return GrammarTree(tuple(rules), source)


_Parser = Callable[[Types, InstanceFactory, Source, Type], object]
#: For each style of writing instances: the function that makes the rules, and the parser.
_STYLES: dict[str, tuple[Callable[[Types, Limits, str | int], GrammarTree], _Parser]] = {
    "call": (_call_tree, parse_call),
    "json": (_json_tree, parse_json),
}
