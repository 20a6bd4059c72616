"""KBNF text becomes a grammar tree, or an error a person understands.

The lexemes and rules are those of ``kbnf.lark``, read by lark's LALR(1) parser one lexeme at a
time: quoted lexemes are resolved when they are met, so the first mistake in the text is the one
that is told. Left for later floors: undefined names, the meaning of ``except!``, empty grammars.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from workbench.errors import ParseError
from workbench.limits import Clock
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Literal,
    Pattern,
    Stop,
    Substrings,
)
from workbench.syntax.kbnf.escapes import unescape
from workbench.syntax.kbnf.lexemes import CLOSING, QUOTED, Lexeme, Mistake
from workbench.syntax.kbnf.mistakes import explain
from workbench.syntax.kbnf.nodes import BadLimitError, Nodes
from workbench.syntax.kbnf.scanner import END, NOTHING, Part, lexemes, scanner
from workbench.syntax.kbnf.tables import Tables, UnexpectedError
from workbench.syntax.regex.parser import Dialect, parse_regex

#: Brackets inside brackets. Nobody writes a dozen; what walks the tree later may recurse.
NESTING = 64
#: Lexemes that are read between looks at the clock.
_PARTS = 64
#: What to do where reading takes too long.
_LONG = "the grammar is very long; shorten it"

_STOPS = {
    "REGEX": Stop.ANYWHERE,
    "REGEX_FIRST": Stop.FIRST_MATCH,
    "REGEX_WITHOUT": Stop.BEFORE_MATCH,
}


def parse_kbnf(source: Source, clock: Clock | None = None) -> GrammarTree:
    """The rules of a grammar, in the order they were written.

    Brackets leave no node: ``(x)`` is x, ``[x]`` is ``x?`` and ``{x}`` is ``x*``.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex``
            or ``invalid_except`` (a limit of 0); LimitError when the time of the ``clock`` is
            over, or for a string longer than a machine of its limits.
    Source: KBNF specification, sections 1 and 2.
    """
    tables, pattern = _lark()
    reading = _Reading(source, clock)
    try:
        rules = tables.parse(map(reading.taken, lexemes(source.text, pattern)))
    except UnexpectedError as error:
        raise reading.mistake(error.part.start, error.part.type) from None
    except BadLimitError as error:
        message, hint = error.args
        raise ParseError(message, source, error.span, hint, "invalid_except") from None
    return GrammarTree(tuple(rules), source)


def ready() -> None:
    """Have lark make its tables, for a fifth of a second; work with a clock asks for this first."""
    _lark()


@cache
def _lark() -> tuple[Tables, re.Pattern[str]]:
    """The tables and lexemes of kbnf.lark; made once, when first wanted."""
    from lark import Lark

    rules = Path(__file__).with_name("kbnf.lark").read_text(encoding="utf-8")
    lark = Lark(
        rules, start="grammar", parser="lalr", lexer="basic", keep_all_tokens=True,
        maybe_placeholders=False, transformer=Nodes(),
    )  # fmt: skip
    return Tables.of(lark), scanner(lark)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What has been read so far."""

    source: Source
    clock: Clock | None
    parts: list[tuple[str, int, int]] = field(default_factory=list)
    #: The kinds of the brackets that are open.
    opened: list[str] = field(default_factory=list)

    def taken(self, part: Part) -> Part:
        """Remember the next lexeme, and say what a quoted one stands for."""
        kind = part.type
        if self.clock is not None and not len(self.parts) % _PARTS:
            self.clock.check(_LONG)
        if kind == NOTHING:
            raise self.mistake(part.start, "")
        self.parts.append((kind, part.start, part.end))
        if kind in QUOTED:
            part.node = _leaf(self.source, part, self.clock)
        elif kind in CLOSING:
            self.opened.append(kind)
            if len(self.opened) > NESTING:
                message = f"brackets are nested deeper than {NESTING}"
                hint = "move the inner part into a separate rule"
                raise ParseError(message, self.source, Span(part.start, part.end), hint)
        elif self.opened and kind == CLOSING[self.opened[-1]]:
            self.opened.pop()
        return part

    def mistake(self, place: int, kind: str) -> ParseError:
        """The error for the text at ``place``, which nothing may begin that could stand there."""
        text = self.source.text
        if kind == END:
            place, kind = len(text), "$END"
        before = tuple(
            Lexeme(its_kind, text[start:end], Span(start, end))
            for its_kind, start, end in self.parts
            if start < place and its_kind != END
        )
        return explain(Mistake(self.source, before, kind, place))


def _leaf(source: Source, part: Part, clock: Clock | None) -> Expression:
    """What a quoted lexeme stands for."""
    if clock is not None and part.type == "STRING":
        clock.limits.check("states", part.end - part.start, "shorten this string")
    text = source.text
    span = Span(part.start, part.end)
    inside = Span(text.index(text[part.end - 1], part.start) + 1, part.end - 1)
    stop = _STOPS.get(part.type)
    unescaped = unescape(source, inside, regex=stop is not None)
    if stop is not None:
        searched = stop is Stop.BEFORE_MATCH
        regex = parse_regex(
            source, dialect=Dialect.RUST, searched=searched, written=unescaped, clock=clock
        )
        return Pattern(regex, stop, unescaped.text, span)
    value = unescaped.text.encode()
    return Literal(value, span) if part.type == "STRING" else Substrings(value, span)
