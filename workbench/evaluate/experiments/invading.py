"""DOMINO's definition 2.1, method by method: what the model alone writes and a method cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.sampling import Sampling
from workbench.drawing.text import visible
from workbench.errors import WorkbenchError
from workbench.evaluate.contenders import CONTENDERS
from workbench.evaluate.experiment import Experiment, Record, Setting, Stopped, Unit
from workbench.evaluate.invasive import Alone, Kept, alone, searched, tried
from workbench.evaluate.tasks import TASKS, Task
from workbench.training.card import table
from workbench.vocabulary.vocabulary import Vocabulary

#: One for each mask there is; strategies change no text.
METHODS = ("automaton", "domino", "domino-1", "domino-0", "lalr", "proper")
_MOST_TOKENS = 200


def _measured(task: Task, setting: Setting) -> Record:
    """Every method on the same outputs of the model alone."""
    seeds = range(setting.size.repetitions)
    samplings = [Sampling(), *(Sampling(temperature=1.0, seed=seed) for seed in seeds)]
    written = alone(
        setting.model, task.grammar, task.prompts[:5], samplings, max_tokens=_MOST_TOKENS
    )
    outputs = []
    for output in written:
        if setting.stop():
            raise Stopped
        outputs.append(output)
    return {name: _of(task, name, outputs, setting) for name in METHODS}


def _of(task: Task, name: str, outputs: Sequence[Alone], setting: Setting) -> Record:
    """One method: what it keeps the model from, and what its masks forbid whatever the model."""
    vocabulary, grammar = setting.model.vocabulary, task.grammar
    try:
        prepared = CONTENDERS[name].prepare(setting.model, grammar)
        found = tried(prepared, outputs, max_tokens=_MOST_TOKENS)
        static = searched(compile_grammar(grammar, vocabulary), prepared.constraint)
    except WorkbenchError as error:
        return {"failed": error.message}
    return {
        "outputs": found.outputs,
        "valid": found.valid,
        "kept": len(found.kept),
        "example": _example(found.kept[0], vocabulary) if found.kept else None,
        "forbids": static.forbidden is not None,
        "complete": static.complete,
    }


def _example(kept: Kept, vocabulary: Vocabulary) -> Record:
    before, after = kept.output.token_ids[: kept.index], kept.output.token_ids[kept.index :][:1]
    return {
        "before": vocabulary.decode(before).decode("utf-8", "backslashreplace"),
        "token": vocabulary.decode(after).decode("utf-8", "backslashreplace"),
    }


_INTRODUCTION = """A cell tells how many of the valid outputs the model alone wrote (greedily and
sampled) the method cannot write; a proof that it forbids nothing is marked ∎. A method that leaves
definition 2.1 unbroken here is not shown to keep it, unless by that mark."""


def _section(records: Mapping[str, Record]) -> str:
    head = ["method", *(task.title for task in TASKS.values())]
    rows = [
        [name, *(_cell(records.get(_key(task), {}).get(name)) for task in TASKS.values())]
        for name in METHODS
    ]
    parts = [_INTRODUCTION, table(head, rows), *_verdict(records), *_examples(records)]
    return "\n\n".join(parts)


def _verdict(records: Mapping[str, Record]) -> list[str]:
    """Who broke the definition, beside DOMINO's table 1."""
    if not records:
        return []
    tasks = [record for task in TASKS.values() if (record := records.get(_key(task)))]
    kept = {name: sum(r.get(name, {}).get("kept", 0) for r in tasks) for name in METHODS}
    broken = ", ".join(name for name, count in kept.items() if count)
    held = ", ".join(name for name, count in kept.items() if not count)
    return [
        f"Broken by {broken or 'none'}; by {held or 'none'} in no try. DOMINO's table 1 has"
        " Outlines (here `lalr`) as invasive, DOMINO and Synchromesh as not. `proper` breaks it by"
        " design: it forbids what the tokenizer would not write, and a model sometimes does."
    ]


def _examples(records: Mapping[str, Record]) -> list[str]:
    """The first forbidden token of each method and task."""
    found = [
        f"* {name}, {task.title}: {_after(example['before'])} the model wrote"
        f" `{visible(example['token'])}`, which is forbidden."
        for name in METHODS
        for task in TASKS.values()
        if (example := records.get(_key(task), {}).get(name, {}).get("example"))
    ]
    return ["\n".join(found)] if found else []


def _cell(record: Record | None) -> str:
    if record is None:
        return ""
    if "failed" in record:
        return "does not apply"
    mark = " ∎" if record["complete"] and not record["forbids"] else ""
    return f"{record['kept']} of {record['valid']}{mark}"


def _after(text: str) -> str:
    """The place a text leads to, by its ending."""
    return f"after `{visible(text[-24:])}`" if text else "at the start"


def _key(task: Task) -> str:
    return f"definition 2.1/{task.name}"


INVADING = Experiment(
    name="invasive",
    title="Minimally invasive, or not",
    source="DOMINO, definition 2.1 and table 1",
    units=lambda _: [Unit(_key(task), partial(_measured, task)) for task in TASKS.values()],
    section=_section,
)
