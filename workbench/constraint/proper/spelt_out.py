"""A proper constraint with all its states: explored mask by mask, and made as small as it can be.

In comes a ``ProperConstraint`` of a small language, out comes an automaton to draw or to write.
CartesianMerge (``cartesian``) tries every token of the vocabulary in every state; here a state's
own mask says which lead on, so nothing is met that has to be cut away again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import State
from workbench.constraint.proper.constraint import ProperConstraint, ProperState
from workbench.constraint.proper.token_dfa import Label, TokenDfa, smallest
from workbench.limits import Limits
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

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
