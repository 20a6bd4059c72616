"""The formats of structural tags: their members and checks; parameters as Qwen's XML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from workbench.base.errors import ParseError, suggestion
from workbench.base.source import Source, Span, Unescaped
from workbench.schema.schema_reader import (
    LONGEST_RUN,
    Node,
    invalid,
    json_text,
    location,
    unsupported,
    whitespace_machine,
)
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    Literal,
    Repetition,
    Sequence,
    choice,
)

TEXTS = "a list of strings"
FORMAT = 'a format, such as {"type": "any_text"}'
BOOLEAN = "true or false"
COUNT = "a whole number from 0"
TAGS = 'a list of tags, such as [{"type": "tag", "begin": "<a>", "content": …, "end": "</a>"}]'


@dataclass(frozen=True, slots=True)
class Fields:
    """The members of a format besides its type, each with what is expected there."""

    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)
    #: One sentence for the completion in the editor.
    what: str = ""

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.required, **self.optional}


_CONTENT = {"content": FORMAT}
_ELEMENTS = {"elements": "a list of formats"}
_HOW_MANY = {"at_least_one": BOOLEAN, "stop_after_first": BOOLEAN}
_SCHEMA = {"json_schema": "a JSON Schema"}

#: The formats that define a set of texts.
FORMATS: dict[str, Fields] = {
    "const_string": Fields({"value": "a string"}, what="exactly this text"),
    "json_schema": Fields(
        _SCHEMA,
        {
            "style": "'json' or 'qwen_xml'",
            "any_order": BOOLEAN,
            "max_whitespace_cnt": COUNT,
            "excludes": TEXTS,
        },
        "an instance of a JSON Schema",
    ),
    "qwen_xml_parameter": Fields(_SCHEMA, what="<parameter=name>value</parameter> for each one"),
    "grammar": Fields({"grammar": "a GBNF grammar"}, what="a text of a GBNF grammar"),
    "regex": Fields({"pattern": "a regex"}, what="a full match of a regex"),
    "any_text": Fields(
        {}, {"excludes": TEXTS, "max_chars": COUNT, "max_tokens": COUNT}, "any text"
    ),
    "sequence": Fields(_ELEMENTS, what="one format after another"),
    "or": Fields(_ELEMENTS, what="one of several formats"),
    "optional": Fields(_CONTENT, what="a format or nothing"),
    "star": Fields(_CONTENT, what="a format, any number of times"),
    "plus": Fields(_CONTENT, what="a format, once or more"),
    "repeat": Fields(
        {"min": COUNT, "max": "a whole number, -1 without an upper bound", **_CONTENT},
        what="a format, from min to max times",
    ),
    "tag": Fields(
        {"begin": "a string", **_CONTENT, "end": "a string, or a list of strings"},
        what="begin, content, end",
    ),
    "triggered_tags": Fields(
        {"triggers": TEXTS, "tags": TAGS},
        {**_HOW_MANY, "excludes": TEXTS},
        "free text in which each trigger begins a tag",
    ),
    "tags_with_separator": Fields(
        {"tags": TAGS, "separator": "a string"}, _HOW_MANY, "tags with a separator between them"
    ),
    "dispatch": Fields(
        {"rules": "a list of pairs [pattern, format]"},
        {"loop": BOOLEAN, "excludes": TEXTS},
        "free text in which each pattern is followed by a format",
    ),
}
#: The formats that name tokens.
OF_TOKENS = ("token", "exclude_token", "any_tokens", "token_triggered_tags", "token_dispatch")
NO_TOKENS = "a grammar is a set of texts, whatever the vocabulary: write the text of the token"
#: The styles of ``json_schema`` of other engines.
STYLES = ("json", "qwen_xml")
#: The members of the whole object, in both forms.
OUTER = {"type": "'structural_tag'", "format": FORMAT}
LEGACY = {
    "type": "'structural_tag'",
    "structures": 'a list such as [{"begin": "<f>", "schema": {…}, "end": "</f>"}]',
    "triggers": TEXTS,
}
STRUCTURE = {"begin": "a string", "schema": "a JSON Schema", "end": "a string"}
TOP_HINT = '{"type": "structural_tag", "format": {"type": …}}'


def wrong_value(node: Node, expected: str, hint: str = "") -> NoReturn:
    """Raise the error for a value of the wrong kind."""
    where = node.pointer or "the structural tag"
    message = f"{where}: expected {expected}"
    raise ParseError(message, source_of(node), node.span, hint, "structural_tag")


def source_of(node: Node) -> Source:
    """The whole text of a structural tag."""
    return node.document.source


def members_of(node: Node, expected: str) -> dict[str, Node]:
    """The members of an object."""
    if node.members is None:
        wrong_value(node, expected)
    return node.members


def checked(node: Node, fields: Fields, what: str) -> dict[str, Node]:
    """The members of an object without unknown or missing ones."""
    members = members_of(node, "an object")
    known = {"type": "", **fields.all}
    for name, member in members.items():
        if name not in known:
            hint, fix = suggestion(name, known, f"the members are {', '.join(known)}")
            message = f"{location(member)}: {what} has no member {name!r}"
            place = member.name_span
            error = ParseError(message, source_of(node), place, hint, "structural_tag")
            raise error.with_fix(json_text(fix))
    for name, expected in fields.required.items():
        if name not in members:
            where = node.pointer or "the structural tag"
            message = f"{where}: {what} needs a member {name!r}"
            place = members["type"].span if "type" in members else Span(node.start, node.start + 1)
            hint = f"it is {expected}"
            raise ParseError(message, source_of(node), place, hint, "structural_tag")
    return members


def text_of(node: Node, expected: str = "a string") -> str:
    """The text of a string."""
    if isinstance(node.value, str):
        return node.value
    if (node.members or {}).get("type") is not None:
        refused(node, "a token instead of a text cannot be read", NO_TOKENS)
    wrong_value(node, expected)


def refused(node: Node, why: str, hint: str) -> NoReturn:
    """Raise the error for what is not supported."""
    raise ParseError(f"{location(node)}: {why}", source_of(node), node.span, hint, "unsupported")


def texts_of(node: Node | None, what: str = "strings that are not empty") -> list[bytes]:
    """The texts of a list, none of them empty."""
    if node is None:
        return []
    if node.items is None:
        wrong_value(node, TEXTS)
    for item in node.items:
        if not text_of(item):
            wrong_value(item, what, "an empty text occurs everywhere")
    return list(dict.fromkeys(text_of(item).encode() for item in node.items))


def flag(members: Mapping[str, Node], name: str, *, default: bool = False) -> bool:
    """A member that is true or false."""
    if name not in members:
        return default
    value = members[name].value
    if not isinstance(value, bool):
        wrong_value(members[name], BOOLEAN)
    return value


def count_of(node: Node, expected: str = COUNT, least: int = 0) -> int:
    """A whole number from ``least`` up."""
    value = node.value
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        wrong_value(node, expected)
    return value


def listed(node: Node, expected: str) -> list[Node]:
    """The items of a list that is not empty."""
    if not node.items:
        wrong_value(node, f"{expected}, at least one")
    return node.items


def unescaped(node: Node) -> Unescaped:
    """The text of a JSON string with the place of each of its characters."""
    source, start, end = node.document.source, node.start + 1, node.end - 1
    assert isinstance(node.value, str)
    if "\\" not in source.text[start:end]:
        return Unescaped(node.value, range(start, end + 1))
    pieces = re.finditer(r"\\u[dD][89abAB]..\\u....|\\u....|\\.|[^\\]", source.text[start:end])
    places = [start + piece.start() for piece in pieces]
    return Unescaped(node.value, [*places, end], "\\\\")


def is_unlimited(node: Node) -> bool:
    """Whether a format has texts of any length and nothing that ends them."""
    members = node.members or {}
    match members["type"].value:
        case "any_text" | "triggered_tags" | "dispatch":
            bounded = (most := members.get("max_chars")) is not None and most.value is not None
            return not bounded and not (members.get("excludes") and members["excludes"].items)
        case "star" | "plus" | "tags_with_separator":
            return True
        case "optional":
            return is_unlimited(members["content"])
        case "repeat":
            return members["max"].value == -1 or (
                members["max"].value != 0 and is_unlimited(members["content"])
            )
        case "sequence":
            return is_unlimited((members["elements"].items or [node])[-1])
        case "or":
            return any(map(is_unlimited, members["elements"].items or []))
    return False


# -- parameters as XML ----------------------------------------------------------------------------
# Parameters of a tool call as Qwen's XML: ``<parameter=city>Paris</parameter>``.
#
# A property whose value may be any string is written without quotes and escapes; it ends at the
# first ``</parameter>``. Listed strings (``enum``, ``const``) are written as they are too. Every
# other value is JSON. ``$ref`` and ``anyOf`` mean the schemas they name. Properties follow one
# another in declared order with any white space around them, as in xgrammar 0.2; properties that
# the schema does not mention are not allowed.


#: Keywords that do not restrict a value.
_ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples", "$comment"})
#: The keywords that the schema of the parameters may have.
_OUTER = _ANNOTATIONS | {"properties", "required", "additionalProperties", "$defs", "definitions"}
_SHARED = ("$defs", "definitions")
#: Keywords that list values.
_LISTS = ("enum", "const")
#: The end of a value.
_END = "</parameter>"
#: JSON's types of the values of a Python type.
_TYPES_OF = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object"}


def parameters(
    schema: Node, free: Expression, value: Callable[[Node, str], Expression]
) -> Expression:
    """The parameters of an object schema.

    ``free``   the texts without ``</parameter>``.
    ``value``  the JSON texts of a schema: its node, and its text with all definitions.

    Raises: BuildError of kind ``unsupported_schema``; what ``value`` raises.
    """
    members = schema.members
    if members is None:
        raise invalid(schema, "an object schema with properties")
    for name, node in members.items():
        if name not in _OUTER:
            hint = "write the properties of the object itself"
            raise unsupported(node, "parameters as XML are listed by 'properties' alone", hint)
    if "type" in members and members["type"].value != "object":
        raise invalid(members["type"], "'object': the schema lists the parameters")
    properties = members["properties"].members if "properties" in members else {}
    if properties is None:
        raise invalid(members["properties"], "an object of properties")
    required = _names(members.get("required"), properties)
    writer = _Writer(free, value, members)
    span = schema.span
    blank = Automaton(whitespace_machine(LONGEST_RUN), f"up to {LONGEST_RUN} blanks", span)
    items: list[Expression] = [blank]
    for name, node in properties.items():
        if node.value is False and name not in required:
            continue
        begin = Literal(f"<parameter={name}>".encode(), node.name_span)
        end = Literal(b"</parameter>", node.name_span)
        item: Expression = Sequence((begin, writer.texts(node, blank), end, blank), node.span)
        items.append(item if name in required else Repetition(item, 0, 1, node.span))
    return Sequence(tuple(items), span)


def _names(node: Node | None, properties: Mapping[str, Node]) -> list[str]:
    """The names of required properties; each is declared, since others are not allowed."""
    if node is None:
        return []
    if node.items is None:
        raise invalid(node, "a list of names")
    for item in node.items:
        if not isinstance(item.value, str) or item.value not in properties:
            raise invalid(item, "a name in 'properties': no other parameter is allowed")
    return [str(item.value) for item in node.items]


@dataclass(frozen=True, slots=True)
class _Writer:
    free: Expression
    value: Callable[[Node, str], Expression]
    root: Mapping[str, Node]

    def texts(
        self, node: Node, blank: Expression, above: frozenset[int] = frozenset()
    ) -> Expression:
        """The values of a property; ``above`` are the schemas that refer to this one."""
        members = node.members
        if members is None and not isinstance(node.value, bool):
            raise invalid(node, "a schema: an object, true or false")
        if node.value is True:
            return self.free
        if members is None:
            raise unsupported(node, "a required parameter has no value", "leave it out")
        if above and id(node) in above:
            raise unsupported(node, "a schema refers to itself alone")
        keywords = {name: one for name, one in members.items() if name not in _ANNOTATIONS}
        above |= {id(node)}
        match [*keywords] if "type" not in members else []:
            case ["$ref"]:
                if (target := self._target(keywords["$ref"])) is not None:
                    return self.texts(target, blank, above)
            case ["anyOf"] if options := keywords["anyOf"].items:
                return self._either([self.texts(one, blank, above) for one in options], node.span)
        if any(name in keywords for name in _LISTS):
            return self._listed(node, members, keywords, blank)
        if ("type" not in members and not keywords) or "string" in _types(members.get("type")):
            if keywords:
                hint = "leave it out: a string without quotes ends at the first </parameter>"
                keyword = next(iter(keywords.values()))
                raise unsupported(keyword, "a string as XML is not restricted further", hint)
            return self.free  # it covers the other types
        return self._json(node, _written(node), blank)

    def _either(self, options: list[Expression], span: Span) -> Expression:
        if any(one is self.free for one in options):
            return self.free
        return choice(options, span)

    def _target(self, reference: Node) -> Node | None:
        """The shared schema that a reference names; None for one inside a shared schema."""
        match str(reference.value).split("/"):
            case ["#", part, name] if part in _SHARED and part in self.root:
                name = name.replace("~1", "/").replace("~0", "~")
                return (self.root[part].members or {}).get(name)
        return None

    def _json(self, node: Node, text: str, blank: Expression) -> Expression:
        """The JSON values of a schema, written with all definitions."""
        shared = [self.root[at] for at in _SHARED if at in self.root]
        for one in _references([node, *shared]):
            if str(one.value).partition("/")[2].partition("/")[0] not in _SHARED:
                hint = "write it under '$defs', and refer to it as '#/$defs/…'"
                raise unsupported(one, "the schema of a parameter refers to shared ones only", hint)
        parts = [f"{json.dumps(one.step)}: {_written(one)}" for one in shared]
        return Sequence(
            (blank, self.value(node, f"{{{', '.join([*parts, text[1:]])}"), blank), node.span
        )

    def _listed(
        self,
        node: Node,
        members: Mapping[str, Node],
        keywords: Mapping[str, Node],
        blank: Expression,
    ) -> Expression:
        """Some values: strings as they are, others as JSON."""
        if unknown := [one for name, one in keywords.items() if name not in _LISTS]:
            hint = "leave it out, and list only the values that it allows"
            raise unsupported(unknown[0], "listed values as XML are not restricted further", hint)
        listed = [keywords["const"]] if "const" in keywords else []
        if "enum" in keywords:
            items = keywords["enum"].items
            if items is None:
                raise invalid(keywords["enum"], "a list of values")
            listed = [one for one in items if not listed or _equal(one, listed[0])]
        types = _types(members.get("type"))
        listed = [one for one in listed if not types or _has_type(one, types)]
        if not listed:
            at = keywords.get("enum") or keywords["const"]
            raise unsupported(at, "no value is listed that the schema allows", "add one")
        texts = {one.value: one for one in listed if isinstance(one.value, str)}
        for text, one in texts.items():
            if _END in str(text):
                raise unsupported(one, f"a value cannot contain {_END}", "leave it out")
        options: list[Expression] = [
            Literal(str(text).encode(), one.span) for text, one in texts.items()
        ]
        others = [_written(one) for one in listed if not isinstance(one.value, str)]
        if others:
            options.append(self._json(node, f'{{"enum": [{", ".join(others)}]}}', blank))
        return self._either(options, node.span)


def _equal(one: Node, other: Node) -> bool:
    same = isinstance(one.value, bool) == isinstance(other.value, bool)
    return same and one.json_value() == other.json_value()


def _has_type(node: Node, types: list[object]) -> bool:
    value = node.value
    if value is None:
        return "null" in types
    name = _TYPES_OF.get(type(value))
    if name in types or (name == "integer" and "number" in types):
        return True
    if isinstance(value, Decimal):
        return "number" in types or ("integer" in types and value == value.to_integral_value())
    return False


def _references(nodes: Iterable[Node]) -> Iterator[Node]:
    """All references in some schemas."""
    for node in nodes:
        named = (node.members or {}).get("$ref")
        if named is not None and isinstance(named.value, str):
            yield named
        yield from _references((node.members or {}).values())
        yield from _references(node.items or ())


def _written(node: Node) -> str:
    return node.document.source.text[node.start : node.end]


def _types(node: Node | None) -> list[object]:
    if node is None:
        return []
    return [one.value for one in node.items] if node.items is not None else [node.value]
