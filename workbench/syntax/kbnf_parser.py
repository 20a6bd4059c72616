"""KBNF text becomes a grammar tree, or an error a person understands.

The lexemes and rules are those of ``kbnf.lark``, read by lark's LALR(1) parser one lexeme at a
time: quoted lexemes are resolved when they are met, so the first mistake in the text is the one
that is told. Left for later floors: undefined names, the meaning of ``except!``, empty grammars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench.errors import ParseError, SourceError
from workbench.source import Source, Span
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
from workbench.syntax.kbnf_escapes import Unescaped, unescape
from workbench.syntax.kbnf_lexemes import CLOSING, Lexeme, Mistake
from workbench.syntax.kbnf_mistakes import explain
from workbench.syntax.regex_parser import Dialect, parse_regex
from workbench.syntax.regex_tree import Alternate, Concat, Group, Regex, Repeat

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

#: Brackets inside brackets. Nobody writes a dozen; what walks the tree later may recurse.
NESTING = 64
#: Digits of an ``except!`` limit: a thousand million bytes are no limit.
_LIMIT_DIGITS = 9

_STOPS = {
    "REGEX": Stop.ANYWHERE,
    "REGEX_FIRST": Stop.FIRST_MATCH,
    "REGEX_WITHOUT": Stop.BEFORE_MATCH,
}
#: The repetitions by the name kbnf.lark gives them.
_COPIES: dict[str, tuple[int, int | None]] = {
    "optional": (0, 1),
    "star": (0, None),
    "plus": (1, None),
}


def parse_kbnf(source: Source) -> GrammarTree:
    """The rules of a grammar, in the order they were written.

    Brackets leave no node: ``(x)`` is x, ``[x]`` is ``x?`` and ``{x}`` is ``x*``.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex``
            or ``invalid_except`` (a limit of 0).
    Source: KBNF specification, sections 1 and 2.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    reading = _Reading(source)
    parser = _lark().parse_interactive(source.text)
    try:
        for token in parser.iter_parse():
            reading.take(token)
        tree = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedCharacters as error:
        raise reading.mistake(error.pos_in_stream or 0, "") from None
    except UnexpectedToken as error:
        place = len(source.text) if error.token.type == "$END" else error.token.start_pos
        raise reading.mistake(place or 0, error.token.type) from None
    return _Builder(reading.leaves, source).grammar(tree)


