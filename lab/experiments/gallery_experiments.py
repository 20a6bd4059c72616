"""Experiments on the gallery's texts: holes, texts that must end in a budget, meaning.

Holes in the gallery's texts: how many filled texts are valid, under three masks and under none.

Of each accepted text the middle third is removed, and the model writes it again after the part
before the hole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Proportion,
    Record,
    Setting,
    Size,
    Unit,
)
from lab.experiments.workloads import (
    SAMPLED,
    batch_steps,
    measured_examples,
    sampled_examples,
    sizes_and_failures,
)
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint, Unconstrained
from workbench.constraint.within_budget import WithinBudget, engine_of, token_distances
from workbench.decoding.contenders import all_contenders
from workbench.decoding.generate import Generation, generate
from workbench.decoding.sampling import Sampling
from workbench.grammar.fill import fill
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import monitor_named, monitors_of

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


# -- budgets --------------------------------------------------------------------------------------
# Texts that must end in their budget: how many of the gallery's are complete, with and without.


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
        engine = engine_of(prepared.constraint)
        fewest = token_distances(engine, LIMITS).distance(engine.initial) + 1
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


# -- meaning --------------------------------------------------------------------------------------
# Programs that mean something: the shares of well-typed ones and of those with declared names.
#
# A grammar alone allows programs that no compiler accepts; a monitor keeps their meaning.


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
