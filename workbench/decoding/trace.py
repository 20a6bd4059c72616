"""Step and Trace: the record of a generation, token by token; the measures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, NamedTuple

from workbench.base.errors import VocabularyError
from workbench.base.visible_text import count_of, shorten
from workbench.constraint.protocol import State, TokenMask
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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


# -- measures -------------------------------------------------------------------------------------
# The measures of a run that comparisons show: perplexities, passes, times, validity.


@dataclass(frozen=True, slots=True)
class Surprisal:
    """Σ −log p of some tokens; sums of several runs can be added, perplexities cannot.

    Unit: ``nats``.
    """

    nats: float = 0.0
    tokens: int = 0

    @staticmethod
    def of(steps: Iterable[Step]) -> Surprisal:
        """Of the steps that the model scored."""
        known = [step.surprisal for step in steps if step.is_scored]
        return Surprisal(math.fsum(known), len(known))

    def __add__(self, other: Surprisal) -> Surprisal:
        return Surprisal(self.nats + other.nats, self.tokens + other.tokens)

    @property
    def perplexity(self) -> float:
        """exp of the mean; nan for no tokens."""
        return mean_perplexity(self.nats, self.tokens)


@dataclass(slots=True)
class TimeSpent:
    """The wall-clock time and processor time spent in a run."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The measures of one run.

    The end token counts as a token and a forward pass, never in a perplexity. A token is forced
    if the mask allowed no other, and free otherwise. A perplexity of no tokens is nan.

    Unit:   perplexities per token under the model's own distribution, before the mask;
            ``mask_bits`` bits; ``seconds`` of the run without the pass over the prompt.
    Source: DOMINO §2 (intervention), tables 2 and 3.
    """

    text: str
    #: Whether the grammar accepts the text (checked by the grammar, not by the mask).
    valid: bool
    #: Whether the run ended in an accepted text.
    ended: bool
    stop: str
    tokens: int
    free_tokens: int
    forced_tokens: int
    #: The surprisal of the tokens that the model scored, without the end token.
    free: Surprisal
    forced: Surprisal
    interventions: int
    #: The probability of the allowed tokens, step by step; nan if the model did not score the step.
    kept: tuple[float, ...]
    #: Σ −log2 of ``kept``.
    mask_bits: float
    forward_passes: int
    compile_ms: float
    seconds: float
    #: Processor time of the run, of all threads of this process.
    cpu_seconds: float
    #: Whether the tokens are the tokenizer's for this text; None if unknown.
    proper: bool | None

    @property
    def perplexity(self) -> float:
        return (self.free + self.forced).perplexity

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds > 0 else math.nan

    def as_record(self) -> dict[str, Any]:
        """The fields, the perplexities and tokens per second, as plain values for JSON and CSV."""
        return asdict(self) | {
            "kept": list(self.kept),
            "perplexity": self.perplexity,
            "perplexity_free": self.free.perplexity,
            "perplexity_forced": self.forced.perplexity,
            "tokens_per_second": self.tokens_per_second,
        }


def measure(
    trace: Trace,
    grammar: Grammar,
    vocabulary: Vocabulary,
    spent: TimeSpent,
    compile_ms: float = 0.0,
    answer: bytes | None = None,
) -> Measures:
    """The measures of a finished run; ``answer`` is the part of its text for the grammar."""
    counted = [step for step in trace.steps if not step.is_end]
    return Measures(
        text=trace.text.decode("utf-8", "backslashreplace"),
        valid=grammar.accepts(trace.text if answer is None else answer),
        ended=trace.accepted,
        stop=trace.stop.value if trace.stop else "",
        tokens=len(trace.steps),
        free_tokens=sum(not step.forced for step in trace.steps),
        forced_tokens=sum(step.forced for step in trace.steps),
        free=Surprisal.of(step for step in counted if not step.forced),
        forced=Surprisal.of(step for step in counted if step.forced),
        interventions=trace.interventions,
        kept=tuple(step.kept for step in trace.steps),
        mask_bits=trace.mask_bits,
        forward_passes=trace.forward_passes,
        compile_ms=compile_ms,
        seconds=spent.seconds,
        cpu_seconds=spent.cpu_seconds,
        proper=is_proper(vocabulary, trace.token_ids),
    )


#: A function from a text to the tokenizer's tokens of it; None for a text it cannot tokenize.
CanonicalSpelling = Callable[[bytes], "list[TokenId] | None"]


def canonical_spelling(vocabulary: Vocabulary) -> CanonicalSpelling | None:
    """The tokenizer of a vocabulary as a function; None if it is not known exactly.

    Source: Tran-Thien 2024, proper token sequences.
    """
    try:
        bpe = Bpe.of(vocabulary)
    except VocabularyError:
        return None

    def spelling(text: bytes) -> list[TokenId] | None:
        try:
            return bpe.encode(text)
        except VocabularyError:
            return None

    return spelling


def is_proper(vocabulary: Vocabulary, token_ids: Sequence[TokenId]) -> bool | None:
    """Whether these tokens are the tokenizer's tokens of their text, without context.

    None if the tokenizer is not known exactly, and for incomplete characters.
    """
    canonical = canonical_spelling(vocabulary)
    ids = [token_id for token_id in token_ids if token_id not in vocabulary.ends]
    proper = canonical and canonical(vocabulary.decode(ids))
    return None if proper is None else proper == ids


#: The fewest tokens of a repetition, how often its text recurs at least, and its tokens at most.
_MIN_REPEATED, _MIN_TIMES, _MAX_PERIOD = 12, 4, 6


def repetition(tokens: Sequence[bytes]) -> str:
    """Where a run first fills up with white space or repeats itself; empty where it does not.

    ``measures.js`` has the same numbers for the page.
    """
    for start in range(len(tokens) - _MIN_REPEATED + 1):
        end = start
        while end < len(tokens) and tokens[end].isspace():
            end += 1
        if end - start >= _MIN_REPEATED:
            return f"tokens {start + 1} to {end} are white space"
        for period in range(1, _MAX_PERIOD + 1):
            end = start + period
            while end < len(tokens) and tokens[end] and tokens[end] == tokens[end - period]:
                end += 1
            if end - start >= max(_MIN_REPEATED, _MIN_TIMES * period):
                what = "one token" if period == 1 else f"{period} tokens"
                return f"tokens {start + 1} to {end} repeat {what}"
    return ""
