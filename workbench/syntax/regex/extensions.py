r"""The extensions of Koo et al. as named groups, and terminal labels.

A group with one of the names of ``EXTENSIONS`` is not a capturing group but defines a language, in
regexes and in the regexes of KBNF; it may occur more than once::

    (?P<QUOTED_TEXT>)                    "text" with at least one character but white space;
                                         spaces are the only white space; escapes \" \n and \\
    (?P<UNQUOTED_TEXT>)                  a plain scalar of YAML 1.2.2 in one line, as for the key of
                                         a block mapping (production 133)
    (?P<TEXT_UNTIL>stop)                 any text that ends with 'stop' and has no earlier 'stop'
    (?P<SUBSTRING_OF>text)               any substring of 'text', the empty one included
    (?P<DELIMITED_LIST>(?P<DELIMITER>, )item)                     one item or more
    (?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, )one|two|three)  one or more of them, in this order
    (?P<TEXT_TOKEN>) (?P<PARAGRAPH_TOKEN>) (?P<IMAGE>)            one token: a terminal label

``stop`` and ``text`` are literal texts with escaped special characters (as ``re.escape`` writes
them); delimiter and items are regexes. Flags apply inside: ``i`` ignores case, and with ``x`` white
space must be escaped too. Any other name is that of an ordinary group.

A terminal label reads one whole token, whatever its text. The tree does not depend on a
vocabulary: over characters a label matches any text that such a token may have, so that texts can
be checked without one.

Source: Koo et al. 2024, §2.5 and Table 1; labels: §2.5.1; QUOTED_TEXT: appendix C.4.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.base.source import Span
from workbench.syntax.ranges import ANY_BYTE, ANY_CHARACTER, Ranges, difference, size, union
from workbench.syntax.regex.reader import Reader
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    Regex,
    Repeat,
    walk,
)
from workbench.syntax.regex.unicode_sets import python_class

#: All bytes but the line feed.
_IN_A_LINE: Ranges = ((0x00, 0x09), (0x0B, 0xFF))


@dataclass(frozen=True, slots=True)
class Label:
    """A terminal label: one token of a set that the vocabulary defines."""

    name: str
    #: A description to display.
    what: str
    #: The regex of its texts, at a span. Over bytes: a token may begin or end inside a character.
    regex: Callable[[Span], Regex] = field(repr=False)


def _bytes(ranges: Ranges) -> Callable[[Span], Regex]:
    """One or more bytes of a set."""
    return lambda span: Repeat(Bytes(ranges, span), 1, None, span)


#: The first label that contains a token reads it: the narrowest is first.
LABELS = (
    Label("IMAGE", "a token that stands for an image", lambda span: Concat((), span)),
    Label("PARAGRAPH_TOKEN", "a token of text without a line feed", _bytes(_IN_A_LINE)),
    Label("TEXT_TOKEN", "a token of text", _bytes(ANY_BYTE)),
)
_BY_NAME = {label.name: label for label in LABELS}


def label_of(regex: Regex) -> Label | None:
    """The label of a node; None for other nodes, also for groups that only have its name."""
    if not isinstance(regex, Group) or regex.name not in _BY_NAME:
        return None
    label = _BY_NAME[regex.name]
    return label if regex.part == label.regex(regex.span) else None


def labels_in(regex: Regex) -> Iterator[tuple[Label, Span]]:
    """Every label of a regex with its place, from left to right."""
    for node in walk(regex):
        if (label := label_of(node)) is not None:
            yield label, node.span
        elif isinstance(node, Extension):
            for part in node.parts:
                yield from labels_in(part)


_DELIMITER = re.compile(r"\(\?P?<DELIMITER>")
_ESCAPE_HINT = "put a backslash before each special sign, as Python's re.escape does"

#: YAML 1.2.2: ns-char, printable non-space characters (34); c-indicator (22); s-white (33).
_YAML_PRINTABLE: Ranges = (
    (0x21, 0x7E),
    (0x85, 0x85),
    (0xA0, 0xD7FF),
    (0xE000, 0xFEFE),
    (0xFF00, 0xFFFD),
    (0x10000, 0x10FFFF),
)
_YAML_INDICATORS = "-?:,[]{}#&*!|>'\"%@`"
_YAML_BLANKS = "\t "


def is_extension(reader: Reader, name: str) -> bool:
    """Whether a group of this name is an extension in the reader's dialect."""
    return reader.rules.extensions and name in EXTENSIONS


