"""From a tree to its smallest machine: regex, or regex terminal of a grammar, in; Dfa out."""

from __future__ import annotations

from workbench.automata.determinize import determinize
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa
from workbench.automata.operations import first_match, without_match
from workbench.automata.small_dfa import SMALL, direct_dfa, small_dfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.syntax.grammar_tree import Pattern, Stop
from workbench.syntax.regex.tree import Regex

#: A machine of at most so many states, and so many a state of its Nfa, is made at once.
_FEW, _TIMES = 64, 4
#: A regex of more states is a long text, as a rule, whose machine is made at once too.
_LONG = 4_096


def regex_dfa(regex: Regex, limits: Limits = LIMITS) -> Dfa:
    """The smallest machine over bytes that accepts the full matches of a regex.

    Raises: LimitError where unrolling, subsets or the time pass a budget.
    """
    clock = limits.clock()
    return smallest(thompson(regex, limits), limits, clock)


def regex_machine(regex: Regex, limits: Limits = LIMITS) -> Dfa | LazyDfa:
    """A machine that reads the full matches of a regex: the smallest where that is made at once.

    Raises: LimitError where unrolling passes its budget.
    """
    return machine_of(thompson(regex, limits), limits)


def machine_of(nfa: Nfa, limits: Limits = LIMITS) -> Dfa | LazyDfa:
    """The same, of an Nfa."""
    # a machine that has many more states than its regex seldom ends soon
    most = min(limits.states, SMALL, _FEW + _TIMES * len(nfa))
    made = small_dfa(nfa, most)
    if made is None and len(nfa) > _LONG:
        made = direct_dfa(nfa, limits)
    return made or LazyDfa(nfa, limits)


def smallest(nfa: Nfa, limits: Limits = LIMITS, clock: Clock | None = None) -> Dfa:
    """The smallest machine of an Nfa.

    Raises: LimitError where subsets or the time pass a budget.
    """
    made = small_dfa(nfa, min(limits.states, SMALL))
    if made is None:
        made = direct_dfa(nfa, limits)
    if made is not None:
        return made
    return minimize(determinize(nfa, limits, clock), limits, clock)


def pattern_dfa(pattern: Pattern, limits: Limits = LIMITS) -> Dfa:
    """The smallest machine of a regex terminal, which may stop where its ``stop`` says.

    Raises: LimitError where unrolling, subsets or the time pass a budget.
    """
    match pattern.stop:
        case Stop.ANYWHERE:
            return regex_dfa(pattern.regex, limits)
        case Stop.FIRST_MATCH:
            return first_match(regex_dfa(pattern.regex, limits), limits)
        case Stop.BEFORE_MATCH:
            return without_match(pattern.regex, limits)
