"""The lexemes of a grammar text, taken one after the other; reports where one is missing.

GBNF and Lark are read by recursive descent over one: what may come next is known at every place,
so the message can say it. KBNF has tables instead (``kbnf_tables``), which know it too late.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, Lexeme, Part

#: Brackets inside brackets, as in KBNF: what walks the tree later may recurse.
NESTING = 64
#: Lexemes that are taken between looks at the clock.
_LEXEMES = 64
#: So many lexemes may be looked at ahead: the last one is there so often more.
_AHEAD = 8
_LONG = "the grammar is very long; shorten it"
#: How many characters tell what stands at a place.
_SEEN = 40
#: What a str can hold and no text can.
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a notation's lexemes look like, for messages."""

    #: Punctuation by its kind.
    shown: Mapping[str, str]
    #: Opening brackets by the kind that closes each.
    closing: Mapping[str, str]
    #: What stands between a rule's name and its body.
    define: str
    #: What begins like this is never closed: how it is called, and how it is closed.
    unclosed: Sequence[tuple[str, str, str]]
    #: What people bring along from other notations: what it looks like, what to say, the way out.
    foreign: Sequence[tuple[str, str, str]]


@dataclass(slots=True, eq=False)
class Cursor:
    """A place among the lexemes of a text."""

    source: Source
    parts: Sequence[Part]
    signs: Signs
    clock: Clock | None
    at: int = 0
    #: Brackets that are open here.
    opened: list[Part] = field(default_factory=list)

    @staticmethod
    def of(source: Source, parts: Iterable[Part], signs: Signs, clock: Clock | None) -> Cursor:
        """At the first of the lexemes of a text.

        Raises: ParseError where the text holds half a character; LimitError.
        """
        if not source.text.isascii() and (half := _HALF.search(source.text)):
            message = "expected a whole character, not one half of a surrogate pair"
            raise ParseError(message, source, Span(*half.span()), "write the character itself")
        held: list[Part] = []
        for part in parts:
            if clock is not None and not len(held) % _LEXEMES:
                clock.check(_LONG)
            held.append(part)
        return Cursor(source, held + held[-1:] * _AHEAD, signs, clock)

    @property
    def here(self) -> Part:
        return self.parts[self.at]

    @property
    def span(self) -> Span:
        """The place of the lexeme that comes next."""
        return Span(self.here.start, self.here.end)

    def since(self, start: int) -> Span:
        """From a place to the end of the lexeme taken last."""
        return Span(start, max(start, self.parts[self.at - 1].end))

    def ahead(self, *kinds: str, by: int = 0) -> bool:
        """Whether a lexeme of one of the kinds comes next, or ``by`` lexemes later."""
        return self.parts[self.at + by].type in kinds

    def take(self, *kinds: str) -> Part | None:
        """The next lexeme, if it is of one of the kinds."""
        part = self.parts[self.at]
        if part.type not in kinds:
            return None
        if self.clock is not None and not self.at % _LEXEMES:
            self.clock.check(_LONG)
        self.at += 1
        return part

    def expect(self, kind: str, wanted: str, hint: str) -> Part:
        """The next lexeme, which has to be of a kind.

        Raises: ParseError
        """
        part = self.take(kind)
        if part is None:
            raise self.unexpected(wanted, hint)
        return part

    def enter(self, bracket: Part) -> None:
        """A bracket has been opened.

        Raises: ParseError where too many are open.
        """
        self.opened.append(bracket)
        if len(self.opened) > NESTING:
            message = f"brackets are nested deeper than {NESTING}"
            hint = "move the inner part into a separate rule"
            raise ParseError(message, self.source, Span(bracket.start, bracket.end), hint)

    def leave(self, wanted: str, hint: str) -> Part:
        """The bracket opened last is closed here.

        Raises: ParseError where it is not.
        """
        part = self.take(self.signs.closing[self.opened[-1].type])
        if part is None:
            raise self.unexpected(wanted, hint)
        self.opened.pop()
        return part

    def check_length(self, part: Part) -> None:
        """Raise LimitError for a string longer than a machine may be."""
        if self.clock is not None:
            self.clock.limits.check("states", part.end - part.start, "shorten this string")

    def text(self, part: Part) -> str:
        """A lexeme as it was written."""
        return self.source.text[part.start : part.end]

    def error(self, message: str, span: Span, hint: str, kind: str = "syntax") -> ParseError:
        """An error at a place of the text."""
        return ParseError(message, self.source, span, hint, kind)

    def refused(self, what: str, span: Span, hint: str) -> ParseError:
        """The error for what the notation has and no machine can be made of."""
        return self.error(f"{what} cannot be read", span, hint, "unsupported")

    def unexpected(self, wanted: str, hint: str) -> ParseError:
        """The error for what stands here, where ``wanted`` has to come."""
        part = self.here
        if part.type == NOTHING and (known := self._known()) is not None:
            return known
        bracket = self.opened[-1] if self.opened else None
        if part.type in self.signs.closing.values():
            return self._badly_closed(bracket)
        if bracket is not None and (part.type == END or self._begins_a_rule()):
            closing = self.signs.shown[self.signs.closing[bracket.type]]
            return self.error(
                f"this '{self.text(bracket)}' is never closed: expected '{closing}'",
                Span(bracket.start, bracket.end),
                f"add '{closing}' where the part ends",
            )
        after = f" after {self._shown(self.parts[self.at - 1])}" if self.at else ""
        return self.error(f"expected {wanted}{after}, not {self.found}", self._wrong(), hint)

    def no_item(self, wanted: str, hint: str) -> ParseError:
        """The error where an item has to stand and none does, in rules whose items are counted."""
        text, span = self.text(self.here), self.span
        if self.ahead("TOKEN"):
            why = "a grammar here is a language of texts, whatever the vocabulary: write its text"
            return self.refused(f"the token {text}", span, why)
        if self.ahead("STAR", "PLUS", "OPTIONAL", "COUNT"):
            message = f"expected something before '{text}'"
            return self.error(message, span, f'write for example "a"{text}')
        return self.unexpected(wanted, hint)

    def _begins_a_rule(self) -> bool:
        return self.ahead("NAME") and self.ahead(self.signs.define, "ATTRIBUTES", by=1)

    def _badly_closed(self, bracket: Part | None) -> ParseError:
        found = self.found
        if bracket is None:
            return self.error(
                f"{found} closes nothing", self._wrong(), "put the opening bracket before"
            )
        line, column = self.source.position(bracket.start)
        closing = self.signs.shown[self.signs.closing[bracket.type]]
        if self.here.type == self.signs.closing[bracket.type]:
            return self.error(
                f"expected something before {found}", self._wrong(), "write what it closes over"
            )
        return self.error(
            f"expected '{closing}', not {found}, to close the '{self.text(bracket)}' "
            f"of line {line}, column {column}",
            self._wrong(),
            f"write '{closing}'",
        )

    def _known(self) -> ParseError | None:
        """The error for a place where no lexeme begins, if it looks like something known."""
        start = self.here.start
        rest = self.source.text[start : start + _SEEN]
        for opening, what, close in self.signs.unclosed:
            if found := re.match(opening, rest):
                span = Span(start, start + found.end())
                return self.error(f"this {what} is never closed", span, f"end it with {close}")
        for pattern, message, hint in self.signs.foreign:
            if found := re.match(pattern, rest):
                return self.error(message, Span(start, start + max(1, found.end())), hint)
        return None

    @property
    def found(self) -> str:
        """What stands here, in words."""
        if self.here.type == END:
            return "the end of the text"
        if self.here.type != NOTHING:
            return self._shown(self.here)
        character = self.source.text[self.here.start]
        return f"'{character}'" if character.isprintable() else repr(character)

    def _wrong(self) -> Span:
        """What should not stand here; at the end of the text the place after the last sign."""
        if self.here.type == END:
            end = max(len(self.source.text.rstrip()), self.parts[self.at - 1].end if self.at else 0)
            return Span(end, end)
        return Span(self.here.start, max(self.here.end, self.here.start + 1))

    def _shown(self, part: Part) -> str:
        return Lexeme(part.type, self.text(part), Span(part.start, part.end)).shown


