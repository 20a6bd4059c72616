"""The formats of structural tags: their members and checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from workbench.base.diagnostics import suggestion
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span, Unescaped
from workbench.schema.schema_reader import (
    Node,
    json_text,
    location,
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
    keys = {"type": "", **fields.all}
    for name, member in members.items():
        if name not in keys:
            hint, fix = suggestion(name, keys, f"the members are {', '.join(keys)}")
            message = f"{location(member)}: {what} has no member {name!r}"
            span = member.name_span
            error = ParseError(message, source_of(node), span, hint, "structural_tag")
            raise error.with_fix(json_text(fix))
    for name, expected in fields.required.items():
        if name not in members:
            where = node.pointer or "the structural tag"
            message = f"{where}: {what} needs a member {name!r}"
            span = members["type"].span if "type" in members else Span(node.start, node.start + 1)
            hint = f"it is {expected}"
            raise ParseError(message, source_of(node), span, hint, "structural_tag")
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
