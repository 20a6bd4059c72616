"""Speeds of methods side by side: contenders and prompts in, ratios to the model alone out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from workbench.decoding.sampling import Sampling
from workbench.decoding.turn import since
from workbench.errors import WorkbenchError
from workbench.evaluate.compare import Run
from workbench.evaluate.contenders import UNCONSTRAINED, Contender, Prepared
from workbench.evaluate.experiment import Record, Setting, Stopped, finished
from workbench.evaluate.learning import STRATEGIES, WarmUp, warm_up
from workbench.evaluate.measures import Measures
from workbench.grammar import Grammar

#: DOMINO §4.3: up to so many tokens, at temperature 1.
MOST_TOKENS = 128
_TEMPERATURE = 1.0
#: Runs of each contender whose times are thrown away: rows and caches are made then.
_COLD = 2


def least_ms(setting: Setting, work: Callable[[], object]) -> float:
    """The milliseconds of some work, the least of as many times as the size says.

    Once before, for whatever is made only once: a vocabulary's tables, kernels.
    Raises: Stopped.
    """
    work()
    times = []
    for _ in range(setting.size.timings):
        if setting.stop():
            raise Stopped
        started = time.perf_counter()
        work()
        times.append(since(started))
    return min(times)


@dataclass(slots=True, eq=False)
class _Timed:
    prepared: Prepared
    measures: list[Measures]
    ratios: list[float]


def speeds(
    setting: Setting, grammar: Grammar, prompts: Sequence[str], contenders: Sequence[Contender]
) -> Record:
    """How much faster each contender is than the model alone on the same prompt and seed.

    Every repetition runs all of them one after the other, each time beginning with another one, so
    that what else the machine does meets all alike; the median of the ratios is told with its
    quartiles. Warm-up runs come first: they teach the counts, and make the rows.

    Raises: Stopped.
    """
    timed: dict[str, _Timed] = {}
    shared: dict[str, _Shared] = {}
    record: Record = {}
    for contender in contenders:
        try:
            prepared = _warm(setting, grammar, prompts, contender, shared)
        except WorkbenchError as error:
            record[contender.name] = {"failed": error.message}
        else:
            timed[contender.name] = _Timed(prepared, [], [])
    names = list(timed)
    for number in range(setting.size.repetitions):
        first = number % len(names)
        seen: dict[str, Measures] = {}
        for name in [*names[first:], *names[:first]]:
            seen[name] = _one(setting, grammar, timed[name].prepared, prompts, number)
        for name, measures in seen.items():
            timed[name].measures.append(measures)
            timed[name].ratios.append(faster(measures, seen[UNCONSTRAINED]))
    return record | {name: _record(found) for name, found in timed.items()}


@dataclass(slots=True, eq=False)
class _Shared:
    """What contenders of one mask share: the compiled grammar, and warm-up runs under it."""

    prepared: Prepared
    runs: list[WarmUp]


def _warm(
    setting: Setting,
    grammar: Grammar,
    prompts: Sequence[str],
    contender: Contender,
    shared: dict[str, _Shared],
) -> Prepared:
    """A contender that has learnt what it learns, its rows and caches made."""
    key = repr((contender.method, sorted(contender.options.items()), contender.program))
    if key not in shared:
        shared[key] = _Shared(contender.prepare(setting.model, grammar), [])
    one = shared[key]
    model, constraint = setting.model, one.prepared.constraint
    strategy = STRATEGIES[contender.strategy]
    if contender.learns is not None:
        missing = contender.learns.warm_up - len(one.runs)
        if missing > 0:
            drawn = Sampling(temperature=_TEMPERATURE)
            one.runs += warm_up(
                model, constraint, prompts, drawn, missing, MOST_TOKENS, setting.stop
            )
        strategy = contender.learns.learnt(model, constraint, one.runs[: contender.learns.warm_up])
    prepared = replace(one.prepared, contender=contender, strategy=strategy)
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


def faster(measures: Measures, alone: Measures) -> float:
    """Tokens a second of processor time, relative to the model alone.

    Of processor time, since machines that are shared are seldom idle: the clock's ratios of equal
    work were between 0.5 and 2.3 on a loaded machine.
    """
    return (measures.tokens / measures.cpu_seconds) / (alone.tokens / alone.cpu_seconds)


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
