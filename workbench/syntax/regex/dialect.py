"""Dialects and flags of regexes: the small table of what differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from workbench.syntax.regex.tree import Ranges

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
