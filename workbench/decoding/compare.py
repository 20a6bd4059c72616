"""Runs contenders on the same grammar, prompts and seeds.

The contenders are interleaved: all of them run on one prompt and seed before the next seed begins,
so a change in the load of the machine reaches all of them. Before its first run each contender
makes a warm-up run that is discarded, so that compiling kernels and filling caches is not measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.text_tables import figure, format_table
from workbench.decoding.contenders import UNCONSTRAINED, Contender, PreparedContender
from workbench.decoding.measures import TimeSpent, measure
from workbench.decoding.model import LanguageModel
from workbench.decoding.run_summaries import (
    MAX_NAMES,
    MAX_PERPLEXITY,
    MIN_TIMED_TOKENS,
    Run,
    RunEnded,
    Summary,
    rate,
    summaries,
)
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, Trace
from workbench.grammar.grammar import Grammar


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run is about to take its first token; its contender has compiled the grammar."""

    run: Run
    compile_ms: float


@dataclass(frozen=True, slots=True, eq=False)
class RunStep:
    """A run took a token."""

    run: Run
    step: Step


@dataclass(frozen=True, slots=True, eq=False)
class RunFailed:
    """A run failed: the contender does not apply, or the model failed."""

    run: Run
    error: WorkbenchError


Event = RunBegan | RunStep | RunEnded | RunFailed


def compare(
    model: LanguageModel,
    grammar: Grammar,
    prompts: Sequence[str],
    contenders: Sequence[Contender],
    seeds: Sequence[int] = (0,),
    sampling: Sampling = Sampling(),  # noqa: B008  # a frozen value
    *,
    max_tokens: int = 128,
    top: int = 8,
    stop: Callable[[], bool] | None = None,
    limits: Limits = LIMITS,
) -> Iterator[Event]:
    """Run every contender on every prompt with every seed.

    ``sampling``    its seed is replaced by each of ``seeds``.
    ``top``         how many candidates a step records.
    ``stop``        called before every token and every run; True ends the comparison, the current
                    run with ``RunEnded`` and ``StopReason.STOPPED``.

    Before its first run, a contender compiles the grammar, does its warm-up runs on these prompts
    and makes one run that is discarded, with a seed that is not among ``seeds``. If it cannot
    compile, each of its runs fails with the same error, and the others continue.
    """
    ready: dict[str, PreparedContender | WorkbenchError] = {}

    def teach(prepared: PreparedContender) -> PreparedContender:
        taught = prepared.taught(prompts, sampling, max_tokens, stop)
        run = Run(prepared.contender, prompts[0], max(seeds) + 1)
        drawn = replace(sampling, seed=run.seed)
        for _ in run_events(run, taught, grammar, drawn, max_tokens=max_tokens, top=top, stop=stop):
            pass
        return taught

    for prompt in prompts:
        for seed in seeds:
            for contender in contenders:
                if stop is not None and stop():
                    return
                run = Run(contender, prompt, seed)
                compiled = ready.get(contender.name)
                if compiled is None:
                    compiled = _prepare(contender, model, grammar, limits, teach)
                    ready[contender.name] = compiled
                    if stop is not None and stop():
                        return
                if isinstance(compiled, WorkbenchError):
                    yield RunFailed(run, compiled)
                    continue
                drawn = replace(sampling, seed=seed)
                yield from run_events(
                    run, compiled, grammar, drawn, max_tokens=max_tokens, top=top, stop=stop
                )


def _prepare(
    contender: Contender,
    model: LanguageModel,
    grammar: Grammar,
    limits: Limits,
    teach: Callable[[PreparedContender], PreparedContender],
) -> PreparedContender | WorkbenchError:
    try:
        return teach(contender.prepare(model, grammar.for_generation, limits))
    except WorkbenchError as error:
        return error


