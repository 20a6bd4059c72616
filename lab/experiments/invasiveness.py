"""DOMINO's figure 1, definition 2.1 (minimally invasive masks) and figure 2 (templates)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import geometric_mean

from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Unit,
    check_running,
)
from lab.experiments.greedy_answers import Answer, Asked, RememberingSession, answer, answers, asked
from lab.experiments.proportions import Proportion
from lab.experiments.workloads import TASKS, Task
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.contenders import UNCONSTRAINED, Contender, all_contenders
from workbench.decoding.exact_distribution import (
    Counterexample,
    ModelOutput,
    model_outputs,
    search_spellings,
    try_outputs,
)
from workbench.decoding.measures import Surprisal
from workbench.decoding.retokenize import retokenized_perplexity
from workbench.decoding.sampling import Sampling
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One method for each different mask; strategies change no text.
METHODS = ("automaton", "domino", "domino-1", "domino-0", "lalr", "proper")
_MAX_TOKENS = 200
#: Sampled outputs of each prompt, in addition to the greedy one.
_SEEDS = range(5)


def _measured_invasion(task: Task, setting: Setting) -> Record:
    """Every method on the same outputs of the unconstrained model."""
    samplings = [Sampling(), *(Sampling(temperature=1.0, seed=seed) for seed in _SEEDS)]
    outputs = model_outputs(
        setting.model,
        task.grammar,
        task.prompts[:5],
        samplings,
        max_tokens=_MAX_TOKENS,
        stop=setting.stop,
    )
    check_running(setting)
    return {name: _of(task, name, outputs, setting) for name in METHODS}


def _of(task: Task, name: str, outputs: Sequence[ModelOutput], setting: Setting) -> Record:
    """One method: outputs its masks prevent, and texts they forbid for every model."""
    vocabulary, grammar = setting.model.vocabulary, task.grammar
    try:
        prepared = all_contenders()[name].prepare(setting.model, grammar, LIMITS)
        found = try_outputs(prepared, outputs, max_tokens=_MAX_TOKENS)
        static = search_spellings(
            compile_grammar(grammar, vocabulary, limits=LIMITS), prepared.constraint
        )
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
definition 2.1 unbroken here is not shown to keep it, unless by that mark. DOMINO's table 1 has
Outlines (here `lalr`, a re-implementation) as invasive, DOMINO and Synchromesh as not."""


def _invasion_section(columns: Sequence[Column]) -> str:
    parts = [_INVASION_INTRODUCTION]
    for column in columns:
        records = column.records
        found = [task for task in TASKS.values() if _invasion_key(task) in records]
        if not found:
            continue
        head = ["method", *(task.title for task in found)]
        rows = [
            [name, *(_cell(records[_invasion_key(task)].get(name)) for task in found)]
            for name in METHODS
        ]
        parts += [
            f"**{column.title}**\n\n{format_table([head, *rows], 'markdown')}",
            *_verdict(column),
            *_examples(records),
        ]
    return "\n\n".join(parts)


def _verdict(column: Column) -> list[str]:
    """The methods that broke the definition, compared with DOMINO's table 1."""
    tasks = [r for task in TASKS.values() if (r := column.records.get(_invasion_key(task)))]
    if not any(r.get(name, {}).get("valid") for r in tasks for name in METHODS):
        titles = "; ".join(t.title for t in TASKS.values() if _invasion_key(t) in column.records)
        return [
            f"{column.title}: the model alone wrote no valid text (tasks: {titles}), so nothing was"
            " tried."
        ]
    kept = {name: sum(r.get(name, {}).get("kept", 0) for r in tasks) for name in METHODS}
    broken = ", ".join(name for name, count in kept.items() if count)
    held = ", ".join(name for name, count in kept.items() if not count)
    texts = f"{column.title}: broken by {broken or 'none'}; by {held or 'none'} in no run."
    if kept["proper"]:
        texts += " `proper` forbids, by design, tokens that the tokenizer itself would not write."
    return [texts]


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


