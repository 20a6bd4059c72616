"""Parses a regex to a tree, or reports an error with its place.

The docstring of each parsing method is the rule that it parses. Escapes and classes are in
``character_classes``, the differences between dialects in ``reader``.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import cast

from workbench.base.diagnostics import with_rewrite
from workbench.base.limits import Clock
from workbench.base.source import SURROGATE, Source, Span, Unescaped
from workbench.syntax.ranges import ANY_BYTE, ANY_CHARACTER, difference
from workbench.syntax.regex.character_classes import class_of, read_class, read_escape
from workbench.syntax.regex.extensions import is_extension, labels_in, read_extension
from workbench.syntax.regex.match_order import GroupTest, MatchOrder, Unordered
from workbench.syntax.regex.reader import NESTING, Dialect, Flags, Reader
from workbench.syntax.regex.tree import (
    Alternate,
    Concat,
    Extension,
    Group,
    Kind,
    Look,
    LookKind,
    Regex,
    Repeat,
    has_look,
    same_nodes,
    walk,
)


def _without_edge_anchors(regex: Regex, *, first: bool, last: bool) -> Regex:
    """The regex with an empty ``Concat`` for each anchor that has no effect at an edge.

    The whole text has to match, so ``^`` is true if nothing is read before it (``first``), and
    ``$`` if nothing is read after it (``last``).
    """
    match regex:
        case Look(kind) if (first and kind is LookKind.START) or (last and kind is LookKind.END):
            return Concat((), regex.span)
        case Concat(parts):
            empty = [*map(_reads_nothing, parts)]
            begins = empty.index(False) if False in empty else len(parts)
            ends = len(parts) - (empty[::-1].index(False) if False in empty else len(parts))
            kept = [
                _without_edge_anchors(
                    part, first=first and index <= begins, last=last and index >= ends - 1
                )
                for index, part in enumerate(parts)
            ]
            return regex if same_nodes(parts, tuple(kept)) else Concat(tuple(kept), regex.span)
        case Repeat() | Look():
            return regex
        case _:
            return regex.rebuild(lambda part: _without_edge_anchors(part, first=first, last=last))


def _reads_nothing(regex: Regex) -> bool:
    match regex:
        case Concat(parts) | Alternate(parts):
            return all(map(_reads_nothing, parts))
        case Group(part):
            return _reads_nothing(part)
        case _:
            return isinstance(regex, Look)


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
    braces = _braces(reader)
    reader.at = start
    return braces is not None


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
        ).with_fix(f"{{{most},{least}}}")
    return least, most


#: The beginning of a named group, in either syntax, with the name and its closing bracket.
_NAMED = re.compile(r"\?P?<(?![=!])([^>)]*)(>?)")
_RECURSION = re.compile(r"\?(\+|-?[0-9])")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[0-9]{1,4}")
_FIELDS = {
    "i": "ignorecase", "s": "dotall", "m": "multiline", "x": "verbose", "a": "ascii", "R": "crlf",
}  # fmt: skip
#: Groups of other dialects: the beginning, a name and a hint.
_UNSUPPORTED = (
    ("?P=", "a backreference", "no automaton remembers a group; write the alternatives out"),
    ("?P>", "recursion", "use a KBNF grammar, where a rule may call itself"),
    ("?&", "recursion", "use a KBNF grammar, where a rule may call itself"),
    ("?(", "a conditional", "write both cases as alternatives"),
    ("?|", "a branch reset", "use '(?:…)'"),
    ("?'", "a group named in quotes", "write '(?P<name>…)'"),
    ("?C", "a callout", "leave it out"),
    ("*", "a control verb", "leave it out, or write '\\*' for the sign itself"),
)
_FOREIGN_GROUPS = ((r"\(\?\|", "(?:"), (r"\(\?'([^\W\d]\w*)'", r"(?P<\1>"))


def refuse_unsupported(reader: Reader, start: int) -> None:
    """Raise ParseError for a kind of group that no automaton can read."""
    if reader.peek() not in ("?", "*"):
        return
    for opening, what, hint in _UNSUPPORTED:
        if reader.ahead(opening):
            if opening == "*" and reader.rules.possessive:
                return  # Python reports that there is nothing to repeat
            span = reader.between(start, reader.at + len(opening))
            error = reader.fail(f"{what} '({opening}' is not supported", span, hint)
            raise with_rewrite(error, _FOREIGN_GROUPS, span.start)
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
    while reader.text.startswith("(?#", reader.at):
        span = reader.between(reader.at, reader.at + 3)
        if not reader.rules.comments:
            raise reader.fail(
                "comments '(?#…)' are not supported in this dialect",
                span,
                "leave it out, or use '(?x)' and '# …' up to the end of the line",
            )
        end = reader.text.find(")", reader.at)
        if end < 0:
            raise reader.fail("expected ')' to close the comment", span)
        reader.at = end + 1
        reader.skip_blanks()


def take_name(reader: Reader, names: Container[str]) -> str | None:
    """Take the name of ``?P<name>`` or ``?<name>``, if one comes next."""
    match = _NAMED.match(reader.text, reader.at)
    if match is None:
        return None
    name, closed = match.groups()
    span = reader.between(match.start(1), max(match.end(1), match.start(1)))
    reader.at = match.end()
    if not closed:
        begin = match.start(1)
        word = _NAME.match(reader.text, begin)
        end = begin if word is None else word.end()
        closing = reader.between(end, end)
        raise reader.fail("expected '>' after the name of the group", span).with_fix(">", closing)
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
    return name


def take_flags(reader: Reader, start: int) -> Flags:
    """The flags of ``?i-s``; the reader moves from before ``?`` to ``:`` or ``)``."""
    reader.at += 1
    flags = reader.flags
    turn_on, some = True, False
    while not (reader.ahead(":") or reader.ahead(")")):
        flag_start = reader.at
        letter = reader.next()
        if letter == "-" and turn_on:
            turn_on, some = False, False
            continue
        flags = _with_flag(
            reader, flags, letter, reader.between(flag_start, reader.at), turn_on=turn_on
        )
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

#: A boundary of a word, and where in the word it is, in Rust.
_EDGE = re.compile(r"\\([bB<>])(?:(?<=b)\{(start|end|start-half|end-half)\})?")
_EDGES = {
    "start": (LookKind.NOT_BEHIND, LookKind.AHEAD),
    "<": (LookKind.NOT_BEHIND, LookKind.AHEAD),
    "end": (LookKind.BEHIND, LookKind.NOT_AHEAD),
    ">": (LookKind.BEHIND, LookKind.NOT_AHEAD),
    "start-half": (LookKind.NOT_BEHIND,),
    "end-half": (LookKind.NOT_AHEAD,),
}


_LOOKS = (LookKind.BEHIND, LookKind.NOT_BEHIND, LookKind.AHEAD, LookKind.NOT_AHEAD)

#: Characters that may be special outside classes.
_SPECIAL = frozenset("()[\\*+?{.^$|")
#: What ends a sequence; nothing is next at the end of the text.
_AFTER_SEQUENCE = frozenset(("", "|", ")"))
#: The first characters of a count, and of a comment before a count.
_BEFORE_COUNT = frozenset("*+?{(")
#: A run of other characters, without a last one that is repeated.
_PLAIN = re.compile(r"[^()\[\\*+?{.^$|]+(?![*+?{])")
#: Lone surrogates, which a ``str`` can contain and UTF-8 cannot.
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

    Anchors at the edges have no effect and are dropped, unless the regex is ``searched`` for inside
    a text, such as that of a complement. A regex with other assertions is an ``Extension`` of kind
    ``ASSERTED``. ``written`` is the regex if it is only a part of ``source``.

    Raises: ParseError; LimitError past the time of the ``clock``, or for more characters in a row
            than its limit of states.
    """
    if written is None:
        written = Unescaped(source.text, range(len(source.text) + 1))
    reader = Reader(source, written, dialect, flags)
    if half := SURROGATE.search(written.text):
        message = "expected a whole character, not one half of a surrogate pair"
        raise reader.fail(message, reader.between(*half.span()), "write the character itself")
    return Parser(reader, clock, searched=searched).parse()


