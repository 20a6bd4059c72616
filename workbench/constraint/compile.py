"""compile: a grammar and a vocabulary → a constraint, by the name of the method."""

from __future__ import annotations

from collections.abc import Callable

from workbench.automata.dfa import Dfa
from workbench.automata.lazy import LazyDfa
from workbench.constraint.automaton import AutomatonConstraint, DfaConstraint, LazyConstraint
from workbench.constraint.composed import composed
from workbench.constraint.protocol import Constraint
from workbench.constraint.ready import ready
from workbench.constraint.stack import StackConstraint
from workbench.constraint.unconstrained import Unconstrained
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import Vocabulary


def automaton(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> AutomatonConstraint:
    """The exact engine, rows on demand."""
    ready()
    match grammar.reader:
        case Dfa() as dfa:
            return DfaConstraint(dfa, vocabulary, limits)
        case LazyDfa() as lazy if lazy.used_bytes <= vocabulary.single_bytes:
            return LazyConstraint(lazy, vocabulary, limits)
        case Network() as network:
            return StackConstraint(network, vocabulary, limits)
    # dead ends threaten, and are found on the whole machine
    whole = grammar.dfa
    assert whole is not None, "a grammar without a stack has one"
    return DfaConstraint(whole, vocabulary, limits)


def _unconstrained(_: Grammar, vocabulary: Vocabulary, __: Limits) -> Constraint:
    return Unconstrained(vocabulary)


#: Every method by its name, as the front door and the command line speak of it.
METHODS: dict[str, Callable[[Grammar, Vocabulary, Limits], Constraint]] = {
    "automaton": automaton,
    "composed": composed,
    "unconstrained": _unconstrained,
}


def compile(
    grammar: Grammar,
    vocabulary: Vocabulary,
    method: str = "automaton",
    limits: Limits = LIMITS,
) -> Constraint:
    """A constraint that keeps a model's text inside a grammar.

    Does its work anew at every call; what belongs to the vocabulary alone (its trie)
    is remembered with the vocabulary.

    Raises: WorkbenchError for a method nobody knows; VocabularyError where the vocabulary
            spells no accepted text; LimitError.
    """
    make = METHODS.get(method)
    if make is None:
        raise WorkbenchError(
            f"there is no method {method!r}", f"choose one of {', '.join(METHODS)}"
        )
    return make(grammar, vocabulary, limits)
