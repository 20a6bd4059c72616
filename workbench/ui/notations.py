"""Which notation a text looks like: in come a text and the notation chosen, out the other or none.

A guess from signs, for a hint alone: nothing is read in another notation than the chosen one.
"""

from __future__ import annotations

import re

from workbench.errors import WorkbenchError
from workbench.pipeline import Notation
from workbench.source import Source
from workbench.syntax.regex_parser import parse_regex

#: A rule begins: in a regex such colons are letters, and hardly anybody wants them so.
_RULE = re.compile(r"^\s*[A-Za-z_]\w*\s*::=", re.MULTILINE)

#: The same as far as somebody typed it; KBNF takes a bare ``=`` too, and comments.
_BEGUN = re.compile(r"\s*(?:\(\*|[A-Za-z_]\w*\s*(?:=|::|:?\s*\Z))")

_STRINGS = re.compile(r"""#\w*(?=['"])|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")

#: Outside strings KBNF has no use for these.
_REGEX_ONLY = re.compile(r"[\\.^$]|\[[^\]\s]-|\{\d+,?\d*\}|\(\?")

#: Both have these; without any string beside them they are rather a regex's.
_EITHER = re.compile(r"[\[\](){}|*+?]")


def other_notation(text: str, chosen: Notation) -> Notation | None:
    """The notation a text looks like, if not the chosen one."""
    if chosen is Notation.REGEX:
        return Notation.KBNF if _RULE.search(text) else None
    if _RULE.search(text) or _BEGUN.match(text):
        return None
    rest = _STRINGS.sub("", text)
    if not (_REGEX_ONLY.search(rest) or (rest == text and _EITHER.search(rest))):
        return None
    try:
        parse_regex(Source(text, "regex"))
    except WorkbenchError:
        return None
    return Notation.REGEX
