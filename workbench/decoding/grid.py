"""A comparison over the rows of a dataset, as a list of tasks: row × contender × seed.

A row has a prompt and may have a grammar or a JSON Schema, a budget and a model. The functions
``prepare`` and ``run`` are called by the workers of ``tasks``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS
from workbench.decoding.compare import RunFailed, run_events
from workbench.decoding.contenders import (
    STRATEGIES,
    PreparedContender,
    contenders_named,
)
from workbench.decoding.generate import Generation, generate_batch
from workbench.decoding.measures import Measures, TimeSpent, measure
from workbench.decoding.model import Message, chatting
from workbench.decoding.run_summaries import Run, RunEnded
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Trace
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, notation_of, options_in
from workbench.tasks.datasets import BadRow, Row, mapped
from workbench.tasks.task import Outcome, Record, Result, Task, Work

if TYPE_CHECKING:
    from workbench.decoding.transformers_model import TransformersModel

#: The functions of the tasks of a grid.
WORK = Work(
    *(f"workbench.decoding.grid:{name}" for name in ("prepare", "run", "given", "run_batch"))
)

#: Compiled contenders that a worker keeps.
_KEPT = 64

#: The measures of a run that differ between machines.
_MEASURED = ("compile_ms", "seconds", "cpu_seconds", "tokens_per_second")


#: The model's own probabilities.
_OWN = Sampling(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSettings:
    """What all runs of a grid share, unless a row says otherwise."""

    contenders: Sequence[str]
    seeds: Sequence[int] = (0,)
    #: Its seed is replaced by each of ``seeds``.
    sampling: Sampling = _OWN
    max_tokens: int = 128
    #: The arguments of ``Grammar.from_text`` for a row without a grammar.
    grammar: Record | None = None
    model: str = "builtin"
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    #: The messages before a prompt; None if prompts are not messages of a chat.
    before: tuple[Message, ...] | None = None
    #: How many rows share forward passes; log-probabilities depend on it in their last digits.
    together: int = 1

    def as_record(self) -> Record:
        """What results depend on besides the keys of the tasks."""
        return {
            **self.sampling.as_record(),
            "device": self.device,
            "dtype": self.dtype,
            "chat": None if self.before is None else list(self.before),
        } | ({"together": self.together} if self.together > 1 else {})


def grid_tasks(
    rows: Iterable[Row | BadRow], columns: Mapping[str, str], settings: GridSettings
) -> tuple[list[Task], list[Outcome]]:
    """The tasks of a dataset, and the rows that are bad, as outcomes named by their number.

    ``columns``  the column of each field: ``prompt``, ``schema`` or ``grammar`` with ``notation``,
                 ``start`` and its options, ``max_tokens``, ``model``, ``name``.

    Raises: WorkbenchError for an unknown contender.
    """
    contenders = contenders_named(settings.contenders)
    tasks: list[Task] = []
    bad: list[Outcome] = []
    for row in rows:
        try:
            if isinstance(row, BadRow):
                raise WorkbenchError(row.reason)
            shared = _shared_arguments(mapped(row.values, columns), settings)
        except WorkbenchError as error:
            key = f"row {row.number}"
            bad.append(Outcome(key=key, status="failed", error=error.message, hint=error.hint))
            continue
        tasks += _row_tasks(
            row.number, shared, [contender.name for contender in contenders], settings
        )
    return tasks, bad


def _row_tasks(
    number: int, shared: Record, contenders: Sequence[str], settings: GridSettings
) -> Iterator[Task]:
    """A task for every contender and seed; the key has a digest of what the row says.

    A batch has one contender and seed, and the rows of a block, so that rows, contenders or seeds
    that are added to a list later change no batch whose results are complete.
    """
    block = -(-number // settings.together)
    shard = json.dumps(
        {
            "model": shared.pop("model"),
            "device": settings.device,
            "dtype": settings.dtype,
            "revision": settings.revision,
        }
    )
    digest = hashlib.sha256(json.dumps([shared, shard], sort_keys=True).encode()).hexdigest()[:8]
    for contender in contenders:
        for seed in settings.seeds:
            yield Task(
                f"row {number} ({digest}) · {contender} · seed {seed}",
                shard,
                {**shared, "row": number, "contender": contender, "seed": seed},
                f"{block} · {contender} · {seed}" if settings.together > 1 else "",
            )


def _shared_arguments(values: Mapping[str, Any], settings: GridSettings) -> Record:
    """The arguments that all tasks of a row share. Raises: WorkbenchError for a bad row."""
    prompt = values.get("prompt")
    if not isinstance(prompt, str):
        raise WorkbenchError(
            f"expected a text as prompt, found {type(prompt).__name__}",
            "name its column with --column prompt=COLUMN",
        )
    budget = values.get("max_tokens", settings.max_tokens)
    if not isinstance(budget, int) or budget < 1:
        raise WorkbenchError(f"expected max_tokens of at least 1, found {budget!r}")
    return {
        "name": str(values.get("name", "")),
        "prompt": prompt,
        "model": str(values.get("model") or settings.model),
        "max_tokens": budget,
        **settings.sampling.as_record(),
        "before": None if settings.before is None else list(settings.before),
        "grammar": _grammar_of(values, settings.grammar),
    }


def grammar_record(grammar: Grammar) -> Record:
    """The arguments of ``Grammar.from_text`` that read a grammar again."""
    about = {"text": grammar.source.text, "notation": str(grammar.notation)}
    return {**about, "start": "start", **grammar.options}


def _grammar_of(values: Mapping[str, Any], default: Record | None) -> Record:
    """Text, notation, start and options of a row's grammar. Raises: WorkbenchError."""
    schema, text = values.get("schema"), values.get("grammar")
    if schema is not None:
        written = schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False)
        about = {"text": written, "notation": str(Notation.JSON_SCHEMA), "start": "start"}
        return about | options_in(values, Notation.JSON_SCHEMA)
    if text is None and default is not None:
        return dict(default)
    if not isinstance(text, str):
        raise WorkbenchError(
            "the row has no grammar and no schema",
            "name its column with --column schema=COLUMN, or a grammar for all rows",
        )
    notation = notation_of(str(values.get("notation", Notation.KBNF)))
    about = {"text": text, "notation": str(notation), "start": str(values.get("start", "start"))}
    return about | options_in(values, notation)


