"""LogitsProcessor: a constraint for transformers' own ``generate``; scores in, masked ones out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.constraint.protocol import Constraint, State
from workbench.errors import ModelError, TokenNotAllowed
from workbench.vocabulary.vocabulary import TokenId

if TYPE_CHECKING:
    import torch

#: The tokens a row took after the prompt.
_Taken = tuple[TokenId, ...]


class _Over:
    """The state of a row that is not followed any more: ended, or thrown away by the search."""


_OVER = _Over()


class LogitsProcessor:
    """Sets the scores of forbidden tokens to −inf; pass it in ``logits_processor=[...]``.

    The prompt is what the first call of a generation sees; every row is followed by
    its own tokens, so rows may be samples, or beams that change places. A row that
    ended may only end again: transformers pads it and forgets these scores. So may a
    beam with a token the mask forbids, which a search keeps at −inf where fewer tokens
    are allowed than it has beams. A processor can be used for one generation after the
    other; a call that does not go on from an earlier one begins the next.

    Shape:  (B, T) token ids and (B, V) scores in, (B, V) out; V may be padded.
    Raises: ModelError where the model has fewer scores than tokens, or a text is complete and
            the vocabulary has no end token.
    """

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._prompt = 0
        #: Hashes of every row seen in this generation, to recognise its continuations.
        self._seen: set[int] = set()
        #: The states of the call before, by what its rows took.
        self._states: dict[_Taken, State] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        size = len(self.constraint.vocabulary)
        if scores.shape[-1] < size:
            raise ModelError(
                f"expected scores for {size} tokens, the model has {scores.shape[-1]}",
                "compile the grammar with the model's own vocabulary",
            )
        rows = [tuple(row) for row in input_ids.tolist()]
        if not self._goes_on(rows):
            self._prompt, self._seen, self._states = int(input_ids.shape[1]), set(), {}
        self._seen.update(map(hash, rows))
        taken = [row[self._prompt :] for row in rows]
        self._states = {row: self._state(row) for row in taken}
        forbidden = np.ones(tuple(scores.shape), np.bool_)
        for line, row in zip(forbidden, taken, strict=True):
            line[:size] = ~self._allowed(self._states[row])
        # the scores' own method makes the mask on their device
        return scores.masked_fill(scores.new_tensor(forbidden).bool(), float("-inf"))

    def _goes_on(self, rows: Sequence[_Taken]) -> bool:
        """Whether every row is one of an earlier call with one token more."""
        return all(len(row) > self._prompt and hash(row[:-1]) in self._seen for row in rows)

    def _state(self, taken: _Taken) -> State:
        """The state after these tokens, from the call before where it knows all but the last."""
        if not taken:
            return self.constraint.initial
        known = self._states.get(taken[:-1])
        if known is not None:
            return self._advanced(known, taken[-1])
        state = self.constraint.initial
        for token_id in taken:  # a search that jumps, or goes back
            state = self._advanced(state, token_id)
        return state

    def _advanced(self, state: State, token_id: TokenId) -> State:
        if state is _OVER or token_id == self.constraint.vocabulary.end:
            return _OVER
        try:
            return self.constraint.advance(state, token_id)
        except TokenNotAllowed:
            return _OVER

    def _allowed(self, state: State) -> npt.NDArray[np.bool_]:
        """Which tokens may come next (V,)."""
        vocabulary = self.constraint.vocabulary
        if state is not _OVER:
            mask = self.constraint.mask(state)
            if len(mask):
                return mask.bools
        if vocabulary.end is None:
            raise ModelError(
                f"the text is complete, and {vocabulary.name} has no end token to say so",
                "give the vocabulary an end token, or use workbench.generate",
            )
        only_end = np.zeros(len(vocabulary), np.bool_)
        only_end[vocabulary.end] = True
        return only_end
