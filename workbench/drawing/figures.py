"""The figures of Koo, Liu & He 2024 as graphs, built by this project's engine.

The drawings themselves say no more than their captions do, and the machines here follow those: what
a caption leaves open (an ε more or less) is noted with the figure. Figure 8 is a flowchart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import Dfa
from workbench.automata.nfa import NfaBuilder
from workbench.automata.thompson import thompson
from workbench.constraint.compose import compose
from workbench.constraint.compose_pda import compose_pda
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_dfa, draw_nfa, draw_token_fsa
from workbench.drawing.stack_machines import draw_pda, draw_token_pda
from workbench.drawing.transducers import (
    AB_TO_X,
    BRACKETED_RUNS,
    ODD_TO_XOX,
    draw_detokenizer,
    draw_fst,
    draw_unmerged_detokenizer,
)
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.pda import pda
from workbench.source import Source
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.toy import named_toy


@dataclass(frozen=True, slots=True)
class Figure:
    """One drawing: what it shows, and how to make it."""

    caption: str
    build: Callable[[], Graph]


#: Figure 6, left; in KBNF.
ANBN = "S ::= 'ab' | 'a' S 'b';"


def figure(name: str) -> Graph:
    """A figure by its number and place: ``1-left``, ``1-center``, …, ``9-right``.

    Raises: WorkbenchError for a name that is none.
    """
    if name not in FIGURES:
        raise WorkbenchError(f"expected a figure, not {name!r}", f"there are {', '.join(FIGURES)}")
    return _built(name)


@cache
def _built(name: str) -> Graph:
    return FIGURES[name].build()


def _regex(pattern: str) -> Graph:
    return draw_dfa(_dfa(pattern), f"/{pattern}/")


def _dfa(pattern: str) -> Dfa:
    return regex_dfa(parse_regex(Source(pattern, "figure")))


def _runs() -> Graph:
    """Two ε-edges, each to a state that repeats its letter; the caption says no more."""
    builder = NfaBuilder()
    start, of_as, of_bs = builder.new_state(), builder.new_state(), builder.new_state()
    for state, letter in ((of_as, ord("a")), (of_bs, ord("b"))):
        builder.epsilon(start, state)
        builder.edge(state, letter, letter, state)
    return draw_nfa(builder.build(start, {of_as, of_bs}), "runs of as or bs")


def _nondeterministic() -> Graph:
    return draw_nfa(thompson(parse_regex(Source("a+|ab", "figure"))), "/a+|ab/")


def _tokens_of_foo() -> Graph:
    dfa = _dfa("(foo)+d")
    return draw_token_fsa(compose(dfa, named_toy("figure-4")), dfa, "/(foo)+d/ over tokens")


def _anbn() -> Network:
    return Grammar.from_kbnf(ANBN, "S").network


def _tokens_of_anbn() -> Graph:
    machine = compose_pda(_anbn(), named_toy("figure-7"))
    return draw_token_pda(machine, "aⁿbⁿ over tokens")


FIGURES: dict[str, Figure] = {
    "1-left": Figure("accepts ab", lambda: _regex("ab")),
    "1-center": Figure("accepts odd numbers of as", lambda: _regex("a(aa)*")),
    "1-right": Figure("accepts runs of as or bs", _runs),
    "2-left": Figure("/a+|ab/, nondeterministic", _nondeterministic),
    "2-right": Figure("/a+|ab/, determinized", lambda: _regex("a+|ab")),
    "3-left": Figure("ab into x", lambda: draw_fst(AB_TO_X, "ab into x")),
    "3-center": Figure(
        "odd numbers of as into xo…x", lambda: draw_fst(ODD_TO_XOX, "odd numbers of as into xo…x")
    ),
    "3-right": Figure("runs, bracketed", lambda: draw_fst(BRACKETED_RUNS, "runs, bracketed")),
    "4-right": Figure(
        "tokens into characters: f, oo, foo, for, food",
        lambda: draw_detokenizer(named_toy("figure-4")),
    ),
    "5-left": Figure("/(foo)+d/ over characters", lambda: _regex("(foo)+d")),
    "5-right": Figure("/(foo)+d/ over the tokens of figure 4", _tokens_of_foo),
    "6-right": Figure("aⁿbⁿ with a stack", lambda: draw_pda(pda(_anbn()), "aⁿbⁿ")),
    "7-center": Figure(
        "tokens into characters: a, b, bb, aaab", lambda: draw_detokenizer(named_toy("figure-7"))
    ),
    "7-right": Figure("aⁿbⁿ over the tokens of figure 7", _tokens_of_anbn),
    "9-left": Figure(
        "figure 4 as Algorithm 1 builds it",
        lambda: draw_unmerged_detokenizer(named_toy("figure-4")),
    ),
    "9-right": Figure(
        "figure 4, common beginnings merged", lambda: draw_detokenizer(named_toy("figure-4"))
    ),
}
