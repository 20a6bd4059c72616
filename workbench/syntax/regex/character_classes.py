"""Escapes and bracketed classes of a regex as sets of code points."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import islice

from workbench.base.limits import check_time_budget
from workbench.base.source import Unescaped
from workbench.syntax.ranges import (
    MAX_CODE_POINT,
    Gathering,
    Ranges,
    difference,
    intersection,
    symmetric_difference,
    union,
)
from workbench.syntax.regex.reader import Reader
from workbench.syntax.regex.unicode_sets import (
    ASCII_DIGIT,
    ASCII_SPACE,
    ASCII_WORD,
    ECMA_SPACE,
    POSIX,
    property_set,
    python_class,
    rust_class,
    similar_property,
)

#: The letters of control characters.
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_BACKSPACE = 0x08
#: The number of digits after ``\x``, ``\u`` and ``\U``.
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = "0123456789abcdefABCDEF"
_OCTAL = "01234567"
#: The low surrogate of a pair.
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_LAST_OCTAL = 0o377
_NAME = re.compile(r"\{([^{}]+)\}")
_ASCII_CLASSES = {"d": ASCII_DIGIT, "s": ASCII_SPACE, "w": ASCII_WORD}

_NO_BOUNDARY = r"write '\b(?=\w)' for the start of a word, and '\b(?<=\w)' for its end"
#: Escapes of other dialects: name, hint, and the kind of the error.
_UNSUPPORTED: dict[str, tuple[str, str, str]] = {
    "<": ("the word boundary", _NO_BOUNDARY, "unsupported_regex"),
    ">": ("the word boundary", _NO_BOUNDARY, "unsupported_regex"),
    "G": ("the end of the last match", "the whole text is one match: leave it out", "bad_regex"),
    "K": ("the reset of the match", "the whole text is one match: leave it out", "bad_regex"),
    "R": ("the line break of any kind", r"write '(?:\r\n|\n|\r)'", "bad_regex"),
    "X": ("the grapheme cluster", r"write '\P{M}\p{M}*' for a letter with its marks", "bad_regex"),
    "N": ("the named character", r"write its code point, as in '\u{1F600}'", "bad_regex"),
    "h": ("horizontal white space", r"write '[ \t]'", "bad_regex"),
    "H": ("horizontal white space", r"write '[^ \t]'", "bad_regex"),
    "Q": ("quoting up to '\\E'", "put a backslash before each special sign", "bad_regex"),
    "E": ("quoting up to '\\E'", "put a backslash before each special sign", "bad_regex"),
    "k": ("the backreference", "write the alternatives out", "bad_regex"),
    "g": ("the backreference", "write the alternatives out", "bad_regex"),
    "C": ("the single byte", "match characters, or read the regex as bytes", "bad_regex"),
    "e": ("the escape character", r"write '\x1b'", "bad_regex"),
    "c": ("the control character", r"write its code, as in '\x01'", "bad_regex"),
    "Z": ("the end of the text", r"write '\z' or '$'", "bad_regex"),
}


def read_escape(reader: Reader, *, in_class: bool) -> int | Ranges:
    """A code point, or the set of a class such as ``\\d`` or ``\\p{Lu}``.

    EBNF: ``"\\" ( control | hex | octal | class | property | sign )``
    Raises: ParseError for an unknown, unfinished or unsupported escape.
    """
    start = reader.at
    reader.at += 1
    letter = reader.next()
    if not letter:
        raise reader.fail(
            r"expected a character after '\'",
            reader.span(start),
            r"a backslash itself is written '\\'",
        )
    if letter in "dswDSW":
        return class_of(reader, letter)
    if letter in "pP":
        return _property(reader, start, negative=letter == "P")
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter in _HEX_DIGITS:
        return _hex(reader, start, letter)
    if letter == "N" and reader.rules.named_characters and not reader.flags.bytes:
        return _named_character(reader, start)
    if reader.rules.ecma and letter == "c" and reader.peek().isascii() and reader.peek().isalpha():
        return ord(reader.next()) & 0x1F
    if reader.rules.ecma and letter == "0" and not reader.peek().isdigit():
        return 0
    if letter in "0123456789":
        return _digits(reader, start, letter, in_class=in_class)
    if letter == "b" and in_class and not reader.rules.class_algebra:
        return _BACKSPACE
    if not (letter.isascii() and letter.isalpha()) and _is_sign(reader, letter):
        return ord(letter)
    raise _unknown(reader, start, letter)


def _is_sign(reader: Reader, letter: str) -> bool:
    if letter in "<>" and not reader.rules.escapes_any_sign:
        return False
    return letter.isascii() or (reader.rules.escapes_any_sign and not reader.flags.bytes)


def class_of(reader: Reader, letter: str) -> Ranges:
    """The set of ``\\d``, ``\\s``, ``\\w`` or their complements, by its letter."""
    small = letter.lower()
    if reader.rules.ecma:
        ranges = ECMA_SPACE if small == "s" else _ASCII_CLASSES[small]
    elif reader.is_ascii:
        ranges = _ASCII_CLASSES[small]
    elif reader.rules.class_algebra:
        ranges = rust_class(small)
    else:
        ranges = python_class(small)
    return reader.without(ranges) if letter.isupper() else ranges


def _property(reader: Reader, start: int, *, negative: bool) -> Ranges:
    """``{name}``, ``{property=value}``, ``{property!=value}`` or one letter."""
    if reader.reads_bytes:
        raise reader.fail(
            r"expected no '\p' where bytes are matched", reader.span(start), "name a range of bytes"
        )
    if reader.take("{"):
        end = reader.text.find("}", reader.at)
        if end < 0:
            raise reader.fail(
                "expected '}' after the name of a property",
                reader.span(start),
                r"write '\p{Lu}' or '\p{Greek}'",
            )
        name, name_start, reader.at = reader.text[reader.at : end], reader.at, end + 1
    else:
        name_start = reader.at
        name = reader.next()
    if "!=" in name:
        name, negative = name.replace("!=", "="), not negative
    ranges = property_set(name.replace(":", "="))
    if ranges is None:
        similar = similar_property(name)
        raise reader.fail(
            f"expected the name of a Unicode property, not '{name}'",
            reader.span(start),
            rf"perhaps '\p{{{similar}}}' is meant"
            if similar
            else r"use a category as in '\p{Lu}', a script as in '\p{Greek}', or '\p{Alphabetic}'",
        ).with_fix(similar, reader.between(name_start, name_start + len(name)))
    ranges = reader.cased(ranges)
    return reader.without(ranges) if negative else ranges


def _hex(reader: Reader, start: int, letter: str) -> int:
    """``HH``, ``HHHH``, ``HHHHHHHH``, or any number of digits in braces."""
    if letter != "x" and reader.flags.bytes:
        raise reader.fail(
            rf"expected no '\{letter}' where bytes are matched",
            reader.span(start),
            r"write each byte as '\xHH'",
        )
    if reader.take("{"):
        reader.skip_blanks()
        digits = reader.take_all_of(_HEX, len(reader.text))
        reader.skip_blanks()
        complete = bool(digits) and reader.take("}")
        expected = "hexadecimal digits and '}'"
    else:
        count = _HEX_DIGITS[letter]
        digits = reader.take_all_of(_HEX, count)
        complete = len(digits) == count
        expected = f"{count} hexadecimal digits"
    if not complete:
        raise reader.fail(
            rf"expected {expected} after '\{letter}'",
            reader.span(start),
            rf"any code point can be written as '\{letter}{{1F600}}'",
        )
    code = int(digits, 16)
    second = _LOW_SURROGATE.match(reader.text, reader.at) if reader.rules.ecma else None
    if letter == "u" and second and 0xD800 <= code <= 0xDBFF:
        reader.at = second.end()
        code = 0x10000 + ((code - 0xD800) << 10) + int(second.group(1), 16) - 0xDC00
    return _code_point(reader, start, code)


def _named_character(reader: Reader, start: int) -> int:
    """``{NAME}``, the name or an alias of one character in Python's Unicode data."""
    name = _NAME.match(reader.text, reader.at)
    if name is None:
        raise reader.fail(
            r"expected the name of a character in braces after '\N'",
            reader.span(start),
            r"as in '\N{BULLET}'",
        )
    reader.at = name.end()
    try:
        character = unicodedata.lookup(name[1])
    except KeyError:
        character = ""
    if len(character) != 1:  # some names are those of sequences
        raise reader.fail(
            f"there is no character named {name[1]!r}",
            reader.span(start),
            r"write its code point, as in '\u{1F600}'",
        )
    return _code_point(reader, start, ord(character))


