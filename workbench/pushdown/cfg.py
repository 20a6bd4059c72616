"""A grammar tree as rules by name and as one flat program.

``RuleProgram`` is the form that kernels read (``automata.regex_program``), with facts about each
rule: which texts it has, and which rules it calls. ``Cfg`` adds the expressions of the rules, in
which every called nonterminal has a body; several rules with one name are one choice.

``with_leaf_rules`` gives machines inside expressions names of their rules, for pictures and for
descriptions of a stack: ``schema › string`` is clearer than one of twenty states in ``schema``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field

import numpy as np

from workbench.automata.build import pattern_dfa
from workbench.automata.graphs import reachable
from workbench.automata.nfa import Flags, Ints
from workbench.automata.operations import excluding, substrings
from workbench.automata.regex_program import (
    CALL,
    CHOICE,
    HAS_EMPTY,
    MACHINE,
    RANGE,
    REPEAT,
    SEQUENCE,
    WIDTH,
    Program,
    check_size,
)
from workbench.automata.thompson import add as add_regex
from workbench.base.cached_property import cached_property
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.limits import Limits, check_time_budget
from workbench.base.source import Source
from workbench.pushdown.rule_facts import AT_END, AT_START, facts
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Mark,
    Names,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    Substrings,
    calls,
    choice,
    holds,
)
from workbench.syntax.permutation_phrases import PermutationPhrase
from workbench.syntax.regex.tree import walk

#: A terminal whose language is an automaton rather than one string.
Terminal = Pattern | Substrings | Except | Automaton


def terminal_machine(
    terminal: Terminal, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> Dfa:
    """The DFA of a terminal; ``rules`` are needed for the arguments of ``except!``.

    It is minimal, except if it was given by an ``Automaton``.

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
            empty strings; LimitError if the strings have more than ``limits.unrolled`` bytes.
    """

    def refuse(part: Expression, what: str) -> BuildError:
        span = part.span if not seen else node.excepted.span
        return BuildError(
            f"except! takes an alternation of non-empty strings, not {what}",
            source,
            span,
            "name a rule that contains only strings and '|'",
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


@dataclass(frozen=True, eq=False)
class RuleProgram:
    """The rules as one program; rules are numbered in the order of ``names``.

    Shape: ``code`` (instructions, 3), those of rule r are ``first[r]:first[r + 1]``; ``data`` as in
           ``automata.regex_program``; ``after`` (instructions,), their subtree ends;
           ``texts`` (instructions,), which texts each has, as bits (``HAS_TEXT`` and so on).
    """

    names: tuple[str, ...]
    code: Ints
    data: Ints
    first: Ints
    after: Ints
    texts: Ints
    #: All calls in the order of their callers, columns ``CALLER`` … ``AT_START``.
    all_calls: Ints
    #: The rules that are only an automaton; see ``separate_program``.
    machines: Mapping[int, Dfa]
    #: The permutation phrases of rules: one at most in each.
    phrases: Mapping[int, PermutationPhrase]
    #: The marks of the phrases, (n, 2): an instruction, and the mark's number. The instruction and
    #: the next one are ranges, which ``compile_rules.Writer`` replaces by symbols of the mark.
    marks: Ints

    @cached_property
    def calls(self) -> list[list[int]]:
        """The rules each rule calls, from left to right, without parts that derive no text."""
        return self._calls(np.ones(len(self.all_calls), np.bool_))

    @cached_property
    def first_calls(self) -> list[list[int]]:
        """Those it can call before it has read anything."""
        return self._calls(self.all_calls[:, AT_START] != 0)

    def _calls(self, which: Flags) -> list[list[int]]:
        calls: list[list[int]] = [[] for _ in self.names]
        for caller, called in self.all_calls[which, :AT_END].tolist():
            calls[caller].append(called)
        return calls

    def texts_of(self, rule: int) -> int:
        """Which texts a rule has, as bits."""
        return int(self.texts[self.first[rule]])

    def reached_from(self, start: int) -> list[int]:
        """The rule itself and the rules it calls, directly or through others, breadth first."""
        return list(reachable([start], self.calls.__getitem__))


def rule_program(tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits) -> RuleProgram:
    """The program of ``rules``, those of the tree by name.

    Raises: KeyError for a name without a rule; BuildError for invalid arguments of ``except!``;
            LimitError for regexes that are too large.
    """
    return _make_program(_Emitter(rules), tree, rules, limits)


def separate_program(
    tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits
) -> RuleProgram:
    """As ``rule_program``, but every ``Automaton`` is a separate rule, named after its label.

    These rules come after ``rules``, whose numbers do not change.

    Raises: as ``rule_program``.
    """
    return _make_program(_SeparateEmitter(rules), tree, rules, limits)


def _make_program(
    emitter: _Emitter, tree: GrammarTree, rules: Mapping[str, Expression], limits: Limits
) -> RuleProgram:
    first, phrases, clock = [], dict[int, PermutationPhrase](), limits.clock()
    for body in rules.values():
        clock.check()
        first.append(len(emitter.program.code) // WIDTH)
        emitter.phrase = None
        emitter.add(body)
        if emitter.phrase is not None:
            phrases[len(first) - 1] = emitter.phrase
    program = emitter.program
    for machine in emitter.separate:
        index = len(program.code) // WIDTH
        first.append(index)
        program.add_placeholder(machine)
    first.append(len(program.code) // WIDTH)
    for index, terminal in emitter.terminals:
        clock.check()
        program.set_machine(index, terminal_machine(terminal, rules, tree.source, limits))
    code, data = program.arrays()
    if emitter.patterns:
        check_size(code, data, emitter.patterns, limits)
    firsts = np.array(first, np.int32)
    after, texts, call_table = facts(code, firsts)
    names = (*rules, *(label for _, label in emitter.separate.values()))
    machines = {number: machine for machine, (number, _) in emitter.separate.items()}
    marks = np.array(emitter.marks, np.int32).reshape(-1, 2)
    return RuleProgram(
        names, code, data, firsts, after, texts, call_table, machines, phrases, marks
    )


class _Emitter:
    """Writes expressions as instructions."""

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self.program = Program()
        self.numbers = {name: number for number, name in enumerate(rules)}
        #: The instructions at which regexes begin that are part of the program, and the
        #: instructions of terminals that are replaced by automata at the end.
        self.patterns: list[int] = []
        self.terminals: list[tuple[int, Terminal]] = []
        #: Automata that are separate rules: the number and the name of the rule.
        self.separate: dict[Dfa, tuple[int, str]] = {}
        #: The phrase of the present rule; the marks as in ``RuleProgram``.
        self.phrase: PermutationPhrase | None = None
        self.marks: list[tuple[int, int]] = []

    def add(self, expression: Expression) -> None:
        """Add an expression; KeyError for a name that has no rule."""
        # tests of types one by one take 0.75 of the time of a match statement
        code = self.program.code
        if type(expression) is Nonterminal:
            code += (CALL, self.numbers[expression.name], 0)
        elif type(expression) is Literal:
            self.program.literal(expression.value)
        elif type(expression) is Sequence:
            code += (SEQUENCE, len(expression.items), 0)
            for item in expression.items:
                self.add(item)
        elif type(expression) is Choice:
            code += (CHOICE, len(expression.options), 0)
            for option in expression.options:
                self.add(option)
        elif type(expression) is Repetition:
            high = expression.high
            code += (REPEAT, expression.low, -1 if high is None else high)
            self.add(expression.item)
        elif type(expression) is Pattern and expression.stop is Stop.ANYWHERE:
            self.patterns.append(len(code) // WIDTH)
            add_regex(self.program, expression.regex)
        elif type(expression) is Mark:
            assert self.phrase in (None, expression.phrase), "a rule has one phrase at most"
            self.phrase = expression.phrase
            code += (SEQUENCE, 2, 0)
            self.marks.append((len(code) // WIDTH, expression.number))
            code += (RANGE, 0, 0, RANGE, 0, 0)
        else:
            assert isinstance(expression, Terminal)
            self._add_terminal(expression)

    def _add_terminal(self, terminal: Terminal) -> None:
        if isinstance(terminal, Except) and isinstance(terminal.excepted, Nonterminal):
            _ = self.numbers[terminal.excepted.name]
        self.terminals.append((len(self.program.code) // WIDTH, terminal))
        self.program.code += (MACHINE, -1, 0)


class _SeparateEmitter(_Emitter):
    """Writes each ``Automaton`` as a call of a separate rule."""

    def _add_terminal(self, terminal: Terminal) -> None:
        if not isinstance(terminal, Automaton):
            super()._add_terminal(terminal)
            return
        after = len(self.numbers) + len(self.separate)
        number, _ = self.separate.setdefault(terminal.machine, (after, terminal.label))
        self.program.code += (CALL, number, 0)


@dataclass(frozen=True, eq=False)
class Cfg:
    """A checked grammar.

    Machines are built from ``program``; explanations for the user are computed from ``rules``.
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
        """The DFA of a terminal, cached."""
        cached = self._machines.get(id(terminal))
        if cached is None:
            cached = terminal_machine(terminal, self.written, self.source, self.limits)
            self._machines[id(terminal)] = cached
        return cached

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        program = self.program
        return {name: program.texts_of(rule) for rule, name in enumerate(program.names)}

    def is_nullable(self, expression: Expression) -> bool:
        """Whether an expression derives the empty text."""
        return holds(expression, self._is_nullable_leaf)

    def _is_nullable_leaf(self, leaf: Literal | Nonterminal | Terminal) -> bool:
        if isinstance(leaf, Literal):
            return not leaf.value
        if isinstance(leaf, Nonterminal):
            return bool(self._texts[leaf.name] & HAS_EMPTY)
        machine = self.machine(leaf)
        return bool(machine.finals[machine.initial])

    @cached_property
    def _productive(self) -> set[str]:
        """The rules that derive a text."""
        return {name for name, texts in self._texts.items() if texts}

    def _is_productive(self, expression: Expression) -> bool:
        return derives(
            expression, self._productive, lambda terminal: not self.machine(terminal).is_empty
        )

    def _productive_part(self, expression: Expression) -> Expression:
        """A productive expression without the alternatives that derive no text."""
        check_time_budget()
        part = self._productive_part
        match expression:
            case Choice(options=options, span=span):
                return choice(
                    [part(option) for option in options if self._is_productive(option)], span
                )
            case Sequence(items=items, span=span):
                return Sequence(tuple(map(part, items)), span)
            case Repetition(item=item, low=low, high=high, span=span):
                if not self._is_productive(item):
                    return Sequence((), span)
                return Repetition(part(item), low, high, span)
            case _:
                return expression


