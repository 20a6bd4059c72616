"""The automaton of a regex or of a terminal.

A small machine is determinized and minimized immediately; one that could explode is returned as a
``LazyDfa``, which is determinized while texts are read.
"""

from __future__ import annotations

from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.nfa import Nfa
from workbench.automata.operations import (
    first_match,
    without_match,
)
from workbench.automata.small_dfa import SMALL, direct_dfa, small_dfa, smallest
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.syntax.grammar_tree import Pattern, Stop
from workbench.syntax.regex.tree import Regex

#: A DFA of at most ``_EAGER_STATES + _EAGER_FACTOR * len(nfa)`` states is built immediately. One
#: that has many more states than its regex rarely stays small.
_EAGER_STATES, _EAGER_FACTOR = 64, 4
#: Above this NFA size the regex is usually a long literal text; its DFA is built immediately if
#: the NFA is unambiguous.
_LITERAL_NFA_STATES = 4_096


def regex_dfa(regex: Regex, limits: Limits = LIMITS) -> Dfa:
    """The smallest DFA over bytes that accepts the full matches of a regex.

    Raises: LimitError where unrolling, subsets or the time exceed a limit.
    """
    clock = limits.clock()
    return smallest(thompson(regex, limits), limits, clock)


def regex_machine(regex: Regex, limits: Limits = LIMITS) -> Dfa | LazyDfa:
    """A DFA for the full matches of a regex: the smallest one if that is cheap, else a lazy one.

    Raises: LimitError where unrolling exceeds its limit.
    """
    return nfa_machine(thompson(regex, limits), limits)


def nfa_machine(nfa: Nfa, limits: Limits = LIMITS) -> Dfa | LazyDfa:
    """The smallest DFA of an Nfa if that is cheap, else a lazy one."""
    max_states = min(limits.states, SMALL, _EAGER_STATES + _EAGER_FACTOR * len(nfa))
    dfa = small_dfa(nfa, max_states)
    if dfa is None and len(nfa) > _LITERAL_NFA_STATES:
        dfa = direct_dfa(nfa, limits)
    return dfa or LazyDfa(nfa, limits)


def pattern_dfa(pattern: Pattern, limits: Limits = LIMITS) -> Dfa:
    """The smallest DFA of a regex terminal; ``pattern.stop`` says which matches it accepts.

    Raises: LimitError where unrolling, subsets or the time exceed a limit.
    """
    match pattern.stop:
        case Stop.ANYWHERE:
            return regex_dfa(pattern.regex, limits)
        case Stop.FIRST_MATCH:
            return first_match(regex_dfa(pattern.regex, limits), limits)
        case Stop.BEFORE_MATCH:
            return without_match(pattern.regex, limits)
