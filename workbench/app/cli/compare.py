"""``workbench compare``: methods of decoding side by side on one grammar."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from workbench.app.cli.options import (
    ChatOption,
    DeviceOption,
    DtypeOption,
    JsonOption,
    MinPOption,
    ModelOption,
    Named,
    PenaltyOption,
    RevisionOption,
    SystemOption,
    TopKOption,
    TopPOption,
    before_prompt,
    line,
    loaded_model,
    progress_bar,
    takes_grammar,
)
from workbench.app.cli.tasks import (
    GpusOption,
    JobsOption,
    RayOption,
    run_tasks,
    runner_named,
)
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS
from workbench.base.text_tables import format_table
from workbench.base.visible_text import visible
from workbench.decoding.compare import RunBegan, RunFailed, divergence, first_different_token
from workbench.decoding.grid import WORK, GridSettings, grammar_record, grid_tasks
from workbench.decoding.model import chatting
from workbench.decoding.run_summaries import RunEnded
from workbench.decoding.trace import Trace
from workbench.tasks.datasets import columns_named, rows_of
from workbench.tasks.summary import failures_of, summary_of
from workbench.vocabulary.vocabulary import TokenId

if TYPE_CHECKING:
    from workbench.decoding.compare import Event
    from workbench.tasks.runners import Runner
    from workbench.tasks.task import Outcome, Task


#: Characters shown of the common beginning of all texts, and of what follows it.
_MAX_BEFORE, _MAX_AFTER = 32, 76


def strips(ends: Sequence[RunEnded]) -> str:
    """The common beginning of the runs, then each run from the first token that differs.

    Runs of the same text are shown from where their tokens first differ.
    """
    if not ends:
        return ""
    traces = [end.trace for end in ends]
    run = ends[0].run
    head = f"{_short(run.prompt)} · seed {run.seed}"
    offset = divergence(traces)
    label = "they differ after"
    if offset is None:
        offset, label = first_different_token(traces), "one text, different tokens after"
    if offset is None:
        return f"{head}\n  all equal: {_ending(traces[0].text)}"
    lines = [head, f"  {label} {_ending(traces[0].text[:offset])}"]
    by_tokens: dict[tuple[TokenId, ...], list[RunEnded]] = {}
    for end in ends:
        by_tokens.setdefault(tuple(end.trace.token_ids), []).append(end)
    for alike in by_tokens.values():
        names = ", ".join(end.run.contender.name for end in alike)
        lines += [f"    {_pieces(alike[0].trace, offset)}", f"      {names}"]
    return "\n".join(lines)


def _pieces(trace: Trace, offset: int) -> str:
    """The tokens from the one that contains byte ``offset`` on, between bars; ■ is the end."""
    pieces, begin, length = [], 0, 0
    for step in trace.steps:
        begin += len(step.token)
        if begin <= offset and not step.is_end:
            continue
        piece = "■" if step.is_end else visible(step.token)
        length += len(piece) + 1
        if length > _MAX_AFTER:
            pieces.append("…")
            break
        pieces.append(piece)
    return "|".join(pieces)


def _ending(text: bytes) -> str:
    whole = visible(text)
    return whole if len(whole) <= _MAX_BEFORE else f"…{whole[-_MAX_BEFORE:]}"


def _short(prompt: str) -> str:
    line = visible(prompt.encode())
    return line if len(line) <= _MAX_AFTER else f"{line[:_MAX_AFTER]}…"


#: The methods that are compared by default.
_METHODS = "unconstrained,automaton"


@takes_grammar
def compare(
    named: Named | None = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="What the model reads first; may be given several times."),
    ] = None,
    chat: ChatOption = False,
    system: SystemOption = None,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Separated by commas; all: every method."),
    ] = _METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from --seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 1.0,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    min_p: MinPOption = None,
    repetition_penalty: PenaltyOption = 1.0,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The budget of a run.")] = None,
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    json: JsonOption = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a line of CSV for each run.")
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Run on every row: JSON lines, CSV, Parquet, or a Hugging Face dataset.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="The column of prompt, schema, grammar, notation, start, max_tokens, model, name.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="With --dataset: the part of a dataset.")] = "train",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --dataset: the Parquet file of the results."),
    ] = None,
    together: Annotated[
        int,
        typer.Option(
            min=1, max=64, metavar="ROWS", help="With --dataset: rows that share forward passes."
        ),
    ] = 1,
    jobs: JobsOption = 1,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
) -> None:
    """Run methods on the same prompts and seeds: a table, and where their texts differ.

    Ctrl-C ends it with the results so far. Exit status 0: every run ended; 1: one failed, or it was
    stopped; 2: wrong use. With --dataset each result is stored as soon as its run
    ends, and the same command continues after an interruption. A row may name its grammar or
    schema.
    """
    from workbench.decoding.compare import compare as compared
    from workbench.decoding.contenders import all_contenders, contenders_named
    from workbench.decoding.sampling import Sampling

    sampling = Sampling(temperature, top_k, top_p, 0, min_p, repetition_penalty)
    contenders = contenders_named(all_contenders() if methods == "all" else methods)
    numbers = range(seed, seed + seeds)
    for_rows = {"column": column, "out": out, "together": together > 1, "jobs": jobs > 1}
    _check_mode(
        dataset,
        for_rows=for_rows | {"ray": ray, "gpus": gpus},
        for_prompts={"prompt": prompt, "json": json, "csv": as_csv},
    )
    if dataset is not None:
        settings = GridSettings(
            contenders=tuple(contender.name for contender in contenders),
            seeds=tuple(numbers),
            sampling=sampling,
            max_tokens=max_tokens or 128,
            grammar=None if named is None else grammar_record(named.grammar),
            model=model,
            device=device,
            dtype=dtype,
            revision=revision,
            before=before_prompt(chat, system),
            together=together,
        )
        plan = grid_tasks(rows_of(dataset, split), columns_named(column or ()), settings)
        _compare_dataset(plan, settings, out or Path("runs.parquet"), runner_named(jobs, ray, gpus))
    if named is None:
        raise WorkbenchError(
            "expected one grammar, not 0", "name one as in --example NAME, or rows with --dataset"
        )
    example = named.example
    prompts = prompt or [example.prompt if example else ""]
    events = compared(
        chatting(loaded_model(model, device, dtype, revision), before_prompt(chat, system)),
        named.grammar,
        prompts,
        contenders,
        numbers,
        sampling,
        max_tokens=max_tokens or (example.max_tokens if example else 128),
        limits=LOCAL_LIMITS,
    )
    runs = len(prompts) * len(numbers) * len(contenders)
    _print_results(events, runs, json=json, as_csv=as_csv)


def _check_mode(
    dataset: str | None, for_rows: Mapping[str, object], for_prompts: Mapping[str, object]
) -> None:
    """Raise WorkbenchError for an option without an effect, or for two outputs."""
    if for_prompts["json"] and for_prompts["csv"]:
        raise WorkbenchError("expected one of --json and --csv, not both")
    unused = for_rows if dataset is None else for_prompts
    idle = [f"--{name}" for name, value in unused.items() if value]
    if idle:
        way = "without" if dataset is None else "with"
        raise WorkbenchError(f"{', '.join(idle)} has no effect {way} --dataset", "leave it out")


def _compare_dataset(
    plan: tuple[list[Task], list[Outcome]], settings: GridSettings, out: Path, runner: Runner
) -> NoReturn:
    """Run the tasks of a dataset's rows, and print their summary and what failed."""
    tasks, bad = plan
    if not tasks and not bad:
        raise WorkbenchError("the dataset has no rows")
    outcomes, stopped = run_tasks(runner, WORK, tasks, out, settings.as_record())
    table = summary_of([outcome.row for outcome in outcomes], ("model", "contender"))
    if table:
        typer.echo(format_table(table))
    failures = failures_of([*bad, *outcomes])
    if failures:
        typer.echo(failures, err=True)
    state = "stopped: run the same command again to continue; " if stopped else ""
    typer.echo(f"{state}the results are in {out}", err=True)
    raise typer.Exit(int(bool(failures) or stopped))


