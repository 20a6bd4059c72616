"""Terminals: a grammar in; out come the pieces a scanner reads, and the rules over these pieces.

The paper takes terminals for granted (§3.1: literals and regexes). Here a terminal is a literal or
a regex as its author wrote it, and besides a loop in which single characters go round
(``#'[0-9]'+``, the inside of a JSON string, white space that calls itself): notations whose only
regexes are classes, as that of the paper's own grammars, can write ``int`` of Figure 3 in no other
way, and what the paper tells of small k (Table 4: it is bridge tokens that are missing, not words)
is true of such terminals alone. A grammar that is a regex is one terminal. Two pieces with the same
texts are one terminal, and no terminal reads nothing: where one may be left out, the rules say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import trimmed
from workbench.automata.minimize import minimize
from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.pushdown.build import context_free, machine
from workbench.pushdown.cfg import Cfg
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
from workbench.syntax.regex_tree import Alternate, Bytes, Characters, Concat, Group, Regex, Repeat

#: What stands for a terminal in the rules is one byte, or two where there are more of them.
_ONE_BYTE, _TWO_BYTES = 256, 65_536

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Terminal:
    """A piece of a grammar that the scanner reads: ``r_i`` of Lemma 3.1."""

    #: The name of the rule it is all of, else the text it was written as.
    name: str
    #: The smallest automaton of its texts; the empty text is none of them.
    dfa: Dfa


@dataclass(frozen=True, slots=True, eq=False)
class Terminals:
    """A grammar cut into terminals."""

    each: tuple[Terminal, ...]
    #: The rules over terminals: each is the literal ``code`` of its number.
    tree: GrammarTree
    start: str
    #: The bytes of a code.
    width: int

    def code(self, terminal: int) -> bytes:
        """What stands for a terminal in the rules."""
        return terminal.to_bytes(self.width, "big")


def terminals_of(grammar: Grammar) -> Terminals:
    """The terminals of a grammar, in the order they are written.

    Raises: LimitError where one is too large, or there are too many.
    """
    limits = grammar.limits.begun()
    if grammar.tree is None:
        dfa = grammar.dfa
        assert dfa is not None, "a regex needs no stack"
        return _one_terminal(dfa, grammar.source, limits)
    cfg = context_free(grammar.tree, grammar.start, limits)
    cutter = _Cutter(cfg, limits)
    rules = tuple(
        Rule(name, cutter.cut(_loop_of(name, body), name), _NOWHERE, _NOWHERE)
        for name, body in cfg.rules.items()
    )
    tree = GrammarTree(rules, grammar.source)
    return Terminals(tuple(cutter.found), tree, grammar.start, cutter.width)


def _one_terminal(dfa: Dfa, source: Source, limits: Limits) -> Terminals:
    """A regex: all of it is one terminal."""
    whole = _not_empty(dfa, limits)
    found = () if whole is None else (Terminal(source.text, whole),)
    body: Expression = Literal(bytes(1), _NOWHERE) if found else Sequence((), _NOWHERE)
    if found and dfa.is_final(dfa.initial):
        body = Repetition(body, 0, 1, _NOWHERE)
    tree = GrammarTree((Rule("start", body, _NOWHERE, _NOWHERE),), source)
    return Terminals(found, tree, "start", 1)


class _Cutter:
    """Puts a code in the place of every terminal."""

    def __init__(self, cfg: Cfg, limits: Limits) -> None:
        self.found: list[Terminal] = []
        self._cfg, self._limits, self._clock = cfg, limits, limits.clock()
        leaves = sum(map(_leaves, cfg.rules.values()))
        if leaves > _TWO_BYTES:
            raise LimitError(
                f"a grammar of {leaves:,} literals and regexes has too many terminals",
                "states",
                "write alternatives that are only words as one regex",
            )
        self.width = 1 if leaves <= _ONE_BYTE else 2
        self._numbers: dict[tuple[bytes, ...], int] = {}

    def cut(self, expression: Expression, rule: str = "") -> Expression:
        """An expression over codes; ``rule`` is the name of the rule it is all of."""
        span = expression.span
        match expression:
            case Nonterminal():
                return expression
            case Sequence(items=items):
                return Sequence(tuple(map(self.cut, items)), span)
            case Choice(options=options):
                return Choice(tuple(map(self.cut, options)), span)
            case Repetition(item=item, low=low, high=high) if not self._goes_round(expression):
                return Repetition(self.cut(item), low, high, span)
        whole = self._machine(expression)
        read = _not_empty(whole, self._limits)
        if read is None:
            return Sequence((), span)
        code = Literal(self._number(read, expression, rule).to_bytes(self.width, "big"), span)
        return Repetition(code, 0, 1, span) if whole.is_final(whole.initial) else code

    def _number(self, dfa: Dfa, expression: Expression, rule: str) -> int:
        self._clock.check()
        # the smallest automaton comes in normal form: equal texts, equal tables
        language = dfa.classes.tobytes(), dfa.table.tobytes(), dfa.finals.tobytes()
        number = self._numbers.setdefault(language, len(self.found))
        if number == len(self.found):
            span = expression.span
            written = self._cfg.source.text[span.start : span.end]
            named = rule and not isinstance(expression, Literal)
            self.found.append(Terminal(rule if named else written, dfa))
        return number

    def _machine(self, expression: Expression) -> Dfa:
        match expression:
            case Literal(value=value, span=span):
                letters = tuple(Bytes(((byte, byte),), span) for byte in value)
                return regex_dfa(Concat(letters, span), self._limits)
            case Pattern() | Substrings() | Except():
                return self._cfg.machine(expression)
        body = _expanded(expression, self._cfg.rules)
        tree = GrammarTree((Rule("loop", body, _NOWHERE, _NOWHERE),), self._cfg.source)
        loop = machine(context_free(tree, "loop", self._limits), self._limits)
        assert isinstance(loop, Dfa), "it calls nothing"
        return loop

    def _goes_round(self, loop: Repetition) -> bool:
        """Whether single characters go round in a loop, and no other loop is in it."""
        rules = self._cfg.rules
        return loop.high != 1 and _may_be_one(loop.item, rules) and _bounded(loop.item, rules, ())


def _leaves(expression: Expression) -> int:
    match expression:
        case Sequence(items=parts) | Choice(options=parts):
            return sum(map(_leaves, parts))
        case Repetition(item=item):
            return _leaves(item)
        case Nonterminal():
            return 0
    return 1


def _loop_of(name: str, body: Expression) -> Expression:
    """``ws ::= (x ws)?`` as the loop it is; any other rule as it stands."""
    match body:
        case Repetition(
            item=Sequence(items=(*items, Nonterminal(name=called))), low=0, high=1, span=span
        ) if called == name and len(items) == 1:
            return Repetition(items[0], 0, None, span)
    return body


def _bounded(
    expression: Expression, rules: Mapping[str, Expression], seen: tuple[str, ...]
) -> bool:
    """Whether no loop without end and no recursion is in an expression."""
    match expression:
        case Literal():
            return True
        case Pattern(regex=regex, stop=stop):
            return stop is Stop.ANYWHERE and _bounded_regex(regex)
        case Nonterminal(name=name):
            return name not in seen and _bounded(rules[name], rules, (*seen, name))
        case Sequence(items=parts) | Choice(options=parts):
            return all(_bounded(part, rules, seen) for part in parts)
        case Repetition(item=item, high=high):
            return high is not None and _bounded(item, rules, seen)
    return False


def _bounded_regex(regex: Regex) -> bool:
    match regex:
        case Concat(parts=parts) | Alternate(options=parts):
            return all(map(_bounded_regex, parts))
        case Group(part=part):
            return _bounded_regex(part)
        case Repeat(part=part, high=high):
            return high is not None and _bounded_regex(part)
    return True


def _may_be_one(expression: Expression, rules: Mapping[str, Expression], depth: int = 0) -> bool:
    """Whether an expression has a way that is a single character, as far as it is plain to see."""
    match expression:
        case Literal(value=value):
            return len(value.decode("utf-8", "replace")) == 1
        case Pattern(regex=regex):
            return _may_be_one_regex(regex)
        case Nonterminal(name=name):
            return depth < len(rules) and _may_be_one(rules[name], rules, depth + 1)
        case Choice(options=options):
            return any(_may_be_one(option, rules, depth) for option in options)
        case Sequence(items=(item,)):
            return _may_be_one(item, rules, depth)
    return False


def _may_be_one_regex(regex: Regex) -> bool:
    match regex:
        case Characters() | Bytes():
            return True
        case Alternate(options=options):
            return any(map(_may_be_one_regex, options))
        case Concat(parts=(part,)) | Group(part=part):
            return _may_be_one_regex(part)
    return False


def _expanded(expression: Expression, rules: Mapping[str, Expression]) -> Expression:
    """An expression without recursion, what it calls written in."""
    match expression:
        case Nonterminal(name=name):
            return _expanded(rules[name], rules)
        case Sequence(items=items):
            return replace(expression, items=tuple(_expanded(item, rules) for item in items))
        case Choice(options=options):
            return replace(expression, options=tuple(_expanded(o, rules) for o in options))
        case Repetition(item=item):
            return replace(expression, item=_expanded(item, rules))
    return expression


def _not_empty(dfa: Dfa, limits: Limits) -> Dfa | None:
    """The texts of a machine but the empty one; None where no other is left."""
    if not dfa.is_final(dfa.initial):
        return None if dfa.is_empty else dfa
    first = dfa.table[dfa.initial : dfa.initial + 1]
    if not np.any(first != DEAD):
        return None
    table, finals = np.concatenate([dfa.table, first]), np.append(dfa.finals, False)
    return minimize(trimmed(dfa.classes, table, finals, len(dfa)), limits)