def derives(
    expression: Expression, names: Set[str], of_terminal: Callable[[Terminal], bool]
) -> bool:
    """Whether an expression derives some text, given that the rules ``names`` do."""

    def of_leaf(leaf: Literal | Nonterminal | Terminal) -> bool:
        if isinstance(leaf, Nonterminal):
            return leaf.name in names
        return isinstance(leaf, Literal) or of_terminal(leaf)

    return holds(expression, of_leaf)


def least(
    rules: Mapping[str, Expression], holds: Callable[[Expression, Set[str]], bool]
) -> frozenset[str]:
    """The least fixed point of ``holds``, a property of a body, given the names that have it.

    Cost: a body is tested again only if a rule it calls has been added.
    """
    callers: dict[str, list[str]] = {}
    for name, body in rules.items():
        check_time_budget()
        for called in dict.fromkeys(call.name for call in calls(body)):
            callers.setdefault(called, []).append(name)
    names: set[str] = set()
    waiting = list(rules)
    while waiting:
        check_time_budget()
        name = waiting.pop()
        if name not in names and holds(rules[name], names):
            names.add(name)
            waiting.extend(callers.get(name, ()))
    return frozenset(names)


def terminals(expression: Expression) -> Iterator[Terminal]:
    """Every terminal of an expression that is an automaton, from left to right."""
    return (node for node in walk(expression) if isinstance(node, Terminal))


