"""Opportunistic masking, and PICARD's check of the likeliest tokens.

In comes a loop, out come the steps of ``Plain``; the first touch of a mask's bits makes it.

In comes a loop, out come steps that need not be those of ``Plain``: where no checked token is
allowed the run ends there, however many others the grammar allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.candidates import TokenDistribution, milliseconds_since
from workbench.decoding.model import Logits
from workbench.decoding.sampling import SamplingError, likeliest
from workbench.decoding.strategy import DecodingLoop
from workbench.decoding.trace import Step
from workbench.vocabulary.vocabulary import TokenId


class LazyMask(TokenMask):
    """A mask that is made when somebody needs all of it; single tokens are asked of the constraint.

    It equals the constraint's own mask and can be used like it.
    """

    def __init__(self, constraint: Constraint, state: State) -> None:
        self.size = len(constraint.vocabulary)
        #: The milliseconds spent so far, on single tokens and on the whole.
        self.ms = 0.0
        self._constraint = constraint
        self._state = state

    @property
    def is_made(self) -> bool:
        """Whether all of it is known."""
        return "bits" in self.__dict__

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """The bits, which are not there before somebody asks for them."""
        if name != "bits":
            raise AttributeError(name)
        started = time.perf_counter()
        self.bits = self._constraint.mask(self._state).bits
        self.ms += milliseconds_since(started)
        return self.bits

    def __contains__(self, token_id: int) -> bool:
        if self.is_made:
            return super().__contains__(token_id)
        started = time.perf_counter()
        found = allows(self._constraint, self._state, token_id)
        self.ms += milliseconds_since(started)
        return found


def allows(constraint: Constraint, state: State, token_id: TokenId) -> bool:
    """Whether a token may come next, without the mask where the constraint can say so."""
    asked = getattr(constraint, "allows", None)
    if asked is not None:
        return bool(asked(state, token_id))
    try:
        constraint.advance(state, token_id)
    except TokenNotAllowed:
        return False
    return True


class LazyStep(Step):
    """A step that measures what its mask did when somebody first reads it; the mask is made then.

    Cost: until then it keeps what the model said, 12 V bytes.
    """

    __slots__ = ("_late",)

    @staticmethod
    def of(
        scored: TokenDistribution,
        mask: LazyMask,
        token_id: TokenId,
        index: int,
        top: int,
        advance_ms: float,
    ) -> LazyStep:
        """The step of taking a token."""
        made = object.__new__(LazyStep)
        known = {
            "index": index,
            "token_id": token_id,
            "token": scored.vocabulary.tokens[token_id] or b"",
            "state": scored.state,
            "mask": mask,
            "logprob": min(0.0, float(scored.logprobs[token_id])),
            "favourite_id": int(scored.logits.argmax()),
            "rank": scored.rank(token_id),
            "forward": True,
            "model_ms": scored.model_ms,
            "mask_ms": mask.ms,
            "advance_ms": advance_ms,
            "is_end": token_id == scored.vocabulary.end,
            "_late": (scored, top),
        }
        for name, value in known.items():
            object.__setattr__(made, name, value)
        return made

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Called for what has no value yet."""
        if name not in _MEASURES:
            raise AttributeError(name)
        scored, top = self._late
        measured = scored.taken(self.token_id, self.index, top, 0.0)
        for measure in _MEASURES:
            object.__setattr__(self, measure, getattr(measured, measure))
        object.__setattr__(self, "_late", None)
        return getattr(self, name)


#: What depends on the whole mask.
_MEASURES = ("kept", "masked_logprob", "masked_rank", "wanted", "allowed")


@dataclass(frozen=True, slots=True)
class Opportunistic:
    """The model draws first; only a draw that is refused makes the mask, for the draw that counts.

    Texts are the plain loop's: it draws the same way (``Sampling.choose``). With top-k or top-p a
    draw depends on all allowed tokens, so every mask is made; so it is where a text ends, since the
    reason depends on it. Steps measure their masks when they are read.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.5, which has it from llama.cpp.
    """

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """Implements ``Strategy``."""
        endless = loop.constraint.vocabulary.end is None
        while loop.stop is None:
            mask = LazyMask(loop.constraint, loop.state)
            # without an end token a complete text is one that nothing may follow
            whole = endless or loop.left <= 0
            if not (loop.can_continue(mask) if whole else loop.has_room()):
                return
            rows, model_ms = loop.judge(())
            scored = loop.distribution((mask, 0.0), rows[0], model_ms)
            try:
                token_id = loop.draw(scored)
            except SamplingError:
                loop.end()
                return
            index, advance_ms = loop.advance(token_id, mask)
            yield LazyStep.of(scored, mask, token_id, index, loop.top, advance_ms)


def allowed_of_likeliest(constraint: Constraint, state: State, logits: Logits, k: int) -> TokenMask:
    """The allowed ones of the k likeliest tokens, the lower id first among equals.

    Shape: ``logits`` (V,) or longer.
    Cost:  k tokens are put to the constraint; its mask is not made where it can say of one token.
    """
    size = len(constraint.vocabulary)
    checked = map(int, likeliest(logits[:size], k))
    return TokenMask.of((i for i in checked if allows(constraint, state, i)), size)


@dataclass(frozen=True, slots=True)
class Picard:
    """Draws from the allowed ones of the k likeliest tokens.

    Not minimally invasive in the wide sense of DOMINO's Table 1: a text whose next token is not
    among the k likeliest is lost, and where none of them is allowed the run is at a dead end, or at
    its end where the text is accepted. Which of them are allowed is the constraint's to say;
    PICARD's own is a parser asked at every step (``method="online"``). The paper keeps several
    beams, so that one that dies is replaced; here there is one.

    Source: Scholak, Schucher & Bahdanau 2021; Koo et al. 2024, §4.2.
    """

    k: int = 8

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise WorkbenchError(
                f"expected to check at least one token, not {self.k!r}",
                "set k to how many of the likeliest tokens are checked",
            )

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """Implements ``Strategy``; the text may differ from the plain loop's."""
        while loop.has_room():
            rows, model_ms = loop.judge(())
            started = time.perf_counter()
            mask = allowed_of_likeliest(loop.constraint, loop.state, rows[0], self.k)
            masked = mask, milliseconds_since(started)
            if not loop.can_continue(mask):
                return
            scored = loop.distribution(masked, rows[0], model_ms)
            yield loop.take(scored, loop.draw(scored))