_FIGURE_1 = (UNCONSTRAINED, "domino-0", "domino-1", "automaton")
_FIGURE_1_PROMPTS = (
    "A person encoded as JSON object:",
    "A JSON file describing a person:\n",
    "A book encoded as JSON object:",
    "The weather in Paris as JSON object:",
    "A JSON object with the capitals of France, Spain and Italy:\n",
)
_FIGURE_1_TOKENS = 96
#: Characters of a text in a table; the number of the others is printed.
_SHOWN = 120


def _measured_texts(prompt: str, setting: Setting) -> Record:
    """The greedy JSON of one prompt with every lookahead."""
    grammar, record = TASKS["json"].grammar, Record()
    session = RememberingSession(setting.model.session())
    ids = asked(setting.model, prompt, chat=setting.size.chat)
    for method in _FIGURE_1:
        prepared = all_contenders()[method].prepare(setting.model, grammar, LIMITS)
        texts = answer(setting, prepared, grammar, ids, session, _FIGURE_1_TOKENS)
        record[method] = texts.as_record()
    return record


def _texts_key(size: Size, prompt: str) -> str:
    return f"figure 1/{'chat, ' if size.chat else ''}{prompt.strip()}"


_TEXTS_INTRODUCTION = f"""\
Greedy JSON after {len(_FIGURE_1_PROMPTS)} prompts, at most {_FIGURE_1_TOKENS} tokens, with
lookahead 0, 1 and
unlimited (the exact masks). The figure's example is one text of an unnamed model: with k = 0 it
takes a worse token for the fourth one. *Cut* texts were not complete at that length. The texts are
those of the first prompt; · is a space, ⏎ a line break."""


def _texts_section(columns: Sequence[Column]) -> str:
    parts = [_TEXTS_INTRODUCTION]
    for column in columns:
        rows = [r for r in column.records.values() if r]
        if not rows:
            continue
        head = ["method", "complete", "cut", "perplexity", "interventions a text", "text"]
        table = []
        for method in _FIGURE_1:
            texts = [row[method] for row in rows]
            surprisal = Surprisal(sum(t["nats"] for t in texts), sum(t["judged"] for t in texts))
            table.append(
                [
                    method,
                    str(Proportion.among(t["valid"] for t in texts)),
                    str(sum(t["cut"] for t in texts)),
                    f"{surprisal.perplexity:.2f}",
                    f"{sum(t['interventions'] for t in texts) / len(texts):.1f}",
                    _shown(texts[0]["text"]),
                ]
            )
        parts.append(f"**{column.title}**\n\n{format_table([head, *table], 'markdown')}")
    return "\n\n".join(parts)


def _shown(text: str) -> str:
    rest = len(text) - _SHOWN
    code = f"`{visible(text[:_SHOWN]).replace('|', '¦').replace('`', 'ˋ')}`"
    return f"{code} … {rest} more" if rest > 0 else code


FIGURE_1 = Experiment(
    name="domino-fig1",
    title="Lookahead and one text",
    source="DOMINO, figure 1",
    units=lambda size: [
        Unit(_texts_key(size, prompt), partial(_measured_texts, prompt))
        for prompt in _FIGURE_1_PROMPTS
    ],
    section=_texts_section,
)


_TASKS = ("word_problems", "xml", "rpg")
_NATURAL = "template-naturalised"
_METHODS = (UNCONSTRAINED, "template", _NATURAL, "template-ws", "domino-0", "proper", "automaton")


def _contender(name: str) -> Contender:
    """A contender; the naturalised template is the template's text under exact masks.

    Greedy decoding then takes, inside fixed text, the likeliest token that the text allows, which
    is DOMINO's Algorithm 3; tokens may cross the borders of holes.
    """
    if name != _NATURAL:
        return all_contenders()[name]
    template = all_contenders()["template"]
    return replace(template, name=name, method="automaton", strategy="plain")


