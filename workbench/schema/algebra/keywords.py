"""The keywords that restrict values of one type: strings, numbers, arrays, objects."""

from __future__ import annotations

from decimal import Decimal

from workbench.base.diagnostics import VERY_SIMILAR, suggestion
from workbench.base.errors import SourceError
from workbench.schema.algebra.closing import is_closed
from workbench.schema.format_strings import FORMATS, NARROWED_FORMATS, PYTHON_PATTERNS
from workbench.schema.normal_form import (
    Arrays,
    CircularReference,
    Contains,
    LazySet,
    NamedSets,
    Objects,
    all_but,
    non_empty,
)
from workbench.schema.numbers import NumberSet
from workbench.schema.schema_options import Formats
from workbench.schema.schema_reader import Effect, Node, invalid, json_text, unsupported
from workbench.schema.set_protocols import SetAlgebra, SubschemaSets
from workbench.schema.string_sets import StringSet

TEXT_WORDS = frozenset(("minLength", "maxLength", "pattern", "format"))
NUMBER_WORDS = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
#: A superset of a format whose automaton accepts fewer strings than its RFC; others: any string.
_SUPERSETS = {"hostname": "^[-.0-9A-Za-z]*$"}
#: Names of formats elsewhere.
_FORMAT_SYNONYMS = {"timestamp": "date-time", "url": "uri", "ip": "ipv4", "guid": "uuid"}
#: Formats that depend on Unicode tables for which letters may be combined: not supported.
_UNDECIDED = ("idn-hostname", "idn-email")


def texts_of(subschemas: SubschemaSets, members: dict[str, Node]) -> tuple[StringSet, StringSet]:
    """The strings that the keywords allow, and those that they possibly allow."""
    texts = subschemas.algebra.all_values.texts
    low, high = count_of(members.get("minLength")), count_of(members.get("maxLength"))
    if low or high is not None:
        texts = StringSet.lengths(low or 0, high)
    if "pattern" in members:
        pattern = members["pattern"]
        if not isinstance(pattern.value, str):
            raise invalid(pattern, "a regular expression, as text")
        texts &= pattern_of(subschemas, pattern, pattern.value)
    if "format" not in members:
        return texts, StringSet.nothing()
    of_format, undecided = _format(subschemas, members["format"])
    return texts & of_format, texts & undecided


def pattern_of(subschemas: SubschemaSets, keyword: Node, pattern: str) -> StringSet:
    """The strings in which a regex is found; ``keyword`` is the node that errors point to."""
    try:
        return StringSet.pattern(pattern, subschemas.algebra.limits)
    except SourceError as error:
        problem = unsupported(keyword, error.message, error.hint)
        if error.fix is not None and keyword.value == pattern:
            start, end = error.fix_span.start, error.fix_span.end
            fixed = json_text(pattern[:start] + error.fix + pattern[end:])
            problem.with_fix(fixed, keyword.span)
        raise problem from None


def _format(subschemas: SubschemaSets, keyword: Node) -> tuple[StringSet, StringSet]:
    """The accepted strings of a format, and a superset of it if these are not all of them."""
    if not isinstance(keyword.value, str):
        raise invalid(keyword, "the name of a format, as text")
    if subschemas.algebra.options.format == Formats.ANNOTATION:
        return subschemas.algebra.all_values.texts, StringSet.nothing()
    if keyword.value in _UNDECIDED:
        raise unsupported(keyword, f"no automaton decides the format {keyword.value!r}")
    python = subschemas.algebra.options.format == Formats.PYTHON
    texts = StringSet.format(keyword.value, python=python)
    if texts is None:
        message = f"unknown format {keyword.value!r}, treated as an annotation"
        meant = suggestion(keyword.value, FORMATS, synonyms=_FORMAT_SYNONYMS, similar=VERY_SIMILAR)
        subschemas.algebra.add_note(keyword, message, meant, at_value=meant[1] is not None)
        texts = subschemas.algebra.all_values.texts
    if python and keyword.value in PYTHON_PATTERNS:
        message = f"format {keyword.value!r}: without leap seconds, as Python's datetime"
        subschemas.algebra.add_note(keyword, message, effect=Effect.NARROWED)
    if keyword.value in NARROWED_FORMATS:
        message = f"format {keyword.value!r}: {NARROWED_FORMATS[keyword.value]}"
        subschemas.algebra.add_note(keyword, message, effect=Effect.NARROWED)
        widest = _SUPERSETS.get(keyword.value)
        return texts, StringSet.pattern(widest) if widest else subschemas.algebra.all_values.texts
    return texts, StringSet.nothing()


