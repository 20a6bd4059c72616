"""Measures: a trace and the time it took → the numbers a comparison shows of it."""

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
    """−log p of some tokens, summed: sums of runs can be added, perplexities cannot.

    Unit: ``nats``.
    """

    nats: float = 0.0
    tokens: int = 0

    @staticmethod
    def of(steps: Iterable[Step]) -> Surprisal:
        """Of the steps whose log-probability is known."""
        known = [step.surprisal for step in steps if step.judged]
        return Surprisal(math.fsum(known), len(known))

    def __add__(self, other: Surprisal) -> Surprisal:
        return Surprisal(self.nats + other.nats, self.tokens + other.tokens)

    @property
    def perplexity(self) -> float:
        """exp of the mean; nan of no tokens."""
        return mean_perplexity(self.nats, self.tokens)


@dataclass(slots=True)
class TimeSpent:
    """The time of a run so far, by the clock and of the processor."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What one run came to.

    The end token counts as a token and a forward pass, never in a perplexity. A token is forced
    where the mask allowed no other, and free otherwise. nan stands where there is nothing to
    measure: perplexities of no tokens.

    Unit:   perplexities per token under the model's own distribution, before the mask;
            ``mask_bits`` bits; ``seconds`` of the run without the prompt's own pass.
    Source: DOMINO §2 (intervention), tables 2 and 3.
    """

    text: str
    #: Whether the grammar accepts the text (asked of the grammar, not of the mask).
    valid: bool
    #: Whether the run came to its end by itself.
    ended: bool
    stop: str
    tokens: int
    free_tokens: int
    forced_tokens: int
    #: What the model thought of the tokens it was asked about, the end left out.
    free: Surprisal
    forced: Surprisal
    interventions: int
    #: The probability the mask let through, token by token; nan where the model was not asked.
    kept: tuple[float, ...]
    #: −log2 of it, summed.
    mask_bits: float
    forward_passes: int
    compile_ms: float
    seconds: float
    #: Processor time of the same, of all threads: what else the machine does is not in it.
    cpu_seconds: float
    #: Whether the tokenizer would have written the text in these tokens; None where nobody knows.
    proper: bool | None

    @property
    def perplexity(self) -> float:
        return (self.free + self.forced).perplexity

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds > 0 else math.nan

    def as_record(self) -> dict[str, Any]:
        """The fields, the perplexities and the tokens a second: plain values for JSON and CSV."""
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
) -> Measures:
    """The measures of a finished run."""
    told = [step for step in trace.steps if not step.is_end]
    return Measures(
        text=trace.text.decode("utf-8", "backslashreplace"),
        valid=grammar.accepts(trace.text),
        ended=trace.accepted,
        stop=trace.stop.value if trace.stop else "",
        tokens=len(trace.steps),
        free_tokens=sum(not step.forced for step in trace.steps),
        forced_tokens=sum(step.forced for step in trace.steps),
        free=Surprisal.of(step for step in told if not step.forced),
        forced=Surprisal.of(step for step in told if step.forced),
        interventions=trace.interventions,
        kept=tuple(step.kept for step in trace.steps),
        mask_bits=trace.mask_bits,
        forward_passes=trace.forward_passes,
        compile_ms=compile_ms,
        seconds=spent.seconds,
        cpu_seconds=spent.cpu_seconds,
        proper=is_proper(vocabulary, trace.token_ids),
    )


#: A text → the tokenizer's own spelling of it, standing alone; None for one it cannot spell.
CanonicalSpelling = Callable[[bytes], "list[TokenId] | None"]


def canonical_spelling(vocabulary: Vocabulary) -> CanonicalSpelling | None:
    """How the vocabulary's tokenizer spells texts; None where that cannot be said exactly.

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
    """Whether the tokenizer writes the text of these tokens in these tokens, standing alone.

    None for a vocabulary of which that cannot be said, and for half a character.
    """
    canonical = canonical_spelling(vocabulary)
    ids = [token_id for token_id in token_ids if token_id != vocabulary.end]
    spelt = canonical and canonical(vocabulary.decode(ids))
    return None if spelt is None else spelt == ids