def _print_results(events: Iterable[Event], runs: int, *, json: bool, as_csv: bool) -> NoReturn:
    """Run the methods, and print what they did."""
    ended, failed, stopped = _results(events, runs, json=json)
    if as_csv:
        _print_csv(ended)
        typer.echo(_reasons(failed), nl=False, err=True)
    elif json:
        _print_summaries(ended)
    else:
        typer.echo(_report(ended, failed))
    if stopped:
        typer.echo("stopped: the completed runs are above", err=True)
    raise typer.Exit(int(bool(failed) or stopped))


def _results(
    events: Iterable[Event], runs: int, *, json: bool
) -> tuple[list[RunEnded], list[RunFailed], bool]:
    """Runs that ended, runs that failed, and whether they were stopped."""
    ended: list[RunEnded] = []
    failed: list[RunFailed] = []
    with progress_bar(runs, "comparing") as advance:
        try:
            for event in events:
                if isinstance(event, RunBegan | RunEnded | RunFailed):
                    name = f"{event.run.contender.name:22}"
                    advance(name, int(not isinstance(event, RunBegan)))
                if isinstance(event, RunEnded):
                    ended.append(event)
                    if json:
                        line(_run_record(event))
                elif isinstance(event, RunFailed):
                    failed.append(event)
                    if json:
                        line(_failed_record(event))
        except KeyboardInterrupt:
            return ended, failed, True
    return ended, failed, False


