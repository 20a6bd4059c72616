"""Engine: the API of the KBNF engine over the exact automaton; tokens in, flags and masks out.

It differs from a ``Constraint`` in one rule: it finishes eagerly, at the first complete sentence,
and accepts nothing after it. Left out: the released engine's configuration (caches, compaction and
integer widths change no result) and its defects.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.decoding.kbnf_language import language
from workbench.errors import WorkbenchError
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Advance(Enum):
    """What became of a token."""

    #: Taken; the sentence goes on.
    CONTINUE = "continue"
    #: Taken; a sentence is complete and nothing more is accepted.
    EXHAUSTED = "exhausted"
    #: Refused; nothing has changed.
    INVALID = "invalid"


class Engine:
    """A KBNF grammar that reads tokens and says which may come next.

    A token is acceptable where its bytes can be read, and judged as a whole. The
    engine is finished as soon as the text, at any byte of a token, is a sentence; the
    empty text never is. With ``strict`` a token may not reach beyond the byte that
    finishes (the rule of release 0.2.9). The end token is unknown to it.

    Raises: ParseError, BuildError, LimitError for the grammar.
    Source: the KBNF design post, 2024; the released engine where the two differ.
    """

    def __init__(
        self,
        grammar: str,
        vocabulary: Vocabulary,
        start: str = "start",
        strict: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        self.vocabulary = vocabulary
        self.strict = strict
        self._language = language(grammar, start, vocabulary, limits)
        self._state = self._language.initial
        self._finished = False

    @property
    def is_finished(self) -> bool:
        """Whether a sentence is complete."""
        return self._finished

    def reset(self) -> None:
        """Back to the empty text."""
        self._state = self._language.initial
        self._finished = False

    def clone(self) -> Engine:
        """Another engine at the same place; grammar, vocabulary and masks are shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    __copy__ = clone

    def __deepcopy__(self, _: object) -> Engine:
        return self.clone()

    def advance(self, token_id: TokenId) -> Advance:
        """Take a token. A refused one, also an unknown or special id, changes nothing."""
        if not 0 <= token_id < len(self.vocabulary):
            return Advance.INVALID
        token = self.vocabulary.tokens[token_id]
        return Advance.INVALID if token is None else self.advance_bytes(token)

    def advance_bytes(self, data: bytes) -> Advance:
        """Take raw bytes as if they were one token; none at all change nothing."""
        if self._finished:
            return Advance.INVALID
        state, finished = self._state, False
        for byte in data:
            there = self._language.step(state, byte)
            if there is None or (finished and self.strict):
                return Advance.INVALID
            state, finished = there, finished or self._language.is_final(there)
        self._state, self._finished = state, finished
        return Advance.EXHAUSTED if finished else Advance.CONTINUE

    def current_possible_tokens(self) -> list[TokenId]:
        """The ids ``advance`` would take now, sorted; none once finished."""
        found: list[TokenId] = np.flatnonzero(self._allowed()).tolist()
        return found

    def update_logits_from_tokens(self, logits: Any) -> Advance:  # noqa: ANN401  # numpy or torch
        """Set the logits of all other tokens to −inf, in place, and tell where the engine is.

        Shape:  (n,) or (1, n), n at least V; rows past V are no tokens and are set too.
        Raises: WorkbenchError for anything else.
        """
        _check_logits(logits, len(self.vocabulary))
        forbidden = np.ones(logits.shape[-1], np.bool_)
        forbidden[: len(self.vocabulary)] = ~self._allowed()
        _forbid(logits, forbidden)
        return Advance.EXHAUSTED if self._finished else Advance.CONTINUE

    def modify_possible_logits(self, token_id: TokenId, logits: Any) -> Advance:  # noqa: ANN401
        """``advance``, then ``update_logits_from_tokens`` where the sentence goes on.

        Logits are changed for ``CONTINUE`` alone.
        Raises: WorkbenchError for logits of another shape; the token is not taken then.
        """
        _check_logits(logits, len(self.vocabulary))
        flag = self.advance(token_id)
        if flag is Advance.CONTINUE:
            self.update_logits_from_tokens(logits)
        return flag

    def _allowed(self) -> npt.NDArray[np.bool_]:
        """The tokens that may come next (V,)."""
        if self._finished:
            return np.zeros(len(self.vocabulary), np.bool_)
        row = self._language.strict_row if self.strict else self._language.row
        return row(self._state)


def _check_logits(logits: Any, size: int) -> None:  # noqa: ANN401
    """Raise where these are not logits that can be changed in place."""
    shape = getattr(logits, "shape", None)
    if shape is None or not (len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)):
        raise WorkbenchError(
            f"expected an array of shape (n,) or (1, n), not {type(logits).__name__}"
            + (f" of shape {tuple(shape)}" if shape is not None else ""),
            "pass a numpy array or a torch tensor",
        )
    if shape[-1] < size:
        raise WorkbenchError(f"expected logits for {size} tokens, not for {shape[-1]}")
    if "float" not in str(logits.dtype):  # numpy: float32, torch: torch.bfloat16
        raise WorkbenchError(f"expected logits as floating-point numbers, not {logits.dtype}")


def _forbid(logits: Any, forbidden: npt.NDArray[np.bool_]) -> None:  # noqa: ANN401
    """Set logits to −inf in place."""
    if isinstance(logits, np.ndarray):
        logits[..., forbidden] = -np.inf
    else:
        # a torch tensor; its own methods make the mask on its device, torch is not imported here
        logits.masked_fill_(logits.new_tensor(forbidden).bool(), -np.inf)
