"""Builds the machine of a grammar tree: a DFA if it is regular, else a network.

In comes a ``GrammarTree`` and a start symbol. Rules that do not need a stack are written into
their callers; a call at a rule's end is a jump and pushes nothing, so right recursion needs no
stack; what is left is one deterministic automaton a rule.

What imported notations say of terminals and a grammar tree has no nodes for: ``A & B``, ``~A``,
lazy rules, bounds of characters.

``build`` writes in whatever needs no stack: the fewest calls, and a plain automaton where there is
one. A schema of fifty properties is then thousands of states, most of them copies of the machines
of strings and white space. Here what is used more than once stays a rule, and a terminal that was
brought as a machine is one as it is: fit to read texts and to make masks, less so to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from workbench.automata.build import regex_dfa, smallest
from workbench.automata.operations import difference, first_match, intersection
from workbench.automata.small_dfa import compile_kernels as ready_for_regexes
from workbench.automata.small_dfa import small_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.pushdown.cfg import Cfg, RuleProgram, gathered, program_apart, rule_program
from workbench.pushdown.checks import check_defined, check_something_left
from workbench.pushdown.compile_rules import Writer, assembled, called, without_calls, written_in
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.recursion import (
    kept_rules,
    left_recursive,
    rules_apart,
    without_left_recursion,
)
from workbench.syntax import grammar_tree
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Rule,
    labels_in_rules,
    may_have_labels,
)
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import Characters, Repeat
from workbench.syntax.rule_attributes import Rules


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
    nested, left = (
        grammar_tree.Sequence((letter, again, letter), nowhere),
        grammar_tree.Sequence((again, letter), nowhere),
    )
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


_NOWHERE = Span(0, 0)
#: A name no notation can give a rule.
_WHOLE = "·"


@dataclass(frozen=True, slots=True, eq=False)
class Combining:
    """Operations on the texts of expressions of one grammar; see ``syntax.beyond``."""

    source: Source
    limits: Limits

    def both(self, parts: Sequence[Expression], rules: Rules) -> Dfa:
        """The texts of all the parts."""
        first, *others = (self._machine(part, rules) for part in parts)
        for other in others:
            first = intersection(first, other, self.limits)
        return first

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of the whole, or all texts, that are none of the part."""
        left = self._characters(None) if whole is None else self._machine(whole, rules)
        return difference(left, self._machine(part, rules), self.limits)

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part no shorter beginning of which is one."""
        found = self._machine(part, rules)
        if found.finals[found.initial]:
            return self._characters(0)
        return first_match(found, self.limits)

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part that have no more characters."""
        return intersection(self._machine(part, rules), self._characters(characters), self.limits)

    def _characters(self, most: int | None) -> Dfa:
        """All texts of so many characters."""
        one = Characters(ANY_CHARACTER, _NOWHERE)
        return regex_dfa(Repeat(one, 0, most, _NOWHERE), self.limits)

    def _machine(self, part: Expression, rules: Rules) -> Dfa:
        bodies = {_WHOLE: part, **rules}
        span = part.span
        tree = GrammarTree(
            tuple(Rule(name, body, span, span) for name, body in bodies.items()), self.source
        )
        self._refuse_labels(tree)
        try:
            program = rule_program(tree, bodies, self.limits)
        except KeyError:
            check_defined(tree, bodies, _WHOLE)
            raise
        made = machine(Cfg(_WHOLE, bodies, program, self.source, self.limits), self.limits)
        if isinstance(made, Dfa):
            return made
        raise BuildError(
            "expected texts that can be read without a stack",
            self.source,
            span,
            "only terminals can be combined, negated or cut short",
            kind="unsupported",
        )

    def _refuse_labels(self, tree: GrammarTree) -> None:
        for label, span in labels_in_rules(tree) if may_have_labels(self.source) else ():
            raise BuildError(
                f"{label.name} cannot be combined, negated or cut short: it reads one token, "
                "whatever its text",
                self.source,
                span,
                "leave it out of what is made of terminals, or write a regex of the texts you mean",
                kind="unsupported",
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
    body = Choice((Literal(b"a", nowhere), grammar_tree.Sequence((call, call), nowhere)), nowhere)
    tree = GrammarTree((Rule("a", body, nowhere, nowhere),), Source("", "grammar"))
    build_apart(tree, "a", Limits(seconds=600.0))


def _machine(program: RuleProgram, start: int, limits: Limits) -> Dfa | Network:
    order = program.reached_from(start)
    kept = rules_apart(program, order, limits)
    while True:
        roots = [start, *(rule for rule in order[1:] if rule in kept)]
        number = {rule: place for place, rule in enumerate(roots) if rule in kept}
        found = _separate_automata(program, roots, number, limits)
        if not isinstance(found, int):
            break
        kept.update(other for other in program.calls[found] if other != start)
    automata = without_left_recursion(found, limits)
    if not called(automata[0]):
        return without_calls(automata[0])
    made = assembled([program.names[rule] for rule in roots], automata, limits)
    return replace(made, together=False)


def _separate_automata(
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
