"""Runs contenders on the same grammar, prompts and seeds, and yields events.

The contenders are interleaved: all of them run on one prompt and seed before the next seed begins,
so a change in the load of the machine reaches all of them. Before its first run each contender
makes a warm-up run that is discarded, so that compiling kernels and filling caches is not measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.decoding.contenders import Contender, PreparedContender
from workbench.decoding.measures import Measures, TimeSpent, measure
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, Trace
from workbench.grammar.grammar import Grammar


@dataclass(frozen=True, slots=True)
class Run:
    """One contender on one prompt with one seed."""

    contender: Contender
    prompt: str
    seed: int


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
class RunEnded:
    """A run ended or was stopped; see ``trace.stop``."""

    run: Run
    measures: Measures
    trace: Trace


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
                found = ready.get(contender.name)
                if found is None:
                    found = _prepared(contender, model, grammar, limits, teach)
                    ready[contender.name] = found
                    if stop is not None and stop():
                        return
                if isinstance(found, WorkbenchError):
                    yield RunFailed(run, found)
                    continue
                drawn = replace(sampling, seed=seed)
                yield from run_events(
                    run, found, grammar, drawn, max_tokens=max_tokens, top=top, stop=stop
                )


def _prepared(
    contender: Contender,
    model: LanguageModel,
    grammar: Grammar,
    limits: Limits,
    teach: Callable[[PreparedContender], PreparedContender],
) -> PreparedContender | WorkbenchError:
    try:
        return teach(contender.prepare(model, grammar, limits))
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
        tokens = {own[index].token_id if index < len(own) else None for own in steps}
        if len(tokens) > 1:
            return begin
        begin += len(steps[0][index].token)
    return None
