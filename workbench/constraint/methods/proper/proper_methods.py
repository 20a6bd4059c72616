"""The methods ``proper``, ``vegas`` and ``direct_merge``; constraints with all edges computed.

In come a ``TokenDfa`` and a vocabulary; the mask of a state is the labels of the edges that leave
it. The method ``direct_merge`` is this over what DirectMerge makes of a grammar.

In comes a ``ProperConstraint`` of a small language, out comes an automaton to draw or to write.
CartesianMerge (``cartesian``) tries every token of the vocabulary in every state; here a state's
own mask says which lead on, so nothing is met that has to be cut away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import Dfa, State
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.methods.proper.boundaries import forced
from workbench.constraint.methods.proper.direct_merge import (
    Label,
    TokenDfa,
    direct_merge,
    permissive,
    smallest,
)
from workbench.constraint.methods.proper.proper import ProperConstraint, ProperState
from workbench.constraint.methods.proper.vegas import Library
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import SYMBOL
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class ExplicitConstraint:
    """Decoding along a token automaton; its states are the automaton's.

    Raises: VocabularyError where nothing is accepted.
    """

    def __init__(self, automaton: TokenDfa, vocabulary: Vocabulary) -> None:
        if not automaton.finals:
            raise cannot_spell(vocabulary)
        self.automaton, self.vocabulary = automaton, vocabulary
        self.initial: State = automaton.initial
        self.mask = lru_cache(maxsize=4096)(self._mask)

    def _mask(self, state: State) -> TokenMask:
        """The tokens that may come next."""
        ids = [self.vocabulary.ids_of[label][0] for label in self.automaton.edges[state]]
        if self.is_final(state) and self.vocabulary.end is not None:
            ids.append(self.vocabulary.end)
        return TokenMask.of(ids, len(self.vocabulary))

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        label = self.vocabulary.tokens[token_id]
        return state if label is None else self.automaton.edges[state][label]

    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""
        return state in self.automaton.finals

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        return forced(self, state)


def merged(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenDfa:
    """DirectMerge over a vocabulary's own symbols and rules.

    Raises: VocabularyError where merges are not all there is; LimitError where it grows too large.
    """
    bpe = Bpe.of(vocabulary)
    if bpe.guide is not None:
        raise VocabularyError(
            f"DirectMerge knows merges alone, and {vocabulary.name} does more: it cuts text before"
            " merging, or spells what it does not know byte by byte",
            "the method 'proper' has that too",
        )
    return direct_merge(permissive(dfa, symbols(bpe), limits), bpe.merges, limits)


def symbols(bpe: Bpe) -> tuple[Label, ...]:
    """The tokens that merging begins with."""
    single = (bpe.tables.rank == SYMBOL).nonzero()[0].tolist()
    return tuple(bpe.vocabulary.tokens[token] or b"" for token in single)


_HINT = "see Tokens, where every spelling is drawn, or narrow the grammar"


@dataclass(frozen=True, eq=False)
class SpeltOut:
    """An automaton of proper token sequences, as ``TokenAutomaton`` says."""

    vocabulary: Vocabulary
    limits: Limits
    automaton: TokenDfa

    @property
    def initial(self) -> State:
        return self.automaton.initial

    @cached_property
    def finals(self) -> npt.NDArray[np.bool_]:
        return np.array([state in self.automaton.finals for state in range(len(self))], np.bool_)

    @property
    def edge_count(self) -> int:
        return self.automaton.edge_count

    def __len__(self) -> int:
        return len(self.automaton)

    def edges(self, state: State) -> list[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to; the lowest id of a text."""
        first = self.vocabulary.ids_of
        return sorted((first[text][0], end) for text, end in self.automaton.edges[state].items())


def spelt_out(constraint: ProperConstraint) -> SpeltOut:
    """The smallest automaton of a language's proper token sequences.

    States that differ in the last token alone are one where the same tokens may follow it.

    Raises: LimitError past ``token_edges`` or ``seconds`` of the constraint's limits.
    """
    limits, bpe = constraint.limits.begun(), Bpe.of(constraint.vocabulary)
    clock, first, like = limits.clock(), dict[bytes, TokenId](), dict[TokenId, TokenId]()
    numbers: dict[ProperState, State] = {constraint.initial: 0}
    edges: dict[State, dict[Label, State]] = {}
    finals: set[State] = set()
    count = 0
    for here in (waiting := [constraint.initial]):  # grows while it is read
        row = edges[numbers[here]] = dict[Label, State]()
        if constraint.is_final(here):
            finals.add(numbers[here])
        mask = constraint.mask(here)
        limits.check("token_edges", count + len(mask), _HINT)
        for token_id in mask.ids.tolist():
            text = constraint.vocabulary.tokens[token_id]
            if text is None or text in row:
                continue
            if token_id not in like:
                like[token_id] = first.setdefault(bpe.row_mask(token_id).tobytes(), token_id)
            there = constraint.advance(here, token_id)._replace(last=like[token_id])
            if there not in numbers:
                numbers[there] = len(numbers)
                waiting.append(there)
            row[text] = numbers[there]
            clock.check(_HINT)
        count += len(row)
    least = smallest(TokenDfa(0, frozenset(finals), edges), limits)
    return SpeltOut(constraint.vocabulary, limits, least)


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
