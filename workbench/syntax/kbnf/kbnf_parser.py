"""Parses KBNF to a grammar tree by recursive descent.

The docstring of each parsing method is the rule of the notation that it parses. Quoted lexemes are
parsed when they are reached, so that the first mistake in the text is reported.

Spans include brackets, which have no node. Undefined names, the arguments of ``except!`` and empty
grammars are checked later, in ``pushdown.build``.
"""

from __future__ import annotations

from typing import Never

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    Substrings,
)
from workbench.syntax.kbnf.kbnf_errors import explain
from workbench.syntax.kbnf.kbnf_lexer import (
    CLOSING,
    END,
    LEXEMES_PER_CHECK,
    POSTFIX,
    QUOTED,
    Lexeme,
    Mistake,
    lexemes,
    unescape,
)
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect

#: The most digits of an ``except!`` limit.
_MAX_LIMIT_DIGITS = 9
#: The deepest nesting of brackets: functions over the tree may recurse.
NESTING = 128
#: The hint when the time limit is reached.
_TOO_LONG = "the grammar is very long; shorten it"

_STOPS = {
    "REGEX": Stop.ANYWHERE,
    "REGEX_FIRST": Stop.FIRST_MATCH,
    "REGEX_WITHOUT": Stop.BEFORE_MATCH,
}
#: The numbers of copies that a sign after an item means, and those that brackets mean.
_COPIES: dict[str, tuple[int, int | None]] = {
    "_OPTIONAL": (0, 1), "_STAR": (0, None), "_PLUS": (1, None),
    "_LBRACKET": (0, 1), "_LBRACE": (0, None),
}  # fmt: skip
_BEGINS_ITEM = frozenset(("NAME", "_EXCEPT", *QUOTED, *CLOSING))


def parse_kbnf(source: Source, clock: Clock | None = None) -> GrammarTree:
    """The rules of a grammar, in source order.

    Brackets have no node: ``(x)`` is x, ``[x]`` is ``x?`` and ``{x}`` is ``x*``.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex``
            or ``invalid_except`` (a limit of 0); LimitError past the time of the ``clock``, or
            for a string with more characters than its limit of states.
    Source: KBNF specification, sections 1 and 2.
    """
    return GrammarTree(_Parser(source, clock).grammar(), source, calling="{name} ::= {called};")


