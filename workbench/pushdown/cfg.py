"""A grammar tree as rules by name, its terminals as machines, and all rules as one flat program.

With them comes what everything after asks of rules: what texts each has, and whom it calls.

In comes a ``GrammarTree`` and the start symbol; out comes a ``Cfg`` in which every
nonterminal that is called has a body. Several rules of one name have become one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from workbench.automata.build import pattern_dfa
from workbench.automata.nfa import Ints
from workbench.automata.operations import excluding, substrings
from workbench.automata.regex_program import (
    CALL,
    CHOICE,
    HAS_EMPTY,
    MACHINE,
    REPEAT,
    SEQUENCE,
    WIDTH,
    Program,
    check_size,
    subtree_ends,
)
from workbench.automata.thompson import add as add_regex
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.pushdown.rule_facts import calls_of, texts_of
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
    Substrings,
    calls,
)

#: A terminal whose language is a byte machine rather than one string.
Terminal = Pattern | Substrings | Except | Automaton


def terminal_machine(
    terminal: Terminal, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> Dfa:
    """The machine of a terminal; ``rules`` say what an ``except!`` excepts.

    It is the smallest there is, but for one that an ``Automaton`` brings.

    Raises: BuildError of kind ``invalid_except``; LimitError.
    """
    match terminal:
        case Pattern():
            return pattern_dfa(terminal, limits)
        case Substrings(value=value):
            return substrings(value, limits)
        case Except(limit=limit):
            return excluding(excepted_strings(terminal, rules, source, limits), limit, limits)
        case Automaton(machine=machine):
            return machine


def excepted_strings(
    node: Except, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> tuple[bytes, ...]:
    """The strings of an ``except!``: a literal, or a nonterminal fully expanded.

    Raises: BuildError of kind ``invalid_except`` for regexes, repetitions, recursion and
            empty strings; LimitError where the strings come to more than
            ``limits.unrolled`` bytes.
    """

    def refuse(place: Expression, what: str) -> BuildError:
        span = place.span if not seen else node.excepted.span
        return BuildError(
            f"except! takes an alternation of non-empty strings, not {what}",
            source,
            span,
            "name a rule that is nothing but strings and '|'",
            kind="invalid_except",
        )

    seen: list[str] = []

    def expand(expression: Expression) -> Iterator[bytes]:
        match expression:
            case Literal(value=value):
                yield value
            case Choice(options=options):
                for option in options:
                    yield from expand(option)
            case Sequence(items=items):
                pieces = [b""]
                for item in items:
                    last = list(expand(item))
                    limits.check("unrolled", len(pieces) * len(last) * max(map(len, last + pieces)))
                    pieces = [left + right for left in pieces for right in last]
                yield from pieces
            case Nonterminal(name=name):
                if name in seen:
                    raise refuse(expression, f"the recursive rule {name!r}")
                seen.append(name)
                yield from expand(rules[name])
                seen.pop()
            case _:
                raise refuse(expression, "regexes or repetitions")

    strings = tuple(expand(node.excepted))
    if not all(strings):
        raise refuse(node.excepted, "the empty string")
    return strings


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
        program.add_placeholder(machine)
    first.append(len(program.code) // WIDTH)
    for at, terminal in emitter.terminals:
        program.set_machine(at, terminal_machine(terminal, rules, tree.source, limits))
    code, data = program.arrays()
    check_size(code, data, emitter.patterns, limits)
    firsts, after = np.array(first, np.int32), subtree_ends(code)
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


@dataclass(frozen=True, eq=False)
class Cfg:
    """A grammar that has been checked.

    Machines are built from ``program``; who explains a grammar to its author walks ``rules``.
    """

    start: str
    #: All rules by name, as they were written.
    written: Mapping[str, Expression]
    program: RuleProgram
    source: Source
    limits: Limits
    _machines: dict[int, Dfa] = field(default_factory=dict)

    @cached_property
    def rules(self) -> Mapping[str, Expression]:
        """The rules the start symbol reaches, without alternatives that derive no text."""
        names = self.program.names
        reached = self.program.reached_from(names.index(self.start))
        return {names[rule]: self._productive_part(self.written[names[rule]]) for rule in reached}

    def machine(self, terminal: Terminal) -> Dfa:
        """The minimal machine of a terminal, made when it is first asked for."""
        known = self._machines.get(id(terminal))
        if known is None:
            known = terminal_machine(terminal, self.written, self.source, self.limits)
            self._machines[id(terminal)] = known
        return known

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        program = self.program
        return {name: program.texts_of(rule) for rule, name in enumerate(program.names)}

    def is_nullable(self, expression: Expression) -> bool:
        """Whether an expression derives the empty text."""
        match expression:
            case Literal(value=value):
                return not value
            case Nonterminal(name=name):
                return bool(self._texts[name] & HAS_EMPTY)
            case Sequence(items=items):
                return all(map(self.is_nullable, items))
            case Choice(options=options):
                return any(map(self.is_nullable, options))
            case Repetition(item=item, low=low):
                return low == 0 or self.is_nullable(item)
            case _:
                machine = self.machine(expression)
                return bool(machine.finals[machine.initial])

    def _is_productive(self, expression: Expression) -> bool:
        known = {name for name, texts in self._texts.items() if texts}
        return derives(expression, known, lambda terminal: not self.machine(terminal).is_empty)

    def _productive_part(self, expression: Expression) -> Expression:
        """A productive expression without the alternatives that derive no text."""
        part = self._productive_part
        match expression:
            case Choice(options=options, span=span):
                kept = tuple(part(option) for option in options if self._is_productive(option))
                return kept[0] if len(kept) == 1 else Choice(kept, span)
            case Sequence(items=items, span=span):
                return Sequence(tuple(map(part, items)), span)
            case Repetition(item=item, low=low, high=high, span=span):
                if not self._is_productive(item):
                    return Sequence((), span)
                return Repetition(part(item), low, high, span)
            case _:
                return expression


def derives(
    expression: Expression, known: Set[str], of_terminal: Callable[[Terminal], bool]
) -> bool:
    """Whether an expression derives some text, if the rules ``known`` do."""
    match expression:
        case Literal():
            return True
        case Nonterminal(name=name):
            return name in known
        case Sequence(items=items):
            return all(derives(item, known, of_terminal) for item in items)
        case Choice(options=options):
            return any(derives(option, known, of_terminal) for option in options)
        case Repetition(item=item, low=low):
            return low == 0 or derives(item, known, of_terminal)
        case _:
            return of_terminal(expression)


def least(
    rules: Mapping[str, Expression], holds: Callable[[Expression, Set[str]], bool]
) -> frozenset[str]:
    """The least set of names closed under ``holds``: of a body, given the names known so far.

    Cost: a body is asked again only when something it calls has become known.
    """
    callers: dict[str, list[str]] = {}
    for name, body in rules.items():
        for called in dict.fromkeys(call.name for call in calls(body)):
            callers.setdefault(called, []).append(name)
    known: set[str] = set()
    waiting = list(rules)
    while waiting:
        name = waiting.pop()
        if name not in known and holds(rules[name], known):
            known.add(name)
            waiting.extend(callers.get(name, ()))
    return frozenset(known)


def terminals(expression: Expression) -> Iterator[Terminal]:
    """Every terminal in an expression that is a machine, from left to right."""
    match expression:
        case Pattern() | Substrings() | Except() | Automaton():
            yield expression
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from terminals(part)
        case Repetition(item=item):
            yield from terminals(item)


def gathered(tree: GrammarTree) -> dict[str, Expression]:
    """The rules by name; rules that share a name become one choice, in the order written."""
    options: dict[str, list[Expression]] = {}
    for rule in tree.rules:
        options.setdefault(rule.name, []).append(rule.body)
    return {
        name: bodies[0]
        if len(bodies) == 1
        else Choice(tuple(bodies), bodies[0].span.to(bodies[-1].span))
        for name, bodies in options.items()
    }
