"""Ready: has the kernels of masks compiled, before a clock runs that would count it in."""

from __future__ import annotations

from functools import cache

from workbench.automata.lazy import LazyDfa
from workbench.automata.thompson import thompson
from workbench.constraint.automaton import DfaConstraint, LazyConstraint
from workbench.constraint.making import loop_kernel
from workbench.constraint.stack import StackConstraint
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.vocabulary.vocabulary import Vocabulary

#: A new installation compiles for seconds; that is nobody's grammar's doing.
_PATIENT = Limits(seconds=600.0)


@cache
def ready() -> None:
    """Ask for every kind of row once; some milliseconds when the compiled kernels are on disk."""
    vocabulary = Vocabulary((*(bytes([byte]) for byte in range(256)), b"ab", b"a'"))
    pattern = Grammar.from_regex("a[ab]*'|b", limits=_PATIENT)
    nesting = Grammar.from_kbnf("start ::= 'b' start 'b' | #'[0-9]*';", limits=_PATIENT).network
    assert pattern.dfa is not None
    assert pattern.regex is not None
    for constraint in (
        DfaConstraint(pattern.dfa, vocabulary, _PATIENT),
        LazyConstraint(LazyDfa(thompson(pattern.regex), _PATIENT), vocabulary, _PATIENT),
        StackConstraint(nesting, vocabulary, _PATIENT),
    ):
        state = constraint.initial
        for byte in b"ab":
            constraint.mask(state)
            state = constraint.step_bytes(state, bytes([byte])) or state


@cache
def ready_for_loops() -> None:
    """The kernel of wide states too, which most grammars need only later on."""
    loop_kernel()