def _code_point(reader: Reader, start: int, code: int) -> int:
    if reader.flags.bytes and code > 0xFF:
        raise reader.fail(r"expected a byte, at most '\xff'", reader.span(start))
    if code > MAX_CODE_POINT:
        raise reader.fail("expected a code point, at most 10FFFF", reader.span(start))
    if 0xD800 <= code <= 0xDFFF:
        raise reader.fail(
            "expected a whole character, not one half of a surrogate pair",
            reader.span(start),
            r"write the code point itself, as in '\u{1F600}'",
        )
    return code


def _digits(reader: Reader, start: int, digit: str, *, in_class: bool) -> int:
    """An octal escape if the dialect has them; raises for a backreference."""
    octal = reader.rules.octal
    if octal and digit == "0":
        return int(digit + reader.take_all_of(_OCTAL, 2), 8)
    if octal and digit in _OCTAL:
        more = reader.take_all_of(_OCTAL, 2)
        if in_class or len(more) == 2:
            code = int(digit + more, 8)
            if code > _LAST_OCTAL:
                raise reader.fail(r"expected an octal escape of at most '\377'", reader.span(start))
            return code
        reader.at -= len(more)
    if in_class or (digit == "0" and not octal):
        raise reader.fail(
            "expected no octal escape here", reader.span(start), r"write the code as '\xHH'"
        )
    reader.take_all_of("0123456789", 1)
    raise reader.fail(
        "backreferences are not supported: no automaton remembers what a group has matched",
        reader.span(start),
        r"write the alternatives out, as in 'aa|bb' for '(a|b)\1'",
    )


