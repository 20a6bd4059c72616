"""The methods ``proper``, ``vegas``, ``direct_merge``, and constraints with all edges.

``ExplicitConstraint`` decodes along a ``TokenDfa``: the mask of a state has the tokens of its
edges. The method ``direct_merge`` is this constraint over the automaton that DirectMerge builds.

``proper_automaton`` computes all edges of a ``ProperConstraint`` of a small language, for drawing
and export. CartesianMerge (``cartesian_merge``) tries every token of the vocabulary in every state;
here the masks list the live tokens, so no state has to be trimmed.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.dfa import Dfa, State
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.masks import TokenMask
from workbench.constraint.methods.proper.boundaries import forced
from workbench.constraint.methods.proper.direct_merge import (
    Label,
    TokenDfa,
    direct_merge,
    minimal,
    permissive,
)
from workbench.constraint.methods.proper.proper import ProperConstraint, ProperState
from workbench.constraint.methods.proper.vegas_regions import RegionCache, symbols
from workbench.constraint.token_machine import CachedMasks, TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class ExplicitConstraint(CachedMasks):
    """Decodes along a token automaton; the states are the automaton's.

    Raises: VocabularyError for the empty language.
    """

    def __init__(self, automaton: TokenDfa, vocabulary: Vocabulary) -> None:
        if not automaton.finals:
            raise cannot_spell(vocabulary)
        self.automaton, self.vocabulary = automaton, vocabulary

    @property
    def initial(self) -> State:
        return self.automaton.initial

    def _mask(self, state: State) -> TokenMask:
        """The tokens that may come next."""
        ids = [self.vocabulary.ids_of[label][0] for label in self.automaton.edges[state]]
        if self.is_final(state):
            ids.extend(self.vocabulary.ends)
        return TokenMask.of(ids, len(self.vocabulary))

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id not in self.mask(state):
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        label = self.vocabulary.tokens[token_id]
        return state if label is None else self.automaton.edges[state][label]

    def is_final(self, state: State) -> bool:
        """Whether the text read is accepted."""
        return state in self.automaton.finals

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return forced(self, state, most, LIMITS.seconds)


def merged_automaton(dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenDfa:
    """DirectMerge with a vocabulary's symbols and merge rules.

    Raises: VocabularyError for tokenizers that do more than merge; LimitError.
    """
    bpe = Bpe.of(vocabulary, limits)
    if bpe.guide is not None:
        raise VocabularyError(
            f"DirectMerge supports only merges, and {vocabulary.name} {' and '.join(bpe.features)}",
            "choose the method 'proper', which supports that too",
        )
    return direct_merge(permissive(dfa, symbols(bpe), limits), bpe.merges, limits)


_HINT = "see Tokens, where every spelling is drawn, or narrow the grammar"


@dataclass(frozen=True, eq=False)
class ProperAutomaton:
    """An automaton of canonical token sequences (a ``TokenAutomaton``)."""

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
        """Each token that may come next, with its target state; of equal texts the lowest id."""
        first = self.vocabulary.ids_of
        return sorted((first[text][0], end) for text, end in self.automaton.edges[state].items())


def proper_automaton(constraint: ProperConstraint) -> ProperAutomaton:
    """The minimal automaton of a language's canonical token sequences.

    States that differ only in the last token are merged if the same tokens may follow it.

    Raises: LimitError past ``token_edges`` or ``seconds`` of the constraint's limits.
    """
    limits, bpe = constraint.limits.begun(), Bpe.of(constraint.vocabulary)
    clock, first, same_row_token = limits.clock(), dict[bytes, TokenId](), dict[TokenId, TokenId]()
    numbers: dict[ProperState, State] = {constraint.initial: 0}
    edges: dict[State, dict[Label, State]] = {}
    finals: set[State] = set()
    count = 0
    queue = deque([constraint.initial])
    while queue:
        state = queue.popleft()
        row = edges[numbers[state]] = dict[Label, State]()
        if constraint.is_final(state):
            finals.add(numbers[state])
        mask = constraint.mask(state)
        limits.check("token_edges", count + len(mask), _HINT)
        for token_id in mask.ids.tolist():
            text = constraint.vocabulary.tokens[token_id]
            if text is None or text in row:
                continue
            if token_id not in same_row_token:
                same_row_token[token_id] = first.setdefault(
                    bpe.row_mask(token_id).tobytes(), token_id
                )
            target = constraint.advance(state, token_id)._replace(last=same_row_token[token_id])
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
            row[text] = numbers[target]
            clock.check(_HINT)
        count += len(row)
    minimal_automaton = minimal(TokenDfa(0, frozenset(finals), edges), limits)
    return ProperAutomaton(constraint.vocabulary, limits, minimal_automaton)


_WITHOUT_STACK_HINT = "choose the method 'proper', or a grammar without recursion"


def proper(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> ProperConstraint:
    """Only the tokens that the tokenizer would write.

    Raises: VocabularyError where the tokenizer is not supported exactly, or no accepted text can
            be tokenized; LimitError.
    """
    return ProperConstraint(grammar.machine, vocabulary, limits, joined)


def vegas(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> ProperConstraint:
    """The same masks, assembled from regions that are cached for other grammars.

    Raises: VocabularyError for a tokenizer with a pre-tokenizer; LimitError.
    """
    machine = grammar.machine
    if not isinstance(machine, Dfa):
        raise WorkbenchError(
            "regions are those of automata, and this grammar needs a stack", _WITHOUT_STACK_HINT
        )
    return ProperConstraint(machine, vocabulary, limits, joined, RegionCache.find)


def direct(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> TokenMachine:
    """Canonical tokens by DirectMerge, with all edges computed; for small vocabularies.

    Raises: VocabularyError for tokenizers that do more than merge; LimitError.
    """
    machine = grammar.machine
    if isinstance(machine, Dfa):
        return ExplicitConstraint(merged_automaton(machine, vocabulary, limits), vocabulary)
    raise WorkbenchError(
        "DirectMerge rewrites automata, and this grammar needs a stack", _WITHOUT_STACK_HINT
    )