def run_events(
    run: Run,
    prepared: PreparedContender,
    grammar: Grammar,
    sampling: Sampling,
    *,
    max_tokens: int = 128,
    top: int = 8,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Event]:
    """The events of one run. The prompt's pass is not timed: it costs all contenders the same."""
    model = prepared.model
    try:
        session = model.session()
        session.logits(model.encode(run.prompt))
        yield RunBegan(run, prepared.compile_ms)
        generation = prepared.start(
            run.prompt, sampling, max_tokens=max_tokens, top=top, stop=stop, session=session
        )
        spent = TimeSpent()
        while True:
            started, used = time.perf_counter(), time.process_time()
            step = next(generation, None)
            spent.seconds += time.perf_counter() - started
            spent.cpu_seconds += time.process_time() - used
            if step is None:
                break
            yield RunStep(run, step)  # the consumer's time is not measured
    except WorkbenchError as error:
        yield RunFailed(run, error)
        return
    trace = generation.scored_trace()  # not timed: scores the tokens skipped at the end
    answer = prepared.answer_in(trace)
    measures = measure(trace, grammar, model.vocabulary, spent, prepared.compile_ms, answer)
    yield RunEnded(run, measures, trace)


def divergence(traces: Sequence[Trace]) -> int | None:
    """The first byte at which the texts differ (a shorter one at its end); None if equal."""
    texts = [trace.text for trace in traces]
    if len(set(texts)) < 2:
        return None
    shortest = min(map(len, texts))
    return next((i for i in range(shortest) if len({text[i] for text in texts}) > 1), shortest)


def first_different_token(traces: Sequence[Trace]) -> int | None:
    """The first byte of the first token that not all runs took; None if all took the same tokens.

    Equal texts may differ in their tokens.
    """
    steps = [[step for step in trace.steps if not step.is_end] for trace in traces]
    begin = 0
    for index in range(max(map(len, steps), default=0)):
        tokens = {
            run_steps[index].token_id if index < len(run_steps) else None for run_steps in steps
        }
        if len(tokens) > 1:
            return begin
        begin += len(steps[0][index].token)
    return None


def verdict(ended: Sequence[RunEnded], failed: Sequence[RunFailed] = ()) -> tuple[str, str]:
    """The result of a comparison: a line about the texts and a line about the cost.

    Contenders with a failed run are left out; ("", "") if no other remains.
    """
    lost = {fail.run.contender.name for fail in failed}
    whole = [end for end in ended if end.run.contender.name not in lost]
    methods = summaries(whole)
    if not methods:
        return "", ""
    texts = [_valid_words(methods), _alike_words(whole, len(methods)), _failed_words(lost)]
    return " ".join(filter(None, texts)), " ".join([_passes_words(methods), _speed_words(methods)])


def _valid_words(methods: Sequence[Summary]) -> str:
    bad = [summary for summary in methods if summary.valid < 1]
    each = "in every run" if max(summary.runs for summary in methods) > 1 else "here"
    if not bad:
        return f"{_subject(len(methods))} wrote valid text {each}."
    if len(bad) == len(methods):
        best = max(methods, key=lambda summary: summary.valid)
        if not best.valid:
            return "No method wrote valid text." if len(methods) > 1 else "It wrote no valid text."
        return f"No method wrote valid text {each}; {best.contender.name} did in {_runs(best)}."
    names = _list_text([f"{summary.contender.name} ({_runs(summary)})" for summary in bad])
    good = len(methods) - len(bad)
    return f"{good} of {len(methods)} methods wrote valid text {each}; {names} did not."


def _alike_words(ended: Sequence[RunEnded], contenders: int) -> str:
    if contenders < 2:
        return ""
    largest = max(alike(ended), key=len)
    if len(largest) == contenders:
        return "All wrote the same tokens."
    if len(largest) == 1:
        return "No two wrote the same tokens."
    return f"{_list_text(largest)} wrote the same tokens."


def alike(ended: Iterable[RunEnded]) -> list[list[str]]:
    """The contenders' names, grouped by the tokens of all their runs."""
    written: dict[str, list[tuple[object, ...]]] = {}
    for end in ended:
        key = (end.run.prompt, end.run.seed, *end.trace.token_ids)
        written.setdefault(end.run.contender.name, []).append(key)
    groups: dict[tuple[tuple[object, ...], ...], list[str]] = {}
    for name, keys in written.items():
        groups.setdefault(tuple(keys), []).append(name)
    return list(groups.values())


