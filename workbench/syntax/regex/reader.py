"""The dialects of regexes, and the reader that the parser, classes and escapes share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.ranges import ANY_BYTE, ANY_CHARACTER, Ranges
from workbench.syntax.regex.tree import Bytes, Characters, Regex
from workbench.syntax.regex.unicode_sets import ascii_folded, folded, negated

_LINE_FEED: Ranges = ((0x0A, 0x0A),)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DialectRules:
    """The differences between the dialects."""

    #: The name in messages.
    name: str
    #: The flags allowed in ``(?…)``, and those that can be turned off.
    flags: str
    flags_off: str
    #: ``(?i)`` is allowed anywhere, up to the end of its group; otherwise only at the start.
    flags_anywhere: bool
    #: ``a**`` repeats a repetition.
    stacked_repeats: bool
    #: A ``+`` after a repetition makes it possessive; ``(?>x)`` is atomic, ``(?(1)x|y)`` a
    #: conditional.
    possessive: bool
    #: ``{`` that begins no repetition is literal, and ``{,3}`` is ``{0,3}``.
    lenient_braces: bool
    #: ``\0``, ``\012`` and ``\141`` are characters.
    octal: bool
    #: ``(?#…)`` is skipped.
    comments: bool
    #: Inside brackets: nested classes, ``&&``, ``--``, ``~~``, ``[:alpha:]``, spaces under ``x``.
    class_algebra: bool
    #: The letters of the end of the text: ``\Z``, ``\z``.
    ends: str
    #: ``$`` matches before a line feed at the end of the text too.
    end_before_last_line_end: bool
    #: Any character but letters and digits can be escaped; otherwise only ASCII punctuation.
    escapes_any_sign: bool
    #: ``\<``, ``\>`` and ``\b{start}`` are the edges of words.
    word_edges: bool
    #: ``(?i)i`` matches İ and ı too.
    turkic_i: bool
    #: Without Unicode (``(?-u)``) sets contain bytes, as in Rust; otherwise characters.
    ascii_is_bytes: bool
    #: The characters that ``.`` excludes.
    line_ends: Ranges = _LINE_FEED
    #: ECMA-262: ``\d`` and ``\w`` contain ASCII only, ``\s`` its own white space; ``[]`` is empty;
    #: ``\cJ`` is a control character, and ``\ud83d\ude00`` is one character.
    ecma: bool = False
    #: ``\N{BULLET}`` is a character by its name in Unicode.
    named_characters: bool = False
    #: ``(?P<QUOTED_TEXT>)`` and others are extensions (``regex.extensions``), not groups.
    extensions: bool = False

    def __repr__(self) -> str:
        return f"<the rules of {self.name}>"


class Dialect(Enum):
    """The dialect of a regex."""

    PYTHON = DialectRules(
        name="Python",
        flags="aimsux",
        flags_off="imsx",
        flags_anywhere=False,
        stacked_repeats=False,
        possessive=True,
        lenient_braces=True,
        octal=True,
        comments=True,
        class_algebra=False,
        ends="Zz",
        end_before_last_line_end=True,
        escapes_any_sign=True,
        word_edges=False,
        turkic_i=True,
        ascii_is_bytes=False,
        named_characters=True,
        extensions=True,
    )
    RUST = DialectRules(
        name="Rust",
        flags="imsuxUR",
        flags_off="imsuxUR",
        flags_anywhere=True,
        stacked_repeats=True,
        possessive=False,
        lenient_braces=False,
        octal=False,
        comments=False,
        class_algebra=True,
        ends="z",
        end_before_last_line_end=False,
        escapes_any_sign=False,
        word_edges=True,
        turkic_i=False,
        ascii_is_bytes=True,
        extensions=True,
    )
    #: With the flag ``u``, and with the syntax of Python's ``re``: patterns of JSON Schemas are
    #: written for both.
    ECMA = DialectRules(
        name="ECMA-262",
        flags="ims",
        flags_off="ims",
        flags_anywhere=False,
        stacked_repeats=False,
        possessive=False,
        lenient_braces=True,
        octal=False,
        comments=False,
        class_algebra=False,
        ends="Zz",
        end_before_last_line_end=False,
        escapes_any_sign=True,
        word_edges=False,
        turkic_i=False,
        ascii_is_bytes=False,
        line_ends=((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)),
        ecma=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The flags of a regex; ``(?…)`` inside it can change all but the last."""

    ignorecase: bool = False
    #: ``.`` matches line breaks too.
    dotall: bool = False
    #: ``^`` and ``$`` match at the ends of lines too.
    multiline: bool = False
    #: White space and comments after ``#`` are skipped.
    verbose: bool = False
    #: ``\d \w \s`` and case folding are those of ASCII.
    ascii: bool = False
    #: A carriage return ends a line too, and so do both together.
    crlf: bool = False
    #: The regex reads bytes, not characters.
    bytes: bool = False

    @property
    def plain(self) -> bool:
        """Whether a character without special meaning matches only itself."""
        return not (self.ignorecase or self.verbose or self.ascii or self.bytes)


