"""Parses KBNF to a grammar tree with lark's LALR(1) tables.

The lexemes and rules are those of ``kbnf.lark``. The parsing loop is our own: lark's takes several
times as long, because it looks up rules by objects that are compared in Python, and builds a tree
node for each rule that it generates for a repetition. Quoted lexemes are
parsed as soon as they are read, so that the first mistake in the text is reported.

Spans include brackets, which have no node. Undefined names, the arguments of ``except!`` and empty
grammars are checked later, in ``pushdown.checks``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
from workbench.syntax.kbnf.kbnf_lexer import (
    CLOSING,
    END,
    NOTHING,
    QUOTED,
    Lexeme,
    Mistake,
    Part,
    lexemes,
    scanner,
    unescape,
)
from workbench.syntax.kbnf.mistakes import explain
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect

if TYPE_CHECKING:
    from lark import Lark
    from lark.grammar import Rule as LarkRule


#: Combines the values of the parts of a rule; None if the only part is the value.
_Combination = Callable[[list[Any]], Any] | None

#: A reduction: the number of parts, the rule's name, and how its parts are combined.
_Reduction = tuple[int, str, _Combination]

#: Lark's name of the end of the text.
_LARK_END = "$END"


class UnexpectedError(Exception):
    """An unexpected lexeme."""

    def __init__(self, part: Part) -> None:
        super().__init__(part.type)
        self.part = part


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """LALR(1) tables: for each state and lexeme the state to shift to, or the reduction."""

    actions: dict[int, dict[str, int | _Reduction]]
    #: The state after a reduction, by the state before it and the rule's name.
    gotos: dict[int, dict[str, int]]
    start: int
    end: int

    @staticmethod
    def of(lark: Lark, nodes: object) -> Tables:
        """The tables of a parser without empty rules; ``nodes`` combines the parts of a rule."""
        conf = lark.parse_interactive().parser_state.parse_conf
        actions: dict[int, dict[str, int | _Reduction]] = {}
        gotos: dict[int, dict[str, int]] = {}
        for state, row in conf.states.items():
            actions[state], gotos[state] = {}, {}
            for symbol, (_, arg) in row.items():
                name = END if symbol == _LARK_END else str(symbol)
                if not isinstance(arg, int):
                    assert arg.expansion, "an empty rule"
                    combine = _combination(arg, nodes)
                    actions[state][name] = len(arg.expansion), str(arg.origin.name), combine
                elif name.isupper():
                    actions[state][name] = arg
                else:
                    gotos[state][name] = arg
        return Tables(actions, gotos, conf.start_state, conf.end_state)

    def parse(self, parts: Iterable[Part]) -> Any:  # noqa: ANN401  # the value of the start rule
        """The value of the start rule; the last part must be ``END``.

        Raises: UnexpectedError at the first unexpected part.
        Source: Knuth 1965, "On the translation of languages from left to right".
        """
        actions, gotos, end = self.actions, self.gotos, self.end
        state, states = self.start, [self.start]  # the last of the states is the current one
        values: list[Any] = []
        for part in parts:
            kind = part.type
            while True:
                action = actions[state].get(kind)
                if isinstance(action, int):
                    states.append(action)
                    state = action
                    values.append(part)
                    break
                if action is None:
                    raise UnexpectedError(part)
                size, name, combine = action
                if combine is None:
                    states[-1] = state = gotos[states[-2]][name]
                else:
                    values[-size:] = [combine(values[-size:])]
                    del states[-size:]
                    state = gotos[states[-1]][name]
                    states.append(state)
                if state == end:
                    return values[-1]
        raise AssertionError("the last part is the end")


def _combination(rule: LarkRule, nodes: object) -> _Combination:
    """How the parts of a rule are combined.

    A rule marked with ``?`` is its only part. The names of the rules that lark generates for
    repetitions begin with ``__``; their value is a list, whose items are parts of another rule.
    """
    if rule.options.expand1 and len(rule.expansion) == 1 and not rule.alias:
        return None
    is_list = [symbol.name.startswith("__") for symbol in rule.expansion]
    if rule.origin.name.startswith("__"):
        return _extended if is_list[0] else list
    method: Callable[[list[Any]], Any] = getattr(nodes, rule.alias or rule.origin.name)
    if not any(is_list):
        return method
    assert sum(is_list) == 1, "several repetitions in one rule"
    at = is_list.index(True)
    return lambda parts: method([*parts[:at], *parts[at], *parts[at + 1 :]])


def _extended(parts: list[Any]) -> list[Any]:
    """The list in the first part, extended by the other parts."""
    found: list[Any] = parts[0]
    found += parts[1:]
    return found


#: The most digits of an ``except!`` limit.
_MAX_LIMIT_DIGITS = 9


class BadLimitError(Exception):
    """An invalid limit of an ``except!``."""

    def __init__(self, number: Part) -> None:
        super().__init__(
            f"expected a limit between 1 and 10^{_MAX_LIMIT_DIGITS} - 1 bytes",
            "leave the comma and the number out if there is no limit",
        )
        self.span = Span(number.start, number.end)


class Nodes:
    """The reductions: a method for each rule of ``kbnf.lark``, called with its parts."""

    def grammar(self, rules: list[Rule]) -> list[Rule]:
        return rules

    def rule(self, parts: list[Part]) -> Rule:
        name, _, body, end = parts
        called = Span(name.start, name.end)
        return Rule(cast("str", name.node), _node(body), called, Span(name.start, end.end))

    def choice(self, parts: list[Part]) -> Part:
        start, end = parts[0].start, parts[-1].end
        options = tuple(map(_node, parts[::2]))  # a bar after each
        return Part("", Choice(options, Span(start, end)), start, end)

    def sequence(self, parts: list[Part]) -> Part:
        start, end = parts[0].start, parts[-1].end
        items = tuple(_node(part) for part in parts if part.type != "_COMMA")
        return Part("", Sequence(items, Span(start, end)), start, end)

    def call(self, parts: list[Part]) -> Part:
        (name,) = parts
        name.node = Nonterminal(cast("str", name.node), Span(name.start, name.end))
        return name

    def optional(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 0, 1)

    def star(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 0, None)

    def plus(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[0], 1, None)

    def group(self, parts: list[Part]) -> Part:
        return Part("", parts[1].node, parts[0].start, parts[-1].end)

    def optional_group(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[1], 0, 1)

    def star_group(self, parts: list[Part]) -> Part:
        return _repeated(parts, parts[1], 0, None)

    def excepting(self, parts: list[Part]) -> Part:
        """``except!(S)`` or ``except!(S, n)``."""
        start, end, excepted = parts[0].start, parts[-1].end, parts[2]
        if excepted.type == "NAME":
            self.call([excepted])
        limit = _limit(parts[4]) if len(parts) > 4 else None
        what = cast("Literal | Nonterminal", excepted.node)
        return Part("", Except(what, limit, Span(start, end)), start, end)


def _node(part: Part) -> Expression:
    return cast("Expression", part.node)


def _repeated(parts: list[Part], item: Part, low: int, high: int | None) -> Part:
    start, end = parts[0].start, parts[-1].end
    return Part("", Repetition(_node(item), low, high, Span(start, end)), start, end)


def _limit(number: Part) -> int:
    digits = cast("str", number.node).lstrip("0")
    if not 0 < len(digits) <= _MAX_LIMIT_DIGITS:
        raise BadLimitError(number)
    return int(digits)


#: The deepest nesting of brackets: functions over the tree may recurse.
NESTING = 64
#: Lexemes between two checks of the time limit.
_LEXEMES_PER_CHECK = 64
#: The hint when the time limit is reached.
_TOO_LONG = "the grammar is very long; shorten it"

_STOPS = {
    "REGEX": Stop.ANYWHERE,
    "REGEX_FIRST": Stop.FIRST_MATCH,
    "REGEX_WITHOUT": Stop.BEFORE_MATCH,
}


def parse_kbnf(source: Source, clock: Clock | None = None) -> GrammarTree:
    """The rules of a grammar, in source order.

    Brackets have no node: ``(x)`` is x, ``[x]`` is ``x?`` and ``{x}`` is ``x*``.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex``
            or ``invalid_except`` (a limit of 0); LimitError past the time of the ``clock``, or
            for a string with more characters than its limit of states.
    Source: KBNF specification, sections 1 and 2.
    """
    tables, pattern = _lark()
    reading = _Reading(source, clock)
    try:
        rules = tables.parse(map(reading.take, lexemes(source.text, pattern)))
    except UnexpectedError as error:
        raise reading.mistake(error.part.start, error.part.type) from None
    except BadLimitError as error:
        message, hint = error.args
        raise ParseError(message, source, error.span, hint, "invalid_except") from None
    return GrammarTree(tuple(rules), source)


def prepare() -> None:
    """Build the tables (0.1 s), before a time limit starts."""
    _lark()


#: Held while lark's global setting is changed: of two first calls each would restore the other's.
_CHECKING = threading.Lock()


@contextmanager
def _without_collision_check() -> Iterator[None]:
    """Lark does not compare all terminals, its own ones too, for 0.2 s as it does by default.

    Lark has no option for it. Within the block, which is entered once in a process and takes less
    than 0.1 s, another thread's ``Lark(…, strict=True)`` is refused.
    """
    from lark import lexer

    with _CHECKING:
        checked = lexer.has_interegular
        lexer.has_interegular = False
        try:
            yield
        finally:
            lexer.has_interegular = checked


@cache
def _lark() -> tuple[Tables, re.Pattern[str]]:
    """The tables and the lexer of kbnf.lark; cached."""
    from lark import Lark

    rules = Path(__file__).with_name("kbnf.lark").read_text(encoding="utf-8")
    with _without_collision_check():
        lark = Lark(
            rules, start="grammar", parser="lalr", lexer="basic", keep_all_tokens=True,
            maybe_placeholders=False,
        )  # fmt: skip
    return Tables.of(lark, Nodes()), scanner(lark)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """The lexemes read so far."""

    source: Source
    clock: Clock | None
    parts: list[tuple[str, int, int]] = field(default_factory=list)
    #: The kinds of the open brackets.
    opened: list[str] = field(default_factory=list)

    def take(self, part: Part) -> Part:
        """Record the next lexeme; parse a quoted one."""
        kind = part.type
        if self.clock is not None and not len(self.parts) % _LEXEMES_PER_CHECK:
            self.clock.check(_TOO_LONG)
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
        """The error for an unexpected lexeme of a kind at ``place``."""
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
    """The terminal of a quoted lexeme."""
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