def numbers_of(subschemas: SubschemaSets, members: dict[str, Node], whole: bool) -> NumberSet:
    """The numbers that the keywords allow; ``whole``: integers only."""
    numbers = NumberSet.integers() if whole else subschemas.algebra.all_values.numbers
    if NUMBER_WORDS.isdisjoint(members):
        return numbers
    dialect = subschemas.dialect
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        plain, sharp = members.get(bound), members.get(exclusive)
        strict = False
        if sharp is not None and isinstance(sharp.value, bool):
            if not dialect.exclusive_as_boolean:
                raise invalid(sharp, "a number")
            strict, sharp = sharp.value, None
        elif sharp is not None and not dialect.exclusive_as_number:
            raise invalid(sharp, "true or false, in this draft")
        if plain is not None:
            numbers &= _beyond(bound, _number(plain), strict)
        if sharp is not None:
            numbers &= _beyond(bound, _number(sharp), True)
    multiple = members.get("multipleOf")
    if multiple is not None:
        step = _number(multiple)
        if step <= 0:
            raise invalid(multiple, "a number above 0")
        numbers &= NumberSet.multiples(step)
    return numbers


def _beyond(bound: str, value: int | Decimal, strict: bool) -> NumberSet:
    if bound == "minimum":
        return NumberSet.interval(low=value, open_low=strict)
    return NumberSet.interval(high=value, open_high=strict)


def _number(keyword: Node) -> int | Decimal:
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise invalid(keyword, "a number")
    return value


def count_of(keyword: Node | None) -> int | None:
    """The value of a keyword such as ``minItems``; None if it is absent."""
    if keyword is None:
        return None
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or value < 0:
        raise invalid(keyword, "a whole number, 0 or above")
    if value != int(value):
        raise invalid(keyword, "a whole number")
    return int(value)


OBJECT_WORDS = frozenset(
    (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
    )
)
ARRAY_WORDS = frozenset(
    (
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
    )
)
#: The most disjoint sets into which ``patternProperties`` may divide the undeclared names.
_MAX_NAME_SETS = 64


def objects_of(
    subschemas: SubschemaSets, members: dict[str, Node], tracked: bool
) -> tuple[Objects, ...]:
    """The shape of the keywords for objects; empty if obviously no object meets them."""
    words = subschemas.keywords
    patterns = _patterns(subschemas, members)
    properties = _properties(subschemas, members, patterns)
    declared = len(properties)
    extras, evaluated = _extras(subschemas, members, list(properties), patterns, tracked)
    required = _required_names(members.get("required"))
    if not required <= properties.keys():
        _note_misspelt(subschemas.algebra, members.get("properties"), members["required"])
        extras = _with_required(subschemas, properties, extras, members["required"])
    undeclared = frozenset(list(properties)[declared:])
    undecided = StringSet.nothing()
    if "propertyNames" in members and "propertyNames" in words:
        try:
            named = subschemas.of(members["propertyNames"]).raw
        except CircularReference as error:
            error.keyword = error.keyword or members["propertyNames"]
            raise
        names, undecided = named.texts, named.undecided
        for name in properties:
            if not names.contains(name):
                properties[name] = subschemas.algebra.nothing
        extras = non_empty((those & names, lazy) for those, lazy in extras)
    low = count_of(members.get("minProperties")) or 0
    high = count_of(members.get("maxProperties"))
    nothing = subschemas.algebra.nothing
    if any(properties[name] is nothing for name in required):
        return ()
    return (
        Objects(
            properties, required, extras, low, high, (), undeclared, None, evaluated, undecided
        ),
    )


def _patterns(
    subschemas: SubschemaSets, members: dict[str, Node]
) -> list[tuple[StringSet, LazySet]]:
    """The ``patternProperties``: sets of names, each with the set of its values."""
    keyword = members.get("patternProperties")
    if keyword is None:
        return []
    if keyword.members is None:
        raise invalid(keyword, "an object of schemas")
    return [
        (pattern_of(subschemas, held, pattern), subschemas.of(held))
        for pattern, held in keyword.members.items()
    ]


def _properties(
    subschemas: SubschemaSets, members: dict[str, Node], patterns: list[tuple[StringSet, LazySet]]
) -> dict[str, LazySet]:
    """The declared properties, each met with the patterns that match its name."""
    keyword = members.get("properties")
    if keyword is None:
        return {}
    if keyword.members is None:
        raise invalid(keyword, "an object of schemas")
    of = subschemas.of
    properties = {name: of(held) for name, held in keyword.members.items()}
    for names, lazy in patterns:
        for name in properties:
            if names.contains(name):
                properties[name] = subschemas.algebra.intersection(properties[name], lazy)
    return properties


