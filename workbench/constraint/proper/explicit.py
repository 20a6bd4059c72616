"""ExplicitConstraint: a token automaton with all its edges written out, as a ``Constraint``.

In come a ``TokenDfa`` and a vocabulary; the mask of a state is the labels of the edges that leave
it. The method ``direct_merge`` is this over what DirectMerge makes of a grammar.
"""

from __future__ import annotations

from functools import lru_cache

from workbench.automata.dfa import Dfa, State
from workbench.constraint.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.proper.direct_merge import direct_merge
from workbench.constraint.proper.forcing import forced
from workbench.constraint.proper.token_dfa import Label, TokenDfa, permissive
from workbench.errors import TokenNotAllowed, VocabularyError
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.bpe.tables import SYMBOL
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