def _measured_naturalness(task: Task, setting: Setting) -> Record:
    """Perplexity of greedy texts, in the tokens written and in those the model prefers.

    All texts are one batch.
    """
    record: Record = {}
    runs: list[tuple[str, list[TokenId], Asked]] = []
    for method in _METHODS:
        try:
            prepared = _contender(method).prepare(setting.model, task.grammar, LIMITS)
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
            continue
        for prompt in task.prompts[:5]:
            ids = asked(setting.model, prompt, chat=setting.size.chat)
            one = Asked(setting, prepared, task.grammar, ids, _MAX_TOKENS)
            runs.append((method, ids, one))
    written: dict[str, list[tuple[list[TokenId], Answer]]] = {}
    for (method, ids, _), found in zip(
        runs, answers(setting, [one for _, _, one in runs]), strict=True
    ):
        if found.trace.text:
            written.setdefault(method, []).append((ids, found))
    for method, texts in written.items():
        record[method] = _naturalness(setting, texts)
    return record


def _naturalness(setting: Setting, written: Sequence[tuple[list[TokenId], Answer]]) -> Record:
    """The perplexities of one method's texts, each after its prompt."""
    taken, own, forced = [], [], []
    for prompt, found in written:
        check_running(setting)
        steps = [step for step in found.trace.steps if not step.is_end]
        taken.append(Surprisal.of(steps).perplexity)
        fixed = Surprisal.of(step for step in steps if step.forced)
        if fixed.tokens:
            forced.append(fixed.perplexity)
        own.append(retokenized_perplexity(setting.model, prompt, found.trace.text))
    return {
        "perplexity": geometric_mean(taken),
        "naturalised": geometric_mean(own),
        "forced": geometric_mean(forced) if forced else None,
        "cut": sum(found.cut for _, found in written),
        "texts": [found.text for _, found in written],
    }


_NATURALNESS_INTRODUCTION = f"""\
Perplexities of greedy texts of at most {_MAX_TOKENS} tokens, geometric means over the texts of
five prompts that are not empty: of the tokens the method wrote, of the tokens it forced, and of the
same text in the tokens the model itself prefers, (2) in the figure.
`{_NATURAL}` is (3): the template's text in the model's preferred tokens, and
the holes generated after it. A forced token may have a probability near 0, and the mean over few of
them is then very large. DOMINO's figure, one text of Mistral 7B: unconstrained 4.17, template-based
24.50 to 26.75, the template's text naturalised 49.39. `template` is a re-implementation."""


def _naturalness_section(columns: Sequence[Column]) -> str:
    parts = [_NATURALNESS_INTRODUCTION]
    head = ["method", "texts", "perplexity", "of forced tokens", "naturalised", "cut"]
    for column in columns:
        worse, natural, filled = [], [], []
        for name in _TASKS:
            record = column.records.get(_naturalness_key(column.size, name))
            if record is None:
                continue
            rows = [
                [
                    method,
                    len(record[method]["texts"]),
                    *(_figure(record[method][k]) for k in ("perplexity", "forced", "naturalised")),
                    record[method]["cut"],
                ]
                for method in _METHODS
                if "perplexity" in record.get(method, {})
            ]
            table = format_table([head, *rows], "markdown")
            parts.append(f"**{TASKS[name].title}, {column.title}**\n\n{table}")
            if "perplexity" in (template := record.get("template", {})):
                alone = record[UNCONSTRAINED]["perplexity"]
                worse.append(template["perplexity"] > alone)
                natural.append(template["naturalised"] > template["perplexity"])
                filled.append(record[_NATURAL]["perplexity"] > alone)
        if worse:
            parts.append(
                f"{column.title}: templates raise perplexity on {sum(worse)} of {len(worse)} tasks"
                f" (the paper: yes); naturalising their text raises it further on {sum(natural)}"
                f" (the paper: yes, on its one text); holes after naturalised text leave it above"
                f" the model alone on {sum(filled)}."
            )
    return "\n\n".join(parts)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.2f}" if value < _MAX_DECIMAL else f"{value:.1e}"


#: Larger perplexities are written with an exponent.
_MAX_DECIMAL = 1e6


def _naturalness_key(size: Size, name: str) -> str:
    return f"figure 2/{'chat, ' if size.chat else ''}{name}"


FIGURE_2 = Experiment(
    name="domino-fig2",
    title="Templates and perplexity",
    source="DOMINO, figure 2 and appendix B",
    units=lambda size: [
        Unit(_naturalness_key(size, name), partial(_measured_naturalness, TASKS[name]))
        for name in _TASKS
    ],
    section=_naturalness_section,
)
