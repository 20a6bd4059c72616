"""Opportunistic masking, and PICARD's check of the likeliest tokens.

``OpportunisticMasking`` takes the steps of ``Plain`` but computes a mask only if it is needed:
its bits are computed on first access.

``Picard`` checks only the k likeliest tokens, so its steps may differ from those of ``Plain``: if
none of them is allowed the run ends, however many others the grammar allows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.candidates import TokenDistribution, milliseconds_since, with_one_end
from workbench.decoding.model import Logits, padded
from workbench.decoding.sampling import SamplingError
from workbench.decoding.stages import likeliest
from workbench.decoding.strategy import DecodingLoop, Steps
from workbench.decoding.trace import Step
from workbench.vocabulary.vocabulary import TokenId


class LazyMask(TokenMask):
    """A mask that is computed when all of it is needed; single tokens are tested by the constraint.

    It equals the mask of the decoding loop (``DecodingLoop.masked``) and can be used in its place.
    """

    def __init__(self, constraint: Constraint, state: State) -> None:
        self.size = len(constraint.vocabulary)
        #: The milliseconds spent on single tokens and on the whole mask.
        self.ms = 0.0
        self._constraint = constraint
        self._state = state
        #: All end tokens but the first, which represents them.
        self._others = constraint.vocabulary.ends[1:]

    @property
    def is_computed(self) -> bool:
        """Whether the whole mask is computed."""
        return "bits" in self.__dict__

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Compute the bits on first access."""
        if name != "bits":
            raise AttributeError(name)
        started = time.perf_counter()
        self.bits = self._constraint.mask(self._state).without(self._others).bits
        self.ms += milliseconds_since(started)
        return self.bits

    def __contains__(self, token_id: int) -> bool:
        if token_id in self._others:
            return False
        if self.is_computed:
            return super().__contains__(token_id)
        started = time.perf_counter()
        is_allowed = allows(self._constraint, self._state, token_id)
        self.ms += milliseconds_since(started)
        return is_allowed


def allows(constraint: Constraint, state: State, token_id: TokenId) -> bool:
    """Whether a token may come next; without the mask if the constraint can test one token."""
    test = getattr(constraint, "allows", None)
    if test is not None:
        return bool(test(state, token_id))
    try:
        constraint.advance(state, token_id)
    except TokenNotAllowed:
        return False
    return True


class LazyStep(Step):
    """A step that computes its mask and the measures that depend on it on first access.

    Cost: until then it keeps the model's logits, 12 V bytes.
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
        """The step that takes a token."""
        step = object.__new__(LazyStep)
        fields = {
            "index": index,
            "token_id": token_id,
            "token": scored.vocabulary.tokens[token_id] or b"",
            "state": scored.state,
            "mask": mask,
            "logprob": scored.logprob(token_id),
            "favourite_id": int(scored.logits.argmax()),
            "rank": scored.rank(token_id),
            "forward": True,
            "model_ms": scored.model_ms,
            "mask_ms": mask.ms,
            "advance_ms": advance_ms,
            "is_end": token_id == scored.vocabulary.end,
            "draft_id": None,
            "stages": (),
            "_late": (scored, top),
        }
        for name, value in fields.items():
            object.__setattr__(step, name, value)
        return step

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Compute the measures that have no value yet."""
        if name not in _MEASURES:
            raise AttributeError(name)
        scored, top = self._late
        measured = scored.taken(self.token_id, self.index, top, 0.0)
        for measure in _MEASURES:
            object.__setattr__(self, measure, getattr(measured, measure))
        object.__setattr__(self, "_late", None)
        return getattr(self, name)


#: The fields that depend on the whole mask.
_MEASURES = ("kept", "masked_logprob", "masked_rank", "wanted", "allowed")


@dataclass(frozen=True, slots=True)
class OpportunisticMasking:
    """The model draws first; the mask is computed only if that token is not allowed.

    Texts are the plain loop's, since it draws in the same way (``Sampling.choose``). With top-k,
    top-p or min-p a draw depends on all allowed tokens, so every mask is computed; also where a
    text ends, since the stop reason depends on it. Steps compute the measures of their masks on
    first access.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.5, after llama.cpp.
    """

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        no_end_token = loop.constraint.vocabulary.end is None
        while loop.stop is None:
            mask = LazyMask(loop.constraint, loop.state)
            # without an end token a text is complete if no token is allowed
            whole = no_end_token or loop.left <= 0
            if not (loop.can_continue(mask) if whole else loop.has_room()):
                return
            rows, model_ms = yield from loop.score(())
            scored = loop.distribution((mask, 0.0), rows[0], model_ms)
            try:
                token_id = loop.draw(scored)
            except SamplingError:
                loop.end()
                return
            index, advance_ms = loop.advance(token_id, mask)
            yield LazyStep.of(scored, mask, token_id, index, loop.top, advance_ms)


def allowed_of_likeliest(constraint: Constraint, state: State, logits: Logits, k: int) -> TokenMask:
    """The allowed tokens among the k likeliest; of equals the lower id is likelier.

    End tokens count as one, as in ``TokenDistribution``.

    Shape: ``logits`` (V,) or longer.
    Cost:  k tests; no mask if the constraint can test one token.
    """
    size = len(constraint.vocabulary)
    logits = with_one_end(padded(logits, size), constraint.vocabulary)
    checked = map(int, likeliest(logits[:size], k))
    return TokenMask.of((i for i in checked if allows(constraint, state, i)), size)


@dataclass(frozen=True, slots=True)
class Picard:
    """Draws from the allowed tokens among the k likeliest.

    It is not minimally invasive in the wide sense of DOMINO's Table 1: a text whose next token is
    not among the k likeliest is lost, and if none of them is allowed the run is at a dead end, or
    at its end if the text is accepted. Any constraint can test the tokens; PICARD's is a parser
    that runs at every step (``method="online"``). The paper keeps several beams, so that a failed
    one is replaced; here there is one.

    Source: Scholak, Schucher & Bahdanau 2021; Koo et al. 2024, §4.2.
    """

    k: int = 8

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise WorkbenchError(
                f"expected to check at least one token, not {self.k!r}",
                "set k to how many of the likeliest tokens are checked",
            )

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``; the text may differ from the plain loop's."""
        while loop.has_room():
            rows, model_ms = yield from loop.score(())
            started = time.perf_counter()
            mask = allowed_of_likeliest(loop.constraint, loop.state, rows[0], self.k)
            masked = mask, milliseconds_since(started)
            if not loop.can_continue(mask):
                return
            scored = loop.distribution(masked, rows[0], model_ms)
            yield loop.take(scored, loop.draw(scored))
