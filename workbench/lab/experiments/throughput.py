"""DOMINO's table 3 and figure 5: speed of methods relative to the unconstrained model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median, quantiles

from workbench.base.errors import WorkbenchError
from workbench.base.tables import format_table
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.compare import Run
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
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.lab.experiments.experiment import (
    Experiment,
    Record,
    Setting,
    Stopped,
    Unit,
    finished,
)
from workbench.lab.experiments.tasks import TASKS, Task

#: DOMINO §4.3: at most this number of tokens, at temperature 1.
MAX_TOKENS = 128
_TEMPERATURE = 1.0
#: Runs of each contender that are not counted: they fill rows and caches.
_UNCOUNTED_RUNS = 2


def least_ms(setting: Setting, work: Callable[[], object]) -> float:
    """The least milliseconds of ``setting.size.timings`` calls.

    One more call before fills caches: a vocabulary's tables, compiled kernels.
    Raises: Stopped.
    """
    work()
    times = []
    for _ in range(setting.size.timings):
        if setting.stop():
            raise Stopped
        started = time.perf_counter()
        work()
        times.append(milliseconds_since(started))
    return min(times)


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
    Warm-up runs come first: they provide counts and fill the mask rows.

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
        shared[key] = _Shared(contender.prepare(setting.model, grammar), [])
    one = shared[key]
    model, constraint = setting.model, one.prepared.constraint
    strategy = STRATEGIES[contender.strategy]
    if contender.learns is not None:
        missing = contender.learns.warm_up - len(one.runs)
        if missing > 0:
            sampling = Sampling(temperature=_TEMPERATURE)
            one.runs += warm_up(
                model, constraint, prompts, sampling, missing, MAX_TOKENS, setting.stop
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
    return finished(setting, run, prepared, grammar, sampling, MAX_TOKENS)


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
#: Contenders that count for a target: exact masks with fewer or later model calls.
_ACCELERATED = (
    "skipping",
    "opportunistic",
    "speculation",
    "domino-opportunistic",
    "domino-speculation",
    "draft",
)


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

#: This project's targets for the best accelerated contender.
_TARGETS = {"gsm8k": 1.8, "word_problems": 1.8, "rpg": 1.8, "json": 1.0, "c": 0.95}

_INTRODUCTION_3 = f"""
Tokens a second of processor time (the machine was shared) divided by the model's alone on the
same prompt and seed: the median of the repetitions, quartiles in brackets. Temperature 1, up to
{MAX_TOKENS} tokens; counts learnt on warm-up runs of other seeds. *(…)* is DOMINO's figure for
Mistral 7B. A pass of the embedded model takes a few milliseconds, less than one of theirs, so
the time of a mask matters more here."""


def _section_3(records: Mapping[str, Record]) -> str:
    found = {task.name: record for task in TASKS.values() if (record := records.get(_key_3(task)))}
    head = ["method", *(TASKS[name].title for name in found)]
    rows = [
        [method, *(_cell(name, method, record) for name, record in found.items())]
        for method in _TABLE_3
        if any(method in record for record in found.values())
    ]
    parts = [
        _INTRODUCTION_3,
        format_table([head, *rows], "markdown"),
        *_targets(found),
        *_verdict_3(found),
    ]
    return "\n\n".join(parts)


#: Tasks on which the paper's speculation pays; on the others it took opportunistic masking.
_PAYS = ("gsm8k", "word_problems", "xml", "rpg")
#: The least ratio that counts as a gain.
_MIN_GAIN = 1.1


def _verdict_3(found: Mapping[str, Record]) -> list[str]:
    """The tasks on which the paper's speculation pays here and in the paper."""
    ratios = {
        name: one["relative"]
        for name, record in found.items()
        if "relative" in (one := record.get("domino-speculation", {}))
    }
    if not ratios:
        return []
    agree = [TASKS[n].title for n, ratio in ratios.items() if (ratio >= _MIN_GAIN) is (n in _PAYS)]
    differ = [
        f"{TASKS[n].title} ({ratio:.2f}×, the paper: {'a gain' if n in _PAYS else 'none'})"
        for n, ratio in ratios.items()
        if (ratio >= _MIN_GAIN) is not (n in _PAYS)
    ]
    agreement = f"Where speculation pays agrees with the paper on {'; '.join(agree) or 'no task'}"
    return [f"{agreement}. It does not on {'; '.join(differ)}." if differ else f"{agreement}."]


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


