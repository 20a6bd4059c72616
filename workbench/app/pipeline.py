"""The whole way on one page: a typed grammar comes in; machines, constraint, problems go out.

``from_…`` and ``compile`` of the library do their work anew at every call; what the page asks for
twice is remembered here, by text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.analysis.lint import Lint, lint, tree_advice
from workbench.analysis.run_tracing import PicturedMachine, RunTracer
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, Phase, timed
from workbench.base.problems import Problem
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import ready as ready_for_masks
from workbench.constraint.protocol import Constraint
from workbench.drawing.drawable import (
    OVER_TOKENS,
    Drawn,
    Machine,
    characters_of,
    draw,
    draw_proper,
    draw_tokens,
    draw_vocabulary,
    missing,
)
from workbench.drawing.graph import Graph
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary

T = TypeVar("T")

#: So long an ambiguous text is looked for, after an author has stopped typing.
_LINT_SECONDS = 0.5


@dataclass(slots=True, eq=False)
class Compiled:
    """What became of a text: a grammar, or problems.

    What is drawn or decoded from it is made when first asked for. Safe to share between threads.
    """

    text: str
    notation: Notation
    limits: Limits
    grammar: Grammar | None
    problems: tuple[Problem, ...]
    phases: list[Phase]
    _made: dict[object, object] = field(default_factory=dict)
    _locks: dict[object, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def milliseconds(self) -> float:
        return sum(phase.milliseconds for phase in self.phases)

    @property
    def facts(self) -> tuple[str, ...]:
        """What a reader wants to know at a glance: rules, class of language, size."""
        grammar = self.grammar
        return () if grammar is None else self._once("facts", lambda: self._facts(grammar))

    def _facts(self, grammar: Grammar) -> tuple[str, ...]:
        told = []
        if grammar.tree is not None:
            rules = len({rule.name for rule in grammar.tree.rules})
            told.append(f"{rules:,} rule{'s' * (rules != 1)}")
        told.append("regular" if grammar.is_regular else "context-free")
        try:
            states = self._states(grammar)
        except LimitError:
            return (*told, "too many states to make them all")
        return (*told, f"{states:,} state{'s' * (states != 1)}")

    def _states(self, grammar: Grammar) -> int:
        """How many states the whole machine has; making it is a phase where it was put off.

        Raises: LimitError
        """
        if not isinstance(grammar.reader, LazyDfa):
            return len(grammar.machine)
        with timed("all states", self.phases):
            return len(grammar.machine)

    @property
    def advice(self) -> tuple[Problem, ...]:
        """What the author may want to mend, where nothing is wrong; found when first asked for."""
        grammar = self.grammar
        if grammar is None:
            return ()
        return self._once(
            "advice",
            lambda: tuple(Problem.advised(one, grammar.source) for one in tree_advice(grammar)),
        )

    def follower(self) -> RunTracer:
        """Follows a run through the machines of the grammar, from its beginning.

        Raises: WorkbenchError where there is no grammar.
        """
        return RunTracer(self._readable(), self.characters, self._numbers)

    def _numbers(self, followed: PicturedMachine) -> Mapping[str, str]:
        """The numbers of the states of a machine as pictures show them."""
        machine = Machine.CHARACTERS if followed is PicturedMachine.CHARACTERS else Machine.RULES
        if self.missing(machine):
            return {}
        try:
            return self.drawn(machine).numbers
        except WorkbenchError:
            return {}

    def linted(self, vocabulary: Vocabulary | None) -> Lint:
        """All advice, the ambiguity search and the vocabulary's included; looked for once."""
        grammar = self._readable()
        return self._once(("lint", vocabulary), lambda: lint(grammar, vocabulary, _LINT_SECONDS))

    def missing(self, machine: Machine) -> str:
        """Why there is no such machine; empty where there is one."""
        if self.grammar is None:
            return "the grammar cannot be read yet"
        return missing(self.grammar, machine)

    def constraint(
        self,
        vocabulary: Vocabulary,
        method: str = "automaton",
        *,
        small_tokens: bool = False,
        **options: Hashable,
    ) -> Constraint:
        """The constraint over a vocabulary, made once for a method and its options.

        Raises: VocabularyError, LimitError; WorkbenchError where a method does not apply.
        """
        grammar, limits = self._readable(), self.limits
        return self._once(
            ("constraint", method, vocabulary, small_tokens, *sorted(options.items())),
            lambda: compile_constraint(
                grammar, vocabulary, method, limits, small_tokens=small_tokens, **options
            ),
        )

    def first_mask(self, vocabulary: Vocabulary) -> tuple[Phase, ...]:
        """How long a constraint over a vocabulary takes to make, and its first mask.

        Measured once, on one made for it; what belongs to the vocabulary alone is there before.

        Raises: VocabularyError, LimitError.
        """
        grammar, limits = self._readable(), self.limits

        def measured() -> tuple[Phase, ...]:
            phases: list[Phase] = []
            ready_for_masks()
            _ = vocabulary.trie.records
            with timed("tokens", phases):
                constraint = compile_constraint(grammar, vocabulary, limits=limits)
            with timed("first mask", phases):
                constraint.mask(constraint.initial)
            return tuple(phases)

        return self._once(("first mask", vocabulary), measured)

    def graph(self, machine: Machine, vocabulary: Vocabulary | None = None) -> Graph:
        """A machine as a picture's data; ``vocabulary`` is for the machines over tokens.

        Raises: WorkbenchError where there is no such machine, LimitError where it is too large.
        """
        return self.drawn(machine, vocabulary).graph

    def drawn(self, machine: Machine, vocabulary: Vocabulary | None = None) -> Drawn:
        """The same, with what a run is followed by in it."""
        if why := self.missing(machine):
            raise WorkbenchError(why)
        if machine not in OVER_TOKENS:
            return self._once(machine, lambda: draw(self._readable(), machine))
        if vocabulary is None:
            raise WorkbenchError("expected a vocabulary for a machine over tokens")
        return self._once((machine, vocabulary), lambda: self._over_tokens(machine, vocabulary))

    def _over_tokens(self, machine: Machine, vocabulary: Vocabulary) -> Drawn:
        if machine is Machine.DETOKENIZER:
            return draw_vocabulary(vocabulary)
        grammar = self._readable()
        if machine is Machine.PROPER:
            return draw_proper(grammar, vocabulary, self.limits)
        under = self.drawn(Machine.CHARACTERS if grammar.is_regular else Machine.STACK)
        return draw_tokens(grammar, under, vocabulary, self.limits)

    @property
    def characters(self) -> Dfa | LazyDfa | None:
        """The character automaton, made as it is read where it would explode; None without one."""
        return characters_of(self._readable())

    def _readable(self) -> Grammar:
        if self.grammar is None:
            raise WorkbenchError("the grammar cannot be read yet", "fix its problems first")
        return self.grammar

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` returns, made once; a refusal that does not depend on time is kept too."""
        # a lock a thing: who asks for a quick picture does not wait for a slow one
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._made:
                try:
                    self._made[key] = make()
                except LimitError as error:
                    if error.budget == "seconds":
                        raise
                    self._made[key] = error
            made = self._made[key]
        if isinstance(made, LimitError):
            raise LimitError(made.message, made.budget, made.hint)
        return made  # type: ignore[return-value]  # the key names the type


def compile_text(
    text: str,
    notation: Notation,
    start: str = "start",
    vocabulary: Vocabulary | None = None,
    limits: Limits = LIMITS,
    style: str = "",
) -> Compiled:
    """Read and build a grammar, with a vocabulary its constraint too; bad text becomes problems."""
    phases: list[Phase] = []
    grammar: Grammar | None = None
    problems: tuple[Problem, ...] = ()
    try:
        grammar = Grammar.from_text(
            text, notation, start, style=style, limits=limits, phases=phases
        )
    except WorkbenchError as error:
        grammar, problems = None, (Problem.of(error),)
    compiled = Compiled(text, notation, limits, grammar, problems, phases)
    if grammar is not None and vocabulary is not None:
        ready_for_masks()
        try:
            with timed("tokens", phases):
                compiled.constraint(vocabulary)
        except WorkbenchError as error:
            compiled.problems = (Problem.of(error),)
    return compiled


def compile_grammar(grammar: Grammar, limits: Limits = LIMITS) -> Compiled:
    """The machines of a grammar that is built already."""
    return Compiled(grammar.source.text, grammar.notation, limits, grammar, (), [])


class Pipeline:
    """``compile_text`` with a memory: the last texts are kept with everything made from them.

    Two texts are compiled at a time, as many as a small machine has cores.
    """

    def __init__(self, limits: Limits = LIMITS, remembered: int = 64, at_once: int = 2) -> None:
        self.limits = limits
        self._remembered = remembered
        self._memory: OrderedDict[tuple[str, Notation, str, str], Compiled] = OrderedDict()
        self._lock = threading.Lock()
        self._gate = threading.BoundedSemaphore(at_once)

    def compile(
        self, text: str, notation: Notation, start: str = "start", style: str = ""
    ) -> Compiled:
        """What became of a text; from memory where it was asked for before."""
        key = (text, notation, start, style)
        with self._lock:
            if (known := self._memory.get(key)) is not None:
                self._memory.move_to_end(key)
                return known
        with self._gate:
            made = compile_text(text, notation, start, limits=self.limits, style=style)
        with self._lock:
            self._memory[key] = made
            while len(self._memory) > self._remembered:
                self._memory.popitem(last=False)
        return made
