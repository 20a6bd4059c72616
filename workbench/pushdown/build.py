"""Grammar tree → machine: a plain Dfa where the grammar is regular in disguise, else a Network.

In comes a ``GrammarTree`` and a start symbol. Rules that do not need a stack are written into
their callers; a call at a rule's end is a jump and pushes nothing, so right recursion needs no
stack; what is left is one deterministic automaton a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.small import ready as ready_for_regexes
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.assembling import assembled
from workbench.pushdown.cfg import Cfg, gathered
from workbench.pushdown.checks import check_defined, check_something_left
from workbench.pushdown.left_recursion import without_left_recursion
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.rule_program import RuleProgram, rule_program
from workbench.pushdown.shape import kept_rules, left_recursive
from workbench.pushdown.writer import Writer
from workbench.pushdown.written_in import called, without_calls, written_in
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Rule,
    Sequence,
)


def build(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a grammar.

    Raises: BuildError for what ``checks`` finds; LimitError where the machine is too large.
    Source: Koo et al. 2024, §3.1; Allauzen & Riley 2012, §4.5 (replacement).
    """
    return whole_machine(context_free(tree, start, limits), limits)


def whole_machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a checked grammar: its rules together, or apart where that explodes.

    Raises: LimitError
    """
    try:
        return machine(cfg, limits)
    except LimitError as error:
        if error.budget != "states":
            raise
        return rule_network(cfg, limits)  # rules apart stay small where rules together explode


def context_free(
    tree: GrammarTree,
    start: str,
    limits: Limits = LIMITS,
    programmed: Callable[
        [GrammarTree, Mapping[str, Expression], Limits], RuleProgram
    ] = rule_program,
) -> Cfg:
    """The checked grammar, its rules as one of the programs there are.

    Raises: BuildError for what ``checks`` finds; LimitError where a terminal is too large.
    """
    ready()
    rules = gathered(tree)
    try:
        program = programmed(tree, rules, limits)
        _ = rules[start]
    except KeyError:
        check_defined(tree, rules, start)
        raise
    cfg = Cfg(start, rules, program, tree.source, limits)
    check_something_left(cfg, tree)
    return cfg


@cache
def ready() -> None:
    """Have the kernels compiled; work with a clock asks for this first, once a process."""
    ready_for_regexes()
    nowhere = Span(0, 0)
    letter, again = Literal(b"a", nowhere), Nonterminal("a", nowhere)
    nested, left = Sequence((letter, again, letter), nowhere), Sequence((again, letter), nowhere)
    body = Choice((letter, nested, left), nowhere)  # a stack, and recursion at the left
    tree = GrammarTree((Rule("a", body, nowhere, nowhere),), Source("", "grammar"))
    rules, patient = gathered(tree), Limits(seconds=600.0)
    program = rule_program(tree, rules, patient)
    made = machine(Cfg("a", rules, program, tree.source, patient), patient)
    assert isinstance(made, Network), "it nests"
    _ = made.calling, made.goes_on


def machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The rules of a grammar as automata, as few as the stack needs."""
    program = cfg.program
    order = program.reached_from(program.names.index(cfg.start))
    kept = kept_rules(program, order, limits)
    called_ones = [order[0], *(rule for rule in order[1:] if rule in kept)]
    number = {rule: i for i, rule in enumerate(called_ones) if rule in kept}
    jumping = kept - left_recursive(program, order)  # left recursion is looked for in calls
    writer = Writer(program, number, jumping, limits)
    rules = written_in(_automata(called_ones, writer, limits), limits)
    if not called(rules[0]):
        return without_calls(rules[0])
    return assembled([program.names[rule] for rule in called_ones], rules, limits)


def rule_network(cfg: Cfg, limits: Limits = LIMITS) -> Network:
    """Every rule as an automaton of its own, as the author wrote it, for pictures and explanations.

    The same language as ``machine``, with a call for every nonterminal; so its stack
    names all rules that are being read. Rules that are left-recursive read their first
    part and then loop, as they do in the machine.
    """
    program = cfg.program
    order = program.reached_from(program.names.index(cfg.start))
    writer = Writer(program, {rule: i for i, rule in enumerate(order)}, frozenset(), limits)
    names = [program.names[rule] for rule in order]
    return replace(assembled(names, _automata(order, writer, limits), limits), all_wait=True)


def _automata(called_ones: list[int], writer: Writer, limits: Limits) -> dict[int, Dfa]:
    """The automaton of the first rule, and of every rule called from there on, by number.

    None of them calls itself before reading a byte.
    """
    clock = limits.clock()
    rules: dict[int, Dfa] = {}
    waiting = [0]
    for rule in waiting:
        clock.check()
        rules[rule] = smallest(writer.rule(called_ones[rule]), limits)
        waiting.extend(other for other in called(rules[rule]) if other not in waiting)
    return without_left_recursion(rules, limits)


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
