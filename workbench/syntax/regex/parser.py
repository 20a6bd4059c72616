"""Regex text becomes a regex tree, or an error a person understands.

Each method's docstring is its own rule of the grammar. Escapes, classes, groups and anchors are
read by the modules named so; what differs between dialects stands in ``regex_dialect``.
"""

from __future__ import annotations

import re

from workbench.limits import Clock
from workbench.source import Source
from workbench.syntax.kbnf.escapes import Unescaped
from workbench.syntax.regex.anchors import Anchor, Anchors, check_anchors
from workbench.syntax.regex.classes import read_class
from workbench.syntax.regex.counts import at_count, take_count
from workbench.syntax.regex.dialect import Dialect, Flags
from workbench.syntax.regex.escapes import read_escape
from workbench.syntax.regex.extensions import is_extension, read_extension
from workbench.syntax.regex.groups import (
    refuse_unsupported,
    skip_comments,
    take_flags,
    take_name,
)
from workbench.syntax.regex.reader import NESTING, Reader
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat

__all__ = ["Dialect", "Flags", "Parser", "parse_regex"]

#: Characters that may mean something outside classes.
_SPECIAL = frozenset("()[\\*+?{.^$|")
#: Characters that do not; one that is repeated is left to be read by itself.
_PLAIN = re.compile(r"[^()\[\\*+?{.^$|]+(?![*+?{])")
#: What a str can hold and no text can.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Parts of a sequence that are read between looks at the clock.
_ATOMS = 256
_LONG = "the regex is very long; shorten it"


def parse_regex(
    source: Source,
    *,
    dialect: Dialect = Dialect.PYTHON,
    flags: Flags = Flags(),  # noqa: B008  # frozen
    searched: bool = False,
    written: Unescaped | None = None,
    clock: Clock | None = None,
) -> Regex:
    """The tree of a regex that has to match the whole of a text.

    Lazy repetitions are read as greedy ones: they accept the same texts. Anchors at the
    edges say nothing and are dropped; where a regex is ``searched`` for inside a text, as
    that of a complement is, a ``^`` would say something, and is refused. Where it stands
    inside another text, that is the ``source`` and ``written`` says which part of it is meant.

    Raises: ParseError with the place, what was expected and a way out; LimitError when the
            time of the ``clock`` is over, or for a row of characters longer than its machines.
    """
    text = source.text if written is None else written.text
    places = range(len(text) + 1) if written is None else written.places
    reader = Reader(source, text, places, dialect, flags)
    if half := _SURROGATE.search(text):
        message = "expected a whole character, not one half of a surrogate pair"
        raise reader.fail(message, reader.between(*half.span()), "write the character itself")
    return Parser(reader, clock, searched=searched).parse()


