"""What may follow ``(?`` in a regex: names, flags and comments, and what is refused there."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.source import Span
from workbench.syntax.regex.dialect import Flags
from workbench.syntax.regex.extensions import is_extension
from workbench.syntax.regex.reader import Reader

#: How a named group begins, in either spelling, and the name with its closing sign.
_NAMED = re.compile(r"\?P?<(?![=!])([^>)]*)(>?)")
_RECURSION = re.compile(r"\?(\+|-?[0-9])")
_NAME = re.compile(r"[^\W\d]\w*")
_FIELDS = {"i": "ignorecase", "s": "dotall", "m": "multiline", "x": "verbose", "a": "ascii"}
#: What else may follow the parenthesis elsewhere: how it begins, what it is, the way out.
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
    """Raise ParseError if what comes next is a group of a kind no automaton can be made of."""
    if reader.peek() not in ("?", "*"):
        return
    for opening, what, hint in _UNSUPPORTED:
        if reader.ahead(opening):
            if opening == "*" and reader.rules.possessive:
                return  # Python: nothing to repeat
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
    """Step over what says nothing: blanks under ``x``, and ``(?#…)`` where the dialect has it."""
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
    """The name of ``?P<name>`` or ``?<name>``, if that comes next."""
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
        return name  # as often as wanted
    if name in names:
        raise reader.fail(
            f"expected a new name for the group, '{name}' is taken",
            span,
            "give each group a different name, or none",
        )
    names.add(name)
    return name


def take_flags(reader: Reader, start: int) -> Flags:
    """The flags after ``?i-s``; the reader stands before ``?`` and then at ``:`` or ``)``."""
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
