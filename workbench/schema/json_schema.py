"""JSON Schema to a grammar tree: the entry of this package; and a regex for nested JSON.

The first rule is ``start``. The span of every rule is the subschema that it was written for.

JSON without a schema is context-free; with limited nesting it is regular::

    wb.Grammar.from_regex(json_regex(objects=2, arrays=2))

The gallery's example ``json_truncated`` is such a regex, written over several lines.

Source: Koo et al. 2024, section 5.1: the limits are its k_O and k_A.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.base.arguments import Count, checked
from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.meta_schemas import meta_schemas_in
from workbench.schema.normal_form import Arrays, LazySet, Objects
from workbench.schema.references import given_documents
from workbench.schema.schema_options import OPTIONS, SchemaOptions, Spacing, apply_guidance
from workbench.schema.schema_reader import Document, SchemaNote
from workbench.schema.write_arrays import array_expression
from workbench.schema.write_objects import object_expression
from workbench.schema.write_values import RuleWriter, has_no_value, productive_rules
from workbench.syntax.grammar_tree import Expression, GrammarTree, Nonterminal, Rule, choice
from workbench.syntax.grammar_tree import Sequence as Row

#: Any amount of JSON whitespace.
SPACE = r"[ \t\n\r]*"
_STRING = (
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2}'
    r'|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))*"'
)
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_SCALAR = rf"{_STRING}|{_NUMBER}|true|false|null"


@checked
def json_regex(
    *, objects: Count, arrays: Count, space: str = SPACE, limits: Limits = LIMITS
) -> str:
    """A regex for JSON values with at most ``objects`` and ``arrays`` inside one another.

    JSON itself is context-free; truncated at a depth it is regular:
    ``Grammar.from_regex(json_regex(objects=2, arrays=2))``.

    ``objects``, ``arrays``  the most of them that contain one another, from 0.
    ``space``                a regex for the text between lexemes; the empty one gives compact JSON.

    Cost:   the nested value is repeated at each level: compact, 226 characters for scalars, 3,958
            for one object and one array, 51,230 for two of each.
    Raises: LimitError past ``limits.unrolled`` characters.
    Source: Koo et al. 2024, §5.1: its k_O and k_A.
    """
    hint = "allow fewer objects or arrays inside one another"
    limits.check("unrolled", 2 ** min(objects + arrays, 64), hint)  # each level doubles the text

    @cache
    def value(objects: int, arrays: int) -> str:
        options = [_SCALAR]
        if objects:
            pair = rf"{_STRING}{space}:{space}{value(objects - 1, arrays)}"
            options.append(_list_pattern(r"\{", pair, r"\}", space))
        if arrays:
            options.append(_list_pattern(r"\[", value(objects, arrays - 1), r"\]", space))
        text = f"(?:{'|'.join(options)})"
        limits.check("unrolled", len(text), hint)
        return text

    return f"{space}{value(objects, arrays)}{space}"


def _list_pattern(opening: str, item: str, closing: str, space: str) -> str:
    """Any number of items, separated by commas, between brackets."""
    return rf"{opening}{space}(?:{item}(?:{space},{space}{item})*{space})?{closing}"


@dataclass(frozen=True, slots=True, eq=False)
class SchemaGrammar:
    """The rules of a schema's instances, and its notes and normal form."""

    tree: GrammarTree
    #: Notices that are not errors, such as an unknown ``format``.
    notes: tuple[SchemaNote, ...]
    #: The set of all instances.
    instances: LazySet


def schema_tree(
    source: Source, options: SchemaOptions = OPTIONS, limits: Limits = LIMITS
) -> GrammarTree:
    """The rules of a schema's instances; their start is ``start``.

    Raises: what ``schema_grammar`` raises.
    """
    return schema_grammar(source, options, limits).tree


def schema_grammar(
    source: Source,
    options: SchemaOptions = OPTIONS,
    limits: Limits = LIMITS,
    documents: Mapping[str, Any] | None = None,
) -> SchemaGrammar:
    """The rules of a schema's instances, with notes about the schema.

    ``documents`` are other schemas by their addresses, for references. The schema's
    ``x-guidance`` chooses the whitespace if ``options`` has "any".

    Raises: ParseError for an invalid schema; BuildError of kind ``unsupported_schema`` for
            unsupported keywords, and of kind ``empty_grammar`` if there is no instance;
            LimitError.
    """
    document = Document(source)
    others = {**meta_schemas_in(source.text), **(documents or {})}
    algebra = Algebra(document, limits, options, given_documents(others))
    options, ignored = apply_guidance(document.root, options)
    for node in ignored:
        algebra.add_note(node, "this setting of another engine is ignored")
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


def _rules(
    instances: LazySet, algebra: Algebra, options: SchemaOptions, limits: Limits
) -> list[Rule]:
    """The start rule, the rules it calls in order of discovery, and those of the punctuation.

    Empty if there is no instance.
    """
    limits.check("states", options.longest_run, "allow shorter runs of white space")
    spacing = Spacing.of(options, instances.span)
    writer = RuleWriter(algebra, spacing, limits)
    start = writer.new_name("start")
    whole = writer.of(instances)
    if spacing.blank is not None:
        whole = Row((spacing.blank, whole, spacing.blank), instances.span)
    while writer.waiting:
        name, lazy, level = writer.waiting.popleft()
        writer.clock.check()
        writer.enter(level, lazy.span)
        _write(name, lazy, writer)
    rules = [Rule(start, whole, instances.span, instances.span), *writer.rules, *spacing.rules]
    return productive_rules(rules, start) if writer.without_text else rules


def _write(name: str, lazy: LazySet, writer: RuleWriter) -> None:
    """Write the rule of a set; several shapes get separate rules.

    An object that another set has too is written once.
    """
    values, span, rules = lazy.values, lazy.span, writer.rules
    shapes: list[Objects | Arrays] = [*values.objects, *values.arrays]
    options = writer.leaves(lazy, span)
    separate, index = len(shapes) > 1, len(rules)
    for shape in shapes:
        rule_index, key = len(rules), _key(shape, writer.level)
        if key in writer.shared:
            options.append(Nonterminal(writer.shared[key], span))
            continue
        kind = "object" if isinstance(shape, Objects) else "array"
        rule_name = writer.new_name(f"{name}_{kind}") if separate else name
        body = _body(shape, rule_name, lazy, writer)
        if key is not None and body is not None and (separate or not options):
            writer.shared[key] = rule_name
        if body is not None and separate:
            rules.insert(rule_index, Rule(rule_name, body, span, span))  # before the rules it calls
            body = Nonterminal(rule_name, span)
        if body is not None:
            options.append(body)
    writer.without_text |= not options
    rules.insert(index, Rule(name, choice(options, span), span, span))


def _key(shape: Objects | Arrays, level: int | None) -> Hashable:
    """A key of an object with properties: objects with equal keys have the same texts."""
    if isinstance(shape, Arrays) or not shape.properties:
        return None
    names = *shape.properties.items(), shape.required, shape.undeclared, level
    return names, shape.extras, shape.low, shape.high, shape.some


def _body(
    shape: Objects | Arrays, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    if isinstance(shape, Objects):
        return object_expression(shape, name, owner, writer)
    return array_expression(shape, name, owner, writer)
