"""The terminals of a grammar, and the automaton that scans them.

In come expressions; out comes whether single characters go round in a loop, and what is called is
written in.

The paper takes terminals for granted (§3.1: literals and regexes). Here a terminal is a literal or
a regex as its author wrote it, and besides a loop in which single characters go round
(``#'[0-9]'+``, the inside of a JSON string, white space that calls itself), with the character
before it where that might as well be in it (``#'[a-z]' #'[a-z0-9]'*``): notations whose only
regexes are classes, as that of the paper's own grammars, can write ``int`` of Figure 3 in no other
way, and what the paper tells of small k (Table 4: it is bridge tokens that are missing, not words)
is true of such terminals alone. A grammar that is a regex is one terminal. Two pieces with the same
texts are one terminal, and no terminal reads nothing: where one may be left out, the rules say so.

Lemma 3.1: ``R = r+``, ``r = r_1 | … | r_n``, matches all sequences of terminals, so L_G ⊆ L_R. The
scanner is the automaton of R with the sub-automaton of every terminal kept apart (§3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from workbench.automata.build import regex_dfa
from workbench.automata.explore import trimmed
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.operations import difference
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import context_free, machine
from workbench.pushdown.cfg import Cfg
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
    Stop,
    Substrings,
    calls,
)
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
    walk,
)

#: Pieces of the largest loop that is taken for a terminal: what is larger has a structure.
_MOST = 200


def goes_round(loop: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether single characters go round in a loop, and no other loop is in it."""
    if not isinstance(loop, Repetition) or loop.high == 1:
        return False
    found = tuple(islice(_pieces(loop.item, rules), _MOST + 1))
    return len(found) <= _MOST and all(map(_bounded, found)) and _may_be_one(loop.item, rules)


def _pieces(expression: Expression, rules: Mapping[str, Expression]) -> Iterator[Expression]:
    """Every piece of an expression and of the rules it calls; without end where they recurse."""
    waiting = [expression]
    while waiting:
        piece = waiting.pop()
        yield piece
        if isinstance(piece, Nonterminal):
            waiting.append(rules[piece.name])
        waiting.extend(piece.children)


def _bounded(piece: Expression) -> bool:
    """Whether a piece is no loop without end itself."""
    match piece:
        case Pattern(regex=regex, stop=stop):
            return stop is Stop.ANYWHERE and _bounded_regex(regex)
        case Repetition(high=high):
            return high is not None
    return not isinstance(piece, Substrings | Except | Automaton)


def loop_of(name: str, body: Expression) -> Expression:
    """``ws ::= (x ws)?`` as the loop it is; any other rule as it stands."""
    match body:
        case Repetition(
            item=Sequence(items=(*items, Nonterminal(name=called))), low=0, high=1, span=span
        ) if called == name and len(items) == 1:
            return Repetition(items[0], 0, None, span)
    return body


def _bounded_regex(regex: Regex) -> bool:
    return not any(
        node.high is None if isinstance(node, Repeat) else isinstance(node, Extension)
        for node in walk(regex)
    )


