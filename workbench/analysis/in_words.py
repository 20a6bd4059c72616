"""A grammar, a regex, a JSON Schema or a dataclass in plain words, with source spans.

::

    import workbench as wb

    print(wb.in_words(wb.Grammar.from_regex("(foo)+d")))
    # in this order
    #   one or more times: a group: the text 'foo'
    #   then the letter 'd'

A part that has one part is one line with it. A schema is described keyword by keyword, and a
dataclass field by field, not by the rules made from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from workbench.automata.code_points import expected, spoken
from workbench.base.arguments import checked
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import check_time_budget, time_budget
from workbench.base.source import Source, Span
from workbench.base.visible_text import count_of, printable, shorten
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.schema.schema_reader import Document, Node
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.types import (
    OPAQUE,
    Definition,
    Dict,
    Enumeration,
    Field,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Scalar,
    Tuple,
    Type,
    Union,
)
from workbench.schema.typed.types import Kind as TypeKind
from workbench.syntax import grammar_tree as rules
from workbench.syntax.grammar_tree import Expression, GrammarTree, Stop
from workbench.syntax.ranges import Ranges, size
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.extensions import label_of
from workbench.syntax.regex.tree import Kind, LookKind, Regex

_STOPS = {
    Stop.ANYWHERE: "text that matches the regex",
    Stop.FIRST_MATCH: "text up to the end of the first match of the regex",
    Stop.BEFORE_MATCH: "text without a match of the regex",
}

_LOOKS = {
    LookKind.AHEAD: "what follows has to begin with",
    LookKind.NOT_AHEAD: "what follows must not begin with",
    LookKind.BEHIND: "what precedes has to end with",
    LookKind.NOT_BEHIND: "what precedes must not end with",
}
_POSITIONS = {
    LookKind.BOUNDARY: "a word begins or ends here",
    LookKind.INSIDE: "no word begins or ends here",
    LookKind.START: "the text begins here",
    LookKind.LINE_START: "a line begins here",
    LookKind.END: "the text ends here",
    LookKind.LINE_END: "a line ends here",
}


#: Named groups that define a language, with what it is (``syntax.regex.extensions``).
_EXTENSIONS = {
    "QUOTED_TEXT": "a text in double quotes, in one line, with at least one visible character",
    "UNQUOTED_TEXT": "a text without quotes, in one line, as a plain scalar of YAML",
}
_DELIMITER = "DELIMITER"


@checked
def in_words(grammar: Grammar) -> Wording:
    """What a grammar accepts, in words; each line has the span it describes.

    Raises: LimitError for a grammar that is nested too deeply, and past its ``limits.seconds``.
    """
    try:
        with time_budget(grammar.limits.seconds):
            if grammar.regex is not None:
                return replace(_regex(grammar.regex), span=grammar.regex.span)
            assert grammar.tree is not None, "a grammar has a tree or a regex"
            return _of_values(grammar) or _rules(grammar.tree, grammar.start)
    except RecursionError:
        raise LimitError(
            "is nested too deeply to be put into words", "stack_depth", "name its parts as rules"
        ) from None


def _of_values(grammar: Grammar) -> Wording | None:
    """A schema or a dataclass in its own terms; None for others."""
    from workbench.analysis import in_words as schema_in_words

    if grammar.notation is Notation.JSON_SCHEMA:
        return schema_in_words.of_schema(grammar.source)
    if grammar.notation is Notation.DATACLASS:
        try:
            return schema_in_words.of_dataclasses(grammar.source)
        except ParseError:  # it was a class and no text
            return None
    return None


def _rules(tree: GrammarTree, start: str) -> Wording:
    written = tree.written or tree.rules
    found = tuple(led(f"'{rule.name}'", rule.span, _expression(rule.body)) for rule in written)
    count = count_of(len({rule.name for rule in written}), "rule")
    whole = Span(0, len(tree.source.text))
    return Wording(whole, f"{count}; a text is what the rule '{start}' describes", found)


# -- rules -----------------------------------------------------------------------------------------


def _expression(node: Expression) -> Wording:
    """An expression of a rule as a noun phrase."""
    check_time_budget()
    match node:
        case rules.Literal(value=value, span=span):
            return Wording(span, spelled(value.decode("utf-8", "backslashreplace")))
        case rules.Pattern(regex=inner, stop=stop, span=span):
            return _pattern(_regex(inner), stop, span)
        case rules.Substrings(value=value, span=span):
            what = quoted(value.decode("utf-8", "backslashreplace"))
            return Wording(span, f"any piece of the text {what}, also nothing")
        case rules.Except(span=span):
            return Wording(span, _without(node))
        case rules.Automaton(label=label, span=span):
            return Wording(span, f"one of the texts called '{label}'")
        case rules.Nonterminal(name=name, span=span):
            return Wording(span, f"the rule '{name}'")
        case rules.Sequence(items=items, span=span):
            return in_order(span, map(_expression, items))
        case rules.Choice(options=options, span=span):
            return one_of(span, map(_expression, options))
        case rules.Repetition(item=item, low=low, high=high, span=span):
            return led(times(low, high), span, _expression(item))


def _pattern(inner: Wording, stop: Stop, span: Span) -> Wording:
    """A regex terminal; one that may match anywhere is what it matches."""
    if stop is Stop.ANYWHERE:
        return replace(inner, span=span)
    return led(_STOPS[stop], span, inner)


def _without(node: rules.Except) -> str:
    most = "" if node.limit is None else f" of at most {count_of(node.limit, 'byte')}"
    excepted = node.excepted
    if isinstance(excepted, rules.Literal):
        what = spelled(excepted.value.decode("utf-8", "backslashreplace"))
        return f"a text{most} in which {what} does not occur"
    return f"a text{most} in which no '{excepted.name}' occurs"


# -- regexes ---------------------------------------------------------------------------------------


def _regex(node: Regex) -> Wording:
    """A regex as a noun phrase."""
    check_time_budget()
    match node:
        case regex.Characters(ranges=ranges, span=span):
            return Wording(span, _characters(ranges))
        case regex.Bytes(ranges=ranges, span=span):
            return Wording(span, _bytes(ranges))
        case regex.Concat(parts=parts, span=span):
            return in_order(span, _joined(parts))
        case regex.Alternate(options=options, span=span):
            return one_of(span, map(_regex, options))
        case regex.Repeat(part=part, low=low, high=high, span=span):
            return led(times(low, high), span, _regex(part))
        case regex.Group(part=part, name=name, span=span):
            label = label_of(node)
            if label is not None:
                return Wording(span, label.what)
            if name in _EXTENSIONS:
                return Wording(span, _EXTENSIONS[name])
            if isinstance(part, regex.Extension) and name == part.kind:
                return replace(_regex(part), span=span)
            if name == _DELIMITER:
                return replace(_regex(part), span=span)
            return led("a group" if name is None else f"the group '{name}'", span, _regex(part))
        case regex.Extension():
            return _extension(node)
        case regex.Look(kind=kind, part=part, span=span):
            if kind in _POSITIONS:
                return Wording(span, _POSITIONS[kind])
            return led(_LOOKS[kind], span, _regex(part))


def _extension(node: regex.Extension) -> Wording:
    parts, span = node.parts, node.span
    match node.kind:
        case Kind.SUBSTRING_OF:
            return Wording(span, f"any piece of {_spelled(parts)}, also nothing")
        case Kind.TEXT_UNTIL:
            return Wording(
                span, f"any text up to and with the first {_spelled(parts).removeprefix('the ')}"
            )
        case Kind.DELIMITED_SUBSEQUENCE_OF:
            delimiter, *items = map(_regex, parts)
            lead = f"one or more of these, in this order, with {delimiter.sentence} between them"
            return Wording(span, lead, (*delimiter.children, *items))
        case Kind.ASSERTED:
            return replace(_regex(parts[0]), span=span)


def _joined(parts: Sequence[Regex]) -> Iterator[Wording]:
    """The parts of a sequence; letters in a row are one text."""
    for kind, found in groupby(parts, _kind_of_letter):
        row = list(found)
        if kind and len(row) > 1:
            yield Wording(row[0].span.to(row[-1].span), _spelled(row))
        else:
            yield from map(_regex, row)


def _kind_of_letter(part: Regex) -> int:
    """1 for a single character, 2 for a letter in either case, 0 for other parts."""
    if not isinstance(part, regex.Characters) or size(part.ranges) not in range(1, 5):
        return 0
    found = {chr(code) for low, high in part.ranges for code in range(low, high + 1)}
    if len(found) == 1:
        return 1
    return 2 if len({one.casefold() for one in found}) == 1 else 0


def _spelled(parts: Sequence[Regex]) -> str:
    """The text of letters in a row, or of an extension."""
    letters = [chr(part.ranges[-1][-1]) for part in parts if isinstance(part, regex.Characters)]
    if all(_kind_of_letter(part) == 1 for part in parts):
        return spelled("".join(letters))
    return f"{spelled(''.join(letters).casefold())} in small or capital letters"


def _characters(ranges: Ranges) -> str:
    if not ranges:
        return "a character of an empty set, so no text"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return spelled(chr(ranges[0][0]))
    return expected([ranges])


def _bytes(ranges: Ranges) -> str:
    if not ranges:
        return "a byte of an empty set, so no text"
    names = [
        f"0x{low:02X}" if low == high else f"0x{low:02X} to 0x{high:02X}" for low, high in ranges
    ]
    return f"the byte {listed(names)}"


# -- schemas and dataclasses ----------------------------------------------------------------------
# A JSON Schema in words, keyword by keyword, and dataclasses, field by field.


_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}

#: The most values of an enumeration that are listed.
_MAX_VALUES = 12


def _count_of_characters(least: str) -> Callable[[Any], str]:
    return lambda value: f"of at {least} {count_of(value, 'character')}"


def _counted(least: str, what: str, whats: str) -> Callable[[Any], str]:
    return lambda value: f"with at {least} {value:,} {what if value == 1 else whats}"


#: Keywords whose value is no schema, as parts of a sentence.
PHRASES: Mapping[str, Callable[[Any], str]] = {
    "minimum": lambda value: f"at least {value}",
    "maximum": lambda value: f"at most {value}",
    "exclusiveMinimum": lambda value: f"more than {value}",
    "exclusiveMaximum": lambda value: f"less than {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "minLength": _count_of_characters("least"),
    "maxLength": _count_of_characters("most"),
    "pattern": lambda value: f"with a match of the regex {quoted(value)}",
    "format": lambda value: f"in the format {quoted(value)}",
    "minItems": _counted("least", "item", "items"),
    "maxItems": _counted("most", "item", "items"),
    "minContains": lambda value: f"of which at least {value:,} are as described below",
    "maxContains": lambda value: f"of which at most {value:,} are as described below",
    "minProperties": _counted("least", "property", "properties"),
    "maxProperties": _counted("most", "property", "properties"),
    "uniqueItems": lambda value: "without equal items" if value else "",
    "nullable": lambda value: "or null" if value else "",
    "enum": lambda values: f"one of {_values(values)}",
    "const": lambda value: f"exactly {_value(value)}",
    "$ref": lambda value: f"as at {quoted(value)}",
    "$dynamicRef": lambda value: f"as at {quoted(value)}",
    "$recursiveRef": lambda value: f"as at {quoted(value)}",
}

#: Keywords whose value is a schema: the lead of its line, that of ``false`` and that of ``true``.
SCHEMAS: Mapping[str, tuple[str, str, str]] = {
    "additionalProperties": ("each other property", "no other properties", "any other properties"),
    "unevaluatedProperties": (
        "each property that no part describes",
        "no properties that no part describes",
        "any properties that no part describes",
    ),
    "propertyNames": ("each name of a property", "no properties", "any names of properties"),
    "items": ("each item", "no items", "any items"),
    "additionalItems": ("each further item", "no further items", "any further items"),
    "unevaluatedItems": (
        "each item that no part describes",
        "no items that no part describes",
        "any items that no part describes",
    ),
    "contains": ("at least one item", "an item that no value satisfies", "at least one item"),
    "not": ("but not", "but nothing that would be forbidden", "but no value at all"),
    "if": ("if it is", "if it is no value", "in every case"),
    "then": ("then it is", "then there is no such value", "then it is any value"),
    "else": ("otherwise it is", "otherwise there is no such value", "otherwise it is any value"),
}

#: Keywords with a list of schemas: the line above them.
LISTS = {
    "allOf": "all of these",
    "anyOf": "at least one of these",
    "oneOf": "exactly one of these",
}

#: Keywords that map names to schemas: how the line of each begins.
MAPS = {
    "patternProperties": "each property whose name has a match of the regex {}",
    "dependentSchemas": "if there is a property {}",
    "dependencies": "if there is a property {}",
    "$defs": "the definition {}",
    "definitions": "the definition {}",
}

#: Keywords that are described with others.
TOGETHER = frozenset({"type", "properties", "required", "prefixItems", "dependentRequired"})


def of_schema(source: Source) -> Wording:
    """A JSON Schema in words.

    Raises: ParseError for a text that is not JSON.
    """
    return _schema(Document(source).root)


def _schema(node: Node) -> Wording:
    if node.members is None:
        return Wording(node.span, "any value" if node.value is True else "no value")
    members = node.members
    parts = [_head(members)]
    for keyword, phrase in PHRASES.items():
        if keyword in members:
            parts.append(_phrase(members, keyword, phrase))
    details = [part for part in parts[1:] if part]
    whole = [parts[0], *details] if parts[0] else details
    sentence = ", ".join(whole) or "any value"
    children = tuple(_children(members))
    return Wording(node.span, sentence, children)


def _head(members: Mapping[str, Node]) -> str:
    """The types, if the other keywords do not say more than they."""
    named = members.get("type")
    if named is not None:
        types = named.json_value()
        names = types if isinstance(types, list) else [types]
        return listed([_TYPES.get(str(name), str(name)) for name in names]) or "no value"
    if {"enum", "const", "$ref", "$dynamicRef", "$recursiveRef"} & members.keys():
        return ""
    if {"properties", "patternProperties", "required", "additionalProperties"} & members.keys():
        return "any value; if it is an object, it has this form"
    if {"items", "prefixItems", "contains"} & members.keys():
        return "any value; if it is an array, it has this form"
    return "a value"


def _phrase(members: Mapping[str, Node], keyword: str, phrase: Callable[[Any], str]) -> str:
    value = members[keyword].json_value()
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return ""  # draft 4: it makes ``minimum`` or ``maximum`` exclusive
    exclusive = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}.get(keyword, "")
    if exclusive in members and members[exclusive].value is True:
        return PHRASES[exclusive](value)
    return phrase(value)


def _children(members: Mapping[str, Node]) -> Iterator[Wording]:
    yield from _properties(members)
    for keyword, node in members.items():
        if keyword in SCHEMAS and node.items is None:
            yield _subschema(keyword, node)
        elif keyword in ("items", "prefixItems") and node.items is not None:
            for number, item in enumerate(node.items, 1):
                yield led(f"item {number}", item.span, _schema(item))
        elif keyword in LISTS and node.items is not None:
            options = tuple(map(_schema, node.items))
            yield Wording(Span(node.name_start, node.end), LISTS[keyword], options)
        elif keyword in MAPS and node.members is not None:
            for name, member in node.members.items():
                yield _mapped(MAPS[keyword].format(quoted(name)), member)
        elif keyword == "dependentRequired" and node.members is not None:
            for name, member in node.members.items():
                yield _mapped(MAPS["dependencies"].format(quoted(name)), member)


def _properties(members: Mapping[str, Node]) -> Iterator[Wording]:
    """The properties, then the required ones that are not described."""
    required = members.get("required")
    names = required.json_value() if required is not None else []
    needed = [str(name) for name in names] if isinstance(names, list) else []
    properties = members.get("properties")
    known = (properties.members or {}) if properties is not None else {}
    for name, node in known.items():
        need = "required" if name in needed else "optional"
        yield led(f"{quoted(name)}, {need}", Span(node.name_start, node.end), _schema(node))
    others = [quoted(name) for name in needed if name not in known]
    if others and required is not None:
        sentence = f"{listed(others, 'and')}, required: any value"
        yield Wording(Span(required.name_start, required.end), sentence)


def _subschema(keyword: str, node: Node) -> Wording:
    lead, never, always = SCHEMAS[keyword]
    span = Span(node.name_start, node.end)
    if isinstance(node.value, bool):
        return Wording(span, always if node.value else never)
    return led(lead, span, _schema(node))


def _mapped(lead: str, node: Node) -> Wording:
    span = Span(node.name_start, node.end)
    if node.items is None:
        return led(lead, span, _schema(node))
    names = [quoted(str(name.json_value())) for name in node.items]
    return Wording(span, f"{lead}, then also {listed(names, 'and') or 'nothing more'}")


def _value(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 60)


def _values(values: object) -> str:
    found = [_value(one) for one in values] if isinstance(values, list) else [_value(values)]
    if len(found) > _MAX_VALUES:
        found = [*found[:_MAX_VALUES], f"{len(found) - _MAX_VALUES:,} more values"]
    return listed(found)


# -- dataclasses -----------------------------------------------------------------------------------

_SCALARS = {
    Scalar.INT: "an integer",
    Scalar.FLOAT: "a number",
    Scalar.BOOL: "True or False",
    Scalar.STR: "a string",
    Scalar.NONE: "None",
}
_MANY = {
    TypeKind.LIST: "a list",
    TypeKind.SET: "a set",
    TypeKind.FROZENSET: "a frozen set",
    TypeKind.TUPLE: "a tuple of any length",
}


def of_dataclasses(source: Source) -> Wording:
    """The dataclasses of a text in words, the root first.

    Raises: ParseError for unsupported text.
    """
    types = read_types(source)
    root = types.definitions[types.root]
    others = (one for name, one in types.definitions.items() if name != types.root)
    whole = Span(0, len(source.text))
    found = tuple(map(_definition, (root, *others)))
    return Wording(whole, f"an instance of {types.root}", found)


def _definition(one: Definition) -> Wording:
    if isinstance(one, Enumeration):
        names = [name for name, _ in one.members]
        return Wording(one.span, f"{one.name} is one of its members {listed(names)}")
    if not one.fields:
        return Wording(one.span, f"{one.name} has no fields")
    fields = tuple(map(_field, one.fields))
    span = one.span
    for field in fields:
        span = span.to(field.span)
    return Wording(span, f"{one.name} has these fields", fields)


def _field(field: Field) -> Wording:
    need = "required"
    if field.default is not None:
        need = "optional" if field.default == OPAQUE else f"optional, {field.default} if left out"
    span = field.span.to(field.type.span) if field.type.span.end else field.span
    return Wording(span, f"{quoted(field.name)}, {need}: {_type(field.type)}")


def _type(type_: Type) -> str:
    match type_:
        case Plain(scalar=scalar):
            return _SCALARS[scalar]
        case OneOf(values=values):
            names = [
                f"{one.owner}.{one.name}" if isinstance(one, Member) else repr(one)
                for one in values
            ]
            return listed(names) if len(names) == 1 else f"one of {listed(names)}"
        case Union(options=options):
            return listed(list(map(_type, options)))
        case Many(kind=kind, item=item):
            return f"{_MANY[kind]} in which each item is {_type(item)}"
        case Tuple(items=items):
            return f"a tuple of {', then '.join(map(_type, items)) or 'nothing'}"
        case Dict(key=key, value=value):
            return f"a dict in which each key is {_type(key)} and each value is {_type(value)}"
        case Named(name=name):
            return f"an instance of {name}"


# -- sentences ------------------------------------------------------------------------------------
# Descriptions in words: a sentence with a source span, and the sentences of its parts.
#
# The functions make the phrases that regexes, rules and schemas share.


#: The longest text that is quoted in full.
_MAX_QUOTED = 60


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """What a part of a grammar means."""

    span: Span
    sentence: str
    children: tuple[Wording, ...] = ()

    def __repr__(self) -> str:
        return f"Wording({shorten(self.sentence, 60)!r})"

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{one.sentence}" for depth, one in self.walk())

    def walk(self) -> Iterator[tuple[int, Wording]]:
        """Every part with its depth, a part before its parts."""
        stack = [(0, self)]
        while stack:
            depth, one = stack.pop()
            yield depth, one
            stack.extend((depth + 1, child) for child in reversed(one.children))


def led(lead: str, span: Span, inner: Wording) -> Wording:
    """A part that has one part, as one line: ``one or more times: the text 'foo'``."""
    return Wording(span, f"{lead}: {inner.sentence}", inner.children)


def quoted(text: str) -> str:
    """A text in quotes, in one line."""
    shown = shorten(text.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍"), _MAX_QUOTED)
    return f"'{printable(shown)}'"


def listed(names: Sequence[str], last: str = "or") -> str:
    """``a, b or c``."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def spelled(text: str) -> str:
    """A text, or one character with its kind."""
    if not text:
        return "nothing"
    if len(text) > 1:
        return f"the text {quoted(text)}"
    name = spoken(text)
    if not name.startswith("'"):
        return name if name.startswith("a ") else f"the character {name}"
    kind = "letter" if text.isalpha() else "digit" if text.isdigit() else "character"
    return f"the {kind} {name}"


def in_order(span: Span, parts: Iterable[Wording]) -> Wording:
    """Parts one after the other."""
    found = tuple(parts)
    if not found:
        return Wording(span, "nothing")
    if len(found) == 1:
        return replace(found[0], span=span)
    first, *others = found
    then = (replace(one, sentence=f"then {one.sentence}") for one in others)
    return Wording(span, "in this order", (first, *then))


def one_of(span: Span, options: Iterable[Wording]) -> Wording:
    """One of several parts."""
    found = tuple(options)
    first, *others = found
    either = (replace(one, sentence=f"or {one.sentence}") for one in others)
    return Wording(span, f"one of these {len(found)}", (first, *either))


def times(low: int, high: int | None) -> str:
    """The bounds of a repetition in words."""
    if high is None:
        usual = {0: "zero or more times", 1: "one or more times"}
        return usual.get(low, f"{low:,} or more times")
    if high == 0:
        return "never"
    if (low, high) in ((0, 1), (1, 1)):
        return "optional" if low == 0 else "once"
    if low == high:
        return f"exactly {low:,} times"
    return f"up to {high:,} times" if low == 0 else f"{low:,} to {high:,} times"
