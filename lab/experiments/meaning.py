"""Programs that mean something: the shares of well-typed ones and of those with declared names.

A grammar alone allows programs that no compiler accepts; a monitor keeps their meaning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

from lab.experiments.experiment import LIMITS, Column, Experiment, Record, Setting, Size, Unit
from lab.experiments.greedy_answers import batch_steps
from lab.experiments.proportions import Proportion
from workbench.base.text_tables import format_table
from workbench.decoding.contenders import all_contenders
from workbench.decoding.sampling import Sampling
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import monitor_named, monitors_of

#: The examples with a monitor that fits, and prompts whose programs have several names.
_EXAMPLES = {"typed": "types", "domino_c": "scope"}
_PROMPTS = {
    "typed": 'let width: number = 3;\nlet title: string = "a";\nlet size: number = title.length;\n',
    "domino_c": "A C program that prints the sum of two integers:\n```c\n",
}
_WITHOUT = "automaton"

_MEANING_TEMPERATURE = 1.0


def _meaning_measured(example: str, method: str, setting: Setting) -> Record:
    """For each text whether it ended, and whether it has a meaning: as a beginning, as a whole.

    All runs are one batch.
    """
    entry, monitor_name = load_gallery()[example], _EXAMPLES[example]
    grammar = Grammar.from_text(entry.text, entry.notation, entry.start, limits=LIMITS)
    assert monitor_name in monitors_of(grammar), "the gallery's example has the monitor's form"
    prepared = all_contenders()[method].prepare(setting.model, grammar, LIMITS)
    runs = [
        prepared.start(
            _PROMPTS[example],
            Sampling(temperature=_MEANING_TEMPERATURE, seed=seed),
            max_tokens=setting.size.tokens,
            top=0,
            stop=setting.stop,
        )
        for seed in range(setting.size.repetitions)
    ]
    deque(batch_steps(setting, runs), maxlen=0)
    record: Record = {"ended": [], "kept": [], "whole": []}
    for run in runs:
        monitor = monitor_named(monitor_name, grammar, LIMITS)
        text = run.trace.text
        valid, kept = grammar.accepts(text), not monitor.why(b"", text)
        record["ended"].append(valid)
        record["kept"].append(kept)
        record["whole"].append(valid and kept and not monitor.why(text, None))
    return record


def _meaning_units(size: Size) -> list[Unit]:
    return [
        Unit(
            f"meaning/{example}/{method}/{size.repetitions} runs/{size.tokens} tokens",
            partial(_meaning_measured, example, method),
        )
        for example, monitor in _EXAMPLES.items()
        for method in (_WITHOUT, monitor)
    ]


def _meaning_section(columns: Sequence[Column]) -> str:
    head = ["program", "mask", "model", "texts", "ended", "meaning kept", "ended with a meaning"]
    rows, sentences = [head], list[str]()
    for column in columns:
        kept: dict[str, Proportion] = {}  # by example, under the grammar alone
        for key, record in column.records.items():
            _, example, method, *_ = key.split("/")
            program = load_gallery()[example].title
            mask = "grammar" if method == _WITHOUT else f"grammar and {method}"
            texts = f"{len(record['ended'])} of {column.size.tokens} tokens at most"
            shares = {name: Proportion.among(record[name]) for name in ("ended", "kept", "whole")}
            rows.append([program, mask, column.title, texts, *map(str, shares.values())])
            if method == _WITHOUT:
                kept[example] = shares["kept"]
            elif example in kept:
                here, there = shares["kept"], kept[example]
                sentences.append(
                    f"* {column.title}, {program}: meaning kept with {method} ({here.value:.3f})"
                    f" {here.compared(there)} with the grammar alone ({there.value:.3f})."
                )
    return "\n\n".join([_MEANING_NOTE, format_table(rows, "markdown"), "\n".join(sentences)])


_MEANING_NOTE = """\
The share of programs that are well typed, or use declared names only, under the mask of
the grammar alone and under the mask that a monitor joins, at temperature 1; intervals are Wilson's
of 95 %. *Meaning kept*: some program with a meaning begins with the text, which may have been cut
at its budget."""

MEANING = Experiment(
    name="meaning",
    title="Programs that mean something",
    source="Mündler et al. 2025, type-constrained code generation, with a smaller language",
    units=_meaning_units,
    section=_meaning_section,
)
