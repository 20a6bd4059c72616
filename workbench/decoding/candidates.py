"""The next token's candidates: probabilities with and without the mask.

A vocabulary may have several end tokens. Which of them ends a text is no part of the text, so
here they are one event: the first end token represents all, with the sum of their probabilities.
Draws, ranks, top-k, forced tokens and measures need no special case for them. All stages of
sampling apply to the sum. The masks of constraints have all end tokens, for samplers of other
programs, which draw each of them separately (``LogitsProcessor``). At temperature 1, without
other stages, both give texts the same distribution.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.cpu_time import uncounted
from workbench.base.errors import ModelError
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.decoding.model import Logits, Session, padded
from workbench.decoding.sampling import Sampling, log_sum
from workbench.decoding.stages import Scores, Temperature, likeliest
from workbench.decoding.trace import Candidate, Step
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A function from some tokens to their probabilities after a stage.
Probabilities = Callable[[npt.NDArray[np.integer]], npt.NDArray[np.float64]]

#: The stages of one draw in their order, by name (``TokenDistribution.stages``).
Stages = tuple[tuple[str, Probabilities], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidates(Sequence[Candidate]):
    """Some tokens with their probabilities, which are computed when they are read.

    Shape: ``token_ids`` and ``logits`` (n,).
    """

    vocabulary: Vocabulary
    mask: TokenMask
    token_ids: npt.NDArray[np.integer]
    logits: Logits
    #: log Σ exp of all logits, and of those of the allowed tokens.
    total: float
    within: float
    #: The probabilities after every stage of sampling (n, stages); (n, 0) if they are not recorded.
    stages: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.token_ids)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        if isinstance(index, slice):
            return tuple(map(self._candidate, range(*index.indices(len(self)))))
        return self._candidate(index)

    def __iter__(self) -> Iterator[Candidate]:
        tokens, alone = self.vocabulary.tokens, self.within == -math.inf
        uniform = 1 / len(self.mask) if alone else 0.0
        bits = self.mask.bits[self.token_ids >> 5] >> (self.token_ids & 31) & 1
        stages = map(tuple, self.stages.tolist())
        for token_id, logit, bit, after in zip(
            self.token_ids.tolist(), self.logits.tolist(), bits.tolist(), stages, strict=True
        ):
            masked = 0.0
            if bit:
                masked = uniform if alone else math.exp(min(logit - self.within, 0.0))
            probability = math.exp(min(logit - self.total, 0.0))
            yield Candidate(token_id, tokens[token_id], probability, masked, bool(bit), after)

    def place(self, token_id: TokenId) -> int:
        """The place of a token, from 1; 0 if it is not one of them."""
        ids = self.token_ids.tolist()
        return ids.index(token_id) + 1 if token_id in ids else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _candidate(self, index: int) -> Candidate:
        token_id, logit = int(self.token_ids[index]), float(self.logits[index])
        allowed, masked = token_id in self.mask, 0.0
        if allowed and self.within == -math.inf:
            masked = 1 / len(self.mask)
        elif allowed:
            masked = math.exp(min(logit - self.within, 0.0))
        probability = math.exp(min(logit - self.total, 0.0))
        token = self.vocabulary.tokens[token_id]
        after = tuple(self.stages[index].tolist())
        return Candidate(token_id, token, probability, masked, allowed, after)


@dataclass(frozen=True, eq=False)
class TokenDistribution:
    """The distribution of the next token: every token's probability before and after the mask.

    The first end token represents all of them: it has the sum of their probabilities, the others
    have none and are not in the mask. Values that only measures need are computed when first
    accessed.

    Shape: ``rows`` (V or more,), ``logits`` and ``logprobs`` (V,); ``ids`` (A,) the allowed tokens,
           sorted; ``within`` (A,) their logits.
    Unit:  log-probabilities in nats, times in milliseconds.
    """

    vocabulary: Vocabulary
    #: The constraint's state before the token.
    state: State
    mask: TokenMask
    #: The logits, including rows that are no tokens.
    rows: Logits
    model_ms: float
    mask_ms: float

    @staticmethod
    def ask(
        session: Session,
        context: Sequence[TokenId],
        vocabulary: Vocabulary,
        state: State,
        mask: TokenMask,
        mask_ms: float,
    ) -> TokenDistribution:
        """Run the model on ``context`` and apply the mask.

        Raises: ModelError.
        """
        started = time.perf_counter()
        with uncounted():
            rows = session.logits(context)
        return TokenDistribution.of(
            vocabulary, state, (mask, mask_ms), rows, milliseconds_since(started)
        )

    @staticmethod
    def of(
        vocabulary: Vocabulary,
        state: State,
        masked: tuple[TokenMask, float],
        rows: Logits,
        model_ms: float,
    ) -> TokenDistribution:
        """Apply a mask (with its milliseconds) to a model's logits.

        Models pad their output to round sizes. Rows that are no tokens count in the
        probabilities, since the model gives them some, but are never taken.
        Raises: ModelError if the logits are not numbers.
        """
        rows = padded(rows, len(vocabulary))
        if not math.isfinite(rows.max()):  # nan propagates to the maximum
            raise ModelError(
                "the model's logits are not numbers",
                "load it in float32, or use another checkpoint",
            )
        mask, mask_ms = masked
        mask, rows = mask.without(vocabulary.ends[1:]), with_one_end(rows, vocabulary)
        return TokenDistribution(vocabulary, state, mask, rows, model_ms, mask_ms)

    @cached_property
    def logits(self) -> Logits:
        return self.rows[: len(self.vocabulary)]

    @property
    def logprobs(self) -> npt.NDArray[np.float64]:
        """The log-probabilities of all tokens."""
        return self.logits.astype(np.float64) - self.log_total

    @cached_property
    def log_total(self) -> float:
        """log Σ exp of all logits."""
        return log_sum(self.rows)

    @cached_property
    def ids(self) -> npt.NDArray[np.int32]:
        return self.mask.ids

    @cached_property
    def within(self) -> Logits:
        return self.logits.take(self.ids)

    @cached_property
    def log_within(self) -> float:
        """log Σ exp of the logits of the allowed tokens."""
        return log_sum(self.within)

    @property
    def kept(self) -> float:
        """The probability of all allowed tokens together."""
        return math.exp(min(self.log_within - self.log_total, 0.0))

    def penalized(self, sampling: Sampling, context: Sequence[TokenId]) -> Logits:
        """The rows after the repetition penalty; all end tokens in ``context`` are one."""
        if not sampling.penalizes:
            return self.rows
        ends = frozenset(self.vocabulary.ends[1:])
        end = self.vocabulary.end
        return sampling.penalized(
            self.rows, [end if i in ends and end is not None else i for i in context]
        )

    def drawn(self, sampling: Sampling, index: int, context: Sequence[TokenId]) -> TokenId:
        """The token the loop takes at ``index``, which the model scored after ``context``.

        It depends only on the seed, the logits and the set of tokens in ``context``.
        """
        logits = self.penalized(sampling, context)[: len(self.vocabulary)]
        return sampling.choose(logits, self.mask, sampling.rng(index))

    def shares(self, sampling: Sampling, context: Sequence[TokenId]) -> npt.NDArray[np.float64]:
        """The probability of each allowed token to be drawn after ``context`` (A,)."""
        return sampling.shares(self.penalized(sampling, context).take(self.ids))

    def stages(self, sampling: Sampling, context: Sequence[TokenId]) -> Stages:
        """The probabilities after every stage of sampling, in order, by name.

        The first one is the model; the mask is one of them. A forbidden token keeps its probability
        up to the mask.
        Cost: an exp of all tokens or of the allowed ones for each stage.
        """
        rows = self.penalized(sampling, context)
        stages: list[tuple[str, Probabilities]] = [("model", _among(self.rows))]
        if sampling.penalizes:
            stages.append(("repetition penalty", _among(rows)))
        weights = Temperature(1.0).scaled(rows.take(self.ids))
        stages.append(("mask", _among(weights, self.ids)))
        for stage in sampling.stages:
            weights = stage(weights)
            stages.append((stage.name, _among(weights, self.ids)))
        return tuple(stages)

    def logprob(self, token_id: TokenId) -> float:
        """Log-probability before the mask."""
        return min(0.0, float(self.logits[token_id]) - self.log_total)

    def masked_logprob(self, token_id: TokenId) -> float:
        """Log-probability among the allowed tokens; uniform if the model gives all of them 0."""
        if self.log_within == -math.inf:
            return -math.log(len(self.ids)) if len(self.ids) else -math.inf
        return min(0.0, float(self.logits[token_id]) - self.log_within)

    def rank(self, token_id: TokenId) -> int:
        """The rank among all tokens: 1 for the likeliest; among equals the lower id comes first."""
        score = self.logits[token_id]
        above = int(np.count_nonzero(self.logits > score))
        return 1 + above + int(np.count_nonzero(self.logits[:token_id] == score))

    def masked_rank(self, token_id: TokenId) -> int:
        """The rank among the allowed tokens."""
        score, before = self.logits[token_id], int(self.ids.searchsorted(token_id))
        above = int(np.count_nonzero(self.within > score))
        return 1 + above + int(np.count_nonzero(self.within[:before] == score))

    def candidate(self, token_id: TokenId, stages: Stages = ()) -> Candidate:
        """A token with its probability before the mask and after it."""
        return self._candidates(np.array([token_id]), stages)[0]

    def _candidates(self, token_ids: npt.NDArray[np.integer], stages: Stages) -> Candidates:
        logits, total, within = self.logits.take(token_ids), self.log_total, self.log_within
        after = np.array([of(token_ids) for _, of in stages]).reshape(len(stages), len(token_ids)).T
        return Candidates(self.vocabulary, self.mask, token_ids, logits, total, within, after)

    def wanted(self, top: int, stages: Stages = ()) -> Candidates:
        """The model's likeliest tokens, allowed or not, likeliest first."""
        others = self.vocabulary.ends[1:]
        ids = likeliest(self.logits, top + len(others))
        return self._candidates(ids[~np.isin(ids, others)][:top] if others else ids, stages)

    def allowed(self, top: int, stages: Stages = ()) -> Candidates:
        """The likeliest of the allowed tokens, likeliest first."""
        return self._candidates(self.ids[likeliest(self.within, top)], stages)

    def _allows(self, candidates: Candidates) -> bool:
        """Whether all of some candidates are allowed."""
        ids = candidates.token_ids
        return bool((self.mask.bits[ids >> 5] >> (ids & 31) & 1).all())

    def taken(
        self,
        token_id: TokenId,
        index: int,
        top: int,
        advance_ms: float,
        *,
        forward: bool = True,
        stages: Stages = (),
    ) -> Step:
        """The step that takes a token; the caller has checked that it is allowed."""
        wanted = self.wanted(top, stages)
        allowed = wanted if self._allows(wanted) else self.allowed(top, stages)
        score, likely = float(self.logits[token_id]), wanted.place(token_id)
        masked_rank = allowed.place(token_id) or self.masked_rank(token_id)
        return Step(
            index=index,
            token_id=token_id,
            token=self.vocabulary.tokens[token_id] or b"",
            state=self.state,
            mask=self.mask,
            logprob=self.logprob(token_id),
            masked_logprob=self.masked_logprob(token_id),
            favourite_id=int(wanted.token_ids[0] if wanted else self.logits.argmax()),
            kept=self.kept,
            rank=likely if likely and score > -math.inf else self.rank(token_id),
            masked_rank=masked_rank,
            wanted=wanted,
            allowed=allowed,
            forward=forward,
            model_ms=self.model_ms,
            mask_ms=self.mask_ms,
            advance_ms=advance_ms,
            is_end=token_id == self.vocabulary.end,
            stages=tuple((name, float(of(np.array([token_id]))[0])) for name, of in stages),
        )


