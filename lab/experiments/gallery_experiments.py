"""Experiments on the gallery's texts: holes, texts that must end in a budget, meaning.

Holes in the gallery's texts: how many filled texts are valid, under three masks and under none.

Of each accepted text the middle third is removed, and the model writes it again after the part
before the hole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
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
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.constraint.unconstrained import Unconstrained
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.grammar.fill import fill
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

_HOLES_METHODS = ("no mask", "mask of the text before", "mask of the hole", "the same, must finish")

#: The budget of a hole in tokens.
_MAX_TOKENS = 48

_HOLES_TEMPERATURE = 1.0

#: The fewest characters of a text with a hole.
_MIN_CHARACTERS = 6


def _holes_measured(example: str, setting: Setting) -> Record:
    """For each method whether each whole text is accepted; all runs are one batch."""
    entry, vocabulary = load_gallery()[example], setting.model.vocabulary
    text = max(entry.accepts, key=len, default="")
    if len(text) < _MIN_CHARACTERS:
        return {"failed": "its texts are too short for a hole"}
    prefix, suffix = text[: len(text) // 3], text[2 * len(text) // 3 :]
    try:
        grammar = Grammar.from_text(entry.text, entry.notation, entry.start, limits=LIMITS)
        begun = compile_grammar(fill(prefix, "", grammar), vocabulary, limits=LIMITS)
        hole = compile_grammar(fill(prefix, suffix, grammar), vocabulary, limits=LIMITS)
        ending = WithinBudget(hole, _MAX_TOKENS, LIMITS)
    except WorkbenchError as error:
        return {"failed": error.message}
    constraints: tuple[Constraint, ...] = (Unconstrained(vocabulary), begun, hole, ending)
    runs = [
        (
            method,
            generate(
                setting.model,
                constraint,
                prefix,
                Sampling(temperature=_HOLES_TEMPERATURE, seed=seed),
                max_tokens=_MAX_TOKENS,
                top=0,
                stop=setting.stop,
            ),
        )
        for method, constraint in zip(_HOLES_METHODS, constraints, strict=True)
        for seed in range(setting.size.repetitions)
    ]
    deque(batch_steps(setting, [run for _, run in runs]), maxlen=0)
    record: Record = {}
    for method, run in runs:
        whole = prefix.encode() + run.trace.text + suffix.encode()
        record.setdefault(method, []).append(grammar.accepts(whole))
    return record


def _holes_units(size: Size) -> list[Unit]:
    return [
        Unit(f"holes/{example}/{size.repetitions} runs", partial(_holes_measured, example))
        for example in sampled_examples()
    ]


def _holes_section(columns: Sequence[Column]) -> str:
    rows = [["", *(column.title for column in columns)]]
    for method in _HOLES_METHODS:
        shares = (
            Proportion.among(
                text for record in measured_examples(column) for text in record[method]
            )
            for column in columns
        )
        rows.append([method, *map(str, shares)])
    return "\n\n".join([_HOLES_NOTE, format_table(rows, "markdown"), *sizes_and_failures(columns)])


_HOLES_NOTE = f"""\
The share of accepted whole texts. The longest text of each example of the gallery has a
hole in its middle third; the model reads the part before it and writes at most {_MAX_TOKENS} tokens
at temperature {_HOLES_TEMPERATURE:g}. A mask of the text before the hole knows no suffix; the mask
of the hole does (`wb.fill`). Intervals are Wilson's of 95 %.
{SAMPLED}"""

HOLES = Experiment(
    name="holes",
    title="Holes in texts",
    source="this project; quotients of languages (Ginsburg & Spanier 1963)",
    units=_holes_units,
    section=_holes_section,
)
