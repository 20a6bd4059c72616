"""Parses a regex to a tree, or reports an error with its place.

The docstring of each parsing method is the rule that it parses. Escapes and classes are in
``character_classes``, the differences between dialects in ``reader``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from workbench.base.limits import Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.regex.character_classes import read_class, read_escape
from workbench.syntax.regex.extensions import is_extension, read_extension
from workbench.syntax.regex.reader import NESTING, Dialect, Flags, Reader
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat

_HINT = (
    "the whole text has to match anyway: leave the anchor out, or move it to the end of the regex"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^`` or ``\\A``, which belong at the start, or ``$``, ``\\z``, ``\\Z``, at the end."""

    text: str
    at_start: bool


#: Anchors by span; in the tree an anchor is an empty ``Concat`` with that span.
Anchors = dict[Span, Anchor]


def check_anchors(reader: Reader, regex: Regex, anchors: Anchors) -> None:
    """Reject every anchor that is not at an edge of the regex.

    The whole text has to match, so ``^`` has no effect if only other ``^`` precede it, and ``$`` if
    only other ``$`` follow it. Elsewhere an anchor makes its branch match nothing or changes a
    repetition, which is probably a mistake.

    Raises: ParseError at the first such anchor.
    """
    if anchors:
        _check(reader, regex, anchors, first=True, last=True)


def _check(reader: Reader, regex: Regex, anchors: Anchors, *, first: bool, last: bool) -> None:
    """``first`` and ``last``: nothing is read before, or after, this part."""
    match regex:
        case Concat(parts) if not parts:
            anchor = anchors.get(regex.span)
            if anchor and not (first if anchor.at_start else last):
                raise _misplaced(reader, regex.span, anchor)
        case Concat(parts):
            at_end = [_is_only(part, anchors, at_start=False) for part in parts]
            for position, part in enumerate(parts):
                followed = not all(at_end[position + 1 :])
                _check(reader, part, anchors, first=first, last=last and not followed)
                first = first and _is_only(part, anchors, at_start=True)
        case Alternate(options):
            for option in options:
                _check(reader, option, anchors, first=first, last=last)
        case Group(part):
            _check(reader, part, anchors, first=first, last=last)
        case Repeat(part):
            _check(reader, part, anchors, first=False, last=False)
        case _:
            pass


def _is_only(regex: Regex, anchors: Anchors, *, at_start: bool) -> bool:
    """Whether a part reads nothing and contains only anchors of one side."""
    match regex:
        case Concat(parts) if not parts:
            anchor = anchors.get(regex.span)
            return anchor is None or anchor.at_start == at_start
        case Concat(parts) | Alternate(parts):
            return all(_is_only(part, anchors, at_start=at_start) for part in parts)
        case Group(part):
            return _is_only(part, anchors, at_start=at_start)
        case _:
            return False


def _misplaced(reader: Reader, span: Span, anchor: Anchor) -> Exception:
    edge = "start" if anchor.at_start else "end"
    return reader.fail(
        f"expected '{anchor.text}' only at the {edge} of the regex",
        span,
        _HINT,
        "unsupported_regex",
    )


#: The least and the greatest number of copies; None for no upper bound.
Bounds = tuple[int, int | None]

#: The most digits of a count; no automaton is that large.
_MAX_COUNT_DIGITS = 7
_POSTFIX: dict[str, Bounds] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def take_count(reader: Reader) -> Bounds | None:
    """Take the count that comes next, if any.

    EBNF: ``"*" | "+" | "?" | "{" n "}" | "{" n "," m? "}"``, and in Python ``"{," m? "}"``
    Raises: ParseError for braces without a count, unless the dialect allows them, and for
            reversed bounds.
    """
    sign = reader.peek()
    if sign in _POSTFIX:
        reader.at += 1
        return _POSTFIX[sign]
    return _braces(reader) if sign == "{" else None


def at_count(reader: Reader) -> bool:
    """Whether a ``{`` comes next that begins a count, or must in this dialect."""
    if not reader.ahead("{"):
        return False
    if not reader.rules.lenient_braces:
        return True
    start = reader.at
    found = _braces(reader)
    reader.at = start
    return found is not None


def _braces(reader: Reader) -> Bounds | None:
    start = reader.at
    reader.at += 1
    low = _number(reader)
    comma = reader.take(",")
    high = _number(reader) if comma else low
    lenient = reader.rules.lenient_braces
    if reader.take("}") and (low or (comma and lenient)):
        return _bounds(reader, start, low, high)
    if lenient:
        reader.at = start
        return None
    raise reader.fail(
        "expected a count such as '{2}', '{2,}' or '{2,5}'",
        reader.span(start),
        r"a brace itself is written '\{'",
    )


