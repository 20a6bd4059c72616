"""Texts that must end in their budget: how many of the gallery's are complete, with and without."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lab.experiments.experiment import LIMITS, Column, Experiment, Record, Setting, Size, Unit
from lab.experiments.greedy_answers import batch_steps
from lab.experiments.proportions import Proportion
from lab.experiments.workloads import (
    SAMPLED,
    measured_examples,
    sampled_examples,
    sizes_and_failures,
)
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.decoding.contenders import all_contenders
from workbench.decoding.generate import Generation
from workbench.decoding.sampling import Sampling
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

#: Tokens of the budget above the fewest of any text.
_MORE = (0, 1, 4, 16)

_BUDGET_METHODS = ("automaton", "finishing")
_TITLES = {"automaton": "the exact mask", "finishing": "the exact mask, must finish"}

_BUDGET_TEMPERATURE = 1.0


def _budget_measured(example: str, setting: Setting) -> Record:
    """For each budget and method whether each text is complete; all runs are one batch."""
    entry = load_gallery()[example]
    grammar = Grammar.from_text(entry.text, entry.notation, entry.start, limits=LIMITS)
    try:
        prepared = all_contenders()["finishing"].prepare(setting.model, grammar, LIMITS)
        engine = prepared.constraint.engine()
        fewest = engine.token_distances(LIMITS).distance(engine.initial) + 1
    except WorkbenchError as error:
        return {"failed": error.message}
    record: Record = {"fewest": fewest}
    runs: list[tuple[str, Generation]] = []
    for more in _MORE:
        for method in _BUDGET_METHODS:
            contender = replace(prepared, contender=all_contenders()[method])
            for seed in range(setting.size.repetitions):
                run = contender.start(
                    entry.prompt,
                    Sampling(temperature=_BUDGET_TEMPERATURE, seed=seed),
                    max_tokens=fewest + more,
                    top=0,
                    stop=setting.stop,
                )
                runs.append((f"{more} {method}", run))
    deque(batch_steps(setting, [run for _, run in runs]), maxlen=0)
    for name, run in runs:
        record.setdefault(name, []).append(grammar.accepts(run.trace.text))
    return record


def _budget_units(size: Size) -> list[Unit]:
    return [
        Unit(f"finishing/{example}/{size.repetitions} runs", partial(_budget_measured, example))
        for example in sampled_examples()
    ]


def _budget_section(columns: Sequence[Column]) -> str:
    head = ["tokens more than the fewest"]
    head += [
        f"{_TITLES[method]}, {column.title}" for column in columns for method in _BUDGET_METHODS
    ]
    rows = [head]
    for more in _MORE:
        row = [str(more)]
        for column in columns:
            found = measured_examples(column)
            for method in _BUDGET_METHODS:
                texts = (text for record in found for text in record[f"{more} {method}"])
                row.append(str(Proportion.among(texts)))
        rows.append(row)
    return "\n\n".join([_BUDGET_NOTE, format_table(rows, "markdown"), *sizes_and_failures(columns)])


_BUDGET_NOTE = f"""\
The share of well-formed texts of the gallery's examples, each with a budget of the
fewest tokens that any of its texts needs (the end token included) and a few more, at temperature 1;
intervals are Wilson's of 95 %, for texts of these examples. A text that reaches its budget before
its end is not well-formed.
{SAMPLED}"""

FINISHING = Experiment(
    name="finishing",
    title="Texts that must end in their budget",
    source="this project; TruncProof 2026 approximates the distances for LL(1) grammars",
    units=_budget_units,
    section=_budget_section,
)
