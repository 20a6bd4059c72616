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
from workbench.evaluate.invasive import Kept, searched, tried
from workbench.evaluate.tasks import TASKS, Task
from workbench.training.card import table

#: One for each mask there is; strategies change no text.
METHODS = ("automaton", "domino", "domino-1", "domino-0", "lalr", "proper")
_MOST_TOKENS = 200


def _measured(task: Task, name: str, setting: Setting) -> Record:
    model, grammar = setting.model, task.grammar
    seeds = range(setting.size.repetitions)
    samplings = [Sampling(), *(Sampling(temperature=1.0, seed=seed) for seed in seeds)]
    try:
        prepared = CONTENDERS[name].prepare(model, grammar)
        found = tried(
            model,
            grammar,
            prepared,
            task.prompts[:5],
            samplings,
            max_tokens=_MOST_TOKENS,
            stop=setting.stop,
        )
        if setting.stop():
            raise Stopped
        static = searched(compile_grammar(grammar, model.vocabulary), prepared.constraint)
    except WorkbenchError as error:
        return {"failed": error.message}
    spelt = model.vocabulary.decode
    forbidden = static.forbidden
    return {
        "outputs": found.outputs,
        "valid": found.valid,
        "kept": len(found.kept),
        "example": _example(found.kept[0], model.vocabulary.tokens) if found.kept else None,
        "static": forbidden
        and {
            "before": spelt(forbidden.before).decode("utf-8", "backslashreplace"),
            "token": spelt([forbidden.token_id]).decode("utf-8", "backslashreplace"),
        },
        "complete": static.complete,
    }


def _example(kept: Kept, tokens: Sequence[bytes | None]) -> Record:
    index = kept.index or 0
    before = b"".join(tokens[i] or b"" for i in kept.token_ids[:index])
    return {
        "before": before.decode("utf-8", "backslashreplace"),
        "token": (tokens[kept.token_ids[index]] or b"").decode("utf-8", "backslashreplace"),
        "instead": kept.instead.text.decode("utf-8", "backslashreplace"),
    }


_INTRODUCTION = """A cell tells how many of the valid outputs the model alone wrote (greedily and
sampled) the method cannot write; a proof that it forbids nothing is marked ∎. A method that leaves
definition 2.1 unbroken here is not shown to keep it, unless by that mark."""


def _section(records: Mapping[str, Record]) -> str:
    head = ["method", *(task.title for task in TASKS.values())]
    rows = [
        [name, *(_cell(records.get(_key(task, name))) for task in TASKS.values())]
        for name in METHODS
        if name in CONTENDERS
    ]
    examples = [
        f"* {name}, {task.title}: after `{_end(example['before'])}` the model wrote"
        f" `{visible(example['token'])}`, which is forbidden."
        for name in METHODS
        for task in TASKS.values()
        if (example := (records.get(_key(task, name)) or {}).get("example"))
    ]
    return "\n\n".join(
        [_INTRODUCTION, table(head, rows), *(["\n".join(examples)] if examples else [])]
    )


def _cell(record: Record | None) -> str:
    if record is None:
        return ""
    if "failed" in record:
        return "does not apply"
    mark = " ∎" if record["complete"] and not record["static"] else ""
    return f"{record['kept']} of {record['valid']}{mark}"


def _end(text: str) -> str:
    return visible(text[-24:])


def _key(task: Task, name: str) -> str:
    return f"definition 2.1/{task.name}/{name}"


INVADING = Experiment(
    name="invasive",
    title="Minimally invasive, or not",
    source="DOMINO, definition 2.1 and table 1",
    units=lambda _: tuple(
        Unit(_key(task, name), partial(_measured, task, name))
        for task in TASKS.values()
        for name in METHODS
    ),
    section=_section,
)