def _failed_words(lost: Iterable[str]) -> str:
    names = list(lost)
    return f"{_list_text(names)} could not run." if names else ""


def _passes_words(methods: Sequence[Summary]) -> str:
    by_passes = sorted(methods, key=lambda summary: summary.passes_per_token)
    shown = [f"{summary.passes_per_token:.2f}" for summary in by_passes]
    if shown[0] == shown[-1]:
        return f"{_subject(len(methods))} needed {shown[0]} passes of the model per token."
    fewest = [
        o.contender.name for o, text in zip(by_passes, shown, strict=True) if text == shown[0]
    ]
    most = [o.contender.name for o, text in zip(by_passes, shown, strict=True) if text == shown[-1]]
    return (
        f"Fewest passes of the model per token: {shown[0]} ({_list_text(fewest)});"
        f" most: {shown[-1]} ({_list_text(most)})."
    )


def _speed_words(methods: Sequence[Summary]) -> str:
    alone = next((summary for summary in methods if summary.contender.name == UNCONSTRAINED), None)
    if alone is None:
        return "Without unconstrained among the methods, speeds have no common baseline."
    others = [
        summary for summary in methods if summary is not alone and summary.relative is not None
    ]
    if others:
        best = max(others, key=lambda summary: summary.relative or 0)
        return f"Fastest against unconstrained: {best.contender.name}, {best.relative:.2f}×."
    if alone.steady and alone.timed_tokens < MIN_TIMED_TOKENS:
        return f"{alone.timed_tokens} tokens of unconstrained are too few for a speed ratio."
    if len(alone.rates) < 2:
        return "One run of unconstrained gives no speed to compare with."
    if not alone.steady:
        low, high = rate(min(alone.rates)), rate(max(alone.rates))
        return f"unconstrained ran at {low}–{high} tokens/s: too uneven for a speed ratio."
    return ""


def _subject(count: int) -> str:
    return {1: "It", 2: "Both methods"}.get(count, f"All {count} methods")


def _runs(summary: Summary) -> str:
    return f"{sum(m.valid for m in summary.measures)} of {summary.runs} runs"


def _list_text(names: Sequence[str]) -> str:
    """Up to three names joined by "and", else the first and a count."""
    if len(names) > MAX_NAMES:
        return f"{names[0]} and {len(names) - 1} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _number(value: float) -> str:
    """A perplexity, or – for nan."""
    if math.isnan(value):
        return "–"
    return "> 10⁶" if value > MAX_PERPLEXITY else f"{value:,.2f}"


#: The columns of the table: title, key of the record, formatter.
_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("valid", "valid", lambda x: f"{x:.0%}"),
    ("proper", "proper", lambda x: "–" if x is None else f"{x:.0%}"),
    ("perplexity", "perplexity", _number),
    ("free", "perplexity_free", _number),
    ("forced", "perplexity_forced", _number),
    ("interventions", "interventions", lambda x: f"{x:.1f}"),
    ("mask bits", "mask_bits", lambda x: f"{x:.1f}"),
    ("passes/token", "passes_per_token", lambda x: f"{x:.2f}"),
    ("tokens", "tokens", lambda x: f"{x:.1f}"),
    ("tokens/s", "tokens_per_second", rate),
    ("speed", "relative", lambda x: "–" if x is None else f"{x:.2f}×"),
    ("compile ms", "compile_ms", figure),
)


def table(methods: Sequence[Summary]) -> str:
    """The summaries as a table in plain text."""
    rows: list[tuple[str, ...]] = [("", *(title for title, _, _ in _COLUMNS))]
    for summary in methods:
        record = summary.as_record()
        rows.append((summary.contender.name, *(show(record[key]) for _, key, show in _COLUMNS)))
    return format_table(rows)