def _unknown(reader: Reader, start: int, letter: str) -> Exception:
    if letter in _UNSUPPORTED:
        what, hint, kind = _UNSUPPORTED[letter]
        return reader.fail(rf"{what} '\{letter}' is not supported", reader.span(start), hint, kind)
    return reader.fail(
        rf"expected a known escape, not '\{letter}'",
        reader.between(start, reader.at),
        f"write '{letter}' without the backslash if the character itself is meant",
    ).with_fix(letter)


#: Members of POSIX classes, as every dialect writes them inside brackets.
_POSIX_MEMBERS = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "word": "a-zA-Z0-9_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-zA-Z]*):\]")
#: A member without special meaning in any dialect, or a range of two such members.
_SIMPLE = re.compile(r"([^\\\[\]^&~-])(?:-([^\\\[\]^&~-])|(?!-))")
#: The rest of a class of such members, by runs that may end in a range.
_SIMPLE_CLASS = re.compile(r"((?:[^\\\[\]^&~-]++-[^\\\[\]^&~-]|[^\\\[\]^&~-]++)++)\]")
#: The members of a class that are read at a time.
_BATCH = 100_000
_TOO_LONG = "write a class with fewer members"
_OPERATIONS: dict[str, Callable[[Ranges, Ranges], Ranges]] = {
    "&&": intersection,
    "--": difference,
    "~~": symmetric_difference,
}


def read_class(reader: Reader) -> Ranges:
    """The set of a bracketed class.

    EBNF (Python): ``"[" "^"? "]"? ( item | item "-" item )* "]"``
    EBNF (Rust): ``"[" "^"? "-"* "]"? union ( ( "&&" | "--" | "~~" ) union )* "]"``, where a
    union also holds classes and ``[:alpha:]``.
    Raises: ParseError for a reversed range or an unclosed class.
    """
    start = reader.at
    reader.enter(start)
    reader.at += 1
    negative = reader.take("^")
    members = _simple(reader)
    if members is None:
        read = _algebra if reader.rules.class_algebra else _plain
        members = read(reader, start)
    reader.leave()
    return reader.without(members) if negative else members