def _may_be_one(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether an expression has a way that is a single character, as far as it is plain to see."""
    match expression:
        case Literal(value=value):
            return len(value.decode("utf-8", "replace")) == 1
        case Pattern(regex=regex):
            return is_character(regex)
        case Nonterminal(name=name):
            return _may_be_one(rules[name], rules)
        case Choice(options=options):
            return any(_may_be_one(option, rules) for option in options)
        case Sequence(items=(item,)):
            return _may_be_one(item, rules)
    return False


def is_character(regex: Regex) -> bool:
    """Whether a regex, or one of its alternatives, is a class of characters."""
    match regex:
        case Characters() | Bytes():
            return True
        case Alternate(options=options):
            return any(map(is_character, options))
        case Concat(parts=(part,)) | Group(part=part):
            return is_character(part)
    return False


def expanded(expression: Expression, rules: Mapping[str, Expression]) -> Expression:
    """An expression without recursion, what it calls written in."""
    if isinstance(expression, Nonterminal):
        return expanded(rules[expression.name], rules)
    return expression.rebuild(lambda part: expanded(part, rules))


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
    inner = Sequence | Choice | Repetition | Nonterminal
    return sum(not isinstance(node, inner) for node in walk(expression))


def _not_empty(dfa: Dfa, limits: Limits) -> Dfa | None:
    """The texts of a machine but the empty one; None where no other is left."""
    if not dfa.is_final(dfa.initial):
        return None if dfa.is_empty else dfa
    first = dfa.table[dfa.initial : dfa.initial + 1]
    if not np.any(first != DEAD):
        return None
    table, finals = np.concatenate([dfa.table, first]), np.append(dfa.finals, False)
    return minimize(trimmed(dfa.classes, table, finals, len(dfa)), limits)


#: The scanner's state between two terminals: q_0 and q_a of the paper, which ε-edges make one.
BETWEEN: State = 0


@dataclass(frozen=True, eq=False)
class Scanner:
    """The sub-automata of all terminals, side by side, under one numbering of states.

    The sub-automata are deterministic where the paper's are Thompson's: fewer states are active
    at once, and what each reads is the same. That several terminals may be read at once stays:
    a state of the scanner is one place in one terminal, and a text leads to a set of them.

    Shape: T terminals, Q states, C classes of bytes. ``classes`` (256,) uint16; ``table`` (Q, C)
           int32, ``DEAD`` where a byte cannot be read, row 0 (``BETWEEN``) all so; ``owner`` (Q,)
           int32, the terminal of a state, −1 for ``BETWEEN``; ``initials`` (T,) int32;
           ``accepting`` and ``goes_on`` (Q,) bool.
    """

    terminals: tuple[Terminal, ...]
    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    initials: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.bool_]
    goes_on: npt.NDArray[np.bool_]

    @staticmethod
    def of(terminals: tuple[Terminal, ...]) -> Scanner:
        """The scanner of some terminals.

        Cost: Q · C numbers, a few array operations a terminal.
        """
        every = np.zeros((256, 1), np.uint16)
        for terminal in terminals:
            every = np.column_stack([every, terminal.dfa.classes])
        columns, classes = np.unique(every, axis=0, return_inverse=True)
        tables = [np.full((1, len(columns)), DEAD, np.int32)]
        initials, size = [], 1
        for number, terminal in enumerate(terminals):
            own = terminal.dfa.table[:, columns[:, number + 1]]
            tables.append(np.where(own == DEAD, DEAD, own + size).astype(np.int32))
            initials.append(terminal.dfa.initial + size)
            size += len(own)
        table = np.ascontiguousarray(np.concatenate(tables))
        sizes = [1, *(len(terminal.dfa) for terminal in terminals)]
        return Scanner(
            terminals,
            classes.reshape(-1).astype(np.uint16),
            table,
            np.repeat(np.arange(-1, len(terminals), dtype=np.int32), sizes),
            np.array(initials, np.int32),
            np.concatenate([[False], *(terminal.dfa.finals for terminal in terminals)]),
            (table != DEAD).any(axis=1),
        )

    def __len__(self) -> int:
        """The number of states."""
        return len(self.owner)

    @cached_property
    def inside(self) -> tuple[State, ...]:
        """The states within a terminal: some of it has been read, and more of it can be."""
        reached = np.zeros(len(self), np.bool_)
        reached[self.table[self.table != DEAD]] = True
        return tuple(np.flatnonzero(reached & self.goes_on).tolist())

    @cached_property
    def starting(self) -> tuple[tuple[tuple[int, State], ...], ...]:
        """For each class of bytes the terminals that begin so, with the state after it."""
        first = self.table[self.initials]
        return tuple(
            tuple((int(t), int(first[t, c])) for t in np.flatnonzero(first[:, c] != DEAD))
            for c in range(self.table.shape[1])
        )

    @cached_property
    def nfa(self) -> Nfa:
        """Figure 3(b): q_0, ε-edges to every sub-automaton, from its ends to q_a, and back to q_0.

        Accepts R, so all texts of the grammar but the empty one.
        """
        builder = NfaBuilder()
        begin, end = builder.new_state(), builder.new_state()
        for terminal in self.terminals:
            builder.embed(terminal.dfa, begin, end)
        builder.epsilon(end, begin)
        return builder.build(begin, {end})
