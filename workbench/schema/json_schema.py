"""JSON Schema to a grammar tree: the room's entry, with its options.

JSON without a schema is context-free; with constant limits on nesting it is regular::

    wb.Grammar.from_regex(json_regex(objects=2, arrays=2))

The example ``json_truncated`` of the gallery is one, written over several lines.

Source: Koo et al. 2024, section 5.1: the limits are its k_O and k_A.

The first rule is ``start``. Every rule points at the subschema it was written for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.normal_form import Arrays, LazySet, Objects
from workbench.schema.schema_options import SchemaOptions, Spacing, apply_guidance
from workbench.schema.schema_reader import Document, SchemaNote, schema_source
from workbench.schema.write_arrays import array_expression
from workbench.schema.write_objects import object_expression
from workbench.schema.write_values import RuleWriter, choice, has_no_value, productive_rules
from workbench.syntax.grammar_tree import Expression, GrammarTree, Nonterminal, Rule
from workbench.syntax.grammar_tree import Sequence as Row

#: JSON's white space between any two signs, as much as one likes.
SPACE = r"[ \t\n\r]*"
_STRING = (
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2}'
    r'|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))*"'
)
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_SCALAR = rf"{_STRING}|{_NUMBER}|true|false|null"


def json_regex(*, objects: int, arrays: int, space: str = SPACE, limits: Limits = LIMITS) -> str:
    """A regex for JSON values whose objects and arrays are nested at most so deep.

    ``space`` is a regex for what may stand between signs; the empty one makes compact JSON.

    Cost:   the value inside is written twice at each level: compact, 226 characters for scalars,
            3,958 for one object and one array, 51,230 for two of each.
    Raises: LimitError past ``limits.unrolled`` characters; ValueError for depths below 0.
    """
    if objects < 0 or arrays < 0:
        raise ValueError(f"expected depths of 0 or more, not {objects} and {arrays}")

    @cache
    def value(objects: int, arrays: int) -> str:
        options = [_SCALAR]
        if objects:
            pair = rf"{_STRING}{space}:{space}{value(objects - 1, arrays)}"
            options.append(_listed(r"\{", pair, r"\}", space))
        if arrays:
            options.append(_listed(r"\[", value(objects, arrays - 1), r"\]", space))
        text = f"(?:{'|'.join(options)})"
        limits.check("unrolled", len(text), "allow fewer objects or arrays inside one another")
        return text

    return f"{space}{value(objects, arrays)}{space}"


def _listed(opening: str, item: str, closing: str, space: str) -> str:
    """Items with commas between, or none at all."""
    return rf"{opening}{space}(?:{item}(?:{space},{space}{item})*{space})?{closing}"


#: The options used where none are given.
OPTIONS = SchemaOptions()


@dataclass(frozen=True, slots=True, eq=False)
class SchemaGrammar:
    """The rules of a schema's instances, and the schema's normal form."""

    tree: GrammarTree
    #: What is no error and should be known, such as a ``format`` nobody knows.
    notes: tuple[SchemaNote, ...]
    #: All instances as a set of JSON values.
    instances: LazySet


def schema_tree(
    source: Source, options: SchemaOptions = OPTIONS, limits: Limits = LIMITS
) -> GrammarTree:
    """The rules of a schema's instances; their start is ``start``.

    Raises: what ``schema_grammar`` raises.
    """
    return schema_grammar(source, options, limits).tree


def schema_grammar(
    source: Source, options: SchemaOptions = OPTIONS, limits: Limits = LIMITS
) -> SchemaGrammar:
    """The rules of a schema's instances, with what reading it leaves to be told.

    The schema's ``x-guidance`` may name the whitespace, where ``options`` leaves it at "any".

    Raises: ParseError where the text is no schema; BuildError of kind ``unsupported_schema`` for
            what cannot be honoured, and of kind ``empty_grammar`` where nothing is an instance;
            LimitError.
    """
    document = Document(source)
    algebra = Algebra(document, limits)
    options, ignored = apply_guidance(document.root, options)
    for node in ignored:
        algebra.add_note(node, "this is how another engine writes JSON, and is not followed")
    instances = algebra.root
    rules = [] if has_no_value(instances.values) else _rules(instances, algebra, options, limits)
    if not rules:
        raise BuildError(
            "no JSON value is an instance of this schema",
            source,
            instances.span,
            "leave out one of the conditions that contradict each other",
            kind="empty_grammar",
        )
    return SchemaGrammar(GrammarTree(tuple(rules), source), tuple(algebra.notes), instances)


@cache
def compile_kernels() -> None:
    """Have the kernels that schemas need; work with a clock asks for this first, once a process."""
    some = {"a": {"type": "string", "pattern": "a", "not": {"const": "ab"}, "maxLength": 9}}
    schema: dict[str, object] = {
        "properties": {**some, "b": {"type": "integer", "minimum": 7}},
        "type": "object",
    }
    schema_tree(schema_source(schema), OPTIONS, Limits(seconds=600.0))


def _rules(
    instances: LazySet, algebra: Algebra, options: SchemaOptions, limits: Limits
) -> list[Rule]:
    """The start, whatever it calls in the order it is found, and the punctuation at the end.

    No rule at all where there is no instance.
    """
    spacing = Spacing.of(options, instances.span)
    writer = RuleWriter(algebra, spacing, limits)
    start = writer.new_name("start")
    whole = writer.of(instances)
    if spacing.blank is not None:
        whole = Row((spacing.blank, whole, spacing.blank), instances.span)
    for name, lazy in writer.waiting:  # grows while it is read
        writer.clock.check()
        _write(name, lazy, writer)
    rules = [Rule(start, whole, instances.span, instances.span), *writer.rules, *spacing.rules]
    return productive_rules(rules, start) if writer.without_text else rules


def _write(name: str, lazy: LazySet, writer: RuleWriter) -> None:
    """Write the rule of a set; where it has several shapes each has a rule of its own."""
    values, span, rules = lazy.values, lazy.span, writer.rules
    shapes: list[Objects | Arrays] = [*values.objects, *values.arrays]
    options = writer.leaves(lazy, span)
    place = len(rules)
    for shape in shapes:
        here = len(rules)
        own = len(shapes) > 1
        kind = "object" if isinstance(shape, Objects) else "array"
        its_name = writer.new_name(f"{name}_{kind}") if own else name
        body = _body(shape, its_name, lazy, writer)
        if body is not None and own:
            rules.insert(here, Rule(its_name, body, span, span))  # before the rules it calls
            body = Nonterminal(its_name, span)
        if body is not None:
            options.append(body)
    writer.without_text |= not options
    rules.insert(place, Rule(name, choice(options, span), span, span))


def _body(
    shape: Objects | Arrays, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    if isinstance(shape, Objects):
        return object_expression(shape, name, owner, writer)
    return array_expression(shape, name, owner, writer)
