"""DOMINO's table 3 and figure 5: speed relative to the model alone; accepted proposals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Unit,
    check_running,
    finished,
)
from lab.experiments.proportions import Proportion
from lab.experiments.workloads import TASKS, Task
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.constraint.protocol import Constraint
from workbench.decoding.contenders import (
    STRATEGIES,
    UNCONSTRAINED,
    Contender,
    PreparedContender,
    WarmUp,
    all_contenders,
    warm_up,
)
from workbench.decoding.measures import Measures
from workbench.decoding.model import CountModel, LanguageModel, context_of
from workbench.decoding.run_summaries import Run
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CountProposer, DraftSpeculation
from workbench.decoding.strategy import Speculation, Strategy
from workbench.grammar.grammar import Grammar

#: DOMINO §4.3: at most this number of tokens, at temperature 1; ``Size.tokens`` may be fewer.
MAX_TOKENS = 128
_TEMPERATURE = 1.0
#: The model alone a second time.
AGAIN = "unconstrained again"
#: Runs of each contender that are not counted: they fill rows and caches.
_UNCOUNTED_RUNS = 2


def times_ms(setting: Setting, work: Callable[[], object]) -> list[float]:
    """The milliseconds of processor time of each of ``setting.size.timings`` calls.

    One more call before fills caches: a vocabulary's tables, compiled kernels.
    Raises: Stopped.
    """
    work()
    times = []
    for _ in range(setting.size.timings):
        check_running(setting)
        started = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - started))
    return times


@dataclass(slots=True, eq=False)
class _Timed:
    prepared: PreparedContender
    measures: list[Measures]
    ratios: list[float]


def speeds(
    setting: Setting, grammar: Grammar, prompts: Sequence[str], contenders: Sequence[Contender]
) -> Record:
    """The speed of each contender relative to the model alone on the same prompt and seed.

    Every repetition runs all contenders, each time beginning with another one, so that other load
    of the machine affects all equally. The median of the ratios is returned with its quartiles.
    Warm-up runs come first: they provide counts and fill the mask rows. The model alone runs once
    more in each repetition, as ``AGAIN``: its ratios to itself show the noise.

    Raises: Stopped.
    """
    timed: dict[str, _Timed] = {}
    shared: dict[str, _Shared] = {}
    record: Record = {}
    again = replace(all_contenders()[UNCONSTRAINED], name=AGAIN)
    for contender in (*contenders, again):
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
    """The compiled grammar and warm-up runs that contenders with one mask share."""

    prepared: PreparedContender
    runs: list[WarmUp]


def _warm(
    setting: Setting,
    grammar: Grammar,
    prompts: Sequence[str],
    contender: Contender,
    shared: dict[str, _Shared],
) -> PreparedContender:
    """A contender with learnt counts and filled caches."""
    key = repr((contender.method, sorted(contender.options.items()), contender.program))
    if key not in shared:
        shared[key] = _Shared(contender.prepare(setting.model, grammar, LIMITS), [])
    one = shared[key]
    model, constraint = setting.model, one.prepared.constraint
    strategy = STRATEGIES[contender.strategy]()
    if contender.learns is not None:
        missing = contender.learns.warm_up - len(one.runs)
        if missing > 0:
            sampling = Sampling(temperature=_TEMPERATURE)
            one.runs += warm_up(
                model, constraint, prompts, sampling, missing, _budget(setting.size), setting.stop
            )
        strategy = contender.learns.learnt(model, constraint, one.runs[: contender.learns.warm_up])
    prepared = replace(one.prepared, contender=contender, strategy=strategy)
    for number in range(_UNCOUNTED_RUNS):
        _one(setting, grammar, prepared, prompts, -1 - number)
    return prepared


def _one(
    setting: Setting,
    grammar: Grammar,
    prepared: PreparedContender,
    prompts: Sequence[str],
    number: int,
) -> Measures:
    """One run; its number determines prompt and seed, and is negative for warm-up runs."""
    prompt, seed = prompts[number % len(prompts)], number if number >= 0 else 1_000_000 - number
    run, sampling = (
        Run(prepared.contender, prompt, seed),
        Sampling(temperature=_TEMPERATURE, seed=seed),
    )
    return finished(setting, run, prepared, grammar, sampling, _budget(setting.size))


def _budget(size: Size) -> int:
    """The tokens of a run at most."""
    return min(MAX_TOKENS, size.tokens)


def _repeated(size: Size) -> str:
    """The repetitions of a unit in its key, with a budget that is smaller than the paper's."""
    fewer = f"/{size.tokens} tokens" if size.tokens < MAX_TOKENS else ""
    return f"{size.repetitions}{fewer}"