def _among(weights: Scores, ids: npt.NDArray[np.int32] | None = None) -> Probabilities:
    """The probabilities of tokens among those of ``ids``, or all, with these log-weights.

    Shape: both (A,), ``ids`` sorted and not empty; or ``weights`` (V or more,).
    """
    total = log_sum(weights)

    def of(token_ids: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        places = token_ids if ids is None else np.minimum(ids.searchsorted(token_ids), len(ids) - 1)
        shares: npt.NDArray[np.float64] = np.exp(weights[places].astype(np.float64) - total)
        return shares if ids is None else np.where(ids[places] == token_ids, shares, 0.0)

    return of


def with_one_end(rows: Logits, vocabulary: Vocabulary) -> Logits:
    """The logits with all end tokens as one: log Σ exp for the first, −inf for the others.

    Shape: (V or more,), the array itself if there is nothing to change.
    """
    ends = list(vocabulary.ends)
    if len(ends) < 2:
        return rows
    rows = rows.copy()
    combined = log_sum(rows[ends].astype(np.float64))
    rows[ends], rows[ends[0]] = -np.inf, combined
    return rows


def milliseconds_since(started: float) -> float:
    """Milliseconds since a moment of ``time.perf_counter``."""
    return (time.perf_counter() - started) * 1000.0
