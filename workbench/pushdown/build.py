"""Grammar tree → machine: a plain Dfa where the grammar is regular in disguise, else a Network.

In comes a ``GrammarTree`` and a start symbol. Rules that do not need a stack are written into
their callers; a call at a rule's end is a jump and pushes nothing, so right recursion needs no
stack; what is left is one deterministic automaton a rule.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.automata.build import pattern_dfa
from workbench.automata.determinize import determinize
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.operations import excluding, substrings
from workbench.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg, Terminal, gathered, productive_part, terminals
from workbench.pushdown.checks import (
    check_defined,
    check_left_recursion,
    check_something_left,
    excepted_strings,
    reachable,
)
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.shape import kept_rules
from workbench.syntax.grammar_tree import (
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Substrings,
)


def build(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a grammar.

    Raises: BuildError for what ``checks`` finds; LimitError where the machine is too large.
    Source: Koo et al. 2024, §3.1; Allauzen & Riley 2012, §4.5 (replacement).
    """
    cfg = context_free(tree, start, limits)
    return machine(cfg, limits)


def context_free(tree: GrammarTree, start: str, limits: Limits = LIMITS) -> Cfg:
    """The checked grammar, without useless rules, with the machines of its terminals."""
    rules = gathered(tree)
    check_defined(tree, rules, start)
    cfg = Cfg(start, rules, {}, tree.source)
    machines = {
        id(terminal): _terminal_machine(terminal, cfg, limits)
        for body in rules.values()
        for terminal in terminals(body)
    }
    cfg = replace(cfg, machines=machines)
    check_something_left(cfg, tree)
    useful = {n: productive_part(cfg, rules[n]) for n in rules if n in cfg.productive}
    cfg = replace(cfg, rules=useful)
    cfg = replace(cfg, rules={name: useful[name] for name in reachable(cfg)})
    check_left_recursion(cfg)
    return cfg


def _terminal_machine(terminal: Terminal, cfg: Cfg, limits: Limits) -> Dfa:
    match terminal:
        case Pattern():
            return pattern_dfa(terminal, limits)
        case Substrings(value=value):
            return substrings(value, limits)
        case Except(limit=limit):
            return excluding(
                excepted_strings(terminal, cfg.rules, cfg.source, limits), limit, limits
            )


def machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The rules of a grammar as automata, as few as the stack needs."""
    kept = kept_rules(cfg)
    names = [cfg.start, *(name for name in cfg.rules if name in kept and name != cfg.start)]
    number = {name: i for i, name in enumerate(names) if name in kept}
    rules = _automata(names, _Writer(cfg, number, CALLS + len(names), limits), limits)
    return _assembled(names, rules) if _called(rules[0]) else _without_calls(rules[0])


def rule_network(cfg: Cfg, limits: Limits = LIMITS) -> Network:
    """Every rule as an automaton of its own, as the author wrote it, for pictures and explanations.

    The same language as ``machine``, with a call for every nonterminal; so its stack
    names all rules that are being read.
    """
    names = [cfg.start, *(name for name in cfg.rules if name != cfg.start)]
    number = {name: i for i, name in enumerate(names)}
    writer = _PlainWriter(cfg, number, CALLS + len(names), limits)
    return _assembled(names, _automata(names, writer, limits))


def _automata(names: list[str], writer: _Writer, limits: Limits) -> dict[int, Dfa]:
    """The automaton of the first rule, and of every rule called from there on, by number."""
    clock = limits.clock()
    rules = {0: minimize(determinize(writer.rule(names[0]), limits), limits)}
    waiting = [0]
    for rule in waiting:
        clock.check()
        for called in _called(rules[rule]):
            if called not in rules:
                rules[called] = minimize(determinize(writer.rule(names[called]), limits), limits)
                waiting.append(called)
    return rules


class _Writer:
    """Writes rules as NFAs over bytes and calls."""

    def __init__(self, cfg: Cfg, number: dict[str, int], symbols: int, limits: Limits) -> None:
        self._cfg = cfg
        self._number = number
        self._symbols = symbols
        self._limits = limits

    def rule(self, name: str) -> Nfa:
        """The automaton of a rule, everything that needs no stack written in."""
        self._builder = NfaBuilder(self._symbols)
        #: Where each rule that is written in begins, by its name and the state it ends in.
        self._entries: dict[tuple[str, int], int] = {}
        self._waiting: list[tuple[str, int, int]] = []
        initial, self._end = self._builder.new_state(), self._builder.new_state()
        self._builder.epsilon(initial, self._entry(name, self._end))
        while self._waiting:
            written_in, start, end = self._waiting.pop()
            self._limits.check("states", len(self._builder))
            self._write(self._cfg.rules[written_in], start, end, end)
        return self._builder.build(initial, {self._end})

    def _entry(self, name: str, end: int) -> int:
        """The state in which a copy of a rule begins that ends in ``end``; made once.

        A call at the end of a rule asks for a copy with the same end, so circles of such
        calls close upon themselves.
        """
        known = self._entries.get((name, end))
        if known is None:
            known = self._entries[name, end] = self._builder.new_state()
            self._waiting.append((name, known, end))
        return known

    def _write(self, expression: Expression, start: int, end: int, last: int) -> None:
        """Write an expression between two states; ``last`` is where its rule ends."""
        builder = self._builder
        match expression:
            case Literal(value=value):
                builder.literal(value, start, end)
            case Nonterminal(name=name):
                self._call(name, start, end, last)
            case Choice(options=options):
                for option in options:
                    self._write(option, start, end, last)
            case Sequence(items=items):
                here = start
                for item in items[:-1]:
                    there = builder.new_state()
                    self._write(item, here, there, last)
                    here = there
                if items:
                    self._write(items[-1], here, end, last)
                else:
                    builder.epsilon(here, end)
            case Repetition(item=item, low=low, high=high):
                self._repeat(item, low, high, start, end, last)
            case _:
                builder.embed(self._cfg.machine(expression), start, end)

    def _call(self, name: str, start: int, end: int, last: int) -> None:
        # a call that ends the whole automaton is a jump; inside a copy it would copy for ever
        if name not in self._number or end == last == self._end:
            self._builder.epsilon(start, self._entry(name, end))
        else:
            self._call_edge(name, start, end)

    def _call_edge(self, name: str, start: int, end: int) -> None:
        symbol = CALLS + self._number[name]
        self._builder.edge(start, symbol, symbol, end)
        if name in self._cfg.nullable:
            self._builder.epsilon(start, end)

    def _repeat(
        self, item: Expression, low: int, high: int | None, start: int, end: int, last: int
    ) -> None:
        builder = self._builder
        here = start
        for copy in range(low):
            there = end if copy == low - 1 and high == low else builder.new_state()
            self._write(item, here, there, last)
            here = there
        if high is None:
            loop = builder.new_state()
            builder.epsilon(here, loop)
            self._write(item, loop, loop, last)
            builder.epsilon(loop, end)
            return
        for copy in range(low, high):
            builder.epsilon(here, end)
            there = end if copy == high - 1 else builder.new_state()
            self._write(item, here, there, last)
            here = there
        if here != end:
            builder.epsilon(here, end)


class _PlainWriter(_Writer):
    """Writes every nonterminal as a call."""

    def _call(self, name: str, start: int, end: int, last: int) -> None:
        self._call_edge(name, start, end)


def _called(rule: Dfa) -> list[int]:
    """The rules an automaton calls."""
    columns = rule.classes[CALLS:]
    used = (rule.table != DEAD).any(axis=0)
    return [int(called) for called in np.flatnonzero(used[columns])]


def _without_calls(rule: Dfa) -> Dfa:
    """The same automaton over bytes alone."""
    used, classes = np.unique(rule.classes[:CALLS], return_inverse=True)
    return Dfa(classes.astype(np.uint16), rule.table[:, used], rule.finals, rule.initial)


def _assembled(names: list[str], rules: dict[int, Dfa]) -> Network:
    """All automata in one numbering; the rules that are still called are renumbered in order."""
    order = sorted(rules)
    symbols = [*range(CALLS), *(CALLS + old for old in order)]
    # a class of the whole is a class in every rule: told apart by the rules' own classes alone
    own = np.stack([rules[old].classes[symbols] for old in order])  # (R, S)
    shared, classes = np.unique(own, axis=1, return_inverse=True)  # (R, C)
    sizes = [len(rules[old]) for old in order]
    offsets = np.cumsum([0, *sizes[:-1]])
    tables: list[npt.NDArray[np.int32]] = []
    for row, old in enumerate(order):
        table = rules[old].table[:, shared[row]]
        tables.append(np.where(table == DEAD, DEAD, table + offsets[row]).astype(np.int32))
    return Network(
        names=tuple(names[old] for old in order),
        initials=tuple(int(at) + rules[o].initial for o, at in zip(order, offsets, strict=True)),
        start=0,
        classes=classes.reshape(-1).astype(np.uint16),
        table=np.concatenate(tables),
        finals=np.concatenate([rules[old].finals for old in order]),
        owner=np.repeat(np.arange(len(order)), sizes).astype(np.int32),
    )


def network_of(dfa: Dfa, name: str = "start") -> Network:
    """A regular language as a network of one rule that calls nothing."""
    classes = np.full(CALLS + 1, dfa.table.shape[1], np.uint16)
    classes[:CALLS] = dfa.classes[:CALLS]
    dead = np.full((len(dfa), 1), DEAD, np.int32)
    return Network(
        names=(name,),
        initials=(dfa.initial,),
        start=0,
        classes=classes,
        table=np.concatenate([dfa.table, dead], axis=1),
        finals=dfa.finals,
        owner=np.zeros(len(dfa), np.int32),
    )
