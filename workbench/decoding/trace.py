"""Step and Trace: the record of a generation, token by token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from workbench.base.visible_text import count_of, shorten
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.vocabulary.vocabulary import TokenId


class StopReason(Enum):
    """Why a generation ended."""

    #: The text is accepted and the model chose an end token.
    ACCEPTED = "accepted"
    #: The text is accepted and nothing but end tokens was allowed.
    FORCED_END = "forced end"
    #: No token was allowed and the text is not accepted.
    DEAD_END = "dead end"
    #: ``max_tokens`` were taken.
    TOKEN_BUDGET = "token budget"
    #: The caller requested a stop.
    STOPPED = "stopped"


class Candidate(NamedTuple):
    """A token the model considered. Probabilities are between 0 and 1."""

    token_id: TokenId
    #: Its bytes, None for a special token.
    token: bytes | None
    #: Before the mask.
    probability: float
    #: After the mask, renormalized; 0 for a forbidden token.
    masked_probability: float
    allowed: bool
    #: After every stage of sampling (``Step.stages`` names them); empty if they are not recorded.
    stages: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """One step of the decoding loop: the allowed, the preferred and the taken token.

    Steps compare by identity. If the vocabulary has several end tokens, the first represents all of
    them, with the sum of their probabilities.

    Unit:   log-probabilities in nats, never above 0; times in milliseconds; ``kept``
            a probability.
    Source: the loop is Koo et al. 2024, Algorithm 2; an intervention is
            defined in Beurer-Kellner et al. 2024 (DOMINO), §2.
    """

    #: Counted from 0.
    index: int
    #: The taken token.
    token_id: TokenId
    #: The token's bytes; may be an incomplete UTF-8 character. Empty for the end token.
    token: bytes
    #: The state of the constraint before the token was taken.
    state: State
    #: The tokens that were allowed.
    mask: TokenMask
    #: The model's log-probability of the taken token over the whole vocabulary, at temperature 1
    #: and before the mask: how natural the token is to the model, as in perplexity.
    logprob: float
    #: Log-probability of the taken token among the allowed ones.
    masked_logprob: float
    #: The model's likeliest token, before the mask.
    favourite_id: TokenId
    #: The probability of all allowed tokens together; nan, like ``logprob``, if the model did not
    #: score this position.
    kept: float
    #: 1 for the model's likeliest token.
    rank: int
    #: 1 for the likeliest of the allowed tokens.
    masked_rank: int
    #: The model's likeliest tokens, allowed or not, likeliest first.
    wanted: Sequence[Candidate]
    #: The likeliest of the allowed tokens, likeliest first.
    allowed: Sequence[Candidate]
    #: Whether a forward pass was run for this token; False if the token was forced and skipped, or
    #: scored in another token's pass (then its probabilities are known).
    forward: bool
    #: The time of the forward pass.
    model_ms: float
    #: The time of the mask.
    mask_ms: float
    #: The time of ``Constraint.advance``.
    advance_ms: float
    #: Whether the taken token is an end token.
    is_end: bool
    #: The token that counts or a draft model proposed here, whether it was taken or not; None for
    #: none.
    draft_id: TokenId | None = None
    #: The stages of sampling, the model the first, with the taken token's probability after each;
    #: empty if they are not recorded.
    stages: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        p = math.exp(self.logprob)  # nan if it was not scored
        return f"Step({self.index}, {self.token!r}, id {self.token_id}, p {p:.3g}, {self.mask!r})"

    @property
    def intervened(self) -> bool:
        """Whether the mask forbids the model's likeliest token."""
        return self.favourite_id not in self.mask

    @property
    def is_scored(self) -> bool:
        """Whether the model scored this position."""
        return not math.isnan(self.logprob)

    @property
    def forced(self) -> bool:
        """Whether only one token was allowed."""
        return len(self.mask) == 1

    @property
    def surprisal(self) -> float:
        """−log p in nats."""
        return -self.logprob

    @property
    def masked_surprisal(self) -> float:
        """−log p among the allowed tokens, in nats."""
        return -self.masked_logprob

    @property
    def mask_bits(self) -> float:
        """The cost of the mask at this step: −log2 of the probability of the allowed tokens.

        nan if the model did not score this position.
        """
        return math.inf if self.kept == 0 else -math.log2(self.kept)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """All steps of one generation, and why it ended.

    Unit: ``mask_bits`` in bits; ``drafted``, ``drafts_taken`` and ``interventions`` are counts of
          steps.
    """

    #: In the order of the text.
    steps: tuple[Step, ...]
    #: Why it ended; None while it continues.
    stop: StopReason | None = None
    #: Forward passes for tokens that are not part of the text, such as those of rejected texts.
    discarded_passes: int = 0

    def __repr__(self) -> str:
        text, tokens = shorten(repr(self.text), 60), count_of(len(self.steps), "token")
        return f"Trace({text}, {tokens}, {self.stop.value if self.stop else 'not ended'})"

    @property
    def text(self) -> bytes:
        """The bytes of all tokens."""
        return b"".join(step.token for step in self.steps)

    @property
    def token_ids(self) -> list[TokenId]:
        """The taken tokens, the end token included."""
        return [step.token_id for step in self.steps]

    @property
    def accepted(self) -> bool:
        """Whether the generation ended in an accepted text."""
        return self.stop in (StopReason.ACCEPTED, StopReason.FORCED_END)

    @property
    def perplexity(self) -> float:
        """exp of the mean surprisal of the generated tokens without the end token; nan if none.

        Tokens that the model did not score are not counted.
        Source: the project's design, §6; the model's unmasked probabilities.
        """
        return perplexity(s.logprob for s in self.steps if s.is_scored and not s.is_end)

    @property
    def perplexity_with_end(self) -> float:
        """The perplexity including the end token."""
        return perplexity(step.logprob for step in self.steps if step.is_scored)

    @property
    def forward_passes(self) -> int:
        """The number of forward passes: those run for a step, and the discarded ones."""
        return sum(step.forward for step in self.steps) + self.discarded_passes

    @property
    def drafted(self) -> int:
        """The number of steps for which a token was proposed."""
        return sum(step.draft_id is not None for step in self.steps)

    @property
    def drafts_taken(self) -> int:
        """The number of steps that took the proposed token."""
        return sum(step.draft_id == step.token_id for step in self.steps)

    @property
    def interventions(self) -> int:
        """The number of steps in which the mask forbids the model's likeliest token."""
        return sum(step.intervened for step in self.steps)

    @property
    def mask_bits(self) -> float:
        """The cost of the masks over the whole text, in bits."""
        return math.fsum(step.mask_bits for step in self.steps if step.is_scored)


def perplexity(logprobs: Iterable[float]) -> float:
    """exp(mean −log p) of log-probabilities in nats; nan for no values."""
    values: Sequence[float] = list(logprobs)
    return mean_perplexity(-math.fsum(values), len(values))


def mean_perplexity(nats: float, tokens: int) -> float:
    """The perplexity from a sum of −log p; nan for no tokens."""
    if not tokens:
        return math.nan
    try:
        return math.exp(nats / tokens)
    except OverflowError:
        return math.inf
