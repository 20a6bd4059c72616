"""Recognizes texts of W3C EBNF, ABNF and ANTLR that are read as KBNF or GBNF, for hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.base.errors import ParseError
from workbench.base.source import Source

#: The characters that are searched for signs: the regexes try each pair of places.
_MAX_SEARCHED = 2_000

#: Strings, and comments of KBNF: signs inside them say nothing about the notation.
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\(\*.*?\*\)", re.DOTALL)

#: What a text in each notation has, outside of quotes. A notation with ``::=`` is no ABNF.
_SIGNS = {
    # each comment is matched in one way: else a text of many comments takes exponential time
    "ANTLR": re.compile(
        r"\A(?:\s|//[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*"
        r"(?:lexer\s+|parser\s+)?grammar\s+\w+\s*;"
    ),
    "ABNF": re.compile(
        r"\A(?!.*::=).*?(?:%[xdb][0-9A-Fa-f]|^[A-Za-z][\w-]*\s*=/"
        r"|=[^;\n]*(?:\b\d*\*\d*[A-Za-z(\[\"']|\s/\s)|\A\s*;.*\n\s*[A-Za-z][\w-]*\s*=)",
        re.DOTALL | re.MULTILINE,
    ),
    "W3C EBNF": re.compile(r"#x[0-9A-Fa-f]+\b|\A[^;]*/\*[^;]*::=|\A[^;]*::=[^;]*/\*[^;]*\Z"),
}


def is_antlr(text: str) -> bool:
    """Whether a text begins as an ANTLR grammar does."""
    return _SIGNS["ANTLR"].match(text[:_MAX_SEARCHED]) is not None


def other_notation(text: str) -> str | None:
    """The notation in which a text seems to be written."""
    plain = _QUOTED.sub("''", text[:_MAX_SEARCHED])
    return next((name for name, signs in _SIGNS.items() if signs.search(plain)), None)


@contextmanager
def other_notations_named(source: Source) -> Iterator[None]:
    """Within the block, the hint of a ParseError names the notation of a text that is another."""
    try:
        yield
    except ParseError as error:
        name = other_notation(source.text)
        if name is not None:
            error.hint = f"this looks like {name}: read it as {name.split()[-1]}"
            error.fix = None
        raise