@dataclass(eq=False)
class Loaded:
    """A worker's model, and the contenders it has compiled last."""

    model: TransformersModel
    #: By the grammar's text and the contender's name.
    prepared: dict[tuple[str, str], tuple[Grammar, PreparedContender]] = field(default_factory=dict)


def prepare(shard: str) -> Loaded:
    """Load the model of a shard. Raises: ModelError, VocabularyError."""
    import torch

    from workbench.decoding.transformers_model import load_model

    torch.set_num_threads(1)  # as in every other worker: sums depend on it
    chosen = json.loads(shard)
    model = load_model(
        chosen["model"], chosen["device"], chosen["dtype"], revision=chosen["revision"]
    )
    return Loaded(model)


def run(loaded: Loaded, arguments: Mapping[str, Any]) -> Result:
    """One run of a contender. Raises: WorkbenchError where the grammar or the run fails."""
    loaded.model.forget()  # so that a result does not depend on the runs before it
    grammar, taught, sampling = _taught(loaded, arguments)
    prompt, budget = arguments["prompt"], arguments["max_tokens"]
    of_run = Run(taught.contender, prompt, arguments["seed"])
    for event in run_events(of_run, taught, grammar, sampling, max_tokens=budget, top=0):
        if isinstance(event, RunFailed):
            raise event.error
        if isinstance(event, RunEnded):
            return _result(arguments, loaded.model, event.measures, event.trace)
    raise AssertionError("a run ends or fails")


