"""Parses JSON Schema text to nodes with places; refusals and notes.

``json.loads`` drops positions, and errors have to point into the text. Two things that JSON allows
are errors here, because a part of the schema would be ignored silently: a duplicate name in an
object, and a lone surrogate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NoReturn

from workbench.base.cached_property import cached_property
from workbench.base.diagnostics import NOTHING_MEANT, Meant, with_rewrite
from workbench.base.errors import BuildError, LimitError, ParseError
from workbench.base.limits import check_time_budget
from workbench.base.source import SURROGATE, Source, Span
from workbench.schema.pydantic_models import is_pydantic_source, source_hint

#: A JSON value in Python; numbers that are not integers are Decimals where exactness matters.
Json = None | bool | int | float | Decimal | str | list["Json"] | dict[str, "Json"]

#: Nested arrays and objects; the algebra traverses them by recursion.
_MAX_DEPTH = 200
#: Decimal digits, and powers of ten, of a number: an automaton of more digits would be too large.
_MAX_DIGITS = 400

#: JSON whitespace, a string with its quotation marks (its inside is a group), and a value up to its
#: first bracket.
_BLANK = r"[ \t\n\r]*"
_STRING = r'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"'
_VALUE = rf"""{_BLANK}(?:
      {_STRING}                                                                  # 2: a string
    | ( -?(?:0|[1-9][0-9]*) ) (?![0-9.eE])                                       # 3: an integer
    | ( -?(?:0|[1-9][0-9]*) (?: \.[0-9]+(?:[eE][+-]?[0-9]+)? | [eE][+-]?[0-9]+ ) )  # 4: a number
    | ( true | false | null )                                                    # 5
    | ( [{{\[] )                                                                 # 6
    )"""
_SPACE = re.compile(_BLANK)
_NAME = re.compile(rf"{_BLANK}{_STRING}{_BLANK}:")
#: An item, or a member with its name as group 1: the first one, and one after a comma.
_ITEM, _MEMBER, _NEXT_ITEM, _NEXT_MEMBER = (
    re.compile(f"{comma}{name}{_VALUE}", re.VERBOSE)
    for comma in ("", f"{_BLANK},")
    for name in ("()", _NAME.pattern)
)
_END = {sign: re.compile(_BLANK + re.escape(sign)) for sign in "}]"}
#: Hints for the lexemes of other notations.
_NOTATION_HINTS = {
    "'": "write double quotes",
    "//": "leave the comment out, or write it as a description",
    "#": "leave the comment out, or write it as a description",
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "...": "write the omitted part",
}
_REWRITES = (
    (r"'([^'\"\\\n]*)'", r'"\1"'),
    (r"[ \t]*(?://|#).*", ""),
    (r"True\b", "true"),
    (r"False\b", "false"),
    (r"None\b", "null"),
    (r"([A-Za-z_$][\w$]*)(?=\s*:)", r'"\1"'),
    (r"[“”„«»]([^\"“”„«»\n]*)[“”„«»]", r'"\1"'),
)
#: The keywords that may be left out of a schema (``SchemaOptions.unasserted``). The others say what
#: the members and items are: without one of them it is another schema.
UNASSERTABLE = frozenset((
    "contains", "dependencies", "dependentRequired", "dependentSchemas", "exclusiveMaximum",
    "exclusiveMinimum", "format", "if", "maxContains", "maxItems", "maxLength", "maxProperties",
    "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
    "not", "oneOf", "pattern", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
    "uniqueItems",
))  # fmt: skip
#: A value that is neither an array nor an object.
Scalar = None | bool | int | Decimal | str

_DECODER = json.JSONDecoder()
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class Node:
    """One JSON value of a schema text with its span; ``parent`` and ``step`` give its path."""

    __slots__ = ("_match", "document", "end", "parent", "step", "value")

    def __init__(
        self,
        document: Document,
        value: dict[str, Node] | list[Node] | Scalar,
        match: re.Match[str],
        parent: Node | None,
        step: str | int,
    ) -> None:
        self.document = document
        #: The members of an object and the items of an array are nodes.
        self.value = value
        #: The lexeme with which it begins, after its name.
        self._match = match
        self.end = match.end()
        self.parent = parent
        #: Its name or index in its parent.
        self.step = step

    @property
    def members(self) -> dict[str, Node] | None:
        """The members, if it is an object."""
        return self.value if isinstance(self.value, dict) else None

    @property
    def items(self) -> list[Node] | None:
        """The items, if it is an array."""
        return self.value if isinstance(self.value, list) else None

    @property
    def start(self) -> int:
        """Where it starts in the text."""
        kind = self._match.lastindex or 0
        return self._match.start(kind) - (kind == 2)  # before the quotation mark

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def name_span(self) -> Span:
        """The span of the name before it, which is the keyword; its own if it has no name."""
        if not isinstance(self.step, str) or self.parent is None:
            return self.span
        start, end = self._match.span(1)
        return Span(start - 1, end + 1)

    @property
    def name_start(self) -> int:
        """Where its name starts, or itself if it has no name."""
        return self.name_span.start

    @property
    def shown_span(self) -> Span:
        """Its span in the grammar's own text: for other documents, that of the reference."""
        return self.document.referred_from or self.span

    @property
    def pointer(self) -> str:
        """Its JSON pointer (RFC 6901); empty for the whole document."""
        steps: list[str] = []
        node: Node = self
        while node.parent is not None:
            steps.append(str(node.step).replace("~", "~0").replace("/", "~1"))
            node = node.parent
        return "".join(f"/{step}" for step in reversed(steps))

    def json_value(self) -> Json:
        """The value without spans."""
        if isinstance(self.value, dict):
            return {name: member.json_value() for name, member in self.value.items()}
        if isinstance(self.value, list):
            return [item.json_value() for item in self.value]
        return self.value

    def __repr__(self) -> str:
        return f"Node({self.pointer!r})"


class Document:
    """A schema text and its tree."""

    def __init__(self, source: Source, address: str = "") -> None:
        self.source = source
        #: The address under which other documents refer to it; empty for the grammar's own text.
        self.address = address
        #: For a document that is referred to: the place of the first reference in the own text.
        self.referred_from: Span | None = None

    @cached_property
    def root(self) -> Node:
        """The tree.

        Cost: 0.06 ms for 2,000 characters.
        Raises: ParseError if the text is not JSON.
        """
        return _Reader(self).read()


def schema_source(schema: str | dict[str, object] | bool, name: str = "schema") -> Source:
    """The text of a schema: the given text, or a Python value written by ``json.dumps``.

    Raises: ParseError if a Python value is not a JSON value.
    """
    if isinstance(schema, str):
        return Source(schema, name)
    try:
        return Source(json.dumps(schema, indent=2, ensure_ascii=False, allow_nan=False), name)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "give a dict of JSON values, a bool, or the schema's text"
        raise ParseError(f"not a JSON value: {error}", Source("", name), Span(0, 0), hint) from None


class _Reader:
    """Recursive-descent parser of one text."""

    __slots__ = ("depth", "document", "text")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.source.text
        self.depth = 0

    def read(self) -> Node:
        """The whole text as one value."""
        if not self.text.isascii() and (half := SURROGATE.search(self.text)):
            self.fail(half.start(), "expected characters, not half of a surrogate pair")
        match = _ITEM.match(self.text)
        if match is None:
            self.fail_at_value(0)
        root = self.node(match, None, "")
        position = self.after_space(root.end)
        if position < len(self.text):
            self.fail(position, "expected the end of the schema")
        return root

    def node(self, match: re.Match[str], parent: Node | None, step: str | int) -> Node:
        """The value that begins with the lexeme of a match."""
        check_time_budget("the schema is very long; shorten it")
        kind = match.lastindex or 0
        text = match[kind]
        if kind == 6:
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                self.fail(match.start(6), f"expected at most {_MAX_DEPTH} levels of brackets")
            node = Node(self.document, {} if text == "{" else [], match, parent, step)
            node.end = self.members(node) if text == "{" else self.array(node)
            self.depth -= 1
            return node
        value: Scalar
        if kind == 2:
            value = text if "\\" not in text else self.unescaped(match, 2)
        else:
            value = _CONSTANTS[text] if kind == 5 else self.number(kind, text, match.start(kind))
        return Node(self.document, value, match, parent, step)

    def number(self, kind: int, text: str, start: int) -> int | Decimal:
        """The value of a numeral."""
        is_long = len(text) > _MAX_DIGITS
        if kind == 3 and not is_long:
            return int(text)
        number = Decimal(text)
        if is_long or abs(number.adjusted()) > _MAX_DIGITS:
            self.fail(start, f"expected a number of at most {_MAX_DIGITS} digits")
        return number

    def members(self, node: Node) -> int:
        """Parse the members of an object into its node; returns its end."""
        members = node.members
        assert members is not None
        text, position, following = self.text, node.end, _NEXT_MEMBER.match
        match = _MEMBER.match(text, position)
        while match is not None:
            step = match[1]
            if "\\" in step:
                step = self.unescaped(match, 1)
            if step in members:
                self.fail(match.start(1) - 1, f"duplicate name {json.dumps(step)}")
            member = members[step] = self.node(match, node, step)
            position = member.end
            match = following(text, position)
        return self.end("}", position, is_first=not members)

    def array(self, node: Node) -> int:
        """Parse the items of an array into its node; returns its end."""
        items = node.items
        assert items is not None
        text, position, following = self.text, node.end, _NEXT_ITEM.match
        match = _ITEM.match(text, position)
        while match is not None:
            item = self.node(match, node, len(items))
            items.append(item)
            position = item.end
            match = following(text, position)
        return self.end("]", position, is_first=not items)

    def end(self, bracket: str, position: int, *, is_first: bool) -> int:
        """The position after a closing bracket; ``is_first``: there is no value before it."""
        match = _END[bracket].match(self.text, position)
        if match is None:
            self.fail_at_end(bracket, position, is_first=is_first)
        return match.end()

    def fail_at_end(self, bracket: str, position: int, *, is_first: bool) -> NoReturn:
        position = self.after_space(position)
        if not is_first:
            if self.text[position : position + 1] != ",":
                self.fail(position, f"expected a comma or {bracket!r}")
            position += 1
        if bracket == "}":
            name = _NAME.match(self.text, position)
            if name is None:
                message = "expected a name in double quotes and a colon"
                self.fail(self.after_space(position), message)
            position = name.end()
        self.fail_at_value(position)

    def fail_at_value(self, position: int) -> NoReturn:
        position = self.after_space(position)
        self.fail(position, "expected a JSON value" + self.found_instead(position))

    def unescaped(self, match: re.Match[str], group: int) -> str:
        """The string of a match."""
        start = match.start(group) - 1
        value: str
        try:
            value, _ = _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            self.fail(error.pos, "expected a JSON escape")
        if SURROGATE.search(value):
            self.fail(start, "expected characters, not half of a surrogate pair")
        return value

    def after_space(self, position: int) -> int:
        """The position after whitespace."""
        match = _SPACE.match(self.text, position)
        assert match is not None
        return match.end()

    def found_instead(self, position: int) -> str:
        """What was found at the position of an error, for common mistakes."""
        if position >= len(self.text):
            return ", and the text ends"
        return ", not a comma" if self.text[position] == "," else ""

    def fail(self, position: int, message: str) -> NoReturn:
        end = min(position + 1, len(self.text))
        span, hint = Span(min(position, end), end), self.hint_at(position)
        error = ParseError(message, self.document.source, span, hint, "json")
        if hint.startswith("remove"):
            comma = self.text.rindex(",", 0, position)
            error.with_fix("", Span(comma, comma + 1))
        elif message.startswith("expected a comma") and re.match(
            r'["{\[\w-]', self.text[position:]
        ):
            before = len(self.text[:position].rstrip())
            error.with_fix(",", Span(before, before))
        raise error if error.fix is not None else with_rewrite(error, _REWRITES, position)

    def hint_at(self, position: int) -> str:
        """A hint if the text is written in another notation."""
        rest = self.text[position:]
        if rest[:1] in ("}", "]") and self.text[:position].rstrip().endswith(","):
            return "remove the comma before it"
        if is_pydantic_source(self.text):
            return source_hint(self.text)
        return next((hint for sign, hint in _NOTATION_HINTS.items() if rest.startswith(sign)), "")


class Effect(StrEnum):
    """What a note says of a keyword; the codes of ``Advice``."""

    #: Some instances are refused.
    NARROWED = "keyword_narrowed"
    #: It was left out as the options say: values that violate it are accepted.
    UNASSERTED = "keyword_unasserted"
    #: It restricts nothing, in this draft or here.
    WITHOUT_EFFECT = "keyword_without_effect"


@dataclass(frozen=True, slots=True)
class SchemaNote:
    """A notice that is not an error, such as an unknown ``format``."""

    message: str
    #: The JSON pointer of the keyword.
    pointer: str
    span: Span
    hint: str = ""
    #: A replacement for the text of ``span``, if one is known.
    fix: str | None = None
    effect: Effect = Effect.WITHOUT_EFFECT


class UncomputableSet(Exception):  # noqa: N818  # the algebra reports it as a BuildError
    """A set cannot be computed; the message is the reason."""


def unsupported(keyword: Node, why: str, hint: str = "") -> BuildError:
    """The error for a valid keyword that is not supported."""
    if keyword.step in UNASSERTABLE:
        hint = f"{hint or 'express the condition differently'}, or {unasserted_hint(keyword.step)}"
    error = BuildError(
        f"{location(keyword)}: {why}",
        keyword.document.source,
        keyword.name_span,
        hint or "leave the keyword out, or express the condition differently",
        kind="unsupported_schema",
    )
    error.unassertable = _unassertable(keyword)
    return error


def _unassertable(keyword: Node) -> str:
    """The keyword, if it may be left out; else empty."""
    return str(keyword.step) if keyword.step in UNASSERTABLE else ""


def at_keyword(error: LimitError, keyword: Node) -> LimitError:
    """An exceeded limit of states or time with a keyword's JSON pointer, once; others unchanged."""
    if error.budget not in ("states", "seconds") or error.message.startswith(("/", "the schema")):
        return error
    hint = error.hint
    if keyword.step in UNASSERTABLE:
        hint = f"{hint}, or {unasserted_hint(keyword.step)}"
    located = LimitError(f"{location(keyword)}: {error.message}", error.budget, hint)
    located.unassertable = _unassertable(keyword)
    return located


def unasserted_hint(word: str | int) -> str:
    """How a keyword is left out."""
    return f"leave it out: unasserted=['{word}'], --unasserted {word}"


def first_keyword(subschema: Node, words: Iterable[str]) -> Node:
    """The first of some keywords that a subschema has; the subschema if it has none of them."""
    held = subschema.members or {}
    return next((held[word] for word in words if word in held), subschema)


def invalid(node: Node, expected: str, meant: Meant = NOTHING_MEANT) -> ParseError:
    """The error for a keyword with an invalid value; ``meant`` is a ``suggestion``."""
    hint, fix = meant
    return ParseError(
        f"{location(node)}: expected {expected}",
        node.document.source,
        node.span,
        hint,
        "schema",
        json_text(fix),
    )


def note(
    node: Node,
    message: str,
    meant: Meant = NOTHING_MEANT,
    *,
    at_value: bool = False,
    effect: Effect = Effect.WITHOUT_EFFECT,
) -> SchemaNote:
    """A note at a keyword, or ``at_value``; ``meant`` is a ``suggestion`` for the word there."""
    hint, fix = meant
    if node.document.referred_from:  # the place is that of the reference: its text is not replaced
        return SchemaNote(message, node.pointer, node.document.referred_from, hint, None, effect)
    span = node.span if at_value else node.name_span
    return SchemaNote(message, node.pointer, span, hint, json_text(fix), effect)


def json_text(word: str | None) -> str | None:
    """A word as a JSON string."""
    return None if word is None else json.dumps(word, ensure_ascii=False)


def location(node: Node) -> str:
    """The name of a node in messages: its JSON pointer, which ends in the keyword."""
    return node.pointer or "the schema"