def _heading(column: Column) -> str:
    """The model, and how often and how far it ran."""
    size = column.size
    return f"**{column.title}**, {size.repetitions} repetitions of at most {_budget(size)} tokens"


def faster(measures: Measures, alone: Measures) -> float:
    """Tokens a second of processor time, relative to the model alone.

    Processor time, because shared machines are seldom idle: wall-clock ratios of equal work were
    between 0.5 and 2.3 on a loaded machine.
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


_TABLE_3 = (
    UNCONSTRAINED,
    "llama-cpp",
    "template",
    "template-ws",
    "domino",
    "domino-opportunistic",
    "domino-speculation",
    "automaton",
    "skipping",
    "opportunistic",
    "speculation",
    "draft",
    "proper-skipping",
)
#: Contenders with fewer or later model calls, whose passes are listed.
_ACCELERATED = (
    "skipping",
    "opportunistic",
    "speculation",
    "domino-opportunistic",
    "domino-speculation",
    "draft",
)
#: Methods of other projects that this one has written again.
_REWRITTEN = ("llama-cpp", "template", "template-ws")


def _measured(task: Task, setting: Setting) -> Record:
    contenders = [all_contenders()[name] for name in _TABLE_3]
    return speeds(setting, task.grammar, task.prompts, contenders)


#: DOMINO's table 3 for Mistral 7B: llama.cpp, template, GUIDANCE's grammar, DOMINO, accelerated.
_PAPER_3 = {
    "json": ("0.79×", "1.03×", "0.81×", "0.88×", "0.96× (opportunistic)"),
    "gsm8k": ("0.80×", "0.77×", "0.59×", "0.99×", "1.77× (s = 10)"),
    "word_problems": ("0.80×", "0.77×", "0.59×", "0.99×", "1.77× (s = 10)"),
    "c": ("0.74×", "–", "–", "0.41×", "0.78× (opportunistic)"),
    "xml": ("0.80×", "–", "–", "0.94×", "1.52× (s = 10)"),
    "rpg": ("0.55×", "1.95×", "0.92×", "0.97×", "1.30× (s = 10)"),
}
_PAPER_METHODS = ("llama-cpp", "template", "template-ws", "domino")

_REIMPLEMENTED = ", ".join(_REWRITTEN)

_INTRODUCTION_3 = f"""
Tokens a second of processor time (of shared machines) divided by the model's alone on the same
prompt and seed: the median of the repetitions, quartiles in brackets. All methods are interleaved;
`{AGAIN}` is the model against itself, and shows the noise. Temperature 1; counts are
learnt on warm-up runs of other seeds. *(…)* is DOMINO's figure for Mistral 7B; {_REIMPLEMENTED} are
re-implementations."""


def _section_3(columns: Sequence[Column]) -> str:
    parts = [_INTRODUCTION_3]
    for column in columns:
        found = {
            task.name: record
            for task in TASKS.values()
            if (record := column.records.get(_key_3(column.size, task)))
        }
        head = ["method", *(TASKS[name].title for name in found)]
        rows = [
            [method, *(_cell(name, method, record) for name, record in found.items())]
            for method in (*_TABLE_3, AGAIN)
        ]
        parts += [
            _heading(column),
            format_table([head, *rows], "markdown"),
            "Forward passes a token:",
            format_table(_passes(found), "markdown"),
            *_verdict_3(column.title, found),
        ]
    return "\n\n".join(parts)


def _passes(found: Mapping[str, Record]) -> list[list[str]]:
    """Passes of the accelerated contenders: a head, and a row for each task."""
    rows = [["task", *_ACCELERATED]]
    for name, record in found.items():
        known = [record.get(m, {}).get("passes_per_token") for m in _ACCELERATED]
        rows.append([TASKS[name].title, *("–" if p is None else f"{p:.2f}" for p in known)])
    return rows


def gains(record: Record) -> list[str]:
    """The contenders whose lower quartile is above the upper one of the model against itself."""
    noise = record.get(AGAIN, {}).get("high", 1.0)
    return [m for m, one in record.items() if m != AGAIN and one.get("low", 0.0) > noise]


def _verdict_3(title: str, found: Mapping[str, Record]) -> list[str]:
    """On each task, the contenders that are faster by more than the noise."""
    texts = [f"{TASKS[name].title}: {', '.join(gains(r)) or 'none'}" for name, r in found.items()]
    return [
        f"{title}, faster than the model alone beyond the noise (the lower quartile is above the"
        f" upper one of `{AGAIN}`): {'; '.join(texts)}."
    ]


def _cell(task: str, method: str, record: Record) -> str:
    one = record.get(method)
    if one is None:
        return ""
    paper = ""
    if method in _PAPER_METHODS:
        paper = f" *({_PAPER_3[task][_PAPER_METHODS.index(method)]})*"
    if "failed" in one:
        return f"does not apply{paper}"
    return f"{one['relative']:.2f}× [{one['low']:.2f}, {one['high']:.2f}]{paper}"


def _key_3(size: Size, task: Task) -> str:
    return f"throughput/{task.name}/{_repeated(size)}"


TABLE_3 = Experiment(
    name="domino-3",
    title="Throughput",
    source="DOMINO, table 3",
    units=lambda size: [
        Unit(_key_3(size, task), partial(_measured, task)) for task in TASKS.values()
    ],
    section=_section_3,
)

#: Numbers of guessed tokens; the paper has them from 0 to about 12.
_GUESSES = (0, 2, 4, 6, 8, 10, 12)
_DRAWN = {
    "gsm8k": "with schema, GSM8K",
    "word_problems": "with schema, easy problems",
    "json": "free form",
}


def _guessing(base: str) -> list[Contender]:
    """A contender for each s; the first guesses nothing."""
    one = all_contenders()[base]
    assert one.learns is not None, f"{base} learns no counts"
    return [replace(one, name=_s(s), learns=replace(one.learns, tokens=s)) for s in _GUESSES if s]


def _measured_5(task: Task, base: str, setting: Setting) -> Record:
    plain = replace(all_contenders()[base], name=_s(0), strategy="plain", learns=None)
    contenders = [all_contenders()[UNCONSTRAINED], plain, *_guessing(base)]
    return speeds(setting, task.grammar, task.prompts, contenders)


_INTRODUCTION_5 = """Speed by the number s of guessed tokens, relative to the model alone. The
paper has about 1.7× with the schema for s of 6, 8 and 10, and no gain on free-form JSON."""

_BASES = {
    "domino-speculation": "counts over (α, β), as in the paper",
    "speculation": "and up to four tokens before",
}


def _section_5(columns: Sequence[Column]) -> str:
    head = ["JSON", *(f"s = {s}" for s in _GUESSES), "the model again"]
    parts = [_INTRODUCTION_5]
    for column in columns:
        rows = []
        for name, title in _DRAWN.items():
            for base, how in _BASES.items():
                record = column.records.get(_key_5(column.size, name, base))
                if record is None:
                    continue
                ratios = [record.get(m, {}).get("relative") for m in (*map(_s, _GUESSES), AGAIN)]
                cells = ("–" if r is None else f"{r:.2f}×" for r in ratios)
                rows.append([f"{title}, {how}", *cells])
        parts += [
            _heading(column),
            format_table([head, *rows], "markdown"),
            *_verdict_5(column),
        ]
    return "\n\n".join(parts)


def _s(guesses: int) -> str:
    return f"s={guesses}"


def _verdict_5(column: Column) -> list[str]:
    """The gain of the paper's counts with a schema and without."""
    best = {
        name: max(record[_s(s)].get("relative", 0.0) for s in _GUESSES if s)
        for name in _DRAWN
        if (record := column.records.get(_key_5(column.size, name, "domino-speculation")))
    }
    if set(best) != set(_DRAWN):
        return []
    schema = max(best["gsm8k"], best["word_problems"])
    more = "more" if schema > best["json"] else "not more"
    return [
        f"{column.title}: with the paper's counts a schema gains up to {schema:.2f}×, free form"
        f" {best['json']:.2f}×: a schema gains {more} than free form. These are the best of several"
        " numbers of guesses."
    ]


