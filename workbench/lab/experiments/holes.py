"""Holes in the gallery's texts: how many filled texts are valid, under three masks and under none.

Of each accepted text the middle third is removed, and the model writes it again after the part
before the hole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from workbench.base.errors import WorkbenchError
from workbench.base.tables import format_table
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint, Unconstrained
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.grammar.fill import fill
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Stopped,
    Unit,
)
from workbench.lab.experiments.proportions import Proportion

_METHODS = ("no mask", "mask of the text before", "mask of the hole", "the same, must finish")

#: The budget of a hole in tokens.
_MAX_TOKENS = 48

_TEMPERATURE = 1.0

#: The fewest characters of a text with a hole.
_MIN_CHARACTERS = 6


def _measured(example: str, setting: Setting) -> Record:
    """For each method whether each whole text is accepted."""
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
    return {
        method: [
            grammar.accepts(
                prefix.encode() + _filled(setting, each, prefix, seed) + suffix.encode()
            )
            for seed in range(setting.size.repetitions)
        ]
        for method, each in zip(_METHODS, constraints, strict=True)
    }


def _filled(setting: Setting, constraint: Constraint, prefix: str, seed: int) -> bytes:
    """The text that the model writes into the hole.

    Raises: Stopped.
    """
    generation = generate(
        setting.model,
        constraint,
        prefix,
        Sampling(temperature=_TEMPERATURE, seed=seed),
        max_tokens=_MAX_TOKENS,
        top=0,
        stop=setting.stop,
    )
    list(generation)
    if setting.stop():
        raise Stopped
    return generation.trace.text


def _units(size: Size) -> list[Unit]:
    return [
        Unit(f"holes/{example}/{size.repetitions} runs", partial(_measured, example))
        for example in load_gallery()
    ]


def _section(columns: Sequence[Column]) -> str:
    rows = [["", *(column.title for column in columns)]]
    for method in _METHODS:
        row = [method]
        for column in columns:
            found = [record for record in column.records.values() if "failed" not in record]
            row.append(str(Proportion.among(text for record in found for text in record[method])))
        rows.append(row)
    failed = [
        f"* {key.split('/')[1]}, {column.title}: {record['failed']}."
        for column in columns
        for key, record in column.records.items()
        if "failed" in record
    ]
    return "\n\n".join([_NOTE, format_table(rows, "markdown"), "\n".join(failed)])


_NOTE = f"""The share of accepted whole texts. The longest text of each example of the gallery has a
hole in its middle third; the model reads the part before it and writes at most {_MAX_TOKENS} tokens
at temperature {_TEMPERATURE:g}. A mask of the text before the hole knows no suffix; the mask of the
hole does (`wb.fill`). Intervals are Wilson's of 95 %."""

HOLES = Experiment(
    name="holes",
    title="Holes in texts",
    source="this project; quotients of languages (Ginsburg & Spanier 1963)",
    units=_units,
    section=_section,
)