def run_batch(
    loaded: Loaded, several: Sequence[Mapping[str, Any]]
) -> Iterator[Result | WorkbenchError]:
    """One run for each of several tasks, in shared forward passes.

    The time of the batch is divided among its runs by their tokens.
    """
    loaded.model.forget()
    begun: dict[Generation, tuple[Grammar, PreparedContender]] = {}
    ended: list[Generation | WorkbenchError] = []
    for arguments in several:
        try:
            grammar, taught, sampling = _taught(loaded, arguments)
            generation = taught.start(
                arguments["prompt"], sampling, max_tokens=arguments["max_tokens"], top=0
            )
            begun[generation] = grammar, taught
            ended.append(generation)
        except WorkbenchError as error:
            ended.append(error)
    errors: dict[Generation, WorkbenchError] = {}
    started, used = time.perf_counter(), time.process_time()
    for generation, step in generate_batch(begun):
        if isinstance(step, WorkbenchError):
            errors[generation] = step
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    traces = {
        generation: generation.scored_trace() for generation in begun if generation not in errors
    }
    tokens = sum(len(trace.steps) for trace in traces.values())
    for arguments, outcome in zip(several, ended, strict=True):
        if isinstance(outcome, WorkbenchError) or outcome in errors:
            yield outcome if isinstance(outcome, WorkbenchError) else errors[outcome]
            continue
        (grammar, taught), trace = begun[outcome], traces[outcome]
        share = len(trace.steps) / max(tokens, 1)
        measures = measure(
            trace,
            grammar,
            loaded.model.vocabulary,
            TimeSpent(share * seconds, share * cpu_seconds),
            taught.compile_ms,
            taught.answer_in(trace),
        )
        yield _result(arguments, loaded.model, measures, trace)


def _taught(
    loaded: Loaded, arguments: Mapping[str, Any]
) -> tuple[Grammar, PreparedContender, Sampling]:
    """What a run needs: its grammar, its contender after warm-up runs, its sampling."""
    grammar, prepared = _prepare(loaded, arguments)
    sampling = Sampling.of(arguments, arguments["seed"])
    # A strategy that remembers texts would make a result depend on the runs before it.
    fresh = replace(prepared, strategy=STRATEGIES[prepared.contender.strategy]())
    return grammar, fresh.taught([arguments["prompt"]], sampling, arguments["max_tokens"]), sampling


def given(arguments: Mapping[str, Any]) -> Record:
    """The prompt and the grammar of a run, for its row in the results file."""
    about = dict(arguments["grammar"])
    if "documents" in about:  # a column has values of one type
        about["documents"] = json.dumps(about["documents"], ensure_ascii=False)
    return {"prompt": arguments["prompt"], "grammar": about.pop("text"), **about}


def _prepare(loaded: Loaded, arguments: Mapping[str, Any]) -> tuple[Grammar, PreparedContender]:
    """The grammar and the compiled contender, one of the last used or a new one."""
    of_grammar = json.dumps(arguments["grammar"])
    (contender,) = contenders_named(arguments["contender"])
    key = of_grammar, contender.name
    prepared = loaded.prepared.pop(key, None)
    if prepared is None:
        before = arguments["before"]
        model = chatting(loaded.model, None if before is None else tuple(before))
        grammar = next(
            (kept for (text, _), (kept, _) in loaded.prepared.items() if text == of_grammar), None
        ) or Grammar.from_text(**arguments["grammar"], limits=LOCAL_LIMITS)
        prepared = grammar, contender.prepare(model, grammar.for_generation, LOCAL_LIMITS)
    loaded.prepared[key] = prepared
    while len(loaded.prepared) > _KEPT:
        del loaded.prepared[next(iter(loaded.prepared))]
    return prepared


def _result(
    arguments: Mapping[str, Any], model: TransformersModel, measures: Measures, trace: Trace
) -> Result:
    values = measures.as_record() | {"token_ids": list(trace.token_ids)}
    measured = {name: values.pop(name) for name in _MEASURED}
    for surprisal in ("free", "forced"):
        values[f"{surprisal}_nats"] = values.pop(surprisal)["nats"]
    del values["kept"]
    about = {name: arguments[name] for name in ("row", "name", "contender", "seed")}
    return Result({**about, "model": model.name, **values}, measured)
