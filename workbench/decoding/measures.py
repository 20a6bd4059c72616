"""The measures of a run that comparisons show: perplexities, passes, times, validity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.base.errors import VocabularyError
from workbench.decoding.trace import Step, Trace, mean_perplexity
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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
        surprisals = [step.surprisal for step in steps if step.is_scored]
        return Surprisal(math.fsum(surprisals), len(surprisals))

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