def read_extension(
    reader: Reader, name: str, start: int, alternation: Callable[[], Regex]
) -> Regex:
    """The tree of an extension whose group begins at ``start``; the reader is after its name.

    Reads up to the closing parenthesis. ``alternation`` parses a regex up to such a position.

    Raises: ParseError if the content does not fit the name.
    """
    if reader.flags.bytes:
        raise reader.fail(
            f"expected characters: '(?P<{name}>)' reads no bytes",
            reader.span(start),
            "turn bytes off for it",
        )
    if name in _EMPTY:
        begin = reader.at
        if reader.peek() not in ("", ")"):
            alternation()
            raise reader.fail(
                f"expected nothing inside '(?P<{name}>)'",
                reader.between(begin, max(reader.at, begin + 1)),
                "leave it empty, or choose another name for the group",
            ).with_fix("")
        return _EMPTY[name](reader.between(start, reader.at + 1))
    if name == _LIST:
        delimiter, item = _delimiter(reader, name, alternation), alternation()
        span = reader.span(start)
        return Concat((item, Repeat(Concat((delimiter, item), span), 0, None, span)), span)
    kind = Kind(name)
    if kind is Kind.DELIMITED_SUBSEQUENCE_OF:
        delimiter = _delimiter(reader, name, alternation)
        return Extension(kind, (delimiter, *_items(reader, alternation)), reader.span(start))
    return Extension(kind, _letters(reader, name, alternation), reader.span(start))


def _letters(reader: Reader, name: str, alternation: Callable[[], Regex]) -> tuple[Characters, ...]:
    """A literal text, letter by letter."""
    begin = reader.at
    inside = alternation()
    parts = inside.parts if isinstance(inside, Concat) else (inside,)
    if not parts:
        raise reader.fail(
            f"expected a text inside '(?P<{name}>…)'",
            reader.between(begin, begin + 1),
            f"write it behind the name, as in '(?P<{name}>abc)'",
        )
    letters: list[Characters] = []
    sets: dict[int, Ranges] = {}  # by every code point in them
    for part in parts:
        if not isinstance(part, Characters) or not _is_letter(reader, part.ranges):
            raise reader.fail(
                f"expected a plain text inside '(?P<{name}>…)', not a regex",
                part.span,
                _ESCAPE_HINT,
            )
        for low, high in part.ranges:
            for code in range(low, high + 1):
                if sets.setdefault(code, part.ranges) != part.ranges:
                    raise reader.fail(
                        f"expected every letter inside '(?P<{name}>…)' in the same cases",
                        part.span,
                        "turn the flag 'i' on or off for all of them",
                    )
        letters.append(part)
    return tuple(letters)


def _is_letter(reader: Reader, ranges: Ranges) -> bool:
    """Whether a set is one character, in all its cases with the flag ``i``."""
    if not ranges:
        return False
    code = ranges[0][0]
    return size(ranges) == 1 or ranges == reader.cased(((code, code),))


