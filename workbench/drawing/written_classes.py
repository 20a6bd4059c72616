r"""Finds the character classes as their author wrote them, to label edges.

An edge over the set that ``\w`` reads is labelled ``\w`` and not with a list of 700 ranges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.errors import ParseError
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.source import Source, Span
from workbench.spelling import written
from workbench.syntax.kbnf.escapes import unescape
from workbench.syntax.ranges import size
from workbench.syntax.regex.parser import Dialect, parse_regex
from workbench.syntax.regex.tree import Characters, Ranges

#: Characters of the longest label.
MAX_LABEL = 24

#: Where a class stands alone, ``\w`` has its Unicode meaning; the ECMA dialect would say ASCII.
_DIALECTS = (Dialect.PYTHON, Dialect.RUST)

#: A class in brackets, an escape such as ``\d`` or ``\p{Lu}``, or a dot.
_CLASS = re.compile(r"\[.+\]|\\[dswDSW]|\\[pP](?:\w|\{[^}]+\})|\.", re.DOTALL)


def written_classes(grammar: Grammar) -> Mapping[Ranges, str]:
    """Each set of characters that the grammar's text writes as a class, with that class.

    Of several classes with the same set, the first in the text counts. Left out are classes that
    are longer than ``MAX_LABEL``, that hold a single character or one that cannot be printed, and
    those that by themselves read another set, such as ``[a-z]`` where case is ignored.
    """
    sets = (piece for piece in written(grammar) if isinstance(piece, Characters))
    found: dict[Ranges, str] = {}
    for one in sorted(sets, key=lambda one: one.span.start):
        if one.ranges in found or size(one.ranges) < 2:
            continue
        text = _regex_text(grammar, one.span)
        if _is_label(text) and one.ranges in (_read_alone(text, each) for each in _DIALECTS):
            found[one.ranges] = text
    return found


def _is_label(text: str) -> bool:
    return len(text) <= MAX_LABEL and text.isprintable() and bool(_CLASS.fullmatch(text))


def _regex_text(grammar: Grammar, span: Span) -> str:
    """The text at a span, with the escapes of KBNF's quotes resolved."""
    text = grammar.source.text[span.start : span.end]
    if grammar.notation is not Notation.KBNF or "\\" not in text:
        return text
    try:
        return unescape(grammar.source, span, regex=True).text
    except ParseError:
        return ""  # the span covers more than the inside of quotes


def _read_alone(text: str, dialect: Dialect) -> Ranges | None:
    """The set of a class that stands alone, without flags; None where it is none."""
    try:
        read = parse_regex(Source(text, "class"), dialect=dialect)
    except ParseError:
        return None
    return read.ranges if isinstance(read, Characters) else None