class _Parser:
    """Recursive descent over the lexemes of a text, given by kind and position."""

    def __init__(self, source: Source, clock: Clock | None) -> None:
        self.source = source
        self.clock = clock
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        for kinds, starts, ends in lexemes(source.text):
            if clock is not None:
                clock.check(_TOO_LONG)
            self.kinds += kinds
            self.starts += starts
            self.ends += ends
        #: The index of the next lexeme, and the number of open brackets.
        self.at = 0
        self.depth = 0

    def grammar(self) -> tuple[Rule, ...]:
        """grammar = rule+."""
        rules = [self._rule()]
        while self.kinds[self.at] != END:
            rules.append(self._rule())
        return tuple(rules)

    def _rule(self) -> Rule:
        """rule = NAME ("::=" | "=") choice ";"."""
        name = self._span(self._expect("NAME"))
        self._expect("_DEFINE")
        body = self._choice()
        end = self.ends[self._expect("_END")]
        return Rule(self.source.text[name.start : name.end], body, name, Span(name.start, end))

    def _choice(self) -> Expression:
        """choice = sequence ("|" sequence)*."""
        start = self.starts[self.at]
        options = [self._sequence()]
        while self.kinds[self.at] == "_BAR":
            self.at += 1
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), Span(start, self.ends[self.at - 1]))

    def _sequence(self) -> Expression:
        """sequence = atom ("?" | "*" | "+")? (","? atom ("?" | "*" | "+")?)*."""
        kinds, starts, ends, text = self.kinds, self.starts, self.ends, self.source.text
        begin = starts[self.at]
        items: list[Expression] = []
        item: Expression
        while True:
            index = self.at
            start = starts[index]
            if kinds[index] == "NAME" and index % LEXEMES_PER_CHECK:
                self.at = index + 1  # the most frequent item; ``_atom`` reads it too
                item = Nonterminal(text[start : ends[index]], Span(start, ends[index]))
            else:
                item = self._atom()
            kind = kinds[self.at]
            if kind in POSTFIX:
                low, high = _COPIES[kind]
                item = Repetition(item, low, high, Span(start, ends[self.at]))
                self.at += 1
                kind = kinds[self.at]
            items.append(item)
            if kind == "_COMMA":
                self.at += 1
            elif kind not in _BEGINS_ITEM:
                break
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), Span(begin, ends[self.at - 1]))

    def _atom(self) -> Expression:
        """atom = name | quoted | "(" choice ")" | "[" choice "]" | "{" choice "}" | excepting."""
        index = self.at
        kind = self.kinds[index]
        if self.clock is not None and not index % LEXEMES_PER_CHECK:
            self.clock.check(_TOO_LONG)
        if kind == "NAME":
            span = Span(self.starts[index], self.ends[index])
            self.at = index + 1
            return Nonterminal(self.source.text[span.start : span.end], span)
        if kind in QUOTED:
            self.at = index + 1
            return self._leaf(index)
        if kind in CLOSING:
            self._open()
            inside = self._choice()
            end = self.ends[self._close(CLOSING[kind])]
            if kind == "_LPAR":
                return inside
            return Repetition(inside, *_COPIES[kind], Span(self.starts[index], end))
        self._expect("_EXCEPT")
        return self._excepting(self.starts[index])

    def _excepting(self, start: int) -> Expression:
        """excepting = "except!" "(" (string | name) ("," number)? ")", after its first word."""
        if self.kinds[self.at] != "_LPAR":
            self._unexpected()
        self._open()
        if self.kinds[self.at] not in ("NAME", "STRING"):
            self._unexpected()
        excepted, limit = self._atom(), None
        assert isinstance(excepted, Literal | Nonterminal), "a string or a name"
        if self.kinds[self.at] == "_COMMA":
            self.at += 1
            limit = self._expect("NUMBER")
        span = Span(start, self.ends[self._close("_RPAR")])
        return Except(excepted, None if limit is None else self._limit(self._span(limit)), span)

    def _limit(self, number: Span) -> int:
        digits = self.source.text[number.start : number.end].lstrip("0")
        if 0 < len(digits) <= _MAX_LIMIT_DIGITS:
            return int(digits)
        message = f"expected a limit between 1 and 10^{_MAX_LIMIT_DIGITS} - 1 bytes"
        hint = "leave the comma and the number out if there is no limit"
        raise ParseError(message, self.source, number, hint, "invalid_except")

    def _leaf(self, index: int) -> Expression:
        """The terminal of a quoted lexeme."""
        source, kind, start, end = (
            self.source,
            self.kinds[index],
            self.starts[index],
            self.ends[index],
        )
        text, span = source.text, Span(start, end)
        if kind == "STRING":
            if self.clock is not None and end - start > self.clock.limits.states:
                self.clock.limits.check("states", end - start, "shorten this string")
            inner = text[start + 1 : end - 1]
            if inner.isascii() and "\\" not in inner:
                return Literal(inner.encode(), span)
        inside = Span(text.index(text[end - 1], start) + 1, end - 1)
        stop = _STOPS.get(kind)
        unescaped = unescape(source, inside, regex=stop is not None)
        if stop is None:
            value = unescaped.text.encode()
            return Literal(value, span) if kind == "STRING" else Substrings(value, span)
        searched = stop is Stop.BEFORE_MATCH
        regex = parse_regex(
            source, dialect=Dialect.RUST, searched=searched, written=unescaped, clock=self.clock
        )
        return Pattern(regex, stop, unescaped.text, span)

    def _span(self, index: int) -> Span:
        return Span(self.starts[index], self.ends[index])

    def _expect(self, kind: str) -> int:
        """Take the next lexeme, which must be of one kind, and return its index.

        Raises: ParseError
        """
        if self.kinds[self.at] != kind:
            self._unexpected()
        self.at += 1
        return self.at - 1

    def _open(self) -> None:
        """Take an opening bracket.

        Raises: ParseError if the nesting is too deep.
        """
        self.depth += 1
        if self.depth > NESTING:
            message = f"brackets are nested deeper than {NESTING}"
            hint = "move the inner part into a separate rule"
            raise ParseError(message, self.source, self._span(self.at), hint)
        self.at += 1

    def _close(self, kind: str) -> int:
        """Take the closing bracket of the innermost open one, and return its index."""
        self.depth -= 1
        return self._expect(kind)

    def _unexpected(self) -> Never:
        """Raise the error for an unexpected lexeme: that of its text, or of its kind."""
        index, text = self.at, self.source.text
        if self.kinds[index] in QUOTED:
            self._leaf(index)
        before = tuple(
            Lexeme(its_kind, text[start:end], Span(start, end))
            for its_kind, start, end in zip(
                self.kinds[:index], self.starts, self.ends, strict=False
            )
        )
        raise explain(Mistake(self.source, before, self.kinds[index], self.starts[index]))