def _simple(reader: Reader) -> Ranges | None:
    """The members of a class without any that have a special meaning; None of another class."""
    simple = _SIMPLE_CLASS.match(reader.text, reader.at) if reader.flags.plain else None
    if simple is None:
        return None
    members, matches = Gathering(), _SIMPLE.finditer(simple[1])
    while pairs := {match.groups() for match in islice(matches, _BATCH)}:
        check_time_budget(_TOO_LONG)
        if any(high and high < low for low, high in pairs):
            return None
        members.add((ord(low), ord(high or low)) for low, high in pairs)
    reader.at = simple.end()
    return members.ranges


def _plain(reader: Reader, start: int) -> Ranges:
    members, begins = Gathering(), not reader.rules.ecma
    while not reader.ahead("]") or begins:
        begins = False
        if not _take_simple(reader, members):
            _refuse_posix(reader)
            members.add(_item(reader, start))
    reader.at += 1
    return members.ranges


def _algebra(reader: Reader, start: int) -> Ranges:
    """Operands from left to right; all operations have the same precedence."""
    members, operation = _union(reader, start, first=True)
    while operation:
        operand, following = _union(reader, start, first=False)
        members = _OPERATIONS[operation](members, operand)
        operation = following
    return members


def _union(reader: Reader, start: int, *, first: bool) -> tuple[Ranges, str]:
    """The members up to ``]`` or an operation, and the operation (empty at ``]``)."""
    members, dashes = Gathering(), False
    _skip_blanks(reader)
    while first and reader.ahead("-"):
        reader.at += 1
        members.add(reader.cased(((ord("-"), ord("-")),)))
        dashes = True
        _skip_blanks(reader)
    if first and not dashes and reader.take("]"):
        members.add(((ord("]"), ord("]")),))
    while True:
        _skip_blanks(reader)
        following = reader.text[reader.at : reader.at + 2]
        if following in _OPERATIONS:
            reader.at += 2
            return members.ranges, following
        if following[:1] == "]":
            reader.at += 1
            return members.ranges, ""
        if following[:1] == "[":
            posix = _posix(reader)
            members.add(read_class(reader) if posix is None else posix)
        elif not _take_simple(reader, members):
            members.add(_item(reader, start))


def _take_simple(reader: Reader, members: Gathering) -> bool:
    """Take members without special meaning and ranges of them; whether there were any."""
    if not reader.flags.plain:
        return False
    start = reader.at
    while match := _SIMPLE.match(reader.text, reader.at):
        low, high = match.groups()
        if high is not None and low > high:
            break
        check_time_budget(_TOO_LONG)
        members.add(((ord(low), ord(high or low)),))
        reader.at = match.end()
    return reader.at > start


def _skip_blanks(reader: Reader) -> None:
    if reader.flags.verbose and reader.rules.class_algebra:
        reader.skip_blanks()


def _posix(reader: Reader) -> Ranges | None:
    """``[:alpha:]`` or ``[:^alpha:]``; None if a nested class comes next."""
    match = _POSIX_CLASS.match(reader.text, reader.at)
    if match is None or match.group(2) not in POSIX:
        return None
    reader.at = match.end()
    ranges = reader.cased(POSIX[match.group(2)])
    return reader.without(ranges) if match.group(1) else ranges


def _refuse_posix(reader: Reader) -> None:
    """Reject ``[[:alpha:]]``, which Python reads as one of ``[:alph``, then ``]``."""
    match = _POSIX_CLASS.match(reader.text, reader.at)
    if match:
        start, reader.at = reader.at, match.end()
        raise reader.fail(
            f"expected a class of Python's, not the POSIX class '{match.group()}'",
            reader.span(start),
            r"write the range, as in 'a-zA-Z', or '\p{Alphabetic}'",
        ).with_fix(_POSIX_MEMBERS.get(match.group(2)) if not match.group(1) else None)


