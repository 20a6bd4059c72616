"""Where reading KBNF stopped: in come the lexemes before, out comes what is wanted there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.errors import ParseError
from workbench.source import Source, Span

#: The kinds of opening brackets with the kind that closes each.
CLOSING = {"_LPAR": "_RPAR", "_LBRACKET": "_RBRACKET", "_LBRACE": "_RBRACE"}

#: Punctuation as it is written.
SHOWN = {
    "_DEFINE": "::=", "_END": ";", "_BAR": "|", "_COMMA": ",", "_OPTIONAL": "?", "_STAR": "*",
    "_PLUS": "+", "_LPAR": "(", "_RPAR": ")", "_LBRACKET": "[", "_RBRACKET": "]", "_LBRACE": "{",
    "_RBRACE": "}", "_EXCEPT": "except!",
}  # fmt: skip
QUOTED = {"STRING", "REGEX", "REGEX_FIRST", "REGEX_WITHOUT", "SUBSTRINGS"}
#: After these an item of a rule must follow.
WANTS_ITEM = {"_DEFINE", "_BAR", "_COMMA", *CLOSING}
#: What a message shows of a lexeme.
_LONG = 24


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A piece of grammar text that belongs together; ``kind`` is its name in kbnf.lark."""

    kind: str
    text: str
    span: Span

    @property
    def shown(self) -> str:
        """The lexeme as a message names it."""
        short = self.text if len(self.text) <= _LONG else self.text[: _LONG - 1] + "…"
        return short if short[0] in "'\"#" else f"'{short}'"


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """A place where reading stopped, and the lexemes before it.

    ``kind`` is the kind of the lexeme that should not stand there, ``$END`` at the end of the
    text, and empty where no lexeme begins at all.
    """

    source: Source
    before: tuple[Lexeme, ...]
    kind: str
    place: int

    @property
    def rest(self) -> str:
        """The next characters; enough to recognise what was meant."""
        return self.source.text[self.place : self.place + _LONG]

    @property
    def span(self) -> Span:
        """What should not stand there."""
        if self.kind == "$END":
            end = len(self.source.text.rstrip(" \t\r\n"))
            return Span(end, end)
        length = len(SHOWN[self.kind]) if self.kind in SHOWN else 1
        if self.kind in ("_DEFINE", "NAME", "NUMBER"):
            found = re.match(r"::=|=|\w+", self.rest, re.ASCII)
            length = found.end() if found else 1
        return Span(self.place, min(self.place + length, len(self.source.text)))

    @property
    def found(self) -> str:
        """What should not stand there, in words."""
        if self.kind == "$END":
            return "the end of the text"
        if self.kind in QUOTED:
            return "a string" if self.kind == "STRING" else "a regex"
        text = self.source.text[self.span.start : self.span.end]
        return repr(text) if not text.isprintable() else f"'{text}'"

    def last(self, back: int = 1) -> Lexeme:
        """The last lexeme before, or the one ``back`` lexemes before."""
        if len(self.before) >= back:
            return self.before[-back]
        return Lexeme("", "", Span(0, 0))

    @property
    def open(self) -> Lexeme | None:
        """The innermost bracket still open."""
        opened: list[Lexeme] = []
        for lexeme in self.before:
            if lexeme.kind in CLOSING:
                opened.append(lexeme)
            elif opened and lexeme.kind == CLOSING[opened[-1].kind]:
                opened.pop()
        return opened[-1] if opened else None

    @property
    def wants(self) -> str:
        """What has to come here: a ``rule``, ``define``, an ``item``, or what may ``follow`` one.

        Inside ``except!( )`` it is ``bracket``, ``excepted`` or ``closing``.
        """
        last, before = self.last(), self.last(2)
        if last.kind in ("", "_END"):
            return "rule"
        if last.kind == "NAME" and before.kind in ("", "_END"):
            return "define"
        if last.kind == "_EXCEPT":
            return "bracket"
        if before.kind == "_EXCEPT":
            return "excepted"
        if self.last(3).kind == "_EXCEPT" and last.kind in ("STRING", "NAME"):
            return "limit"
        if self.last(4).kind == "_EXCEPT" and last.kind == "_COMMA":
            return "number"
        if self.last(5).kind == "_EXCEPT" and last.kind == "NUMBER":
            return "closing"
        return "item" if last.kind in WANTS_ITEM else "follow"

    def error(self, message: str, hint: str, span: Span | None = None) -> ParseError:
        """The error at the place, or at another one."""
        return ParseError(message, self.source, span or self.span, hint)
