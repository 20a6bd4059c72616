"""Sampling: how a token is drawn from logits and a mask; the next token's candidates.

The stages of a draw and their order: ``workbench.decoding.stages``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import check_fields
from workbench.base.cached_property import cached_property
from workbench.base.cpu_time import uncounted
from workbench.base.errors import ArgumentValueError, ModelError
from workbench.constraint.protocol import State, TokenMask
from workbench.decoding.model import Logits, Session, padded
from workbench.decoding.stages import (
    LogWeights,
    MinP,
    Scores,
    Stage,
    Temperature,
    TopK,
    TopP,
    likeliest,
)
from workbench.decoding.trace import Candidate, Step
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class SamplingError(ArgumentValueError):
    """A sampling setting is outside its range."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings, one for each stage, in the order of ``workbench.decoding.stages``.

    A setting that changes nothing has no stage. At temperature 0 only the repetition penalty
    changes the text: the likeliest allowed token is never removed.

    Unit:   ``temperature`` divides the logits; 0 is greedy (ties go to the lowest id).
            ``top_p`` is a probability after mask, temperature and top-k; ``min_p`` a fraction of
            the likeliest token's probability. ``repetition_penalty`` divides the positive logits
            of the tokens that the model has read, and multiplies the negative ones.
    Raises: SamplingError for a setting outside its range.
    Source: repetition penalty: Keskar et al. 2019; transformers,
            ``RepetitionPenaltyLogitsProcessor``, for prompt and text.
    """

    #: From 0; 1 draws from the model's own probabilities.
    temperature: float = 0.0
    #: Draw from the k likeliest of the allowed tokens and their equals; None for all of them.
    top_k: int | None = None
    #: Draw from the fewest tokens that together have this probability; None for all of them.
    top_p: float | None = None
    #: The same seed gives the same tokens, step by step, also after a rewind.
    seed: int = 0
    #: Draw from the tokens with this fraction of the likeliest one's probability; None for all.
    min_p: float | None = None
    #: Above 1 a token that was read becomes less likely, below 1 likelier; 1 changes nothing.
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.temperature <= sys.float_info.max:
            raise SamplingError(
                f"expected a temperature of 0 or more, not {self.temperature!r}",
                "0 always takes the likeliest token, 0.7 is a usual choice",
            )
        if self.top_k is not None and self.top_k < 1:
            raise SamplingError(
                f"expected top-k to be 1 or more, not {self.top_k!r}", "leave it out to keep all"
            )
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise SamplingError(
                f"expected top-p above 0 and up to 1, not {self.top_p!r}", "1 keeps all tokens"
            )
        if self.seed < 0:
            raise SamplingError(f"expected a seed of 0 or more, not {self.seed!r}")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise SamplingError(
                f"expected min-p between 0 and 1, not {self.min_p!r}", "0 keeps all tokens"
            )
        if not 0 < self.repetition_penalty <= sys.float_info.max:
            raise SamplingError(
                f"expected a repetition penalty above 0, not {self.repetition_penalty!r}",
                "use 1 for no penalty; 1.1 is a common value",
            )

    @property
    def filters(self) -> tuple[Stage, ...]:
        """The stages that remove unlikely tokens, in their order."""
        stages: tuple[Stage | None, ...] = (
            None if self.top_k is None else TopK(self.top_k),
            None if self.top_p is None or self.top_p == 1 else TopP(self.top_p),
            None if not self.min_p else MinP(self.min_p),
        )
        return tuple(stage for stage in stages if stage is not None)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages after the mask, in their order."""
        warm = () if self.temperature == 1 else (Temperature(self.temperature),)
        return (*warm, *self.filters)

    @property
    def penalizes(self) -> bool:
        """Whether there is a repetition penalty."""
        return self.repetition_penalty != 1

    @property
    def is_plain(self) -> bool:
        """Whether the mask decides alone, or with it the likeliest token of the model is taken."""
        return not self.penalizes and (self.temperature == 0 or not self.stages)

    def as_record(self) -> dict[str, float]:
        """The temperature, and the settings that change something, without the seed."""
        unset = asdict(Sampling(seed=self.seed))
        return {
            name: value
            for name, value in asdict(self).items()
            if name == "temperature" or value != unset[name]
        }

    @staticmethod
    def of(record: Mapping[str, Any], seed: int = 0) -> Sampling:
        """The sampling of ``as_record``'s result; other keys are ignored.

        Raises: SamplingError.
        """
        names = {each.name for each in fields(Sampling)} - {"seed"}
        return Sampling(
            **{name: value for name, value in record.items() if name in names}, seed=seed
        )

    def penalized(self, logits: Logits, read: Sequence[TokenId]) -> Logits:
        """The logits after the repetition penalty; ``read`` are the tokens of prompt and text."""
        if not self.penalizes or not len(read):
            return logits
        ids = np.unique(np.asarray(read, np.int64))
        logits, scores, penalty = logits.copy(), logits[ids], self.repetition_penalty
        logits[ids] = np.where(scores < 0, scores * penalty, scores / penalty)
        return logits

    def rng(self, index: int, attempt: int = 0) -> np.random.Generator:
        """The random numbers of step ``index``: a separate stream, so a rewind repeats them.

        ``attempt``  another stream for each text that is drawn for one seed.
        """
        key = (self.seed, index, attempt) if attempt else (self.seed, index)
        # the same stream as that of the tuple, whose numbers numpy converts one by one
        entropy = np.array(key, np.uint32) if max(key) < 1 << 32 else key
        return np.random.Generator(np.random.PCG64(entropy))

    def choose(self, logits: Scores, allowed: TokenMask, rng: np.random.Generator) -> TokenId:
        """Draw one of the tokens in ``allowed``.

        An exponential race: every token gets a random time, exponential with its probability as
        rate, and the first allowed token wins, which has its probability among the allowed ones.
        Two properties follow. A token that wins among all tokens wins wherever it is allowed, so a
        run differs from the unconstrained run of the same seed only where the mask forbids a token
        (DOMINO's interventions, at every temperature). And the mask is not needed if the winner is
        allowed (``OpportunisticMasking``). Inverse transform sampling (2.5 ms at V = 131k, the race
        1.0; equal at 6000) has neither, and each cumulative sum has the rounding errors of all
        terms before it: logits scored in another batch then drew another token once in 23,000.

        Top-k, top-p and min-p count only allowed tokens, so with them the mask is needed first.

        Shape:  ``logits`` (V,) or longer (rows that are no token), after the repetition penalty.
        Raises: SamplingError if no token is allowed.
        """
        logits = logits[: allowed.size]
        times = None if self.temperature == 0 else rng.standard_exponential(len(logits))
        filters = () if times is None else self.filters
        if not filters and (winner := self._first(logits, times)) in allowed:
            return winner
        ids = allowed.ids
        if not len(ids):
            raise SamplingError("expected at least one allowed token to choose from")
        if times is None:
            return int(ids[self._first(logits[ids], None)])
        if filters:
            ids = ids[self._filtered(logits[ids]) > -np.inf]
        return int(ids[self._first(logits[ids], times[ids])])

    def shares(self, scores: Scores) -> npt.NDArray[np.float64]:
        """The probability of each allowed token to be drawn, from the logits of the allowed tokens.

        Shape: (A,) in and out; after the repetition penalty.
        """
        if self.temperature == 0:
            weights = np.zeros(len(scores))
            weights[int(np.argmax(scores))] = 1.0
            return weights
        weights = np.exp(self._filtered(scores))
        weights /= weights.sum()
        return weights

    def _filtered(self, scores: Scores) -> LogWeights:
        """Log-weights of the allowed tokens after all stages, from their logits."""
        weights = Temperature(self.temperature).scaled(scores)
        for stage in self.filters:
            weights = stage(weights)
        return weights

    def _first(self, scores: Scores, times: npt.NDArray[np.float64] | None) -> int:
        """The index of the winning token, the first of equals."""
        likeliest = int(np.argmax(scores))
        if times is None:
            return likeliest
        best = scores[likeliest]
        if best == -math.inf:
            return int(np.argmin(times))
        # a token wins only if its weight is at least its time divided by the likeliest token's
        # time: weights of other tokens are not computed; 1e-4 exceeds the rounding error
        least = math.log(max(float(times.min()), 1e-300) / max(float(times[likeliest]), 1e-300))
        bound = float(best) + self.temperature * least
        (few,) = (scores >= bound - 1e-4 * (1.0 + abs(bound))).nonzero()
        weights = np.exp(Temperature(self.temperature).scaled(scores[few]))
        return int(few[np.argmax(weights / times[few])])


