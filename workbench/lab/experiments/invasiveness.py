"""DOMINO's definition 2.1 (minimally invasive masks) and figure 2 (perplexity of templates)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import geometric_mean

from workbench.base.errors import WorkbenchError
from workbench.base.tables import format_table
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.compare import Run
from workbench.decoding.contenders import UNCONSTRAINED, all_contenders
from workbench.decoding.exact_distribution import (
    Counterexample,
    ModelOutput,
    model_outputs,
    search_spellings,
    try_outputs,
)
from workbench.decoding.retokenize import retokenized_perplexity
from workbench.decoding.sampling import Sampling
from workbench.lab.experiments.experiment import (
    Experiment,
    Record,
    Setting,
    Stopped,
    Unit,
    finished,
)
from workbench.lab.experiments.tasks import TASKS, Task
from workbench.vocabulary.vocabulary import Vocabulary

#: One method for each different mask; strategies change no text.
METHODS = ("automaton", "domino", "domino-1", "domino-0", "lalr", "proper")
_MAX_TOKENS = 200


def _measured_invasion(task: Task, setting: Setting) -> Record:
    """Every method on the same outputs of the unconstrained model."""
    seeds = range(setting.size.repetitions)
    samplings = [Sampling(), *(Sampling(temperature=1.0, seed=seed) for seed in seeds)]
    written = model_outputs(
        setting.model, task.grammar, task.prompts[:5], samplings, max_tokens=_MAX_TOKENS
    )
    outputs = []
    for output in written:
        if setting.stop():
            raise Stopped
        outputs.append(output)
    return {name: _of(task, name, outputs, setting) for name in METHODS}


def _of(task: Task, name: str, outputs: Sequence[ModelOutput], setting: Setting) -> Record:
    """One method: outputs its masks prevent, and texts they forbid for every model."""
    vocabulary, grammar = setting.model.vocabulary, task.grammar
    try:
        prepared = all_contenders()[name].prepare(setting.model, grammar)
        found = try_outputs(prepared, outputs, max_tokens=_MAX_TOKENS)
        static = search_spellings(compile_grammar(grammar, vocabulary), prepared.constraint)
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


def _example(kept: Counterexample, vocabulary: Vocabulary) -> Record:
    before, after = kept.output.token_ids[: kept.index], kept.output.token_ids[kept.index :][:1]
    return {
        "before": vocabulary.decode(before).decode("utf-8", "backslashreplace"),
        "token": vocabulary.decode(after).decode("utf-8", "backslashreplace"),
    }


_INVASION_INTRODUCTION = """\
A cell tells how many of the valid outputs the model alone wrote (greedily and
sampled) the method cannot write; a proof that it forbids nothing is marked ∎. A method that leaves
definition 2.1 unbroken here is not shown to keep it, unless by that mark."""


def _invasion_section(records: Mapping[str, Record]) -> str:
    head = ["method", *(task.title for task in TASKS.values())]
    rows = [
        [name, *(_cell(records.get(_invasion_key(task), {}).get(name)) for task in TASKS.values())]
        for name in METHODS
    ]
    parts = [
        _INVASION_INTRODUCTION,
        format_table([head, *rows], "markdown"),
        *_verdict(records),
        *_examples(records),
    ]
    return "\n\n".join(parts)


def _verdict(records: Mapping[str, Record]) -> list[str]:
    """The methods that broke the definition, compared with DOMINO's table 1."""
    if not records:
        return []
    tasks = [record for task in TASKS.values() if (record := records.get(_invasion_key(task)))]
    kept = {name: sum(r.get(name, {}).get("kept", 0) for r in tasks) for name in METHODS}
    broken = ", ".join(name for name, count in kept.items() if count)
    held = ", ".join(name for name, count in kept.items() if not count)
    return [
        f"Broken by {broken or 'none'}; by {held or 'none'} in no run. DOMINO's table 1 has"
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
        if (example := records.get(_invasion_key(task), {}).get(name, {}).get("example"))
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
    """The position after a text, shown by its last characters."""
    return f"after `{visible(text[-24:])}`" if text else "at the start"


def _invasion_key(task: Task) -> str:
    return f"definition 2.1/{task.name}"


INVADING = Experiment(
    name="invasive",
    title="Minimally invasive, or not",
    source="DOMINO, definition 2.1 and table 1",
    units=lambda _: [
        Unit(_invasion_key(task), partial(_measured_invasion, task)) for task in TASKS.values()
    ],
    section=_invasion_section,
)


_TASKS = ("word_problems", "xml", "rpg")
_METHODS = (UNCONSTRAINED, "template", "template-ws", "domino-0", "proper", "domino")


def _measured_naturalness(task: Task, setting: Setting) -> Record:
    """Perplexity of greedy texts, in the tokens written and in those the model prefers."""
    record: Record = {}
    for method in _METHODS:
        try:
            prepared = all_contenders()[method].prepare(setting.model, task.grammar)
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
            continue
        taken, own, forced = [], [], []
        for prompt in task.prompts[:5]:
            run = Run(prepared.contender, prompt, 0)
            found = finished(setting, run, prepared, task.grammar, Sampling(), _MAX_TOKENS)
            taken.append((found.free + found.forced).perplexity)
            if found.forced.tokens:
                forced.append(found.forced.perplexity)
            own.append(retokenized_perplexity(setting.model, prompt, found.text))
        record[method] = {
            "perplexity": geometric_mean(taken),
            "naturalised": geometric_mean(own),
            "forced": geometric_mean(forced) if forced else None,
        }
    return record


_NATURALNESS_INTRODUCTION = """\
Perplexities of greedy texts, geometric means over the prompts: of the tokens the
method wrote, of the tokens it forced, and of the same text in the tokens the model itself
prefers. DOMINO's figure 2, one text of Mistral 7B: unconstrained 4.17, template-based 24.50 to
26.75, the template's text naturalised 49.39."""


def _naturalness_section(records: Mapping[str, Record]) -> str:
    parts = [_NATURALNESS_INTRODUCTION]
    head = ["method", "perplexity", "of forced tokens", "naturalised"]
    worse, natural = [], []
    for name in _TASKS:
        record = records.get(_naturalness_key(name))
        if record is None:
            continue
        rows = [
            [
                method,
                *(_figure(record[method][key]) for key in ("perplexity", "forced", "naturalised")),
            ]
            for method in _METHODS
            if "perplexity" in record.get(method, {})
        ]
        parts.append(f"**{TASKS[name].title}**\n\n{format_table([head, *rows], 'markdown')}")
        template = record.get("template", {})
        without, with_template = record[UNCONSTRAINED]["perplexity"], template.get("perplexity")
        if without is not None and with_template is not None:
            worse.append(with_template > without)
            natural.append(template["naturalised"] > with_template)
    if worse:
        parts.append(
            f"Templates raise perplexity on {sum(worse)} of {len(worse)} tasks (the paper: yes)."
            f" Naturalising their text raises it further on {sum(natural)} of {len(natural)}"
            " (the paper: yes, on its one text)."
        )
    return "\n\n".join(parts)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _naturalness_key(name: str) -> str:
    return f"figure 2/{name}"


FIGURE_2 = Experiment(
    name="domino-fig2",
    title="Templates and perplexity",
    source="DOMINO, figure 2 and appendix B",
    units=lambda _: [
        Unit(_naturalness_key(name), partial(_measured_naturalness, TASKS[name])) for name in _TASKS
    ],
    section=_naturalness_section,
)