def _key_5(size: Size, name: str, base: str) -> str:
    return f"figure 5/{name}/{base}/{_repeated(size)}"


FIGURE_5 = Experiment(
    name="domino-fig5",
    title="Speculation",
    source="DOMINO, figure 5",
    units=lambda size: [
        Unit(_key_5(size, name, base), partial(_measured_5, TASKS[name], base))
        for name in _DRAWN
        for base in _BASES
    ],
    section=_section_5,
)


#: Runs that the counts and the count model learn from, and tokens proposed for one pass.
_LEARNT, _PROPOSED = 10, 6
_JOINT_TASKS = ("json", "word_problems")


def _drafts(
    setting: Setting, constraint: Constraint, runs: Sequence[WarmUp]
) -> dict[str, Strategy]:
    """Counts alone, every draft model alone, and counts jointly with every draft model."""
    model = setting.model
    counts = CountProposer.learnt(constraint, [trace for _, trace in runs], memory=0)
    texts = [[*context_of(model, prompt), *trace.token_ids] for prompt, trace in runs]
    models: dict[str, LanguageModel] = {"count model": CountModel.learnt(model, texts, memory=4)}
    if setting.draft is not None:
        models["draft model"] = setting.draft
    found: dict[str, Strategy] = {"counts": Speculation(counts, _PROPOSED)}
    for name, draft in models.items():
        found[name] = DraftSpeculation(draft, _PROPOSED)
        found[f"counts and {name}"] = DraftSpeculation(draft, _PROPOSED, counts)
    return found