class Parser:
    """Recursive descent over one regex."""

    def __init__(self, reader: Reader, clock: Clock | None, *, searched: bool) -> None:
        self.reader = reader
        self.clock = clock
        self.searched = searched
        #: The numbers of the named groups, and of all groups that are read.
        self.names: dict[str, int] = {}
        self.groups = 0
        #: Whether anything except flags and comments has been read.
        self.begun = False
        self.order = MatchOrder()

    def parse(self) -> Regex:
        """regex = alternation end."""
        reader = self.reader
        regex = self._alternation()
        if reader.ahead(")"):
            raise reader.fail(
                "expected '(' before this ')'",
                reader.between(reader.at, reader.at + 1),
                r"a parenthesis itself is written '\)'",
            ).with_fix(reader.backslash + ")")
        if self.order.tested:
            regex = self._without_conditionals(regex)
        if not has_look(regex):
            return regex
        if not self.searched:
            regex = _without_edge_anchors(regex, first=True, last=True)
            if not has_look(regex):
                return regex
        for label, span in labels_in(regex):
            raise reader.fail(
                f"expected no assertion in a regex with {label.name}: a label has no characters",
                span,
                "write the label as a separate regex",
                "unsupported_regex",
            )
        return Extension(Kind.ASSERTED, (regex,), reader.span(0))

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
            if reader.peek() in _AFTER_SEQUENCE:
                break
            atom = self._atom()
            if atom is not None:
                self.begun = True
                parts.append(self._repeat(atom))
        if len(parts) == 1:
            return parts[0]
        return Concat(tuple(parts), reader.span(start))

    def _atom(self) -> Regex | None:
        """atom = group | class | escape | "." | assertion | character; None for flags."""
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
            ).with_fix(reader.backslash + character)
        reader.at += 1
        if character == ".":
            ranges = reader.universe if reader.flags.dotall else reader.without(reader.line_ends)
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
        """escape = "\\" ("A" | "z" | "Z" | "b" | "B" | see character_classes)."""
        reader = self.reader
        start = reader.at
        letter = reader.text[start + 1 : start + 2]
        if letter == "A" or (letter and letter in reader.rules.ends):
            reader.at += 2
            return self._anchor(start, at_start=letter == "A", of_lines=False)
        if (edge := self._word_edge()) is not None:
            return edge
        value = read_escape(reader, in_class=False)
        span = reader.span(start)
        ranges = value if isinstance(value, tuple) else reader.cased(((value, value),))
        return reader.node(ranges, span)

    def _word_edge(self) -> Regex | None:
        """edge = "\\b" | "\\B", and in Rust "\\<" | "\\>" | "\\b{" place "}".

        "\\B" holds in the empty text, as in Rust, ECMAScript and Python 3.14, not earlier ones.
        """
        reader = self.reader
        start = reader.at
        match = _EDGE.match(reader.text, start)
        if match is None or (match[1] in "<>" and not reader.rules.word_edges):
            return None
        edge = match[2] if reader.rules.word_edges else None
        reader.at = match.end(1) if edge is None else match.end()
        span = reader.span(start)
        word = reader.node(class_of(reader, "w"), span)
        if edge is None and match[1] in "bB":
            return Look(LookKind.BOUNDARY if match[1] == "b" else LookKind.INSIDE, word, span)
        looks = tuple(Look(kind, word, span) for kind in _EDGES[edge or match[1]])
        return looks[0] if len(looks) == 1 else Concat(looks, span)

    def _anchor(self, start: int, *, at_start: bool, of_lines: bool) -> Regex:
        """``^ $ \\A \\z \\Z``: the characters that must not be next to the position."""
        reader = self.reader
        span = reader.span(start)
        everything = ANY_BYTE if reader.flags.bytes else ANY_CHARACTER
        line_ends = reader.line_ends if of_lines else ()
        inside = reader.node(difference(everything, line_ends), span)
        if of_lines:
            look = Look(LookKind.LINE_START if at_start else LookKind.LINE_END, inside, span)
            if not reader.flags.crlf:
                return look
            first, second = (reader.node(((code, code),), span) for code in (0x0D, 0x0A))
            split = Concat((Look(LookKind.BEHIND, first, span), second), span)
            return Concat((look, Look(LookKind.NOT_AHEAD, split, span)), span)
        if at_start:
            return Look(LookKind.START, inside, span)
        if reader.rules.end_before_last_line_end and reader.text[start] == "$":
            line_end = reader.node(reader.rules.line_ends, span)
            other = reader.node(difference(everything, reader.rules.line_ends), span)
            inside = Alternate((other, Concat((line_end, inside), span)), span)
        return Look(LookKind.END, inside, span)

    def _group(self) -> Regex | None:
        """group = "(" ("?" (":" | ">" | name | flags ":" | look))? alternation ")" | flags."""
        reader = self.reader
        start = reader.at
        reader.enter(start)
        reader.at += 1
        if reader.rules.possessive and reader.take("?("):
            return self._conditional(start)
        refuse_unsupported(reader, start)
        outside = inside = reader.flags
        look = next((kind for kind in _LOOKS if reader.take(kind[1:])), None)
        is_atomic = reader.rules.possessive and reader.take("?>")
        name = take_name(reader, self.names)
        captures = look is None and not is_atomic and not reader.ahead("?")
        self.groups += captures
        number = self.groups
        if name is not None:
            self.names[name] = number
        if reader.ahead("?") and not captures:
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
            ).with_fix(")", reader.end)
        reader.leave()
        if look is not None:
            return Look(look, part, reader.span(start))
        if is_atomic:
            part = self._atomic(part, start)
        if isinstance(part, Look):  # in a group it can be repeated
            part = Concat((part,), part.span)
        if not captures:
            return part
        group = Group(part, name, reader.span(start))
        self.order.numbers[id(group)] = number, group
        return group

    def _conditional(self, start: int) -> Regex:
        """conditional = "(?(" (number | name) ")" sequence ("|" sequence)? ")"."""
        reader = self.reader
        begin = reader.at
        end = reader.text.find(")", begin)
        name = reader.text[begin : max(end, begin)]
        number = int(name) if _NUMBER.fullmatch(name) else self.names.get(name, 0)
        if not number:
            hint = "a group has a number from 1 on, or the name in '(?P<name>…)' before it"
            group_span = reader.between(begin, begin + max(len(name), 1))
            raise reader.fail("expected the number or the name of a group", group_span, hint)
        group_span = self.order.tested.setdefault(number, reader.between(begin, end))
        reader.at = end + 1
        cases = [self._sequence()]
        cases.append(self._sequence() if reader.take("|") else Concat((), reader.span(reader.at)))
        if not reader.take(")"):
            raise reader.fail(
                "expected ')' after at most two cases of a conditional",
                reader.between(start, start + 1),
                "write further alternatives in a group: '(?(1)(?:a|b)|c)'",
            )
        reader.leave()
        span = reader.span(start)
        pairs = zip((True, False), cases, strict=True)
        options = (
            Concat((cast("Regex", GroupTest(number, matched, group_span)), case), span)
            for matched, case in pairs
        )
        return Alternate(tuple(options), span)

    def _without_conditionals(self, regex: Regex) -> Regex:
        for number, group_span in self.order.tested.items():
            if number > self.groups:
                hint = f"the regex has {self.groups} groups that are numbered"
                raise self.reader.fail(f"expected a group of number {number}", group_span, hint)
        try:
            return self.order.without_conditionals(regex)
        except Unordered as error:
            message, group_span, hint = error.args
            raise self.reader.fail(message, group_span, hint, "unsupported_regex") from None

    def _extension(self, name: str, start: int) -> Regex:
        """extension = the content of its name (see ``extensions``)."""
        part = read_extension(self.reader, name, start, self._alternation)
        inside = part.parts if isinstance(part, Extension) else ()
        for look in (node for part in inside for node in walk(part) if isinstance(node, Look)):
            raise self.reader.fail(
                f"expected no '{look.kind}' inside '(?P<{name}>…)'", look.span, "leave it out"
            ).with_fix("")
        return part

    def _set_flags(self, flags: Flags, start: int) -> None:
        """``(?i)``: sets flags up to the end of the group, or of the regex at its start."""
        reader = self.reader
        if not reader.rules.flags_anywhere and (reader.depth > 1 or self.begun):
            error = reader.fail(
                "expected flags at the start of the regex",
                reader.span(start),
                "for a part of it write them as in '(?i:…)'",
            )
            text = reader.text
            if text == reader.source.text:  # not a part of a grammar
                moved = text[start : reader.at] + text[:start] + text[reader.at :]
                error.with_fix(moved, reader.between(0, len(text)))
            raise error
        reader.flags = flags
        reader.leave()

    def _repeat(self, atom: Regex) -> Regex:
        """count = ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") "?"?."""
        reader = self.reader
        if reader.text[reader.at : reader.at + 1] not in _BEFORE_COUNT and not reader.flags.verbose:
            return atom
        whole = atom
        stacked = 0
        while True:
            skip_comments(reader)
            start = reader.at
            bounds = take_count(reader)
            if bounds is None:
                return whole
            self._check_repeatable(whole, start, stacked)
            is_lazy = reader.take("?")
            is_possessive = not is_lazy and reader.rules.possessive and reader.take("+")
            span = reader.until_here(atom.span)
            if not isinstance(whole, Look):
                whole = Repeat(whole, *bounds, span, is_lazy)
            elif bounds[0] == 0:
                whole = Concat((), span)  # copies of a condition are the condition, or nothing
            if is_possessive:
                whole = self._atomic(whole, start, possessive=True)
            stacked += 1

    def _atomic(self, regex: Regex, start: int, *, possessive: bool = False) -> Regex:
        """``(?>x)``, also written ``x*+``: only the match of x that a matcher finds first.

        Python matches each copy of ``x{2}+`` by itself, other dialects as ``(?>x{2})``.
        """
        order, span = self.order, self.reader.between(start, self.reader.at)
        several = isinstance(regex, Repeat) and regex.low > 1
        if possessive and several and not any(map(order.is_sure, regex.children)):
            raise self.reader.fail(
                "this possessive repetition is not supported: dialects differ",
                span,
                "write '(?>x{2})', or '(?>x)(?>x)' for copies that match by themselves",
                "unsupported_regex",
            )
        try:
            return order.atomic(regex)
        except Unordered:
            raise self.reader.fail(
                "this possessive repetition or atomic group needs too large a regex",
                span,
                "use lower counts and fewer alternatives in it, and no extension",
                "unsupported_regex",
            ) from None

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
            ).with_fix(f"(?:{reader.source.text[part.span.start : span.start]})", part.span)
        if isinstance(part, Look) and part.kind not in _LOOKS:
            message = "expected something to repeat, not an anchor"
            raise reader.fail(message, span, "leave it out").with_fix("")
