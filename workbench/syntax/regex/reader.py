"""The position in a regex text, with its dialect and the flags in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.ranges import ANY_BYTE, ANY_CHARACTER, Ranges
from workbench.syntax.regex.tree import Bytes, Characters, Regex
from workbench.syntax.regex.unicode_sets import ascii_folded, folded, negated

_LINE_FEED: Ranges = ((0x0A, 0x0A),)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rules:
    """What one dialect reads otherwise than another; whatever is not here, they share."""

    #: The name a person knows it by.
    name: str
    #: Letters that may stand in ``(?…)``, and those that may be turned off again.
    flags: str
    flags_off: str
    #: ``(?i)`` may stand anywhere and counts to the end of its group; else at the start alone.
    flags_anywhere: bool
    #: ``a**`` repeats a repetition.
    stacked_repeats: bool
    #: A ``+`` after a repetition makes it possessive.
    possessive: bool
    #: ``{`` that begins no repetition is itself, and ``{,3}`` is ``{0,3}``.
    lenient_braces: bool
    #: ``\0``, ``\012`` and ``\141`` are characters.
    octal: bool
    #: ``(?#…)`` is skipped.
    comments: bool
    #: Inside brackets: nested classes, ``&&``, ``--``, ``~~``, ``[:alpha:]``, spaces under ``x``.
    class_algebra: bool
    #: Letters that name the end of the text: ``\Z``, ``\z``.
    ends: str
    #: A backslash makes any sign that is no letter or digit itself; else ASCII ones alone.
    escapes_any_sign: bool
    #: ``(?i)i`` matches İ and ı too.
    turkic_i: bool
    #: ``(?a)`` leaves sets of characters alone; without Unicode Rust thinks in bytes.
    ascii_is_bytes: bool
    #: What ``.`` leaves out.
    line_ends: Ranges = _LINE_FEED
    #: ECMA-262's own: ``\d`` and ``\w`` hold ASCII alone, ``\s`` its white space; ``[]`` holds
    #: nothing; ``\cJ`` is a control character, and ``\ud83d\ude00`` is one character.
    ecma: bool = False
    #: ``(?P<QUOTED_TEXT>)`` and its like are what ``regex_extensions`` says, not groups.
    extensions: bool = False

    def __repr__(self) -> str:
        return f"<the rules of {self.name}>"


class Dialect(Enum):
    """Whose syntax a regex is written in."""

    PYTHON = Rules(
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
        escapes_any_sign=True,
        turkic_i=True,
        ascii_is_bytes=False,
        extensions=True,
    )
    RUST = Rules(
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
        escapes_any_sign=False,
        turkic_i=False,
        ascii_is_bytes=True,
        extensions=True,
    )
    #: With the flag ``u``, and with what Python's ``re`` reads besides: the patterns of JSON
    #: Schemas are written for both.
    ECMA = Rules(
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
        escapes_any_sign=True,
        turkic_i=False,
        ascii_is_bytes=False,
        line_ends=((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)),
        ecma=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """How a regex is read; ``(?…)`` inside it can change all but the last."""

    ignorecase: bool = False
    #: ``.`` is any character, line breaks too.
    dotall: bool = False
    #: ``^`` and ``$`` mean the ends of lines. They are refused then; all else reads the same.
    multiline: bool = False
    #: Spaces and comments from ``#`` on are skipped.
    verbose: bool = False
    #: ``\d \w \s`` and the other case of a letter are those of ASCII.
    ascii: bool = False
    #: The regex reads bytes, not characters.
    bytes: bool = False

    @property
    def plain(self) -> bool:
        """Whether a character that means nothing else stands for itself alone."""
        return not (self.ignorecase or self.verbose or self.ascii or self.bytes)


#: Groups and classes inside one another. What walks the tree later may recurse.
NESTING = 100
_LAST_ASCII = 0x7F
_PYTHON_BLANKS = " \t\n\r\v\f"
#: White space of programming languages (Unicode Annex 31), which Rust's ``x`` skips.
_RUST_BLANKS = "\t\n\v\f\r \u0085\u200e\u200f\u2028\u2029"


class Reader:
    """Reads a regex from left to right; the parser, classes and escapes share one.

    ``places`` says of each character of ``text``, and of its end, where it was written in
    ``source``.
    """

    def __init__(
        self, source: Source, text: str, places: Sequence[int], dialect: Dialect, flags: Flags
    ) -> None:
        self.source = source
        self.text = text
        self._places = places
        self.rules: Rules = dialect.value
        self.flags = flags
        self.at = 0
        self.depth = 0
        self._blanks = _RUST_BLANKS if self.rules.class_algebra else _PYTHON_BLANKS

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def ahead(self, expected: str) -> bool:
        """Whether these characters come next."""
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        """Step over these characters if they come next."""
        found = self.ahead(expected)
        if found:
            self.at += len(expected)
        return found

    def next(self) -> str:
        """Step over the next character; empty at the end."""
        character = self.peek()
        self.at += len(character)
        return character

    def take_all_of(self, allowed: str, most: int) -> str:
        """Step over up to ``most`` characters out of ``allowed``."""
        start = self.at
        while self.at < start + most and self.peek() and self.peek() in allowed:
            self.at += 1
        return self.text[start : self.at]

    def skip_blanks(self) -> None:
        """Step over what the flag ``x`` makes invisible, if it is on."""
        while self.flags.verbose and self.peek():
            if self.peek() == "#":
                line_end = self.text.find("\n", self.at)
                self.at = len(self.text) if line_end < 0 else line_end + 1
            elif self.peek() in self._blanks:
                self.at += 1
            else:
                return

    def span(self, start: int) -> Span:
        """From a place to here, as it was written."""
        return Span(self._places[start], self._places[self.at])

    def between(self, start: int, end: int) -> Span:
        """From a place to another, or to the end of the text, as it was written."""
        last = len(self._places) - 1
        return Span(self._places[min(start, last)], self._places[min(end, last)])

    def until_here(self, span: Span) -> Span:
        """From where a span begins to here."""
        return Span(span.start, self._places[self.at])

    def characters(self, end: int) -> list[Regex]:
        """The characters up to ``end``, each standing for itself."""
        places, start, self.at = self._places, self.at, end
        return [
            Characters(((ord(character), ord(character)),), Span(places[at], places[at + 1]))
            for at, character in enumerate(self.text[start:end], start)
        ]

    def fail(self, message: str, span: Span, hint: str = "", kind: str = "bad_regex") -> ParseError:
        """The error to raise: something is wrong at a span."""
        return ParseError(message, self.source, span, hint, kind)

    def enter(self, start: int) -> None:
        """One group or class deeper."""
        self.depth += 1
        if self.depth > NESTING:
            raise self.fail(
                f"expected at most {NESTING} groups inside one another",
                self.between(start, start + 1),
                "take out groups that hold a single part",
            )

    def leave(self) -> None:
        """Out of a group or class again."""
        self.depth -= 1

    @property
    def reads_bytes(self) -> bool:
        """Whether sets are sets of bytes here."""
        return self.flags.bytes or (self.rules.ascii_is_bytes and self.flags.ascii)

    @property
    def is_ascii(self) -> bool:
        """Whether classes and the cases of letters are those of ASCII here."""
        return self.flags.ascii or self.flags.bytes

    @property
    def universe(self) -> Ranges:
        """What a negated set is taken from."""
        return ANY_BYTE if self.reads_bytes else ANY_CHARACTER

    def without(self, ranges: Ranges) -> Ranges:
        """Everything but a set."""
        return negated(ranges, self.universe)

    def cased(self, ranges: Ranges) -> Ranges:
        """A set as the flag ``i`` sees it."""
        if not self.flags.ignorecase:
            return ranges
        if self.is_ascii:
            return ascii_folded(ranges)
        return folded(ranges, turkic_i=self.rules.turkic_i)

    def node(self, ranges: Ranges, span: Span) -> Regex:
        """The node of a set; a set of bytes must be text where characters are matched."""
        if self.flags.bytes:
            return Bytes(ranges, span)
        if self.reads_bytes and ranges and ranges[-1][1] > _LAST_ASCII:
            raise self.fail(
                "expected a set of ASCII characters, for '(?-u)' turns characters into bytes",
                span,
                "leave out '(?-u)', or name the ASCII characters you mean",
                "unsupported_regex",
            )
        return Characters(ranges, span)
