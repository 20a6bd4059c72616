"""What lark's lexer can return for a terminal: not every text of its regex.

Lark writes a whole terminal as one regex of Python, and matches it with ``re``: a lazy repetition
ends as soon as it can, and of two alternatives the first one counts. The dynamic lexer takes that
match, and of a shorter part of the text the same: those texts that the regex, given nothing after
them, matches from the beginning to the end. Alternatives of a terminal are sorted by their longest
and shortest match; strings and regexes are joined as they are written, so ``/a|b/ "c"`` is
``a|bc``.

Most terminals are read in one way only, and stay as they are. The others become an automaton of
the texts that are matched.

Source: lark 1.3, ``load_grammar.TerminalTreeToPattern``, ``parsers/xearley.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    asserted_pattern,
    regex_of,
    with_span,
)
from workbench.syntax.lark.lark_tree import Body, Definition, MachineOperators
from workbench.syntax.lark.resolve import Terminals
from workbench.syntax.regex.one_unambiguous import is_read_greedily
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import (
    Alternate,
    Extension,
    Regex,
    asserted,
    has_look,
    outermost,
)

if TYPE_CHECKING:
    from lark.lexer import Pattern as LarkPattern


class _Unwritten(Exception):  # noqa: N818  # never leaves this module
    """A terminal with an operator that lark does not have."""


@dataclass(slots=True, eq=False)
class TerminalMatches:
    """Replaces the terminals of a grammar by the texts that lark's lexer can return."""

    known: Mapping[str, Definition]
    terminals: Terminals
    operators: MachineOperators
    #: False for a grammar whose regexes are sets of texts.
    in_use: bool
    #: The terminals that rules call, and those of them with what the lexer can return.
    used: set[str] = field(default_factory=set)
    _matched: dict[str, Expression] = field(default_factory=dict)
    _patterns: dict[str, LarkPattern] = field(default_factory=dict)

    def of_terminal(self, name: str) -> Expression:
        """The terminal with a name: all texts of its regex if it is only a part of others."""
        definition = self.known[name.removeprefix(self.terminals.prefix)]
        body = self.terminals.of(name, definition)
        if name not in self.used:
            return body
        if name not in self._matched:
            self._matched[name] = self._matches(definition.body, body)
        return self._matched[name]

    def of_pattern(self, pattern: Pattern) -> Expression:
        """The terminal that a regex in a rule is."""
        return self._matches(pattern, pattern)

    def regex(self, body: Body, lowered: Expression) -> Regex | None:
        """The regex that lark writes for a terminal; None for other operators."""
        rules = self.terminals.called_by(lowered)
        regex = regex_of(lowered, rules)
        is_joined = self._is_joined(lowered, rules)
        if regex is None or is_joined or not is_read_greedily(regex):
            return self._joined(body)
        return regex

    def _matches(self, body: Body, lowered: Expression) -> Expression:
        operations = self.operators.operations
        if not self.in_use or operations is None or isinstance(lowered, Literal):
            return lowered
        rules = self.terminals.called_by(lowered)
        regex = regex_of(lowered, rules)
        is_joined = self._is_joined(lowered, rules)
        if regex is not None and not is_joined and is_read_greedily(regex):
            if not any(map(self._is_replaced, rules)):
                return lowered
        elif (joined := self._joined(body)) is not None:
            regex = joined
        else:
            return lowered
        assert regex is not None, "one that is read greedily, or that lark writes"
        label = self.operators.source.label(body.span)
        if not is_read_greedily(regex):
            matches = operations.first_matches(regex, label, body.span)
            if matches is not None:
                return matches
            if not is_joined and not any(map(self._is_replaced, rules)):
                return lowered
        return asserted_or_plain(regex, label, body.span)

    def _is_replaced(self, name: str) -> bool:
        """Whether the rule of a terminal has fewer texts than its regex."""
        return name in self.used and self.of_terminal(name) is not self.terminals.found.get(name)

    def _is_joined(self, body: Expression, rules: Mapping[str, Expression]) -> bool:
        """Whether alternatives of a regex reach beyond it when it is joined with the next one."""
        match body:
            case Sequence(items):
                if len(items) > 1 and any(self._is_open(item, rules) for item in items):
                    return True
                return any(self._is_joined(item, rules) for item in items)
            case Choice(options):
                return any(self._is_joined(option, rules) for option in options)
            case Repetition(item):
                return self._is_joined(item, rules)
            case Nonterminal(name) if name in rules:
                return self._is_joined(rules[name], rules)
            case _:
                return False

    def _is_open(self, item: Expression, rules: Mapping[str, Expression]) -> bool:
        match item:
            case Pattern(regex):
                return isinstance(asserted(regex) or regex, Alternate)
            case Sequence((only,)):
                return self._is_open(only, rules)
            case Nonterminal(name) if name in rules:
                return self._is_open(rules[name], rules)
            case _:
                return False

    def _joined(self, body: Body) -> Regex | None:
        """The regex that lark joins; None if ``re`` or the workbench cannot read it."""
        try:
            regex = _parsed(self._pattern(body).to_regexp())
        except (_Unwritten, ParseError, ValueError):
            return None
        return None if regex is None else with_span(regex, body.span)

    def _pattern(self, body: Body) -> LarkPattern:
        """The pattern that lark makes of a terminal."""
        from lark.lexer import PatternRE, PatternStr

        match body:
            case Literal(value):
                return PatternStr(value.decode())
            case Pattern(_, Stop.ANYWHERE, text):
                return PatternRE(text)
            case Nonterminal(name) if name in self.known:
                if name not in self._patterns:
                    self._patterns[name] = self._pattern(self.known[name].body)
                return self._patterns[name]
            case Sequence((only,)) | Choice((only,)):
                return self._pattern(cast("Body", only))
            case Sequence(items):
                return PatternRE("".join(self._pattern(item).to_regexp() for item in items))
            case Choice(options):
                patterns = sorted(map(self._pattern, options), key=_rank)
                return PatternRE(f"(?:{'|'.join(each.to_regexp() for each in patterns)})")
            case Repetition(item, low, high):
                inner = self._pattern(cast("Body", item))
                return PatternRE(f"(?:{inner.to_regexp()}){_count(low, high)}", inner.flags)
            case _:
                raise _Unwritten


@lru_cache(maxsize=512)
def _parsed(text: str) -> Regex | None:
    """The tree of a joined regex; None for conditionals, whose order is not kept, and extensions.

    Raises: ParseError
    """
    if "(?(" in text:
        return None
    regex = parse_regex(Source(text, "regex"))
    regex = asserted(regex) or regex
    return None if outermost(regex, Extension) else regex


def asserted_or_plain(regex: Regex, text: str, span: Span) -> Pattern:
    """The terminal of a regex that may have assertions."""
    if has_look(regex):
        return asserted_pattern(regex, text, span)
    return Pattern(regex, Stop.ANYWHERE, text, span)


def _rank(pattern: LarkPattern) -> tuple[int, int, int]:
    """The order of alternatives: by the longest and the shortest match, then by the text."""
    most, least = _widths(pattern)
    return -most, -least, -len(pattern.value)


@lru_cache(maxsize=512)
def _widths(pattern: LarkPattern) -> tuple[int, int]:
    return pattern.max_width, pattern.min_width


def _count(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _:
            return f"{{{low},{'' if high is None else high}}}"