def _item(reader: Reader, start: int) -> Ranges:
    """One member, a range of them, or a class such as ``\\d``."""
    check_time_budget(_TOO_LONG)
    item_start = reader.at
    low = _member(reader, start)
    low_end = reader.at
    _skip_blanks(reader)
    if not _is_range(reader):
        return low if isinstance(low, tuple) else reader.cased(((low, low),))
    dash = reader.between(reader.at, reader.at + 1)
    reader.at += 1
    _skip_blanks(reader)
    high_start, high = reader.at, _member(reader, start)
    if isinstance(low, tuple) or isinstance(high, tuple):
        if reader.rules.ecma:  # annex B: a set cannot begin a range, so '-' is literal
            ends = (reader.cased(((e, e),)) if isinstance(e, int) else e for e in (low, high))
            return union(((0x2D, 0x2D),), *ends)
        raise reader.fail(
            f"expected single characters at both ends of the range '{_text(reader, item_start)}'",
            reader.span(item_start),
            r"a '-' itself is written '\-'",
        ).with_fix(reader.backslash + "-", dash)
    if low > high:
        swap = (reader.between(high_start, reader.at), reader.between(item_start, low_end))
        swapped = "-".join(reader.source.text[end.start : end.end] for end in swap)
        raise reader.fail(
            f"expected a range from low to high, not '{_text(reader, item_start)}'",
            reader.span(item_start),
            r"swap the ends, or write a '-' itself as '\-'",
        ).with_fix(swapped)
    return reader.cased(((low, high),))


def _is_range(reader: Reader) -> bool:
    """Whether the ``-`` that comes next makes a range; before ``]`` it is literal."""
    if not reader.ahead("-"):
        return False
    position = reader.at
    reader.at += 1
    _skip_blanks(reader)
    closed = reader.ahead("]") or (reader.rules.class_algebra and reader.ahead("-"))
    reader.at = position
    return not closed


def _text(reader: Reader, start: int) -> str:
    return reader.text[start : reader.at]


def _member(reader: Reader, start: int) -> int | Ranges:
    if reader.ahead("\\"):
        return read_escape(reader, in_class=True)
    item_start = reader.at
    character = reader.next()
    if not character:
        raise reader.fail(
            "expected ']' to close the class",
            reader.between(start, start + 1),
            r"a bracket itself is written '\['",
        ).with_fix("]", reader.end)
    if reader.reads_bytes and not character.isascii():
        raise reader.fail(
            "expected an ASCII character where bytes are matched",
            reader.span(item_start),
            r"write a byte as '\xHH'",
        )
    return ord(character)


_JAVASCRIPT = re.compile(r"\\[c/]")
#: The lexemes of a regex: an escape of JavaScript, another escape, a class, any other character.
_PIECES = re.compile(
    r"""(?P<slash>\\/) | \\c(?P<control>[A-Za-z]) | \\. | \[\^?\]?(?:[^\]\\]|\\.)*\] | .""",
    re.VERBOSE | re.DOTALL,
)
#: The bit that distinguishes a letter from its control character.
_CONTROL = 0x40


def without_javascript(written: Unescaped) -> Unescaped:
    r"""The regex with JavaScript's ``\/`` and ``\cA`` replaced; characters keep their positions."""
    if not _JAVASCRIPT.search(written.text):
        return written
    pieces: list[str] = []
    places: list[int] = []
    for match in _PIECES.finditer(written.text):
        piece, positions = match[0], list(written.places[match.start() : match.end()])
        if match["slash"]:
            piece = "/"
        elif match["control"]:
            piece = f"\\x{ord(match['control'].upper()) ^ _CONTROL:02x}"
        pieces.append(piece)
        # all characters of a replaced escape have its position
        places += positions if piece == match[0] else positions[:1] * len(piece)
    return Unescaped("".join(pieces), [*places, written.places[-1]], written.backslash)