def gathered(tree: GrammarTree) -> dict[str, Expression]:
    """The rules by name; rules with the same name become one choice, in their order."""
    options: dict[str, list[Expression]] = {}
    for rule in tree.rules:
        options.setdefault(rule.name, []).append(rule.body)
    return {
        name: bodies[0]
        if len(bodies) == 1
        else Choice(tuple(bodies), bodies[0].span.to(bodies[-1].span))
        for name, bodies in options.items()
    }


def with_leaf_rules(tree: GrammarTree) -> GrammarTree:
    """The same language; occurrences of one automaton with one label share a rule."""
    leaf_rules = _LeafRules(tree)
    rules = [rule if _is_leaf(rule) else leaf_rules.rule(rule) for rule in tree.rules]
    return GrammarTree((*rules, *leaf_rules.leaves.values()), tree.source)


def leaf_labels(tree: GrammarTree) -> dict[str, str]:
    """The labels of the rules that are only an automaton."""
    return {rule.name: rule.body.label for rule in tree.rules if isinstance(rule.body, Automaton)}


def _is_leaf(rule: Rule) -> bool:
    return isinstance(rule.body, Automaton)


class _LeafRules:
    """Replaces automata by calls of new rules."""

    def __init__(self, tree: GrammarTree) -> None:
        self._names = Names(rule.name for rule in tree.rules)
        #: By the identity of the machine, and its label.
        self.leaves: dict[tuple[int, str], Rule] = {}

    def rule(self, rule: Rule) -> Rule:
        return Rule(rule.name, self._call(rule.body), rule.name_span, rule.span)

    def _call(self, body: Expression) -> Expression:
        if isinstance(body, Automaton):
            return Nonterminal(self._name(body), body.span)
        return body.rebuild(self._call)

    def _name(self, leaf: Automaton) -> str:
        key = id(leaf.machine), leaf.label
        if key not in self.leaves:
            name = self._names.fresh(leaf.label, " ")
            self.leaves[key] = Rule(name, leaf, leaf.span, leaf.span)
        return self.leaves[key].name
