"""Schema text becomes nodes: in comes JSON text, out comes a tree that knows its places.

``json.loads`` forgets where things stood, and a refusal has to point. What JSON forbids is told
at its place. Two things JSON leaves open are told as well, since one of two would be
ignored silently: a name that is written twice, and half of a surrogate pair.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from workbench.errors import ParseError
from workbench.schema.values import Json
from workbench.source import Source, Span

if TYPE_CHECKING:
    from workbench.schema.values import Later

#: Arrays and objects inside each other; the algebra walks them by calls.
_DEEPEST = 200
#: Powers of ten of a number: beyond these no machine of digits could be made.
_LARGEST = 400

_VALUE = re.compile(
    r"""[ \t\n\r]*(?:
      "( [^"\\\x00-\x1f]* (?: \\. [^"\\\x00-\x1f]* )* )"                         # 1: a string
    | ( -?(?:0|[1-9][0-9]*) ) (?![0-9.eE])                                       # 2: an integer
    | ( -?(?:0|[1-9][0-9]*) (?: \.[0-9]+(?:[eE][+-]?[0-9]+)? | [eE][+-]?[0-9]+ ) )  # 3: a number
    | ( true | false | null )                                                    # 4
    | ( [{\[] )                                                                  # 5
    )""",
    re.VERBOSE,
)
_NAME = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"[ \t\n\r]*:')
_AFTER = re.compile(r"[ \t\n\r]*([,}\]])")
#: Signs of other notations, and what JSON has instead.
_ELSEWHERE = {
    "'": "write double quotes",
    "//": "leave the comment out, or write it as a description",
    "#": "leave the comment out, or write it as a description",
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "...": "write what was left out",
}
#: What is neither an array nor an object.
Scalar = None | bool | int | Decimal | str

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Node:
    """One JSON value of a schema text with its place; ``parent`` and ``step`` lead to it."""

    __slots__ = ("document", "end", "later", "named", "parent", "start", "step", "value")

    def __init__(
        self,
        document: Document,
        value: dict[str, Node] | list[Node] | Scalar,
        start: int,
        end: int,
        parent: Node | None,
        step: str | int,
        named: int,
    ) -> None:
        self.document = document
        #: The members of an object and the items of an array are nodes again.
        self.value = value
        self.start = start
        self.end = end
        self.parent = parent
        #: The name or the index under which its parent holds it.
        self.step = step
        #: Where the name before it begins; its own start where there is none.
        self.named = named
        #: The set that this subschema means, once somebody asked (``Subschemas.of``).
        self.later: Later | None = None

    @property
    def members(self) -> dict[str, Node] | None:
        """The members, if it is an object."""
        return self.value if isinstance(self.value, dict) else None

    @property
    def items(self) -> list[Node] | None:
        """The items, if it is an array."""
        return self.value if isinstance(self.value, list) else None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def name_span(self) -> Span:
        """The place of the name before it, which is where a keyword stands."""
        if self.named == self.start:
            return self.span
        name = _NAME.match(self.document.source.text, self.named)
        assert name is not None
        return Span(self.named, name.end(1) + 1)

    @property
    def pointer(self) -> str:
        """The JSON pointer that leads to it (RFC 6901); empty for the whole document."""
        steps: list[str] = []
        node: Node = self
        while node.parent is not None:
            steps.append(str(node.step).replace("~", "~0").replace("/", "~1"))
            node = node.parent
        return "".join(f"/{step}" for step in reversed(steps))

    def plain(self) -> Json:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {name: member.plain() for name, member in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value

    def __repr__(self) -> str:
        return f"Node({self.pointer!r})"


class Document:
    """A schema text and the tree that was read from it."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def root(self) -> Node:
        """The tree.

        Cost: 0.06 ms for 2,000 characters.
        Raises: ParseError where the text is no JSON.
        """
        return _Reader(self).read()


def schema_source(schema: str | dict[str, object] | bool, name: str = "schema") -> Source:
    """The text of a schema: as it was written, or of a Python value as ``json.dumps`` writes it.

    Raises: ParseError if a Python value is none that JSON has.
    """
    if isinstance(schema, str):
        return Source(schema, name)
    try:
        return Source(json.dumps(schema, indent=2, ensure_ascii=False, allow_nan=False), name)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "give a dict of JSON values, a bool, or the schema's text"
        raise ParseError(f"no JSON value: {error}", Source("", name), Span(0, 0), hint) from None


class _Reader:
    """One reading of one text, by recursive descent."""

    __slots__ = ("depth", "document", "text")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.source.text
        self.depth = 0

    def read(self) -> Node:
        """The whole text as one value."""
        if not self.text.isascii() and (half := _SURROGATE.search(self.text)):
            self.fail(half.start(), "expected characters, not half of a surrogate pair")
        root = self.value(0, None, "", -1)
        place = self.skipped(root.end)
        if place < len(self.text):
            self.fail(place, "expected the end of the schema")
        return root

    def value(self, place: int, parent: Node | None, step: str | int, named: int) -> Node:
        """The value that begins at a place, after whitespace."""
        match = _VALUE.match(self.text, place)
        if match is None:
            place = self.skipped(place)
            self.fail(place, "expected a JSON value" + self.instead(place))
        kind = match.lastindex
        end = match.end()
        value: dict[str, Node] | list[Node] | Scalar
        if kind == 1:
            start = match.start(1) - 1
            value = match[1] if "\\" not in match[1] else self.unescaped(start, end)
        else:
            start = match.start(kind)  # type: ignore[arg-type]  # one group always matches
            value = self.other(kind, match[kind], start)  # type: ignore[arg-type,index]
        node = Node(self.document, value, start, end, parent, step, start if named < 0 else named)
        if kind == 5:
            self.depth += 1
            if self.depth > _DEEPEST:
                self.fail(start, f"expected at most {_DEEPEST} levels of brackets")
            node.end = self.members(node, end) if match[5] == "{" else self.array(node, end)
            self.depth -= 1
        return node

    def other(self, kind: int, text: str, start: int) -> dict[str, Node] | list[Node] | Scalar:
        """What a lexeme that is no string stands for; brackets are still empty."""
        if kind == 2:
            if len(text) > _LARGEST:
                self.fail(start, f"expected a number of at most {_LARGEST} digits")
            return int(text)
        if kind == 4:
            return _WORDS[text]
        if kind == 5:
            return {} if text == "{" else []
        number = Decimal(text)
        if len(text) > _LARGEST or abs(number.adjusted()) > _LARGEST:
            self.fail(start, f"expected a number of at most {_LARGEST} digits")
        return number

    def members(self, node: Node, place: int) -> int:
        """Fill an object; where it ends."""
        members = node.members
        assert members is not None
        match = _AFTER.match(self.text, place)
        if match is not None and match[1] == "}":
            return match.end()
        while True:
            name = _NAME.match(self.text, place)
            if name is None:
                place = self.skipped(place)
                self.fail(place, "expected a name in double quotes and a colon")
            start = name.start(1) - 1
            step = name[1] if "\\" not in name[1] else self.unescaped(start, name.end(1) + 1)
            if step in members:
                self.fail(start, f"the name {json.dumps(step)} is written twice")
            member = members[step] = self.value(name.end(), node, step, start)
            match = _AFTER.match(self.text, member.end)
            if match is None or match[1] == "]":
                self.fail(self.skipped(member.end), "expected a comma or '}'")
            place = match.end()
            if match[1] == "}":
                return place

    def array(self, node: Node, place: int) -> int:
        """Fill an array; where it ends."""
        items = node.items
        assert items is not None
        match = _AFTER.match(self.text, place)
        if match is not None and match[1] == "]":
            return match.end()
        while True:
            item = self.value(place, node, len(items), -1)
            items.append(item)
            match = _AFTER.match(self.text, item.end)
            if match is None or match[1] == "}":
                self.fail(self.skipped(item.end), "expected a comma or ']'")
            place = match.end()
            if match[1] == "]":
                return place

    def unescaped(self, start: int, end: int) -> str:
        """The string that stands between two places, its quotation marks included."""
        value: str
        try:
            value = json.loads(self.text[start:end])
        except json.JSONDecodeError as error:
            self.fail(start + error.pos, "expected one of the escapes that JSON has")
        if _SURROGATE.search(value):
            self.fail(start, "expected characters, not half of a surrogate pair")
        return value

    def skipped(self, place: int) -> int:
        """The place after whitespace."""
        match = _SPACE.match(self.text, place)
        assert match is not None
        return match.end()

    def instead(self, place: int) -> str:
        """What stands at the place of an error, where that helps."""
        if place >= len(self.text):
            return ", and the text ends"
        return ", not a comma" if self.text[place] == "," else ""

    def fail(self, place: int, message: str) -> NoReturn:
        end = min(place + 1, len(self.text))
        span, hint = Span(min(place, end), end), self.way_out(place)
        raise ParseError(message, self.document.source, span, hint, "json")

    def way_out(self, place: int) -> str:
        """What people write who take another notation for JSON."""
        rest = self.text[place:]
        if rest[:1] in ("}", "]") and self.text[:place].rstrip().endswith(","):
            return "take the comma before it away"
        return next((hint for sign, hint in _ELSEWHERE.items() if rest.startswith(sign)), "")