def _extras(
    subschemas: SubschemaSets,
    members: dict[str, Node],
    declared: list[str],
    patterns: list[tuple[StringSet, LazySet]],
    tracked: bool,
) -> tuple[NamedSets, StringSet | None]:
    """The undeclared names with their values; and the names that count as evaluated."""
    algebra = subschemas.algebra
    keyword = members.get("additionalProperties")
    if keyword is not None:
        further = subschemas.of(keyword)
    else:
        closed = is_closed(subschemas, members, tracked)
        further = algebra.nothing if closed else algebra.anything
    rest = all_but(declared) if declared else algebra.all_values.texts
    evaluated: StringSet | None = None
    if tracked:
        evaluated = algebra.all_values.texts if keyword is not None else ~rest
        for names, _ in patterns:
            evaluated |= names
    if not patterns:
        return (() if further is algebra.nothing else ((rest, further),)), evaluated
    parts: list[tuple[StringSet, LazySet | None]] = [(rest, None)]
    for names, lazy in patterns:
        parted: list[tuple[StringSet, LazySet | None]] = []
        for those, held in parts:
            matched = those & names
            if matched.is_empty:
                parted.append((those, held))
                continue
            parted.append((matched, lazy if held is None else algebra.intersection(held, lazy)))
            if not (remaining := those & ~names).is_empty:
                parted.append((remaining, held))
        parts = parted
        if len(parts) > _MAX_NAME_SETS:
            why = f"its patterns divide names into more than {_MAX_NAME_SETS} sets"
            raise unsupported(members["patternProperties"], why)
    extras = ((names, further if held is None else held) for names, held in parts)
    return tuple(extra for extra in extras if extra[1] is not algebra.nothing), evaluated


def _required_names(keyword: Node | None) -> frozenset[str]:
    if keyword is None:
        return frozenset()
    if keyword.items is None:
        raise invalid(keyword, "a list of names")
    return frozenset(_name(item) for item in keyword.items)


def _note_misspelt(algebra: SetAlgebra, properties: Node | None, required: Node) -> None:
    """Add a note for each required name that is like a property, and is none."""
    declared = (properties and properties.members) or {}
    for item in required.items or ():
        if isinstance(item.value, str) and item.value not in declared:
            meant = suggestion(item.value, declared, similar=VERY_SIMILAR)
            if meant[1] is not None:
                message = f"{item.value!r} is required but is not among the properties"
                algebra.add_note(item, message, meant, at_value=True)


def _name(node: Node) -> str:
    if not isinstance(node.value, str):
        raise invalid(node, "a name, as text")
    return node.value


def _with_required(
    subschemas: SubschemaSets,
    properties: dict[str, LazySet],
    extras: NamedSets,
    required: Node,
) -> NamedSets:
    """Moves required names into ``properties``; returns the undeclared names without them."""
    assert required.items is not None
    fresh = [_name(item) for item in required.items if item.value not in properties]
    for name in fresh:
        held = (lazy for names, lazy in extras if names.contains(name))
        properties[name] = next(held, subschemas.algebra.nothing)
    remaining = all_but(fresh)
    return non_empty((names & remaining, lazy) for names, lazy in extras)


def arrays_of(
    subschemas: SubschemaSets, members: dict[str, Node], tracked: bool
) -> tuple[Arrays, ...]:
    """The shape of the keywords for arrays; empty if obviously no array meets them."""
    algebra = subschemas.algebra
    prefix, rest, closed = _items(subschemas, members)
    low = count_of(members.get("minItems")) or 0
    high = count_of(members.get("maxItems"))
    if rest is algebra.nothing:
        high = len(prefix) if high is None else min(high, len(prefix))
    if high is not None:
        prefix = prefix[:high]
        if high < low:
            return ()
    contains, also = _contains(subschemas, members)
    unique = members.get("uniqueItems")
    if unique is not None and not isinstance(unique.value, bool):
        raise invalid(unique, "true or false")
    if unique is not None and unique.value is False:
        unique = None
    evaluated = None if tracked and closed else len(prefix) if tracked else 0
    return (Arrays(prefix, rest, low, high, contains, unique, evaluated, also if tracked else ()),)


def _items(
    subschemas: SubschemaSets, members: dict[str, Node]
) -> tuple[tuple[LazySet, ...], LazySet, bool]:
    """The first items, the items after them, and whether a keyword restricts the latter."""
    words, of = subschemas.keywords, subschemas.of
    items = members.get("items")
    first = members.get("prefixItems") if "prefixItems" in words else None
    further = items
    if items is not None and items.items is not None and subschemas.dialect.items_as_list:
        if first is not None:
            raise invalid(items, "a schema, where 'prefixItems' lists the first ones")
        first = items
        further = members.get("additionalItems") if "additionalItems" in words else None
    if first is not None and first.items is None:
        raise invalid(first, "a list of schemas")
    prefix = tuple(of(item) for item in first.items or ()) if first is not None else ()
    rest = subschemas.algebra.anything if further is None else of(further)
    return prefix, rest, further is not None


def _contains(
    subschemas: SubschemaSets, members: dict[str, Node]
) -> tuple[tuple[Contains, ...], tuple[LazySet, ...]]:
    """The condition of ``contains``, and the items that it counts as evaluated."""
    words = subschemas.keywords
    keyword = members.get("contains")
    if keyword is None or "contains" not in words:
        return (), ()
    counted = "minContains" in words
    low = count_of(members.get("minContains")) if counted else None
    high = count_of(members.get("maxContains")) if counted else None
    lazy = subschemas.of(keyword)
    # "contains" evaluates items from draft 2020-12 on
    also = (lazy,) if subschemas.dialect.draft in (None, 2020) else ()
    return (Contains(lazy, 1 if low is None else low, high),), also
