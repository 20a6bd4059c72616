"""DOMINO's figure 2: what a template does to perplexity, and its text in the model's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import geometric_mean

from workbench.decoding.retokenize import naturalised
from workbench.decoding.sampling import Sampling
from workbench.errors import WorkbenchError
from workbench.evaluate.compare import Run
from workbench.evaluate.contenders import CONTENDERS, UNCONSTRAINED
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit, finished
from workbench.evaluate.tasks import TASKS, Task
from workbench.training.card import table

_TASKS = ("word_problems", "xml", "rpg")
_METHODS = (UNCONSTRAINED, "template", "template-ws", "domino-0", "proper", "domino")
_MOST_TOKENS = 200


def _measured(task: Task, setting: Setting) -> Record:
    """Greedy texts: their perplexity as they were spelt, and as the model would spell them."""
    record: Record = {}
    for method in _METHODS:
        try:
            prepared = CONTENDERS[method].prepare(setting.model, task.grammar)
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
            continue
        taken, own, forced = [], [], []
        for prompt in task.prompts[:5]:
            run = Run(prepared.contender, prompt, 0)
            found = finished(setting, run, prepared, task.grammar, Sampling(), _MOST_TOKENS)
            taken.append((found.free + found.forced).perplexity)
            if found.forced.tokens:
                forced.append(found.forced.perplexity)
            own.append(naturalised(setting.model, prompt, found.text))
        record[method] = {
            "perplexity": geometric_mean(taken),
            "naturalised": geometric_mean(own),
            "forced": geometric_mean(forced) if forced else None,
        }
    return record


_INTRODUCTION = """Perplexities of greedy texts, geometric means over the prompts: as the method
spelt the text, of the tokens it forced, and of the same text in the tokens the model itself
prefers. DOMINO's figure 2, one text of Mistral 7B: unconstrained 4.17, template-based 24.50 to
26.75, the template's text naturalised 49.39."""


def _section(records: Mapping[str, Record]) -> str:
    parts = [_INTRODUCTION]
    head = ["method", "perplexity", "of forced tokens", "naturalised"]
    worse, natural = [], []
    for name in _TASKS:
        record = records.get(_key(name))
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
        parts.append(f"**{TASKS[name].title}**\n\n{table(head, rows)}")
        template = record.get("template", {})
        told = [record[UNCONSTRAINED]["perplexity"], template.get("perplexity")]
        if None not in told:
            worse.append(told[1] > told[0])
            natural.append(template["naturalised"] > told[1])
    if worse:
        parts.append(
            f"Templates raise perplexity on {sum(worse)} of {len(worse)} tasks (the paper: yes)."
            f" Naturalising their text raises it further on {sum(natural)} of {len(natural)}"
            " (the paper: yes, on its one text)."
        )
    return "\n\n".join(parts)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _key(name: str) -> str:
    return f"figure 2/{name}"


FIGURE_2 = Experiment(
    name="domino-fig2",
    title="Templates and perplexity",
    source="DOMINO, figure 2 and appendix B",
    units=lambda _: [Unit(_key(name), partial(_measured, TASKS[name])) for name in _TASKS],
    section=_section,
)