def _number(reader: Reader) -> str:
    if not reader.rules.lenient_braces:
        reader.skip_blanks()
    digits = reader.take_all_of("0123456789", len(reader.text))
    if not reader.rules.lenient_braces:
        reader.skip_blanks()
    return digits


def _bounds(reader: Reader, start: int, low: str, high: str) -> Bounds:
    if max(len(low.lstrip("0")), len(high.lstrip("0"))) > _MAX_COUNT_DIGITS:
        raise reader.fail(
            f"expected a count of at most {_MAX_COUNT_DIGITS} digits", reader.span(start)
        )
    least, most = int(low or 0), int(high) if high else None
    if most is not None and most < least:
        raise reader.fail(
            f"expected counts in order, not {least} before {most}",
            reader.span(start),
            f"write '{{{most},{least}}}'",
        )
    return least, most


#: The beginning of a named group, in either syntax, with the name and its closing bracket.
_NAMED = re.compile(r"\?P?<(?![=!])([^>)]*)(>?)")
_RECURSION = re.compile(r"\?(\+|-?[0-9])")
_NAME = re.compile(r"[^\W\d]\w*")
_FIELDS = {"i": "ignorecase", "s": "dotall", "m": "multiline", "x": "verbose", "a": "ascii"}
#: Groups of other dialects: the beginning, a name and a hint.
_UNSUPPORTED = (
    ("?=", "lookahead", "it reads the same text twice; write out what may follow"),
    ("?!", "lookahead", "it reads the same text twice; say with a class what may follow instead"),
    ("?<=", "lookbehind", "it reads the same text twice; write out what comes before"),
    ("?<!", "lookbehind", "it reads the same text twice; use a class for what comes before"),
    ("?>", "an atomic group", "it takes texts away by how a matcher searches; use '(?:…)'"),
    ("?P=", "a backreference", "no automaton remembers a group; write the alternatives out"),
    ("?P>", "recursion", "use a KBNF grammar, where a rule may call itself"),
    ("?&", "recursion", "use a KBNF grammar, where a rule may call itself"),
    ("?(", "a conditional", "write both cases as alternatives"),
    ("?|", "a branch reset", "use '(?:…)'"),
    ("?'", "a group named in quotes", "write '(?P<name>…)'"),
    ("?C", "a callout", "leave it out"),
    ("*", "a control verb", "leave it out, or write '\\*' for the sign itself"),
)


def refuse_unsupported(reader: Reader, start: int) -> None:
    """Raise ParseError for a kind of group that no automaton can read."""
    if reader.peek() not in ("?", "*"):
        return
    for opening, what, hint in _UNSUPPORTED:
        if reader.ahead(opening):
            if opening == "*" and reader.rules.possessive:
                return  # Python reports that there is nothing to repeat
            place = reader.between(start, reader.at + len(opening))
            raise reader.fail(f"{what} '({opening}' is not supported", place, hint)
    if _RECURSION.match(reader.text, reader.at) or (
        reader.ahead("?R") and "R" not in reader.rules.flags
    ):
        raise reader.fail(
            "recursion is not supported: a regex has no stack",
            reader.between(start, reader.at + 2),
            "use a KBNF grammar, where a rule may call itself",
        )


def skip_comments(reader: Reader) -> None:
    """Skip white space with the flag ``x``, and ``(?#…)`` if the dialect has it."""
    if reader.flags.verbose:
        reader.skip_blanks()
    while reader.ahead("(?#"):
        place = reader.between(reader.at, reader.at + 3)
        if not reader.rules.comments:
            raise reader.fail(
                "comments '(?#…)' are not supported in this dialect",
                place,
                "leave it out, or use '(?x)' and '# …' up to the end of the line",
            )
        end = reader.text.find(")", reader.at)
        if end < 0:
            raise reader.fail("expected ')' to close the comment", place)
        reader.at = end + 1
        reader.skip_blanks()


def take_name(reader: Reader, names: set[str]) -> str | None:
    """Take the name of ``?P<name>`` or ``?<name>``, if one comes next."""
    match = _NAMED.match(reader.text, reader.at)
    if match is None:
        return None
    name, closed = match.groups()
    span = reader.between(match.start(1), max(match.end(1), match.start(1)))
    reader.at = match.end()
    if not closed:
        raise reader.fail("expected '>' after the name of the group", span)
    if not _NAME.fullmatch(name):
        raise reader.fail(
            "expected a name for the group: letters, digits and '_', no digit first", span
        )
    if is_extension(reader, name):
        return name  # an extension may occur more than once
    if name in names:
        raise reader.fail(
            f"expected a new name for the group, '{name}' is taken",
            span,
            "give each group a different name, or none",
        )
    names.add(name)
    return name


