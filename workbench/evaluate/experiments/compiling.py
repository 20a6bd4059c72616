"""Koo's table 2: what compiling and a step cost, ours as ratios to Willard & Louf's index."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

from workbench.bench.cases import CASES, Case
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.decoding.turn import since
from workbench.errors import WorkbenchError
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit
from workbench.evaluate.experiments.timing import least_ms
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.training.card import table
from workbench.vocabulary.vocabulary import Vocabulary

#: The paper's five constraints, by the benchmark's names, with its two speed-ups.
_PAPER = {
    "choice": ("multiple choice", "7,970×", "29.5×"),
    "datetime": ("ISO date-time", "7,110×", "24.3×"),
    "ip": ("IP address", "6,850×", "26.1×"),
    "quoted": ("quoted text", "13,400×", "6.5×"),
    "json_schema_re": ("JSON object", "7,240×", "33.6×"),
}
#: The index of Willard & Louf comes last: the others are divided into it.
_METHODS = ("automaton", "composed", "domino", "outlines")
_INDEX = "outlines"
#: Steps timed in one go.
_STEPS = 200
#: An index over a JSON object takes longer than a page would wait.
_LIMITS = Limits(seconds=120.0, megabytes=1_024)


def _measured(case: Case, setting: Setting) -> Record:
    """The least of several times, regex to first mask, and of the step after it, in µs."""
    assert case.regex is not None, "the paper's constraints are regexes"
    vocabulary, record = setting.model.vocabulary, Record()
    for method in _METHODS:
        make = partial(_first_mask, case.regex, method, vocabulary)
        try:
            compiled = least_ms(setting, make) * 1e3
            constraint = compile_grammar(
                Grammar.from_regex(case.regex, limits=_LIMITS), vocabulary, method, _LIMITS
            )
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
            continue
        record[method] = {"compile_us": compiled, "step_us": _step_us(constraint)}
    return record


def _first_mask(pattern: str, method: str, vocabulary: Vocabulary) -> None:
    grammar = Grammar.from_regex(pattern, limits=_LIMITS)
    made = compile_grammar(grammar, vocabulary, method, _LIMITS)
    made.mask(made.initial)


def _step_us(constraint: Constraint) -> float:
    """Appendix C.3: the valid tokens of the start state as a vector, and one token further."""
    first = next(iter(constraint.mask(constraint.initial)))

    def steps_ms() -> float:
        started = time.perf_counter()
        for _ in range(_STEPS):
            constraint.mask(constraint.initial).bits  # noqa: B018  # asking makes it
            constraint.advance(constraint.initial, first)
        return since(started)

    return min(steps_ms() for _ in range(5)) * 1e3 / _STEPS


_INTRODUCTION = """How many times as long Willard & Louf's index takes (our implementation of it, in
Python like theirs): regex to first mask, and one step as appendix C.3 has it. The paper compares a
C++ library with Outlines on Gemma's 256,000 tokens; this vocabulary has 6,000, and the index makes
a pass over it for every state, so the paper's ratios of compilation are not to be expected."""


def _section(records: Mapping[str, Record]) -> str:
    ours = [method for method in _METHODS if method != _INDEX]
    head = ["first mask", "index, ms", *(f"{m}, ms" for m in ours), *(f"{m}" for m in ours), "Koo"]
    step_head = ["one step", "index, µs", "automaton, µs", "automaton", "Koo"]
    rows, steps, ratios = [], [], list[float]()
    for name, (title, compiled, stepped) in _PAPER.items():
        record = records.get(_key(name))
        if record is None:
            continue
        index = record[_INDEX]
        cells = [_ms(index), *(_ms(record[m]) for m in ours)]
        cells += [_ratio(index, record[m], "compile_us") for m in ours]
        rows.append([title, *cells, compiled])
        ratio = _ratio(index, record["automaton"], "step_us")
        steps.append([title, _us(index), _us(record["automaton"]), ratio, stepped])
        if "failed" not in index:
            ratios.append(index["compile_us"] / record["automaton"]["compile_us"])
    verdict = (
        f"In the paper's direction: masks on demand are there {min(ratios):,.0f} to"
        f" {max(ratios):,.0f} times sooner than the index."
        if ratios and min(ratios) > 1
        else ""
    )
    return "\n\n".join([_INTRODUCTION, table(head, rows), table(step_head, steps), verdict])


def _ms(record: Record) -> str:
    return "–" if "failed" in record else f"{record['compile_us'] / 1e3:,.2f}"


def _us(record: Record) -> str:
    return "–" if "failed" in record else f"{record['step_us']:.2f}"


def _ratio(index: Record, record: Record, field: str) -> str:
    if "failed" in index or "failed" in record:
        return "–"
    return f"{index[field] / record[field]:,.1f}×"


def _key(name: str) -> str:
    return f"koo 2/{name}"


KOO_2 = Experiment(
    name="koo-2",
    title="What compiling costs",
    source="Koo, Liu & He 2024, table 2",
    units=lambda _: [Unit(_key(name), partial(_measured, CASES[name])) for name in _PAPER],
    section=_section,
)
