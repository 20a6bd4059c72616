"""Terminals: a grammar in; out come the pieces a scanner reads, and the rules over these pieces.

The paper takes terminals for granted (§3.1: literals and regexes). Here a terminal is a literal or
a regex as its author wrote it, and besides a loop in which single characters go round
(``#'[0-9]'+``, the inside of a JSON string, white space that calls itself), with the character
before it where that might as well be in it (``#'[a-z]' #'[a-z0-9]'*``): notations whose only
regexes are classes, as that of the paper's own grammars, can write ``int`` of Figure 3 in no other
way, and what the paper tells of small k (Table 4: it is bridge tokens that are missing, not words)
is true of such terminals alone. A grammar that is a regex is one terminal. Two pieces with the same
texts are one terminal, and no terminal reads nothing: where one may be left out, the rules say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.explore import trimmed
from workbench.automata.minimize import minimize
from workbench.automata.operations import difference
from workbench.constraint.domino.joining import expanded, goes_round, is_character, loop_of
from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.pushdown.build import context_free, machine
from workbench.pushdown.cfg import Cfg, calls
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Automaton,
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
    Substrings,
)
from workbench.syntax.regex.tree import Bytes, Concat

#: What stands for a terminal in the rules is one byte, or two where there are more of them.
_ONE_BYTE, _TWO_BYTES = 256, 65_536

#: Letters of a loop that are still a name.
_READABLE = 24

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Terminal:
    """A piece of a grammar that the scanner reads: ``r_i`` of Lemma 3.1."""

    #: The rule it is all of, else the text it was written as; of a long loop the rule it is in.
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


def terminals_of(grammar: Grammar, limits: Limits = LIMITS) -> Terminals:
    """The terminals of a grammar, in the order they are written.

    Raises: LimitError where one is too large, or there are too many.
    """
    if grammar.tree is None:
        dfa = grammar.dfa
        assert dfa is not None, "a regex needs no stack"
        return _one_terminal(dfa, grammar.source, limits)
    cfg = context_free(grammar.tree, grammar.start, limits)
    cutter = _Cutter(cfg, limits)
    rules: dict[str, Expression] = {}
    waiting = [grammar.start]
    for name in waiting:  # grows while it is read; rules that are called inside terminals go
        if name not in rules:
            rules[name] = cutter.rule(name)
            waiting.extend(call.name for call in calls(rules[name]))
    tree = GrammarTree(
        tuple(Rule(name, body, _NOWHERE, _NOWHERE) for name, body in rules.items()), grammar.source
    )
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
        self._within = cfg.start

    def rule(self, name: str) -> Expression:
        """The body of a rule over codes."""
        self._within = name
        return self.cut(loop_of(name, self._cfg.rules[name]), name)

    def cut(self, expression: Expression, rule: str = "") -> Expression:
        """An expression over codes; ``rule`` is the name of the rule it is all of."""
        span = expression.span
        match expression:
            case Nonterminal():
                return expression
            case Sequence(items=(only,)):
                return self.cut(only, rule)
            case Sequence(items=items) if not self._is_word(expression):
                return Sequence(tuple(map(self.cut, self._with_words(items))), span)
            case Choice(options=options):
                return Choice(tuple(map(self.cut, options)), span)
            case Repetition(item=item, low=low, high=high) if not goes_round(
                expression, self._cfg.rules
            ):
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
            self.found.append(Terminal(self._name(expression, rule), dfa))
        return number

    def _name(self, expression: Expression, rule: str) -> str:
        if rule and not isinstance(expression, Literal):
            return rule
        if isinstance(expression, Automaton):
            return expression.label
        span = expression.span
        written = " ".join(self._cfg.source.text[span.start : span.end].split())
        inside = f"inside {self._within}"
        is_loop = isinstance(expression, Repetition | Sequence)
        if not is_loop or len(written) <= _READABLE or inside in (t.name for t in self.found):
            return written
        return inside

    def _machine(self, expression: Expression) -> Dfa:
        match expression:
            case Literal(value=value, span=span):
                letters = tuple(Bytes(((byte, byte),), span) for byte in value)
                return regex_dfa(Concat(letters, span), self._limits)
            case Pattern() | Substrings() | Except() | Automaton():
                return self._cfg.machine(expression)
        body = expanded(expression, self._cfg.rules)
        tree = GrammarTree((Rule("loop", body, _NOWHERE, _NOWHERE),), self._cfg.source)
        loop = machine(context_free(tree, "loop", self._limits), self._limits)
        assert isinstance(loop, Dfa), "it calls nothing"
        return loop

    def _is_word(self, expression: Expression) -> bool:
        """Whether it is a character out of a class and a loop that might read it too."""
        match expression:
            case Sequence(items=(Pattern(regex=regex) as first, loop)):
                return (
                    is_character(regex)
                    and goes_round(loop, self._cfg.rules)
                    and difference(self._machine(first), self._machine(loop)).is_empty
                )
        return False

    def _with_words(self, items: tuple[Expression, ...]) -> Iterator[Expression]:
        """The items of a sequence, those that make a word taken together."""
        at = 0
        while at < len(items):
            two = items[at : at + 2]
            word = Sequence(two, two[0].span.to(two[-1].span))
            is_word = self._is_word(word)
            yield word if is_word else items[at]
            at += 2 if is_word else 1


def _leaves(expression: Expression) -> int:
    match expression:
        case Sequence(items=parts) | Choice(options=parts):
            return sum(map(_leaves, parts))
        case Repetition(item=item):
            return _leaves(item)
        case Nonterminal():
            return 0
    return 1


def _not_empty(dfa: Dfa, limits: Limits) -> Dfa | None:
    """The texts of a machine but the empty one; None where no other is left."""
    if not dfa.is_final(dfa.initial):
        return None if dfa.is_empty else dfa
    first = dfa.table[dfa.initial : dfa.initial + 1]
    if not np.any(first != DEAD):
        return None
    table, finals = np.concatenate([dfa.table, first]), np.append(dfa.finals, False)
    return minimize(trimmed(dfa.classes, table, finals, len(dfa)), limits)
