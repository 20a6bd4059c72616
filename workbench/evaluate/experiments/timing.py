"""Speeds of methods side by side: contenders and prompts in, ratios to the model alone out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from workbench.decoding.sampling import Sampling
from workbench.errors import WorkbenchError
from workbench.evaluate.compare import Run
from workbench.evaluate.contenders import UNCONSTRAINED, Contender, Prepared
from workbench.evaluate.experiment import Record, Setting, finished
from workbench.evaluate.measures import Measures
from workbench.grammar import Grammar

#: DOMINO §4.3: up to so many tokens, at temperature 1.
MOST_TOKENS = 128
_TEMPERATURE = 1.0
#: Runs of each contender whose times are thrown away: rows and caches are made then.
_COLD = 2


@dataclass(slots=True, eq=False)
class _Timed:
    prepared: Prepared
    measures: list[Measures]
    ratios: list[float]


def speeds(
    setting: Setting, grammar: Grammar, prompts: Sequence[str], contenders: Sequence[Contender]
) -> Record:
    """Tokens a second of each contender, divided by the model's alone on the same prompt and seed.

    Every repetition runs all of them one after the other, each time beginning with another one, so
    that what else the machine does meets all alike; the median of the ratios is told with its
    quartiles. Warm-up runs come first: they teach the counts, and make the rows.

    Raises: Stopped.
    """
    timed: dict[str, _Timed] = {}
    record: Record = {}
    for contender in contenders:
        try:
            timed[contender.name] = _Timed(_warm(setting, grammar, prompts, contender), [], [])
        except WorkbenchError as error:
            record[contender.name] = {"failed": error.message}
    names = list(timed)
    for number in range(setting.size.repetitions):
        first = number % len(names)
        seen: dict[str, Measures] = {}
        for name in [*names[first:], *names[:first]]:
            seen[name] = _one(setting, grammar, timed[name].prepared, prompts, number)
        for name, measures in seen.items():
            timed[name].measures.append(measures)
            base = seen[UNCONSTRAINED].tokens_per_second
            timed[name].ratios.append(measures.tokens_per_second / base)
    return record | {name: _record(found) for name, found in timed.items()}


def _warm(
    setting: Setting, grammar: Grammar, prompts: Sequence[str], contender: Contender
) -> Prepared:
    prepared = contender.prepare(setting.model, grammar).taught(
        prompts, Sampling(temperature=_TEMPERATURE), MOST_TOKENS, setting.stop
    )
    for number in range(_COLD):
        _one(setting, grammar, prepared, prompts, -1 - number)
    return prepared


def _one(
    setting: Setting, grammar: Grammar, prepared: Prepared, prompts: Sequence[str], number: int
) -> Measures:
    """The run of a number: its prompt and seed; warm-ups have numbers below 0."""
    prompt, seed = prompts[number % len(prompts)], number if number >= 0 else 1_000_000 - number
    run, sampling = (
        Run(prepared.contender, prompt, seed),
        Sampling(temperature=_TEMPERATURE, seed=seed),
    )
    return finished(setting, run, prepared, grammar, sampling, MOST_TOKENS)


def _record(found: _Timed) -> Record:
    ratios, measures = found.ratios, found.measures
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    tokens = sum(m.tokens for m in measures)
    return {
        "relative": median(ratios),
        "low": low,
        "high": high,
        "tokens_per_second": median(m.tokens_per_second for m in measures),
        "passes_per_token": sum(m.forward_passes for m in measures) / tokens,
        "tokens": tokens / len(measures),
        "valid": sum(m.valid for m in measures) / len(measures),
        "compile_ms": found.prepared.compile_ms,
    }
