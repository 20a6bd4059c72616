"""Apart: a grammar tree in; out come its rules as small automata that call each other.

``build`` writes in whatever needs no stack: the fewest calls, and a plain automaton where there is
one. A schema of fifty properties is then thousands of states, most of them copies of the machines
of strings and white space. Here what is used more than once stays a rule, and a terminal that was
brought as a machine is one as it is: fit to read texts and to make masks, less so to be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from workbench.automata.build import smallest
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.small import small_dfa
from workbench.limits import LIMITS, Limits
from workbench.pushdown.assembling import assembled
from workbench.pushdown.build import context_free
from workbench.pushdown.left_recursion import without_left_recursion
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.rule_program import RuleProgram, program_apart
from workbench.pushdown.shape import rules_apart
from workbench.pushdown.writer import Writer
from workbench.pushdown.written_in import called, without_calls
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    GrammarTree,
    Literal,
    Nonterminal,
    Rule,
    Sequence,
)

#: An automaton of at most so many states, and so many a state of its Nfa, is worth its making;
#: otherwise the rules written into it are called instead. Items that are counted far make
#: thousands of states, which ``smallest`` would make thirty times slower in Python.
_FEW, _TIMES = 64, 4


def build_apart(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> Dfa | Network:
    """A machine of the same texts as ``build``, soon made; a Dfa only where nothing is called.

    Raises: BuildError for what ``checks`` finds; LimitError where the machine is too large.
    """
    program = context_free(tree, start, limits, program_apart).program
    return _machine(program, program.names.index(start), limits)


@cache
def ready_apart() -> None:
    """Have the kernels compiled; work with a clock asks for this first, once a process."""
    nowhere = Span(0, 0)
    call = Nonterminal("a", nowhere)
    body = Choice((Literal(b"a", nowhere), Sequence((call, call), nowhere)), nowhere)
    tree = GrammarTree((Rule("a", body, nowhere, nowhere),), Source("", "grammar"))
    build_apart(tree, "a", Limits(seconds=600.0))


def _machine(program: RuleProgram, start: int, limits: Limits) -> Dfa | Network:
    order = program.reached_from(start)
    kept = rules_apart(program, order, limits)
    while True:
        roots = [start, *(rule for rule in order[1:] if rule in kept)]
        number = {rule: place for place, rule in enumerate(roots) if rule in kept}
        found = _automata(program, roots, number, limits)
        if not isinstance(found, int):
            break
        kept.update(other for other in program.calls[found] if other != start)
    automata = without_left_recursion(found, limits)
    if not called(automata[0]):
        return without_calls(automata[0])
    made = assembled([program.names[rule] for rule in roots], automata, limits)
    return replace(made, together=False)


def _automata(
    program: RuleProgram, roots: list[int], number: Mapping[int, int], limits: Limits
) -> dict[int, Dfa] | int:
    """The automaton of every root; or the root that is better called from than written into."""
    clock = limits.clock()
    # a call at the end of a rule pushes nothing anyway: jumps would only copy
    writer = Writer(program, number, frozenset(), limits)
    symbols = CALLS + max(number.values(), default=0) + 1
    found: dict[int, Dfa] = {}
    for place, rule in enumerate(roots):
        clock.check()
        machine = program.machines.get(rule)
        if machine is not None:
            found[place] = _with_calls(machine, symbols)
            continue
        nfa = writer.rule(rule)
        dfa = small_dfa(nfa, min(limits.states, _FEW + _TIMES * len(nfa)))
        if dfa is None and not number.keys() >= {*program.calls[rule]} - {roots[0]}:
            return rule
        found[place] = dfa or smallest(nfa, limits, clock)
    return found


def _with_calls(machine: Dfa, symbols: int) -> Dfa:
    """A machine over bytes among automata that call: it calls nothing."""
    none = machine.table.shape[1]
    classes = np.full(symbols, none, np.uint16)
    classes[:CALLS] = machine.classes
    dead = np.full((len(machine), 1), DEAD, np.int32)
    return Dfa(classes, np.append(machine.table, dead, axis=1), machine.finals, machine.initial)
