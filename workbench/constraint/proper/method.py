"""The methods ``proper``, ``vegas``, ``direct_merge``: a grammar in, a constraint out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from workbench.automata.dfa import Dfa
from workbench.constraint.proper.constraint import ProperConstraint
from workbench.constraint.proper.explicit import ExplicitConstraint, merged
from workbench.constraint.proper.library import Library
from workbench.constraint.protocol import Constraint
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_OTHER = "choose the method 'proper', or a grammar without recursion"
#: A new installation compiles kernels for seconds; that is nobody's grammar's doing.
_PATIENT = Limits(seconds=600.0)


def proper(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> ProperConstraint:
    """Only the tokens the tokenizer would write.

    Raises: VocabularyError where that cannot be said exactly, or nothing can be spelt so;
            LimitError.
    """
    ready()
    return ProperConstraint(grammar.machine, vocabulary, limits, joined)


def vegas(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> ProperConstraint:
    """The same masks, put together from regions that are kept for other grammars.

    Raises: VocabularyError where the tokenizer cuts text before merging; LimitError.
    """
    ready()
    machine = grammar.machine
    if not isinstance(machine, Dfa):
        raise WorkbenchError(
            "regions are those of automata, and this grammar needs a stack", _OTHER
        )
    return ProperConstraint(machine, vocabulary, limits, joined, Library.find)


def direct(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    """Proper tokens by DirectMerge, all edges written out; for small vocabularies.

    Raises: VocabularyError where merges are not all there is; LimitError where it grows too large.
    """
    machine = grammar.machine
    if isinstance(machine, Dfa):
        return ExplicitConstraint(merged(machine, vocabulary, limits), vocabulary)
    raise WorkbenchError("DirectMerge rewrites automata, and this grammar needs a stack", _OTHER)


@cache
def ready() -> None:
    """Ask for every kind of row once; some milliseconds when the compiled kernels are on disk."""
    fallback = [bytes([byte]) for byte in range(256)]
    toy = Vocabulary(
        [*fallback, b"a", b"b", b"ab", b"aa", None],
        end=260,
        merges=[(b"a", b"b"), (b"a", b"a")],
        byte_fallback=range(256),
    )
    nesting = Grammar.from_kbnf("start ::= 'a' start 'b' | #'[^a]';", limits=_PATIENT).machine
    halves = Grammar.from_regex('a*b?"[^"]*"', limits=_PATIENT).machine
    for machine, text in ((nesting, "acb"), (halves, 'aab"c"')):
        constraint = ProperConstraint(machine, toy, _PATIENT)
        state = constraint.initial
        for token in Bpe.of(toy).encode(text):
            state = constraint.advance(state, token)
        constraint.mask(state)
