"""Summaries of a comparison: one row per contender, pooled over its runs, and two sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from workbench.decoding.contenders import UNCONSTRAINED, Contender
from workbench.decoding.measures import Measures, Surprisal
from workbench.decoding.trace import Trace


@dataclass(frozen=True, slots=True)
class Run:
    """One contender on one prompt with one seed."""

    contender: Contender
    prompt: str
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class RunEnded:
    """A run ended or was stopped; see ``trace.stop``."""

    run: Run
    measures: Measures
    trace: Trace


#: If the fastest run is faster than the slowest by more than this factor, no speed ratio is given.
MAX_SPREAD = 1.5

#: The fewest tokens that a contender's timed runs have together for a speed ratio. Below, one
#: interruption of the process changes the ratio more than the method does.
MIN_TIMED_TOKENS = 200

#: The most names in a sentence; the others are counted.
MAX_NAMES = 3

#: Larger perplexities are shown as "> 10⁶".
MAX_PERPLEXITY = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The measures of all runs of one contender.

    Perplexities are of all tokens of all runs together. ``relative`` is ``tokens_per_second``
    divided by that of the unconstrained model; None if that would be noise (``_relative``).
    """

    contender: Contender
    measures: tuple[Measures, ...]
    relative: float | None

    @property
    def runs(self) -> int:
        return len(self.measures)

    def mean(self, value: Callable[[Measures], float]) -> float:
        """A measure's mean over the runs."""
        return math.fsum(map(value, self.measures)) / self.runs

    @property
    def valid(self) -> float:
        """The share of runs whose text the grammar accepts."""
        return self.mean(lambda m: m.valid)

    @property
    def proper(self) -> float | None:
        """The share of runs whose tokens are the tokenizer's; None if unknown."""
        values = [m.proper for m in self.measures if m.proper is not None]
        return sum(values) / len(values) if values else None

    @property
    def free(self) -> Surprisal:
        return sum((m.free for m in self.measures), Surprisal())

    @property
    def forced(self) -> Surprisal:
        return sum((m.forced for m in self.measures), Surprisal())

    @property
    def passes_per_token(self) -> float:
        return self.mean(lambda m: m.forward_passes) / max(self.mean(lambda m: m.tokens), 1e-9)

    @property
    def rates(self) -> list[float]:
        """The tokens per second of every run that can be timed."""
        return [rate for m in self.measures if math.isfinite(rate := m.tokens_per_second)]

    @property
    def tokens_per_second(self) -> float:
        """The median rate in three digits as shown, so that ratios match the shown numbers."""
        return float(f"{median(self.rates):.3g}") if self.rates else math.nan

    @property
    def timed_tokens(self) -> int:
        """The tokens of all runs that can be timed."""
        return sum(m.tokens for m in self.measures if math.isfinite(m.tokens_per_second))

    @property
    def steady(self) -> bool:
        """Whether two or more runs agree, so that ratios to this rate are meaningful."""
        return len(self.rates) > 1 and max(self.rates) <= MAX_SPREAD * min(self.rates)

    def as_record(self) -> dict[str, Any]:
        """Plain values for JSON, CSV and tables."""
        return {
            "contender": self.contender.name,
            "runs": self.runs,
            "valid": self.valid,
            "proper": self.proper,
            "tokens": self.mean(lambda m: m.tokens),
            "perplexity": (self.free + self.forced).perplexity,
            "perplexity_free": self.free.perplexity,
            "perplexity_forced": self.forced.perplexity,
            "interventions": self.mean(lambda m: m.interventions),
            "mask_bits": self.mean(lambda m: m.mask_bits),
            "passes_per_token": self.passes_per_token,
            "tokens_per_second": self.tokens_per_second,
            "relative": self.relative,
            "compile_ms": median(m.compile_ms for m in self.measures),
        }


def summaries(ended: Iterable[RunEnded]) -> list[Summary]:
    """One summary per contender, in the order of their first ended runs."""
    by_name: dict[str, list[RunEnded]] = {}
    for end in ended:
        by_name.setdefault(end.run.contender.name, []).append(end)
    summaries = [
        Summary(ends[0].run.contender, tuple(end.measures for end in ends), None)
        for ends in by_name.values()
    ]
    alone = next(
        (summary for summary in summaries if summary.contender.name == UNCONSTRAINED), None
    )
    if alone is None or not alone.steady or alone.timed_tokens < MIN_TIMED_TOKENS:
        return summaries
    return [replace(summary, relative=_relative(summary, alone)) for summary in summaries]


def _relative(summary: Summary, alone: Summary) -> float | None:
    """The speed of a contender divided by that of the model alone; None where it would be noise.

    A contender that saves no pass of the model cannot be faster than the model alone.
    """
    if summary.timed_tokens < MIN_TIMED_TOKENS:
        return None
    ratio = summary.tokens_per_second / alone.tokens_per_second
    saves_passes = summary.passes_per_token <= 0.995  # shown as 1.00
    return ratio if ratio <= 1 or saves_passes else None


def rate(value: float) -> str:
    """Tokens per second in three digits, or – for nan."""
    if math.isnan(value):
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"