def take_flags(reader: Reader, start: int) -> Flags:
    """The flags of ``?i-s``; the reader moves from before ``?`` to ``:`` or ``)``."""
    reader.at += 1
    flags = reader.flags
    turn_on, some = True, False
    while not (reader.ahead(":") or reader.ahead(")")):
        place = reader.at
        letter = reader.next()
        if letter == "-" and turn_on:
            turn_on, some = False, False
            continue
        flags = _with_flag(reader, flags, letter, reader.between(place, reader.at), turn_on=turn_on)
        some = True
    if not some and not (turn_on and reader.ahead(":")):
        raise reader.fail(
            f"expected flags out of '{reader.rules.flags}' after '(?'",
            reader.span(start),
            "a group without a number is written '(?:…)'",
        )
    return flags


def _with_flag(reader: Reader, flags: Flags, letter: str, span: Span, *, turn_on: bool) -> Flags:
    allowed = reader.rules.flags if turn_on else reader.rules.flags_off
    if not letter:
        raise reader.fail("expected ')' to close the flags", span)
    if letter == "R" and "R" in allowed:
        raise reader.fail(
            "the flag 'R' is not supported: lines have no ends here",
            span,
            r"leave it out, and write '\r?\n' where a line ends",
            "unsupported_regex",
        )
    if letter not in allowed:
        raise reader.fail(
            f"expected a flag out of '{allowed}', not '{letter}'",
            span,
            f"{reader.rules.name} regexes know no such flag there",
        )
    if letter == "u":
        if flags.bytes:
            raise reader.fail("expected no flag 'u' where bytes are matched", span, "leave it out")
        return replace(flags, ascii=not turn_on)
    return replace(flags, **{_FIELDS[letter]: turn_on}) if letter in _FIELDS else flags


__all__ = ["Dialect", "Flags", "Parser", "parse_regex"]

#: Characters that may be special outside classes.
_SPECIAL = frozenset("()[\\*+?{.^$|")
#: A run of other characters, without a last one that is repeated.
_PLAIN = re.compile(r"[^()\[\\*+?{.^$|]+(?![*+?{])")
#: Lone surrogates, which a ``str`` can contain and UTF-8 cannot.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Parts of a sequence between two checks of the time limit.
_ATOMS_PER_CHECK = 256
_TOO_LONG = "the regex is very long; shorten it"


def parse_regex(
    source: Source,
    *,
    dialect: Dialect = Dialect.PYTHON,
    flags: Flags = Flags(),  # noqa: B008  # frozen
    searched: bool = False,
    written: Unescaped | None = None,
    clock: Clock | None = None,
) -> Regex:
    """The tree of a regex that has to match a whole text.

    Lazy repetitions become greedy ones, which accept the same texts. Anchors at the edges have no
    effect and are dropped. With ``searched``, for a regex that is searched for inside a text such
    as that of a complement, ``^`` has an effect and is rejected. ``written`` is the regex if it is
    only a part of ``source``.

    Raises: ParseError; LimitError past the time of the ``clock``, or for more characters in a row
            than its limit of states.
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
        #: Whether anything except flags and comments has been read.
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
            if self.clock is not None and len(parts) % _ATOMS_PER_CHECK == 0:
                self.clock.check(_TOO_LONG)
            skip_comments(reader)
            if reader.flags.plain and (plain := _PLAIN.match(reader.text, reader.at)):
                if self.clock is not None:
                    self.clock.limits.check("states", plain.end() - reader.at, _TOO_LONG)
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
        """escape = "\\" ("A" | "z" | "Z" | see character_classes)."""
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
        """An anchor reads nothing; ``check_anchors`` checks it when the tree is complete."""
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
        """extension = the content of its name (see ``extensions``), without anchors."""
        before = len(self.anchors)
        part = read_extension(self.reader, name, start, self._alternation)
        for span, anchor in list(self.anchors.items())[before:]:
            raise self.reader.fail(
                f"expected no '{anchor.text}' inside '(?P<{name}>…)'", span, "leave it out"
            )
        return part

    def _set_flags(self, flags: Flags, start: int) -> None:
        """``(?i)``: sets flags up to the end of the group, or of the regex at its start."""
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