def _delimiter(reader: Reader, name: str, alternation: Callable[[], Regex]) -> Regex:
    """delimiter = "(?P<DELIMITER>" alternation ")"."""
    begin = reader.at
    match = _DELIMITER.match(reader.text, begin)
    if match is None:
        raise reader.fail(
            f"expected '(?P<DELIMITER>…)' first inside '(?P<{name}>…)'",
            reader.between(begin, begin + 1),
            f"name the delimiter of the items, as in '(?P<{name}>(?P<DELIMITER>, )…)'",
        )
    reader.at = match.end()
    part = alternation()
    if not reader.take(")"):
        raise reader.fail("expected ')' to close the delimiter", reader.between(begin, begin + 1))
    return Group(part, "DELIMITER", reader.span(begin))


def _items(reader: Reader, alternation: Callable[[], Regex]) -> tuple[Regex, ...]:
    """items = item ("|" item)*; no item is empty."""
    begin = reader.at
    alternatives = alternation()
    # an alternative in parentheses is one item: it begins later than the items
    several = (
        isinstance(alternatives, Alternate)
        and alternatives.span.start == reader.between(begin, begin).start
    )
    items = (
        alternatives.options if isinstance(alternatives, Alternate) and several else (alternatives,)
    )
    for item in items:
        if isinstance(item, Concat) and not item.parts:
            raise reader.fail(
                "expected an item",
                Span(item.span.start, item.span.start + 1) if several else reader.span(begin),
                "write the items with '|' between them, as in 'red|green|blue'",
            )
    return items


# -- extensions without content --------------------------------------------------------------------


def _quoted_pattern(span: Span) -> Regex:
    """``" *(?:[^\\s"\\\\]|\\\\["n\\\\])(?: |[^\\s"\\\\]|\\\\["n\\\\])*"``."""
    plain = difference(ANY_CHARACTER, union(python_class("s"), _set('"\\')))
    escape = Concat((_one("\\", span), Characters(_set('"n\\'), span)), span)
    first = Alternate((Characters(plain, span), escape), span)
    after = Alternate((Characters(union(plain, _set(" ")), span), escape), span)
    blanks = Repeat(_one(" ", span), 0, None, span)
    rest = Repeat(after, 0, None, span)
    return Concat((_one('"', span), blanks, first, rest, _one('"', span)), span)


def _unquoted(span: Span) -> Regex:
    """``(?:a|[-?:]:*n)(?::*n|[ \\t]+(?:p|:+n))*``: a colon is inside, a '#' not after a blank.

    ``n`` is ns-char without the colon, ``p`` is ``n`` without '#', ``a`` without indicators.
    """

    def any_of(ranges: Ranges) -> Regex:
        return Characters(ranges, span)

    def row(*parts: Regex) -> Regex:
        return Concat(parts, span)

    def copies(part: Regex, low: int) -> Regex:
        return Repeat(part, low, None, span)

    printable = any_of(difference(_YAML_PRINTABLE, _set(":")))
    plain = any_of(difference(_YAML_PRINTABLE, _set(":#")))
    alone = any_of(difference(_YAML_PRINTABLE, _set(_YAML_INDICATORS)))
    colon = _one(":", span)
    first = Alternate((alone, row(any_of(_set("-?:")), copies(colon, 0), printable)), span)
    after_blanks = Alternate((plain, row(copies(colon, 1), printable)), span)
    blanks = copies(any_of(_set(_YAML_BLANKS)), 1)
    more = Alternate((row(copies(colon, 0), printable), row(blanks, after_blanks)), span)
    return row(first, copies(more, 0))


def _set(letters: str) -> Ranges:
    return union((), *(((ord(letter), ord(letter)),) for letter in letters))


def _one(letter: str, span: Span) -> Regex:
    return Characters(((ord(letter), ord(letter)),), span)


_LIST = "DELIMITED_LIST"
_EMPTY: dict[str, Callable[[Span], Regex]] = {
    "QUOTED_TEXT": _quoted_pattern,
    "UNQUOTED_TEXT": _unquoted,
    **{label.name: label.regex for label in LABELS},
}

#: The names of extensions.
EXTENSIONS = frozenset({*_EMPTY, _LIST, *Kind} - {Kind.ASSERTED})