class Parser:
    """Recursive descent over one regex."""

    def __init__(self, reader: Reader, clock: Clock | None, *, searched: bool) -> None:
        self.reader = reader
        self.clock = clock
        self.searched = searched
        self.anchors: Anchors = {}
        self.names: set[str] = set()
        #: Whether anything but flags and comments has been read.
        self.begun = False

    def parse(self) -> Regex:
        """regex = alternation end."""
        reader = self.reader
        regex = self._alternation()
        if reader.ahead(")"):
            raise reader.fail(
                "expected '(' before this ')'",
                reader.between(reader.at, reader.at + 1),
                r"a parenthesis itself is written '\)'",
            )
        check_anchors(reader, regex, self.anchors)
        return regex

    def _alternation(self) -> Regex:
        """alternation = sequence ("|" sequence)*."""
        start = self.reader.at
        options = [self._sequence()]
        while self.reader.take("|"):
            self.begun = True
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Alternate(tuple(options), self.reader.span(start))

    def _sequence(self) -> Regex:
        """sequence = (atom count*)*; it may be empty."""
        reader = self.reader
        start = reader.at
        parts: list[Regex] = []
        while True:
            if self.clock is not None and len(parts) % _ATOMS == 0:
                self.clock.check(_LONG)
            skip_comments(reader)
            if reader.flags.plain and (plain := _PLAIN.match(reader.text, reader.at)):
                if self.clock is not None:
                    self.clock.limits.check("states", plain.end() - reader.at, _LONG)
                parts += reader.characters(plain.end())
                self.begun = True
                continue
            if not reader.peek() or reader.peek() in "|)":
                break
            atom = self._atom()
            if atom is not None:
                self.begun = True
                parts.append(self._repeated(atom))
        if len(parts) == 1:
            return parts[0]
        return Concat(tuple(parts), reader.span(start))

    def _atom(self) -> Regex | None:
        """atom = group | class | escape | "." | anchor | character; None for flags."""
        reader = self.reader
        start = reader.at
        character = reader.peek()
        if character not in _SPECIAL:
            reader.at += 1
            return self._literal(start, ord(character))
        if character == "(":
            return self._group()
        if character == "[":
            ranges = read_class(reader)
            return reader.node(ranges, reader.span(start))
        if character == "\\":
            return self._escape()
        if character in "*+?" or at_count(reader):
            raise reader.fail(
                f"expected something to repeat before '{character}'",
                reader.between(start, start + 1),
                rf"the sign itself is written '\{character}'",
            )
        reader.at += 1
        if character == ".":
            ranges = (
                reader.universe if reader.flags.dotall else reader.without(reader.rules.line_ends)
            )
            return reader.node(ranges, reader.span(start))
        if character in "^$":
            return self._anchor(start, at_start=character == "^", of_lines=reader.flags.multiline)
        return self._literal(start, ord(character))

    def _literal(self, start: int, code: int) -> Regex:
        reader = self.reader
        span = reader.span(start)
        if reader.flags.bytes and code > 0x7F:
            raise reader.fail(
                "expected an ASCII character where bytes are matched",
                span,
                r"write a byte as '\xHH'",
            )
        return reader.node(reader.cased(((code, code),)), span)

    def _escape(self) -> Regex:
        """escape = "\\" ("A" | "z" | "Z" | what regex_escapes reads)."""
        reader = self.reader
        start = reader.at
        letter = reader.text[start + 1 : start + 2]
        if letter == "A" or (letter and letter in reader.rules.ends):
            reader.at += 2
            return self._anchor(start, at_start=letter == "A", of_lines=False)
        value = read_escape(reader, in_class=False)
        span = reader.span(start)
        ranges = value if isinstance(value, tuple) else reader.cased(((value, value),))
        return reader.node(ranges, span)

    def _anchor(self, start: int, *, at_start: bool, of_lines: bool) -> Regex:
        """An anchor reads nothing: it is kept aside and looked at when the tree is whole."""
        reader = self.reader
        span = reader.span(start)
        text = reader.text[start : reader.at]
        if of_lines:
            raise reader.fail(
                f"'{text}' at the ends of lines is not supported",
                span,
                r"turn the flag 'm' off, and write '\n' where a line ends",
                "unsupported_regex",
            )
        if at_start and self.searched:
            raise reader.fail(
                f"expected no '{text}': the regex is looked for at every place of the text",
                span,
                "leave it out",
                "unsupported_regex",
            )
        self.anchors[span] = Anchor(text, at_start)
        return Concat((), span)

    def _group(self) -> Regex | None:
        """group = "(" ("?" (":" | name | flags ":"))? alternation ")" | "(?" flags ")"."""
        reader = self.reader
        start = reader.at
        reader.enter(start)
        reader.at += 1
        refuse_unsupported(reader, start)
        outside = inside = reader.flags
        name = take_name(reader, self.names)
        captures = not reader.ahead("?")
        if not captures:
            inside = take_flags(reader, start)
            if reader.take(")"):
                self._set_flags(inside, start)
                return None
            reader.at += 1
        reader.flags = inside
        if name is not None and is_extension(reader, name):
            part = self._extension(name, start)
        else:
            part = self._alternation()
        reader.flags = outside
        if not reader.take(")"):
            raise reader.fail(
                "expected ')' to close the group",
                reader.between(start, start + 1),
                r"a parenthesis itself is written '\('",
            )
        reader.leave()
        return Group(part, name, reader.span(start)) if captures else part

    def _extension(self, name: str, start: int) -> Regex:
        """extension = what the name asks for (``regex_extensions``), without anchors."""
        before = len(self.anchors)
        part = read_extension(self.reader, name, start, self._alternation)
        for span, anchor in list(self.anchors.items())[before:]:
            raise self.reader.fail(
                f"expected no '{anchor.text}' inside '(?P<{name}>…)'", span, "leave it out"
            )
        return part

    def _set_flags(self, flags: Flags, start: int) -> None:
        """``(?i)``: from here to the end of the group, or of the regex where it opens it."""
        reader = self.reader
        if not reader.rules.flags_anywhere and (reader.depth > 1 or self.begun):
            raise reader.fail(
                "expected flags at the start of the regex",
                reader.span(start),
                "for a part of it write them as in '(?i:…)'",
            )
        reader.flags = flags
        reader.leave()

    def _repeated(self, atom: Regex) -> Regex:
        """count = ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") "?"?."""
        reader = self.reader
        whole = atom
        stacked = 0
        while True:
            skip_comments(reader)
            start = reader.at
            bounds = take_count(reader)
            if bounds is None:
                return whole
            self._check_repeatable(whole, start, stacked)
            if not reader.take("?") and reader.rules.possessive and reader.ahead("+"):
                raise reader.fail(
                    "possessive repetitions are not supported",
                    reader.between(start, reader.at + 1),
                    "leave out the '+': it takes texts away by how a matcher searches",
                )
            if whole.span not in self.anchors:
                whole = Repeat(whole, *bounds, reader.until_here(atom.span))
            stacked += 1

    def _check_repeatable(self, part: Regex, start: int, stacked: int) -> None:
        reader = self.reader
        span = reader.span(start)
        if reader.rules.stacked_repeats and stacked < NESTING:
            return
        if stacked:
            raise reader.fail(
                "expected one repetition, not a second one",
                span,
                "put the first one in a group, as in '(?:a+)*'",
            )
        if part.span in self.anchors:
            raise reader.fail("expected something to repeat, not an anchor", span, "leave it out")
