"""A cursor over the lexemes of a grammar text.

The recursive descent parsers of GBNF and Lark use it: at every position they know what may come
next, so the message can say it. KBNF's parser (``kbnf.kbnf_parser``) explains a mistake by the
lexemes before it, and has no objects for lexemes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.base.diagnostics import Rewrites, with_rewrite
from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import SURROGATE, Source, Span
from workbench.syntax.kbnf.kbnf_lexer import END, LEXEMES_PER_CHECK, NOTHING, Lexeme, Lexemes

#: The deepest nesting of brackets, as in KBNF: functions over the tree may recurse.
NESTING = 128
#: The most lexemes of lookahead; the last lexeme is repeated this many times.
_MAX_LOOKAHEAD = 8
_TOO_LONG = "the grammar is very long; shorten it"
#: Characters that are enough to recognize foreign syntax.
_SNIPPET = 40
#: Lone surrogates, which a ``str`` can contain and UTF-8 cannot.


class Part(NamedTuple):
    """A lexeme: its kind and position."""

    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LexemeNames:
    """The lexemes of a notation, for messages."""

    #: Punctuation by its kind.
    shown: Mapping[str, str]
    #: Opening brackets by the kind that closes each.
    closing: Mapping[str, str]
    #: The kind of lexeme between a rule's name and its body.
    define: str
    #: Lexemes that are never closed: a pattern of their beginning, a name, and their end.
    unclosed: Sequence[tuple[str, str, str]]
    #: Syntax of other notations: a pattern, the message and the hint.
    foreign: Sequence[tuple[str, str, str]]
    #: Corrections of syntax of other notations.
    rewrites: Rewrites = ()


@dataclass(slots=True, eq=False)
class Cursor:
    """A position in the lexemes of a text, given by kind and position."""

    source: Source
    kinds: list[str]
    starts: list[int]
    ends: list[int]
    names: LexemeNames
    clock: Clock | None
    at: int = 0
    #: The open brackets.
    opened: list[Part] = field(default_factory=list)

    @staticmethod
    def of(
        source: Source, lexemes: Iterable[Lexemes], names: LexemeNames, clock: Clock | None
    ) -> Cursor:
        """A cursor at the first lexeme of a text.

        Raises: ParseError for a lone surrogate; LimitError.
        """
        if not source.text.isascii() and (half := SURROGATE.search(source.text)):
            message = "expected a whole character, not one half of a surrogate pair"
            raise ParseError(message, source, Span(*half.span()), "write the character itself")
        cursor = Cursor(source, [], [], [], names, clock)
        for some in lexemes:
            if clock is not None:
                clock.check(_TOO_LONG)
            cursor.kinds += some[0]
            cursor.starts += some[1]
            cursor.ends += some[2]
        cursor.kinds += cursor.kinds[-1:] * _MAX_LOOKAHEAD
        cursor.starts += cursor.starts[-1:] * _MAX_LOOKAHEAD
        cursor.ends += cursor.ends[-1:] * _MAX_LOOKAHEAD
        return cursor

    def part(self, index: int) -> Part:
        """One of the lexemes."""
        return Part(self.kinds[index], self.starts[index], self.ends[index])

    @property
    def here(self) -> Part:
        """The next lexeme."""
        return self.part(self.at)

    @property
    def span(self) -> Span:
        """The span of the next lexeme."""
        return Span(self.starts[self.at], self.ends[self.at])

    def since(self, start: int) -> Span:
        """The span from ``start`` to the end of the previous lexeme."""
        end = self.ends[self.at - 1]
        return Span(start, end if end > start else start)

    def ahead(self, *kinds: str, by: int = 0) -> bool:
        """Whether the next lexeme, or the one ``by`` lexemes later, is of one of the kinds."""
        return self.kinds[self.at + by] in kinds

    def take(self, *kinds: str) -> Part | None:
        """Take the next lexeme if it is of one of the kinds."""
        index = self.at
        return self.part(index) if self.skip(*kinds) else None

    def skip(self, *kinds: str) -> bool:
        """Take the next lexeme if it is of one of the kinds; whether it was."""
        index = self.at
        if self.kinds[index] not in kinds:
            return False
        if self.clock is not None and not index % LEXEMES_PER_CHECK:
            self.clock.check(_TOO_LONG)
        self.at = index + 1
        return True

    def expect(self, kind: str, wanted: str, hint: str) -> Part:
        """Take the next lexeme, which must be of one kind.

        Raises: ParseError
        """
        part = self.take(kind)
        if part is None:
            raise self.unexpected(wanted, hint)
        return part

    def enter(self, bracket: Part) -> None:
        """Record an opening bracket that was taken.

        Raises: ParseError if the nesting is too deep.
        """
        self.opened.append(bracket)
        if len(self.opened) > NESTING:
            message = f"brackets are nested deeper than {NESTING}"
            hint = "move the inner part into a separate rule"
            raise ParseError(message, self.source, Span(bracket.start, bracket.end), hint)

    def leave(self, wanted: str, hint: str) -> Part:
        """Take the closing bracket of the innermost open one.

        Raises: ParseError if another lexeme comes next.
        """
        part = self.take(self.names.closing[self.opened[-1].type])
        if part is None:
            raise self.unexpected(wanted, hint)
        self.opened.pop()
        return part

    def check_length(self, string: Part | Span) -> None:
        """Raise LimitError for a string with more characters than a machine may have states."""
        length = string.end - string.start
        if self.clock is not None and length > self.clock.limits.states:
            self.clock.limits.check("states", length, "shorten this string")

    def text(self, part: Part) -> str:
        """The text of a lexeme."""
        return self.source.text[part.start : part.end]

    def error(self, message: str, span: Span, hint: str, kind: str = "syntax") -> ParseError:
        """An error at a span of the text."""
        return ParseError(message, self.source, span, hint, kind)

    def refused(self, what: str, span: Span, hint: str) -> ParseError:
        """The error for syntax of the notation that has no automaton."""
        return self.error(f"{what} cannot be read", span, hint, "unsupported")

    def unexpected(self, wanted: str, hint: str) -> ParseError:
        """The error that ``wanted`` is expected instead of the next lexeme."""
        part = self.here
        if part.type == NOTHING and (foreign := self._foreign()) is not None:
            return foreign
        bracket = self.opened[-1] if self.opened else None
        if part.type in self.names.closing.values():
            return self._badly_closed(bracket)
        if bracket is not None and (part.type == END or self._begins_a_rule()):
            closing = self.names.shown[self.names.closing[bracket.type]]
            return self.error(
                f"this '{self.text(bracket)}' is never closed: expected '{closing}'",
                Span(bracket.start, bracket.end),
                f"add '{closing}' where the part ends",
            ).with_fix(closing, self._after_last())
        after = f" after {self._display_text(self.part(self.at - 1))}" if self.at else ""
        return self.error(f"expected {wanted}{after}, not {self.found}", self._wrong(), hint)

    def no_item(self, wanted: str, hint: str) -> ParseError:
        """The error for a missing item, in a notation with counts after items."""
        text, span = self.text(self.here), self.span
        if self.ahead("TOKEN"):
            why = "a grammar here is a language of texts, whatever the vocabulary: write its text"
            return self.refused(f"the token {text}", span, why)
        if self.ahead("STAR", "PLUS", "OPTIONAL", "COUNT"):
            message = f"expected something before '{text}'"
            return self.error(message, span, f'write for example "a"{text}')
        return self.unexpected(wanted, hint)

    def _begins_a_rule(self) -> bool:
        return self.ahead("NAME") and self.ahead(self.names.define, "ATTRIBUTES", by=1)

    def _badly_closed(self, bracket: Part | None) -> ParseError:
        lexeme = self.found
        if bracket is None:
            return self.error(
                f"{lexeme} closes nothing", self._wrong(), "put the opening bracket before"
            )
        line, column = self.source.position(bracket.start)
        closing = self.names.shown[self.names.closing[bracket.type]]
        if self.here.type == self.names.closing[bracket.type]:
            return self.error(
                f"expected something before {lexeme}", self._wrong(), "write what it closes over"
            )
        return self.error(
            f"expected '{closing}', not {lexeme}, to close the '{self.text(bracket)}' "
            f"of line {line}, column {column}",
            self._wrong(),
            f"write '{closing}'",
        ).with_fix(closing)

    def _foreign(self) -> ParseError | None:
        """The error for a position without a lexeme, if the text looks like foreign syntax."""
        start = self.here.start
        rest = self.source.text[start : start + _SNIPPET]
        for opening, what, close in self.names.unclosed:
            if match := re.match(opening, rest):
                span = Span(start, start + match.end())
                error = self.error(f"this {what} is never closed", span, f"end it with {close}")
                sign = close[1]
                closed = ((r"[^\n]*?(?=[ \t;]*(?:\n|\Z))", rf"\g<0>{sign}"),)
                return with_rewrite(error, closed, start)
        for pattern, message, hint in self.names.foreign:
            if match := re.match(pattern, rest):
                error = self.error(message, Span(start, start + max(1, match.end())), hint)
                return with_rewrite(error, self.names.rewrites, start)
        return None

    def _after_last(self) -> Span:
        """The position after the last lexeme that was taken."""
        end = self.ends[self.at - 1] if self.at else 0
        return Span(end, end)

    @property
    def found(self) -> str:
        """The next lexeme in words."""
        if self.here.type == END:
            return "the end of the text"
        if self.here.type != NOTHING:
            return self._display_text(self.here)
        character = self.source.text[self.here.start]
        return f"'{character}'" if character.isprintable() else repr(character)

    def _wrong(self) -> Span:
        """The span of the next lexeme; at the end of the text the position after the last one."""
        if self.here.type == END:
            end = max(len(self.source.text.rstrip()), self.ends[self.at - 1] if self.at else 0)
            return Span(end, end)
        return Span(self.here.start, max(self.here.end, self.here.start + 1))

    def _display_text(self, part: Part) -> str:
        return Lexeme(part.type, self.text(part), Span(part.start, part.end)).shown


#: The least and the greatest number of copies; None for no upper bound.
Bounds = tuple[int, int | None]

#: The bounds of the postfix operators, by kind of lexeme.
POSTFIX: dict[str, Bounds] = {"STAR": (0, None), "PLUS": (1, None), "OPTIONAL": (0, 1)}
#: The most digits of a bound; no automaton is that large.
_MAX_DIGITS = 9


def take_bounds(cursor: Cursor) -> Bounds | None:
    """bounds = "*" | "+" | "?" | "{" number "}" | "{" number? "," number? "}", if it comes next.

    Raises: ParseError
    """
    kind = cursor.kinds[cursor.at]
    if kind in POSTFIX:
        cursor.skip(kind)
        return POSTFIX[kind]
    if kind != "COUNT":
        return None
    count = cursor.expect(kind, "a count", "write {2}, {2,} or {2,5}")
    # xgrammar writes -1 for no upper bound
    written = cursor.text(count)[1:-1].replace("-1", "")
    bounds = [bound.strip() for bound in written.split(",")]
    span = Span(count.start, count.end)
    if not any(bounds):
        message = "expected a number of copies in the braces"
        raise cursor.error(message, span, "write {2}, {2,} or {2,5}")
    return checked_bounds(cursor, bounds, span)


def checked_bounds(cursor: Cursor, written: list[str], span: Span) -> Bounds:
    """The bounds of one number, or of two numbers of which either may be empty.

    Raises: ParseError
    """
    if not all(len(bound) <= _MAX_DIGITS and bound.isdigit() for bound in written if bound):
        message = f"expected bounds of at most {_MAX_DIGITS} decimal digits"
        raise cursor.error(message, span, "leave the upper bound out if there is none")
    low = int(written[0] or 0)
    high = low if len(written) == 1 else int(written[1]) if written[1] else None
    if high is not None and high < low:
        message = "expected a lower bound no larger than the upper one"
        raise cursor.error(message, span, "swap the two bounds").with_fix(f"{{{high},{low}}}")
    return low, high