def _targets(found: Mapping[str, Record]) -> list[str]:
    rows = []
    for name, target in _TARGETS.items():
        if name not in found:
            continue
        best = best_of(found[name])
        if best is None:
            continue
        method, ratio = best
        verdict = "met" if ratio >= target else f"not met ({ratio / target:.0%})"
        rows.append(
            [TASKS[name].title, f"≥ {target}×", _PAPER_3[name][4], f"{ratio:.2f}×", method, verdict]
        )
    if not rows:
        return []
    head = ["task", "target", "DOMINO", "best here", "by", ""]
    passes = [
        [
            TASKS[name].title,
            *(
                f"{record[m]['passes_per_token']:.2f}"
                if m in record and "failed" not in record[m]
                else "–"
                for m in _ACCELERATED
            ),
        ]
        for name, record in found.items()
    ]
    return [
        format_table([head, *rows], "markdown"),
        "Forward passes a token:",
        format_table([["task", *_ACCELERATED], *passes], "markdown"),
    ]


def best_of(record: Record) -> tuple[str, float] | None:
    """The fastest contender that counts for a target."""
    ratios = {m: record[m]["relative"] for m in _ACCELERATED if "relative" in record.get(m, {})}
    if not ratios:
        return None
    best = max(ratios, key=ratios.__getitem__)
    return best, ratios[best]


def _key_3(task: Task) -> str:
    return f"throughput/{task.name}"


TABLE_3 = Experiment(
    name="domino-3",
    title="Throughput",
    source="DOMINO, table 3",
    units=lambda _: [Unit(_key_3(task), partial(_measured, task)) for task in TASKS.values()],
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
    return [
        replace(one, name=f"s={s}", learns=replace(one.learns, tokens=s)) for s in _GUESSES if s
    ]


def _measured_5(task: Task, base: str, setting: Setting) -> Record:
    plain = replace(all_contenders()[base], name="s=0", strategy="plain", learns=None)
    contenders = [all_contenders()[UNCONSTRAINED], plain, *_guessing(base)]
    return speeds(setting, task.grammar, task.prompts, contenders)


_INTRODUCTION_5 = """Speed by the number s of guessed tokens, relative to the model alone. The paper
has about 1.7× with the schema for s of 6, 8 and 10, and no gain on free-form JSON."""

_BASES = {
    "domino-speculation": "counts over (α, β), as in the paper",
    "speculation": "and up to four tokens before",
}


def _section_5(records: Mapping[str, Record]) -> str:
    rows = []
    for name, title in _DRAWN.items():
        for base, how in _BASES.items():
            record = records.get(_key_5(name, base))
            if record is not None:
                ratios = [record[f"s={s}"].get("relative") for s in _GUESSES]
                rows.append(
                    [f"{title}, {how}", *("–" if r is None else f"{r:.2f}×" for r in ratios)]
                )
    if not rows:
        return _INTRODUCTION_5
    head = ["JSON", *(f"s = {s}" for s in _GUESSES)]
    return "\n\n".join(
        [_INTRODUCTION_5, format_table([head, *rows], "markdown"), *_verdict_5(records)]
    )


def _verdict_5(records: Mapping[str, Record]) -> list[str]:
    """The gain of the paper's counts with a schema and without."""
    best = {
        name: max(record[f"s={s}"].get("relative", 0.0) for s in _GUESSES if s)
        for name in _DRAWN
        if (record := records.get(_key_5(name, "domino-speculation"))) is not None
    }
    if set(best) != set(_DRAWN):
        return []
    schema = max(best["gsm8k"], best["word_problems"])
    agrees = "agrees" if schema > best["json"] else "does not agree"
    return [
        f"With the paper's counts a schema gains up to {schema:.2f}×, free form"
        f" {best['json']:.2f}×: that schemas gain more {agrees}; the size of the gain does not"
        " reach the paper's, where the model has many cores. On one core a pass over ten guesses"
        " was measured to cost 1.8 times a pass over one token."
    ]


def _key_5(name: str, base: str) -> str:
    return f"figure 5/{name}/{base}"


FIGURE_5 = Experiment(
    name="domino-fig5",
    title="Speculation",
    source="DOMINO, figure 5",
    units=lambda _: [
        Unit(_key_5(name, base), partial(_measured_5, TASKS[name], base))
        for name in _DRAWN
        for base in _BASES
    ],
    section=_section_5,
)
