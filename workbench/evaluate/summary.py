"""Summaries: the runs of a comparison → one line a contender, pooled over prompts and seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from workbench.bench.table import aligned, figure
from workbench.evaluate.compare import Ended
from workbench.evaluate.contenders import UNCONSTRAINED, Contender
from workbench.evaluate.measures import Measures, Surprisal


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What all runs of one contender came to.

    Perplexities are of all tokens of all runs together. ``relative`` is the median, over prompts
    and seeds, of the tokens a second divided by those of the model alone on the same prompt and
    seed; None where it did not run.
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
        """The share of runs spelt as the tokenizer would; None where nobody knows."""
        known = [m.proper for m in self.measures if m.proper is not None]
        return sum(known) / len(known) if known else None

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
    def tokens_per_second(self) -> float:
        seconds = math.fsum(m.seconds for m in self.measures)
        return sum(m.tokens for m in self.measures) / seconds if seconds else math.nan

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


def summaries(ended: Iterable[Ended]) -> list[Summary]:
    """One summary a contender, in the order they first ended."""
    by_name: dict[str, list[Ended]] = {}
    for end in ended:
        by_name.setdefault(end.run.contender.name, []).append(end)
    alone = {
        (end.run.prompt, end.run.seed): end.measures.tokens_per_second
        for end in by_name.get(UNCONSTRAINED, ())
    }
    return [
        Summary(ends[0].run.contender, tuple(end.measures for end in ends), _relative(ends, alone))
        for ends in by_name.values()
    ]


def _relative(ends: Sequence[Ended], alone: dict[tuple[str, int], float]) -> float | None:
    ratios = [
        end.measures.tokens_per_second / base
        for end in ends
        if (base := alone.get((end.run.prompt, end.run.seed)))
    ]
    return median(ratios) if ratios else None


def _number(value: float) -> str:
    """A figure; – where there is none."""
    return "–" if math.isnan(value) else f"{value:,.2f}"


#: The columns of the table for people: title, key of the record, how a value is written.
_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("valid", "valid", lambda x: f"{x:.0%}"),
    ("proper", "proper", lambda x: "–" if x is None else f"{x:.0%}"),
    ("tokens", "tokens", lambda x: f"{x:.1f}"),
    ("perplexity", "perplexity", _number),
    ("free", "perplexity_free", _number),
    ("forced", "perplexity_forced", _number),
    ("interventions", "interventions", lambda x: f"{x:.1f}"),
    ("mask bits", "mask_bits", lambda x: f"{x:.1f}"),
    ("passes/token", "passes_per_token", lambda x: f"{x:.2f}"),
    ("tokens/s", "tokens_per_second", lambda x: f"{x:.0f}"),
    ("speed", "relative", lambda x: "–" if x is None else f"{x:.2f}×"),
    ("compile ms", "compile_ms", figure),
)


def table(found: Sequence[Summary]) -> str:
    """The summaries as a table in plain text."""
    rows: list[tuple[str, ...]] = [("", *(title for title, _, _ in _COLUMNS))]
    for summary in found:
        record = summary.as_record()
        rows.append((summary.contender.name, *(show(record[key]) for _, key, show in _COLUMNS)))
    return aligned(rows)