def log_softmax(logits: Scores) -> npt.NDArray[np.float64]:
    """Log-probabilities in nats.

    Shape: (V,) in, (V,) float64 out; float32 loses small probabilities at V = 131k.
    """
    return logits.astype(np.float64) - log_sum(logits)


def log_sum(scores: Scores) -> float:
    """log Σ exp: the log-probability of all of these together; −inf for none.

    The terms are computed in the precision of ``scores``, their sum in float64: with float32 (a
    quarter of the time on a processor without AVX-512) the error is below 1e-6.
    """
    if not len(scores) or (best := scores.max()) == -math.inf:
        return -math.inf
    return float(best) + math.log(float(np.exp(scores - best).sum(dtype=np.float64)))


# -- candidates -----------------------------------------------------------------------------------
# The next token's candidates: probabilities with and without the mask.
#
# A vocabulary may have several end tokens. Which of them ends a text is no part of the text, so
# here they are one event: the first end token represents all, with the sum of their probabilities.
# Draws, ranks, top-k, forced tokens and measures need no special case for them. All stages of
# sampling apply to the sum. The masks of constraints have all end tokens, for samplers of other
# programs, which draw each of them separately (``LogitsProcessor``). At temperature 1, without
# other stages, both give texts the same distribution.


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
        found: list[tuple[str, Probabilities]] = [("model", _among(self.rows))]
        if sampling.penalizes:
            found.append(("repetition penalty", _among(rows)))
        weights = Temperature(1.0).scaled(rows.take(self.ids))
        found.append(("mask", _among(weights, self.ids)))
        for stage in sampling.stages:
            weights = stage(weights)
            found.append((stage.name, _among(weights, self.ids)))
        return tuple(found)

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
        own = self.logits[token_id]
        above = int(np.count_nonzero(self.logits > own))
        return 1 + above + int(np.count_nonzero(self.logits[:token_id] == own))

    def masked_rank(self, token_id: TokenId) -> int:
        """The rank among the allowed tokens."""
        own, before = self.logits[token_id], int(self.ids.searchsorted(token_id))
        above = int(np.count_nonzero(self.within > own))
        return 1 + above + int(np.count_nonzero(self.within[:before] == own))

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
        own, likely = float(self.logits[token_id]), wanted.place(token_id)
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
            rank=likely if likely and own > -math.inf else self.rank(token_id),
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