def _measured_joint(task: Task, setting: Setting) -> Record:
    """Passes of the model and accepted proposals of every draft, at temperature 1."""
    contender = all_contenders()["automaton"]
    prepared = contender.prepare(setting.model, task.grammar, LIMITS)
    sampling = Sampling(temperature=_TEMPERATURE)
    runs = warm_up(
        setting.model,
        prepared.constraint,
        task.prompts,
        sampling,
        _LEARNT,
        _budget(setting.size),
        setting.stop,
    )
    record: Record = {}
    for name, strategy in _drafts(setting, prepared.constraint, runs).items():
        drafting = replace(prepared, strategy=strategy)
        tokens = passes = 0
        for number in range(setting.size.repetitions):
            found = _one(setting, task.grammar, drafting, task.prompts, number)
            tokens, passes = tokens + found.tokens, passes + found.forward_passes
        record[name] = {"tokens": tokens, "passes": passes}
        if isinstance(strategy, DraftSpeculation):
            record[name] |= asdict(strategy.acceptance)
    return record


_INTRODUCTION_JOINT = f"""
Exact masks at temperature 1, at most {_PROPOSED} tokens proposed for one pass. *Counts* are the
paper's, P(l | α, β) of {_LEARNT} runs; the *count model* counts the same runs after up to four
tokens; *counts and …* proposes from the counts where they are certain enough and asks the draft
model elsewhere. *Accepted* is the share of the compared proposals, with Wilson's interval. The
paper has no figures. Counts alone are not accepted by rejection and have no such share."""


def _section_joint(columns: Sequence[Column]) -> str:
    parts = [_INTRODUCTION_JOINT]
    for column in columns:
        rows = [["task", "proposals from", "passes a token", "accepted"]]
        for name in _JOINT_TASKS:
            for source, one in column.records.get(_key_joint(column.size, name), {}).items():
                accepted = Proportion(one.get("accepted", 0), one.get("compared", 0))
                passes = one["passes"] / one["tokens"]
                rows.append([TASKS[name].title, source, f"{passes:.2f}", str(accepted)])
        drafted = f", draft model {Path(column.size.draft).name}" if column.size.draft else ""
        heading = f"**{column.title}**, {column.size.repetitions} runs of each{drafted}"
        parts.append(f"{heading}\n\n{format_table(rows, 'markdown')}")
    return "\n\n".join(parts)


def _key_joint(size: Size, name: str) -> str:
    return f"joint/{name}/{size.draft or 'no draft'}/{_repeated(size)}"


JOINT = Experiment(
    name="domino-joint",
    title="Counts jointly with a draft model",
    source="DOMINO, §3.6; Koo, Liu & He 2024, §5.3",
    units=lambda size: [
        Unit(_key_joint(size, name), partial(_measured_joint, TASKS[name])) for name in _JOINT_TASKS
    ],
    section=_section_joint,
)
