"""Python's literals as rules: a value in, the ways to write it out; and the regexes of scalars.

Canonical ones: decimal numerals without underscores, strings between single or double quotes on
one line, escapes but ``\\N{…}`` and octal ones. What ``repr`` writes is among them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Pattern, Stop
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat
from workbench.typed.types import Scalar

_WHOLE = "(?:0|[1-9][0-9]*)"
_ESCAPE = (
    r"""\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"""
    r"|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4})"
)
#: A whole number is a float too, as it is to type checkers; ``inf`` and ``nan`` are what ``repr``
#: writes for what has no literal, and names after ``from math import inf, nan``.
REGEXES = {
    Scalar.INT: f"-?{_WHOLE}",
    Scalar.FLOAT: rf"-?(?:{_WHOLE}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|inf)|nan",
    Scalar.BOOL: "True|False",
    Scalar.STR: (
        rf"'(?:[^'\\\x00-\x1f\x7f]|{_ESCAPE})*'|"
        rf'"(?:[^"\\\x00-\x1f\x7f]|{_ESCAPE})*"'
    ),
}


@cache
def _regex(scalar: Scalar) -> Regex:
    return parse_regex(Source(REGEXES[scalar], "regex"))


def scalar_rule(scalar: Scalar, span: Span) -> Expression:
    """All ways to write the values of a scalar; ``None`` has but one, and no regex."""
    return Pattern(regex_at(_regex(scalar), span), Stop.ANYWHERE, REGEXES[scalar], span)


def regex_at(regex: Regex, span: Span) -> Regex:
    """The same regex, all of which is said to stand at one place: it is written nowhere else."""
    match regex:
        case Concat(parts=parts):
            return Concat(tuple(regex_at(part, span) for part in parts), span)
        case Alternate(options=options):
            return Alternate(tuple(regex_at(option, span) for option in options), span)
        case Repeat(part=part) | Group(part=part):
            return replace(regex, part=regex_at(part, span), span=span)
    return replace(regex, span=span)


def text_rule(value: str, span: Span) -> Expression:
    """One text, between single or double quotes; ``repr`` writes one of the two."""
    options = tuple(Literal(_quoted(value, quote).encode(), span) for quote in "'\"")
    return Choice(options, span)


def _quoted(value: str, quote: str) -> str:
    def written(character: str) -> str:
        return f"\\{character}" if character in ("\\", quote) else repr(character)[1:-1]

    escaped = (c if c.isprintable() and c not in ("\\", quote) else written(c) for c in value)
    return f"{quote}{''.join(escaped)}{quote}"
