"""RuleProgram: all rules of a grammar as one program; a grammar tree in, numbers out.

With them comes what everything after asks of rules: what texts each has, and whom it calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.automata.dfa import Dfa
from workbench.automata.flat import Ints
from workbench.automata.measure import check_size
from workbench.automata.program import (
    CALL,
    CHOICE,
    MACHINE,
    REPEAT,
    SEQUENCE,
    WIDTH,
    Program,
    after_of,
)
from workbench.automata.thompson import add as add_regex
from workbench.limits import Limits
from workbench.pushdown.facts import calls_of, texts_of
from workbench.pushdown.terminals import Terminal, terminal_machine
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
    Sequence,
    Stop,
)


@dataclass(frozen=True, slots=True, eq=False)
class RuleProgram:
    """The rules as a program.

    Shape: ``code`` (instructions, 3), those of rule r are ``first[r]:first[r + 1]``; ``texts``
           (instructions,), what texts each has (``SOME`` and so on), none where it derives none.
    """

    names: tuple[str, ...]
    code: Ints
    data: Ints
    first: Ints
    texts: Ints
    #: The rules each rule calls, from left to right; not in parts that derive no text.
    calls: list[list[int]]
    #: Those it may call before anything is read, and those after which it may read on.
    first_calls: list[list[int]]
    inner_calls: list[list[int]]
    #: The rules that are nothing but a machine that was brought; see ``program_apart``.
    machines: Mapping[int, Dfa]

    def texts_of(self, rule: int) -> int:
        """What texts a rule has, as bits."""
        return int(self.texts[self.first[rule]])

    def reached_from(self, start: int) -> list[int]:
        """The rules that a rule calls, itself or through others, in order of finding."""
        found = {start: None}
        waiting = [start]
        for rule in waiting:  # grows while it is read
            for called in self.calls[rule]:
                if called not in found:
                    found[called] = None
                    waiting.append(called)
        return waiting


def rule_program(tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits) -> RuleProgram:
    """The program of ``rules``, the tree's by name.

    Raises: KeyError for a name without a rule; BuildError for what ``except!`` cannot except;
            LimitError for regexes that are too large.
    """
    return _made(_Emitter(rules), tree, rules, limits)


def program_apart(
    tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits
) -> RuleProgram:
    """The same, but that every machine that was brought is a rule of its own, called by its label.

    These come after ``rules``, whose numbers are the same as ever.

    Raises: as ``rule_program``.
    """
    return _made(_ApartEmitter(rules), tree, rules, limits)


def _made(
    emitter: _Emitter, tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits
) -> RuleProgram:
    first = []
    for body in rules.values():
        first.append(len(emitter.program.code) // WIDTH)
        emitter.add(body)
    program = emitter.program
    for machine in emitter.apart:
        at = len(program.code) // WIDTH
        first.append(at)
        program.name_machine(machine)
    first.append(len(program.code) // WIDTH)
    for at, terminal in emitter.terminals:
        program.put_machine(at, terminal_machine(terminal, rules, tree.source, limits))
    code, data = program.arrays()
    check_size(code, data, emitter.patterns, limits)
    firsts, after = np.array(first, np.int32), after_of(code)
    texts = texts_of(code, after, firsts)
    names = (*rules, *(label for _, label in emitter.apart.values()))
    machines = {number: machine for machine, (number, _) in emitter.apart.items()}
    made = RuleProgram(names, code, data, firsts, texts, *_lists(len(names)), machines)
    for caller, called, at_end, at_start in calls_of(code, after, firsts, texts).tolist():
        made.calls[caller].append(called)
        if at_start:
            made.first_calls[caller].append(called)
        if not at_end:
            made.inner_calls[caller].append(called)
    return made


def _lists(rules: int) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Three empty lists a rule."""
    return [[] for _ in range(rules)], [[] for _ in range(rules)], [[] for _ in range(rules)]


class _Emitter:
    """Writes expressions as instructions."""

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self.program = Program()
        self.numbers = {name: number for number, name in enumerate(rules)}
        #: Where regexes stand that are part of the program, and machines that are still to be made.
        self.patterns: list[int] = []
        self.terminals: list[tuple[int, Terminal]] = []
        #: Machines that are rules of their own: the number and the name of the rule.
        self.apart: dict[Dfa, tuple[int, str]] = {}

    def add(self, expression: Expression) -> None:
        """Add an expression; KeyError for a name that has no rule."""
        program = self.program
        match expression:
            case Nonterminal():
                program.code += (CALL, self.numbers[expression.name], 0)
            case Literal():
                program.literal(expression.value)
            case Sequence():
                program.code += (SEQUENCE, len(expression.items), 0)
                for item in expression.items:
                    self.add(item)
            case Choice():
                program.code += (CHOICE, len(expression.options), 0)
                for option in expression.options:
                    self.add(option)
            case Repetition():
                high = expression.high
                program.code += (REPEAT, expression.low, -1 if high is None else high)
                self.add(expression.item)
            case Pattern() if expression.stop is Stop.ANYWHERE:
                self.patterns.append(len(program.code) // WIDTH)
                add_regex(program, expression.regex)
            case _:
                self._add_terminal(expression)

    def _add_terminal(self, terminal: Terminal) -> None:
        if isinstance(terminal, Except) and isinstance(terminal.excepted, Nonterminal):
            _ = self.numbers[terminal.excepted.name]
        self.terminals.append((len(self.program.code) // WIDTH, terminal))
        self.program.code += (MACHINE, -1, 0)


class _ApartEmitter(_Emitter):
    """Writes machines that were brought as calls."""

    def _add_terminal(self, terminal: Terminal) -> None:
        if not isinstance(terminal, Automaton):
            super()._add_terminal(terminal)
            return
        after = len(self.numbers) + len(self.apart)
        number, _ = self.apart.setdefault(terminal.machine, (after, terminal.label))
        self.program.code += (CALL, number, 0)
