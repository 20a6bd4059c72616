"""Parses Python literals and calls to a tree of values, without ``eval``.

``instances`` converts the tree to values of given types. The parser accepts more than the grammar
of ``call_tree``: keywords in any order, whitespace and line breaks between lexemes, a trailing
comma.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span


@dataclass(frozen=True, slots=True)
class Number:
    """A number; an int if its numeral has no point and no exponent."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Word:
    """``True``, ``None``, ``Colour.RED``; also ``<Colour.RED: 1>``, as the name inside."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Items:
    """``[…]``, ``(…)`` or a non-empty ``{…}``."""

    bracket: str
    items: tuple[Value, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Pairs:
    """``{k: v}`` or ``{}``."""

    pairs: tuple[tuple[Value, Value], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """``Person(name="Ada")``, with keyword and positional arguments."""

    name: str
    keywords: tuple[tuple[str, Value], ...]
    given: tuple[Value, ...]
    span: Span


Value = Number | Text | Word | Items | Pairs | Call

_LEXEMES = re.compile(
    r"""[ \t\r\n]*+(?:
      (?P<text>'(?:[^'\\\n\r]|\\.)*+' | "(?:[^"\\\n\r]|\\.)*+")
    | (?P<number>
        -?(?:inf|nan|(?:0|[1-9][0-9]*+)(?P<part>\.[0-9]++)?(?P<power>[eE][+-]?[0-9]++)?)(?!\w))
    | (?P<word>[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+)
    | (?P<sign>[()\[\]{},:=<>])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:(?P<plain>[\\'\"abfnrtv])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))"
    r"|\\"
)
_PLAIN = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_EXPECTED = "expected a Python literal or a call"


def read_value(source: Source) -> Value:
    """Parses a text.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape`` or ``nesting``.
    """
    reader = _Reader(source)
    try:
        value = reader.value()
    except RecursionError:
        raise too_deep(source) from None
    if reader.kind != "end":
        reader.refuse("expected the end of the text")
    return value


def too_deep(source: Source) -> ParseError:
    """The error for a text with more nested brackets than Python's recursion limit allows."""
    whole = Span(0, len(source.text))
    return ParseError("nested too deeply to be made into objects", source, whole, kind="nesting")


def literal_or(text: str, otherwise: str) -> str:
    """The text if it can be parsed, else ``otherwise``."""
    try:
        read_value(Source(text, "text"))
    except ParseError:
        return otherwise
    return text


class _Reader:
    """Recursive-descent parser with one lexeme of lookahead."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lexeme: re.Match[str]
        self._take(0)

    @property
    def kind(self) -> str:
        return self.lexeme.lastgroup or ""

    @property
    def sign(self) -> str:
        return self.lexeme["sign"] or ""

    @property
    def span(self) -> Span:
        return Span(*self.lexeme.span(self.kind))

    def _take(self, offset: int) -> None:
        match = _LEXEMES.match(self.source.text, offset)
        if match is None:
            rest = re.compile(r"[ \t\r\n]*").match(self.source.text, offset)
            start = rest.end() if rest else offset
            raise ParseError(_EXPECTED, self.source, Span(start, start + 1))
        self.lexeme = match

    def next(self) -> re.Match[str]:
        """Consume the current lexeme and return it."""
        lexeme = self.lexeme
        self._take(lexeme.end())
        return lexeme

    def refuse(self, message: str) -> NoReturn:
        raise ParseError(message, self.source, self.span)

    def expect(self, sign: str) -> None:
        if self.sign != sign:
            self.refuse(f"expected {sign}")
        self.next()

    def value(self) -> Value:
        """Parse a number, string, name, member, list, tuple, dict, set or call."""
        kind, span = self.kind, self.span
        if kind == "text":
            self.next()
            return Text(_unescape(self.source, span), span)
        if kind == "number":
            return self._number(span)
        if kind == "word":
            name = self.next()["word"]
            return self._call(name, span.start) if self.sign == "(" else Word(name, span)
        if self.sign in _CLOSING:
            return self._brackets(self.sign, span.start)
        return self._member(span.start)

    def _member(self, start: int) -> Word:
        """``<Colour.RED: 1>``."""
        if self.sign != "<":
            self.refuse(_EXPECTED)
        self.next()
        if self.kind != "word":
            self.refuse("expected the name of a member")
        name = self.next()["word"]
        self.expect(":")
        self.value()
        span = Span(start, self.span.end)
        self.expect(">")
        return Word(name, span)

    def _number(self, span: Span) -> Number:
        lexeme = self.next()
        numeral = lexeme["number"]
        if lexeme["part"] or lexeme["power"] or numeral.lstrip("-") in ("inf", "nan"):
            return Number(float(numeral), span)
        try:
            return Number(int(numeral), span)
        except ValueError:  # Python limits the length of numerals
            message = "expected a number of fewer digits"
            raise ParseError(message, self.source, span, kind="digits") from None

    def _call(self, name: str, start: int) -> Call:
        """``name(keyword=value, …)``."""
        keywords: dict[str, Value] = {}
        given: list[Value] = []

        def argument() -> None:
            value = self.value()
            if self.sign != "=" or not isinstance(value, Word):
                given.append(value)
                return
            self.next()
            if value.name in keywords:
                raise ParseError(f"{value.name} is given twice", self.source, value.span)
            keywords[value.name] = self.value()

        end = self._list_items(argument, "(")[1]
        return Call(name, tuple(keywords.items()), tuple(given), Span(start, end))

    def _brackets(self, bracket: str, start: int) -> Value:
        """A list, a tuple, a set or a dict."""
        items: list[Value] = []
        pairs: list[tuple[Value, Value]] = []

        def item() -> None:
            value = self.value()
            if bracket == "{" and self.sign == ":" and not items:
                self.next()
                pairs.append((value, self.value()))
            elif pairs:
                self.refuse("expected :")
            else:
                items.append(value)

        comma, end = self._list_items(item, bracket)
        span = Span(start, end)
        if bracket == "{" and not items:
            return Pairs(tuple(pairs), span)
        if bracket == "(" and len(items) == 1 and not comma:
            return items[0]  # parentheses around one value do not make a tuple
        return Items(bracket, tuple(items), span)

    def _list_items(self, item: Callable[[], None], bracket: str) -> tuple[bool, int]:
        """Parse items in brackets; whether there is a trailing comma, and where they end."""
        self.expect(bracket)
        closing, comma = _CLOSING[bracket], False
        while self.sign != closing:
            item()
            comma = self.sign == ","
            if not comma and self.sign != closing:
                self.refuse(f"expected , or {closing}")
            if comma:
                self.next()
        end = self.span.end
        self.next()
        return comma, end


def _unescape(source: Source, span: Span) -> str:
    """The value of a string literal.

    Raises: ParseError of kind ``bad_escape``.
    """

    def character(escape: re.Match[str]) -> str:
        if escape["plain"]:
            return _PLAIN[escape["plain"]]
        digits = escape["x"] or escape["u"] or escape["U"]
        if digits and int(digits, 16) <= 0x10FFFF:
            return chr(int(digits, 16))
        start = span.start + 1 + escape.start()
        message = "expected an escape such as \\n, \\x41 or \\u00e9"
        raise ParseError(message, source, Span(start, start + 2), kind="bad_escape")

    return _ESCAPE.sub(character, source.text[span.start + 1 : span.end - 1])
