"""Phases: the text of a grammar in, the grammar out, and how long each step of the way took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.automata.build import machine_of
from workbench.automata.lazy import LazyDfa
from workbench.automata.small import ready as ready_for_regexes
from workbench.automata.thompson import thompson
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.notations import Notation, check_style, written
from workbench.notations import ready as ready_to_read
from workbench.pushdown.apart import build_apart
from workbench.pushdown.build import context_free, whole_machine
from workbench.source import Source
from workbench.syntax.regex.parser import parse_regex


@dataclass(frozen=True, slots=True)
class Phase:
    """A piece of a compilation and how long it took."""

    name: str
    milliseconds: float


@contextmanager
def timed(name: str, phases: list[Phase]) -> Iterator[None]:
    """Add what is done inside as a phase, also where it fails."""
    started = time.perf_counter()
    try:
        yield
    finally:
        phases.append(Phase(name, 1000 * (time.perf_counter() - started)))


def read(
    text: str, notation: Notation, start: str, style: str, limits: Limits, phases: list[Phase]
) -> Grammar:
    """The grammar of a text, and how long each step of making it took.

    Raises: ParseError, BuildError, LimitError; WorkbenchError for a style there is none of.
    """
    check_style(notation, style)
    if notation is Notation.REGEX:
        return _read_regex(text, limits, phases)
    return _read_rules(text, notation, start, style, limits, phases)


def _read_regex(text: str, limits: Limits, phases: list[Phase]) -> Grammar:
    """``Grammar.from_regex``, phase by phase."""
    ready_for_regexes()  # what is made once a process is in no grammar's time
    source, work = Source(text, "regex"), limits.begun()
    with timed("read", phases):
        regex = parse_regex(source, clock=work.clock())
    with timed("NFA", phases):
        nfa = thompson(regex, work)
    with timed("minimal DFA", phases):
        machine = machine_of(nfa, work)
    if isinstance(machine, LazyDfa):  # it is large: what was made is only its beginning
        phases[-1] = Phase("first states", phases[-1].milliseconds)
    return Grammar(source, Notation.REGEX, machine, regex=regex, limits=limits)


def _read_rules(
    text: str, notation: Notation, start: str, style: str, limits: Limits, phases: list[Phase]
) -> Grammar:
    """``Grammar.from_text`` for whatever is made of rules, phase by phase."""
    ready_to_read(notation)
    source, work = Source(text, "grammar"), limits.begun()
    with timed("read", phases):
        read = written(source, notation, start, work, style)
    if notation.is_translated:
        with timed("automata", phases):
            apart = build_apart(read.tree, read.start, work)
        return Grammar.of_tree(source, notation, read, apart, limits)
    with timed("rules", phases):
        cfg = context_free(read.tree, read.start, work)
    with timed("automata", phases):
        machine = whole_machine(cfg, work)
    return Grammar.of_tree(source, notation, read, machine, limits)
