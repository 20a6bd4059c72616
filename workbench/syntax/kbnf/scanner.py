"""Scanner: KBNF text in, its lexemes out, one after the other.

The lexemes are the terminals of ``kbnf.lark``, all as one regular expression. Lark's own lexer
makes an object of eight fields of each, and counts lines: that took more time than all of
parsing does now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Lark
    from lark.lexer import TerminalDef

#: The kinds of the end of the text, and of a place where no lexeme begins.
END, NOTHING = "END", "NOTHING"


class Part:
    """A lexeme, or what several have become; ``node`` is a text first, and then what it stands for.

    ``type`` is the name of a lexeme in ``kbnf.lark``; lark asks for it.
    """

    __slots__ = ("end", "node", "start", "type")

    def __init__(self, type_: str, node: object, start: int, end: int) -> None:
        self.type = type_
        self.node = node
        self.start = start
        self.end = end


def scanner(lark: Lark) -> re.Pattern[str]:
    """One expression for all lexemes, a group each, after whatever is ignored."""
    ignored = [one for one in lark.terminals if one.name in lark.ignore_tokens]
    read = sorted((one for one in lark.terminals if one not in ignored), key=_rank)
    skipped = "|".join(one.pattern.to_regexp() for one in ignored)
    kinds = "|".join(f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in read)
    return re.compile(rf"(?:{skipped})*+(?:{kinds}|(?P<{END}>\Z)|(?P<{NOTHING}>))")


def _rank(terminal: TerminalDef) -> tuple[int, int, str]:
    """What is tried first: by priority and then the longest, as lark has it."""
    return -terminal.priority, -terminal.pattern.max_width, terminal.name


def lexemes(text: str, pattern: re.Pattern[str]) -> Iterator[Part]:
    """The lexemes of a text; the last one is the end, or where no lexeme begins."""
    for match in pattern.finditer(text):
        kind = match.lastgroup
        assert kind is not None, "one alternative is empty"
        start, end = match.span(kind)
        yield Part(kind, match[kind], start, end)
        if start == end:
            return