#: The deepest nesting of groups and classes: functions over the tree may recurse.
NESTING = 100
_LAST_ASCII = 0x7F
_PYTHON_BLANKS = " \t\n\r\v\f"
#: White space of programming languages (Unicode Annex 31), which Rust's ``x`` skips.
_RUST_BLANKS = "\t\n\v\f\r \u0085\u200e\u200f\u2028\u2029"


class Reader:
    """A position in a regex text, with the dialect and the current flags.

    ``written`` is the text, with the position in ``source`` of each character and of its end.
    """

    def __init__(self, source: Source, written: Unescaped, dialect: Dialect, flags: Flags) -> None:
        self.source = source
        self.text = written.text
        self._places = written.places
        #: How the source writes a backslash of the regex.
        self.backslash = written.backslash
        self.rules: DialectRules = dialect.value
        self.flags = flags
        self.at = 0
        self.depth = 0
        self._blanks = _RUST_BLANKS if self.rules.class_algebra else _PYTHON_BLANKS

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def ahead(self, expected: str) -> bool:
        """Whether the text continues with ``expected``."""
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        """Skip ``expected`` if it comes next; whether it did."""
        is_ahead = self.ahead(expected)
        if is_ahead:
            self.at += len(expected)
        return is_ahead

    def next(self) -> str:
        """Take the next character; empty at the end."""
        character = self.peek()
        self.at += len(character)
        return character

    def take_all_of(self, allowed: str, most: int) -> str:
        """Take up to ``most`` characters of ``allowed``."""
        start = self.at
        while self.at < start + most and self.peek() and self.peek() in allowed:
            self.at += 1
        return self.text[start : self.at]

    def skip_blanks(self) -> None:
        """Skip white space and comments if the flag ``x`` is set."""
        while self.flags.verbose and self.peek():
            if self.peek() == "#":
                line_end = self.text.find("\n", self.at)
                self.at = len(self.text) if line_end < 0 else line_end + 1
            elif self.peek() in self._blanks:
                self.at += 1
            else:
                return

    def span(self, start: int) -> Span:
        """The source span from ``start`` to the current position."""
        return Span(self._places[start], self._places[self.at])

    def between(self, start: int, end: int) -> Span:
        """The source span from ``start`` to ``end``, clipped to the text."""
        last = len(self._places) - 1
        return Span(self._places[min(start, last)], self._places[min(end, last)])

    def until_here(self, span: Span) -> Span:
        """The source span from the start of ``span`` to the current position."""
        return Span(span.start, self._places[self.at])

    def characters(self, end: int) -> list[Regex]:
        """Take the characters up to ``end`` as literal characters."""
        places, start, self.at = self._places, self.at, end
        return [
            Characters(((ord(character), ord(character)),), Span(places[index], places[index + 1]))
            for index, character in enumerate(self.text[start:end], start)
        ]

    def fail(self, message: str, span: Span, hint: str = "", kind: str = "bad_regex") -> ParseError:
        """A ParseError at a span."""
        return ParseError(message, self.source, span, hint, kind)

    def enter(self, start: int) -> None:
        """Enter a group or class; raises if the nesting is too deep."""
        self.depth += 1
        if self.depth > NESTING:
            raise self.fail(
                f"expected at most {NESTING} groups inside one another",
                self.between(start, start + 1),
                "take out groups that hold a single part",
            )

    def leave(self) -> None:
        """Leave a group or class."""
        self.depth -= 1

    @property
    def end(self) -> Span:
        """The source position after the regex."""
        return Span(self._places[-1], self._places[-1])

    @property
    def reads_bytes(self) -> bool:
        """Whether sets contain bytes."""
        return self.flags.bytes or (self.rules.ascii_is_bytes and self.flags.ascii)

    @property
    def is_ascii(self) -> bool:
        """Whether classes and case folding are those of ASCII."""
        return self.flags.ascii or self.flags.bytes

    @property
    def line_ends(self) -> Ranges:
        """The characters that end a line."""
        return ((0x0A, 0x0A), (0x0D, 0x0D)) if self.flags.crlf else self.rules.line_ends

    @property
    def universe(self) -> Ranges:
        """The set from which a negated set is subtracted."""
        return ANY_BYTE if self.reads_bytes else ANY_CHARACTER

    def without(self, ranges: Ranges) -> Ranges:
        """The complement of a set."""
        return negated(ranges, self.universe)

    def cased(self, ranges: Ranges) -> Ranges:
        """The set, with all cases of its letters if the flag ``i`` is set."""
        if not self.flags.ignorecase:
            return ranges
        if self.is_ascii:
            return ascii_folded(ranges)
        return folded(ranges, turkic_i=self.rules.turkic_i)

    def node(self, ranges: Ranges, span: Span) -> Regex:
        """The node of a set; a set of bytes must be ASCII unless bytes are matched."""
        if self.flags.bytes:
            return Bytes(ranges, span)
        if ranges and ranges[-1][1] > _LAST_ASCII and self.reads_bytes:
            raise self.fail(
                "expected a set of ASCII characters, for '(?-u)' turns characters into bytes",
                span,
                "leave out '(?-u)', or name the ASCII characters you mean",
                "unsupported_regex",
            )
        return Characters(ranges, span)
