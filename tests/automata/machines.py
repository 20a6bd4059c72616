"""Helpers that build automata from patterns, for the tests of this package."""

from __future__ import annotations

from workbench.automata.build import regex_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect, Flags
from workbench.syntax.regex.tree import Regex


def tree(pattern: str, dialect: Dialect = Dialect.PYTHON, flags: Flags = Flags()) -> Regex:  # noqa: B008
    return parse_regex(Source(pattern, "regex"), dialect=dialect, flags=flags)


def machine(pattern: str, limits: Limits = LIMITS) -> Dfa:
    return regex_dfa(tree(pattern), limits)


def dfa_of(pattern: str) -> Dfa:
    """The automaton of a grammar."""
    dfa = Grammar.from_regex(pattern).dfa
    assert dfa is not None
    return dfa


def rows(dfa: Dfa) -> list[list[int]]:
    return [list(row) for row in dfa.table.tolist()]


def is_viable(dfa: Dfa, data: bytes) -> bool:
    return not dfa.is_empty and dfa.run(data) != DEAD
