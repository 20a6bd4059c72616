"""From the text of a grammar to its machines, constraints, pictures and problems, with a cache.

``Grammar.from_…`` and ``compile`` of the library compute their result at every call. The page and
the command line use ``Compiled``, which computes each result once, on demand, and ``Pipeline``,
which caches ``Compiled`` objects by text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from workbench.analysis.advice import Lint, lint, tree_advice
from workbench.analysis.run_tracing import RunTracer
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
    draw_tokens,
    machine_below,
    missing,
)
from workbench.drawing.graph import Graph
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary

T = TypeVar("T")

#: Seconds of the search for an ambiguous text, after an author has stopped typing.
_LINT_SECONDS = 0.5


@dataclass(slots=True, eq=False)
class Compiled:
    """The result of compiling a text: a grammar, or problems.

    Machines, constraints and pictures are computed on first use. Safe to share between threads.
    """

    text: str
    notation: Notation
    limits: Limits
    grammar: Grammar | None
    problems: tuple[Problem, ...]
    phases: list[Phase]
    _results: dict[object, object] = field(default_factory=dict)
    _locks: dict[object, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def milliseconds(self) -> float:
        return sum(phase.milliseconds for phase in self.phases)

    @property
    def facts(self) -> tuple[str, ...]:
        """The number of rules, the class of language, the number of states."""
        grammar = self.grammar
        return () if grammar is None else self._once("facts", lambda: self._facts(grammar))

    def _facts(self, grammar: Grammar) -> tuple[str, ...]:
        facts = []
        if grammar.tree is not None:
            rules = len({rule.name for rule in grammar.tree.rules})
            facts.append(f"{rules:,} rule{'s' * (rules != 1)}")
        facts.append("regular" if grammar.is_regular else "context-free")
        try:
            states = self._states(grammar)
        except LimitError:
            return (*facts, "too many states to build them all")
        return (*facts, f"{states:,} state{'s' * (states != 1)}")

    def _states(self, grammar: Grammar) -> int:
        """The number of states of the whole machine; a lazy machine is built here, as a phase.

        Raises: LimitError.
        """
        if not isinstance(grammar.reader, LazyDfa):
            return len(grammar.machine)
        with timed("all states", self.phases):
            return len(grammar.machine)

    @property
    def advice(self) -> tuple[Problem, ...]:
        """Advice on a grammar that works, without the ambiguity search."""
        grammar = self.grammar
        if grammar is None:
            return ()
        return self._once(
            "advice",
            lambda: tuple(Problem.advised(one, grammar.source) for one in tree_advice(grammar)),
        )

    def follower(self) -> RunTracer:
        """A follower of a run through the machines of the grammar, at its beginning.

        Raises: WorkbenchError where there is no grammar.
        """
        return RunTracer(
            self.readable(),
            self.characters,
            self._numbers(Machine.CHARACTERS),
            self._numbers(Machine.RULES),
        )

    def _numbers(self, machine: Machine) -> Mapping[str, str]:
        """State → its number in the picture of a machine; empty where there is no picture."""
        if self.missing(machine):
            return {}
        try:
            return self.drawn(machine).numbers
        except WorkbenchError:
            return {}

    def linted(self, vocabulary: Vocabulary | None) -> Lint:
        """All advice, from the ambiguity search and on the vocabulary too; computed once."""
        grammar = self.readable()
        return self._once(
            ("lint", vocabulary), lambda: lint(grammar, vocabulary, seconds=_LINT_SECONDS)
        )

    def missing(self, machine: Machine) -> str:
        """Why the grammar has no such machine; empty where it has one."""
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
        """The constraint over a vocabulary, compiled once for a method and its options.

        Raises: VocabularyError, LimitError; WorkbenchError where a method does not apply.
        """
        grammar, limits = self.readable(), self.limits
        return self._once(
            ("constraint", method, vocabulary, small_tokens, *sorted(options.items())),
            lambda: compile_constraint(
                grammar, vocabulary, method, limits, small_tokens=small_tokens, **options
            ),
        )

    def first_mask(self, vocabulary: Vocabulary) -> tuple[Phase, ...]:
        """The times of compiling a constraint over a vocabulary and of its first mask.

        Measured once, on a new constraint; the vocabulary's own tables are built before.

        Raises: VocabularyError, LimitError.
        """
        grammar, limits = self.readable(), self.limits

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
        """The graph of a machine; ``vocabulary`` is for machines over tokens.

        Raises: WorkbenchError where the grammar has no such machine; LimitError.
        """
        return self.drawn(machine, vocabulary).graph

    def drawn(self, machine: Machine, vocabulary: Vocabulary | None = None) -> Drawn:
        """The graph of a machine with what is needed to follow a run in it."""
        if why := self.missing(machine):
            raise WorkbenchError(why)
        grammar, limits = self.readable(), self.limits
        if machine is Machine.TOKENS and vocabulary is not None:
            under = self.drawn(machine_below(grammar))
            make = partial(draw_tokens, grammar, under, vocabulary, limits)
        else:
            make = partial(draw, grammar, machine, vocabulary, limits=limits)
        return self._once((machine, vocabulary if machine in OVER_TOKENS else None), make)

    @property
    def characters(self) -> Dfa | LazyDfa | None:
        """The character automaton, lazy where it would be too large; None where there is none."""
        return characters_of(self.readable())

    def readable(self) -> Grammar:
        """The grammar.

        Raises: WorkbenchError where the text has none.
        """
        if self.grammar is None:
            raise WorkbenchError("the grammar cannot be read yet", "fix its problems first")
        return self.grammar

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """The result of ``make``, computed once; a LimitError not of time is cached too."""
        # one lock for each key: a quick picture does not wait for a slow one
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._results:
                try:
                    self._results[key] = make()
                except LimitError as error:
                    if error.budget == "seconds":
                        raise
                    self._results[key] = error
            result = self._results[key]
        if isinstance(result, LimitError):
            raise LimitError(result.message, result.budget, result.hint)
        return result  # type: ignore[return-value]  # the key names the type


def compile_text(
    text: str,
    notation: Notation,
    start: str = "start",
    vocabulary: Vocabulary | None = None,
    limits: Limits = LIMITS,
    style: str = "",
) -> Compiled:
    """Compile a text, and its constraint if a vocabulary is given; errors become problems."""
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


class Pipeline:
    """``compile_text`` with a cache of the latest texts and everything computed from them.

    At most two texts are compiled at a time, the number of cores of a small machine.
    """

    def __init__(self, limits: Limits = LIMITS, cached: int = 64, parallel: int = 2) -> None:
        self.limits = limits
        self._max_cached = cached
        self._cache: OrderedDict[tuple[str, Notation, str, str], Compiled] = OrderedDict()
        self._lock = threading.Lock()
        self._gate = threading.BoundedSemaphore(parallel)

    def compile(
        self, text: str, notation: Notation, start: str = "start", style: str = ""
    ) -> Compiled:
        """The ``Compiled`` of a text, from the cache if it is there."""
        key = (text, notation, start, style)
        with self._lock:
            if (cached := self._cache.get(key)) is not None:
                self._cache.move_to_end(key)
                return cached
        with self._gate:
            compiled = compile_text(text, notation, start, limits=self.limits, style=style)
        with self._lock:
            self._cache[key] = compiled
            while len(self._cache) > self._max_cached:
                self._cache.popitem(last=False)
        return compiled