@cache
def _lark() -> Lark:
    """The parser made from kbnf.lark; made once, when first wanted."""
    from lark import Lark

    rules = Path(__file__).with_name("kbnf.lark").read_text(encoding="utf-8")
    return Lark(rules, start="grammar", parser="lalr", lexer="contextual", propagate_positions=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What has been read so far: the lexemes, and what quoted ones and numbers stand for."""

    source: Source
    lexemes: list[Lexeme] = field(default_factory=list)
    opened: list[Lexeme] = field(default_factory=list)
    #: By the place they begin at.
    leaves: dict[int, Expression] = field(default_factory=dict)

    def take(self, token: Token) -> None:
        """Remember the next lexeme."""
        lexeme = Lexeme(token.type, str(token), _span(token))
        self.lexemes.append(lexeme)
        if lexeme.kind in CLOSING:
            self.opened.append(lexeme)
            if len(self.opened) > NESTING:
                message = f"brackets are nested deeper than {NESTING}"
                hint = "give the inner part a rule of its own"
                raise ParseError(message, self.source, lexeme.span, hint)
        elif self.opened and lexeme.kind == CLOSING[self.opened[-1].kind]:
            self.opened.pop()
        elif lexeme.text[-1] in "'\"":
            self.leaves[lexeme.span.start] = _leaf(self.source, lexeme)

    def mistake(self, place: int, kind: str) -> ParseError:
        """The error for the text at ``place``, which nothing may begin that could stand there."""
        lexemes = self.lexemes
        if lexemes and lexemes[-1].span.start == place and kind != "$END":
            lexemes = lexemes[:-1]  # lark had lexed it before its parser refused it
        return explain(Mistake(self.source, tuple(lexemes), kind, place))


def _span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)


def _leaf(source: Source, lexeme: Lexeme) -> Expression:
    """What a quoted lexeme stands for."""
    opening = lexeme.text.index(lexeme.text[-1])
    inside = Span(lexeme.span.start + opening + 1, lexeme.span.end - 1)
    stop = _STOPS.get(lexeme.kind)
    unescaped = unescape(source, inside, regex=stop is not None)
    if stop is not None:
        regex = _regex(source, unescaped, searched=stop is Stop.BEFORE_MATCH)
        return Pattern(regex, stop, unescaped.text, lexeme.span)
    value = unescaped.text.encode()
    if lexeme.kind == "SUBSTRINGS":
        return Substrings(value, lexeme.span)
    return Literal(value, lexeme.span)


def _regex(source: Source, unescaped: Unescaped, *, searched: bool) -> Regex:
    """The tree of a regex, with places in the grammar rather than in the regex."""
    try:
        pattern = Source(unescaped.text, source.name)
        regex = parse_regex(pattern, dialect=Dialect.RUST, searched=searched)
    except SourceError as error:
        kind = "unsupported_regex" if "unsupported" in error.kind else "bad_regex"
        span = unescaped.written(error.span)
        raise ParseError(error.message, source, span, error.hint, kind) from None
    return _placed(regex, unescaped.written)


def _placed(regex: Regex, written: Callable[[Span], Span]) -> Regex:
    """The same regex with every span moved."""
    span = written(regex.span)
    match regex:
        case Concat(parts):
            return Concat(tuple(_placed(part, written) for part in parts), span)
        case Alternate(options):
            return Alternate(tuple(_placed(option, written) for option in options), span)
        case Repeat(part, low, high):
            return Repeat(_placed(part, written), low, high, span)
        case Group(part, name):
            return Group(_placed(part, written), name, span)
        case _:
            return replace(regex, span=span)


@dataclass(frozen=True, slots=True, eq=False)
class _Builder:
    """Lark's tree becomes ours, from the leaves up and without recursion."""

    leaves: dict[int, Expression]
    source: Source

    def grammar(self, tree: Tree[Token]) -> GrammarTree:
        """The whole grammar; every subtree is met after those it is made of."""
        rules: list[Rule] = []
        built: dict[int, Expression] = {}
        for subtree in tree.iter_subtrees():
            if subtree.data == "rule":
                rules.append(_rule(subtree, built))
            elif subtree.data != "grammar":
                built[id(subtree)] = self._expression(subtree, built)
        rules.sort(key=lambda rule: rule.span.start)
        return GrammarTree(tuple(rules), self.source)

    def _expression(self, tree: Tree[Token], built: dict[int, Expression]) -> Expression:
        span = _tree_span(tree)
        match tree.data:
            case "leaf":
                return self.leaves[span.start]
            case "call":
                return Nonterminal(str(tree.children[0]), span)
            case "excepting":
                return self._except(tree, span)
        parts = tuple(built[id(child)] for child in tree.children)
        if tree.data == "choice":
            return Choice(parts, span)
        if tree.data == "sequence":
            return Sequence(parts, span)
        low, high = _COPIES[str(tree.data)]
        return Repetition(parts[0], low, high, span)

    def _except(self, tree: Tree[Token], span: Span) -> Except:
        """``except!(S)`` or ``except!(S, n)``."""
        excepted, number = cast("tuple[Token, Token | None]", tuple(tree.children))
        what: Literal | Nonterminal
        if excepted.type == "NAME":
            what = Nonterminal(str(excepted), _span(excepted))
        else:
            what = cast("Literal", self.leaves[_span(excepted).start])
        return Except(what, None if number is None else self._limit(number), span)

    def _limit(self, number: Token) -> int:
        digits = number.lstrip("0")
        if 0 < len(digits) <= _LIMIT_DIGITS:
            return int(digits)
        message = f"expected a limit between 1 and 10^{_LIMIT_DIGITS} - 1 bytes"
        hint = "leave the comma and the number out where there is no limit"
        raise ParseError(message, self.source, _span(number), hint, "invalid_except")


def _rule(tree: Tree[Token], built: dict[int, Expression]) -> Rule:
    name, body = tree.children
    assert not isinstance(body, str)
    return Rule(str(name), built[id(body)], _span(cast("Token", name)), _tree_span(tree))


def _tree_span(tree: Tree[Token]) -> Span:
    return Span(tree.meta.start_pos, tree.meta.end_pos)