#: The least and the greatest number of copies; None where there is no greatest.
Bounds = tuple[int, int | None]

#: By the kinds of their lexemes.
POSTFIX: dict[str, Bounds] = {"STAR": (0, None), "PLUS": (1, None), "OPTIONAL": (0, 1)}
#: Digits of a bound: nobody counts so far, and no machine either.
_DIGITS = 9


def take_bounds(cursor: Cursor) -> Bounds | None:
    """bounds = "*" | "+" | "?" | "{" number "}" | "{" number? "," number? "}", if it comes next.

    Raises: ParseError
    """
    if sign := cursor.take(*POSTFIX):
        return POSTFIX[sign.type]
    count = cursor.take("COUNT")
    if count is None:
        return None
    # xgrammar writes -1 where there is no end
    written = cursor.text(count)[1:-1].replace("-1", "")
    bounds = [bound.strip() for bound in written.split(",")]
    span = Span(count.start, count.end)
    if not any(bounds):
        message = "expected a number of copies in the braces"
        raise cursor.error(message, span, "write {2}, {2,} or {2,5}")
    return checked_bounds(cursor, bounds, span)


def checked_bounds(cursor: Cursor, written: list[str], span: Span) -> Bounds:
    """One number, or two of which either may be missing, as they were written.

    Raises: ParseError
    """
    if not all(len(bound) <= _DIGITS and bound.isdigit() for bound in written if bound):
        message = f"expected bounds of at most {_DIGITS} decimal digits"
        raise cursor.error(message, span, "leave the upper bound out where there is none")
    low = int(written[0] or 0)
    high = low if len(written) == 1 else int(written[1]) if written[1] else None
    if high is not None and high < low:
        message = "expected a lower bound no larger than the upper one"
        raise cursor.error(message, span, "swap the two bounds")
    return low, high