def _run_record(end: RunEnded) -> dict[str, Any]:
    run = end.run
    head = {"method": run.contender.name, "prompt": run.prompt, "seed": run.seed}
    return {"kind": "run", **head, **end.measures.as_record(), "token_ids": end.trace.token_ids}


def _failed_record(fail: RunFailed) -> dict[str, Any]:
    run = fail.run
    return {
        "kind": "failed",
        "method": run.contender.name,
        "prompt": run.prompt,
        "seed": run.seed,
        "message": fail.error.message,
        "hint": fail.error.hint,
    }


def _print_summaries(ended: list[RunEnded]) -> None:
    from workbench.decoding.run_summaries import summaries

    for summary in summaries(ended):
        line({"kind": "summary", **summary.as_record()})


#: Keys of a run's record without a column in CSV.
_NO_COLUMN = ("kind", "kept", "free", "forced", "token_ids")


def _print_csv(ended: list[RunEnded]) -> None:
    records = [
        {key: value for key, value in _run_record(end).items() if key not in _NO_COLUMN}
        for end in ended
    ]
    if records:
        writer = csv.DictWriter(sys.stdout, records[0].keys())
        writer.writeheader()
        writer.writerows(records)


def _report(ended: list[RunEnded], failed: list[RunFailed]) -> str:
    """The table, methods that failed, and the strips of every prompt and seed."""
    from workbench.decoding.compare import table, verdict
    from workbench.decoding.run_summaries import summaries

    parts = (
        ["\n".join(filter(None, verdict(ended, failed))), table(summaries(ended))] if ended else []
    )
    if failed:
        parts.append(_reasons(failed).rstrip())
    groups: dict[tuple[str, int], list[RunEnded]] = {}
    for end in ended:
        groups.setdefault((end.run.prompt, end.run.seed), []).append(end)
    parts.extend(strips(group) for group in groups.values())
    return "\n\n".join(parts)


def _reasons(failed: list[RunFailed]) -> str:
    """A line for each method that failed."""
    reasons = {fail.run.contender.name: fail.error.message for fail in failed}
    return "".join(f"{name}: {message}\n" for name, message in reasons.items())
