"""``workbench bench``, ``evaluate`` and ``train``; ``app.cli.main`` imports them when called."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workbench.app.cli.options import (
    DeviceOption,
    DtypeOption,
    JsonOption,
    ModelOption,
    RevisionOption,
    errors_reported,
    fail,
    line,
    loaded_model,
    progress_bar,
    write_file,
)
from workbench.base.errors import WorkbenchError
from workbench.lab.bench.benchmark import Plan
from workbench.lab.bench.benchmark import bench as measured
from workbench.lab.bench.cases import CASES
from workbench.lab.bench.measurements import Record
from workbench.lab.bench.peers.peer import OURS, chosen_engines
from workbench.lab.bench.proper_costs import costs
from workbench.lab.bench.proper_costs import table as costs_table
from workbench.lab.bench.report import summary, table
from workbench.lab.bench.schema_worker import SCHEMA_ENGINES, SchemaRecord
from workbench.lab.bench.schemas import Plan as SchemaPlan
from workbench.lab.bench.schemas import measured as measured_schemas
from workbench.lab.bench.schemas import report
from workbench.vocabulary.vocabulary import Vocabulary

#: The vocabulary of the benchmark, if none is named.
_VOCABULARY = "mistral-v1"


def bench(
    vocab: Annotated[
        str,
        typer.Option(
            "--vocab",
            metavar="NAME",
            help="mistral-v1 (the default), mistral-v3, tekken, builtin or a model's directory.",
        ),
    ] = "",
    peers: Annotated[
        str, typer.Option(metavar="NAMES", help="Peers, separated by commas; all or none.")
    ] = "all",
    cases: Annotated[
        str, typer.Option(metavar="NAMES", help="Constraints, separated by commas; or all.")
    ] = "all",
    repeat: Annotated[int, typer.Option(min=1, help="Compilations of every constraint.")] = 5,
    check: Annotated[
        bool, typer.Option("--check", help="Also compare every peer's masks with ours.")
    ] = False,
    process: Annotated[
        bool, typer.Option(help="Also time whole new processes, from import to first mask.")
    ] = True,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds without a result after which a peer is killed.")
    ] = 120.0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a short table: ours and the fastest peer.")
    ] = False,
    proper: Annotated[
        bool,
        typer.Option("--proper", help="Measure what proper tokenization costs instead."),
    ] = False,
    schemas: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measure JSON Schemas instead: a line of FILE is a schema with its instances.",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option(help="With --schemas: the rows whose id, suite or subset holds this.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Measure compile, first mask, later masks, advance, closed form and memory.

    Every engine runs on one thread in a separate process. Exit status 0: measured;
    1: one of this engine's cases failed, or a mask is wrong; 2: wrong use.
    """
    with errors_reported():
        if schemas is not None:
            of_schemas = SchemaPlan(schemas, _readers(peers), vocab or "tekken", only, timeout)
            _schemas(of_schemas, json)
            return
        vocab = vocab or _VOCABULARY
        if proper:
            _proper(vocab, json)
            return
        plan = Plan(
            tuple(chosen_engines(peers)),
            _chosen_cases(cases),
            vocab,
            repeat=repeat,
            check=check,
            process=process,
            patience=timeout,
        )
        Vocabulary.load(vocab)  # an unknown name is reported here rather than by every process
        records = []
        with progress_bar(len(plan.engines) * (len(plan.cases) + 1), "measuring") as advance:
            for record in measured(plan):
                records.append(record)
                if record.kind != "check":
                    advance(f"{record.engine:22}", 1)
                if json:
                    line(asdict(record))
        if not json:
            typer.echo(summary(records) if markdown else table(records), nl=False)
        if any(_failed(record) for record in records):
            raise typer.Exit(1)


def _proper(vocab: str, json: bool) -> None:
    """Measure the steps of proper tokenization and print them.

    Raises: VocabularyError where its merges are unknown.
    """
    found = costs(Vocabulary.load(vocab))
    if json:
        for cost in found:
            line(asdict(cost))
    else:
        typer.echo(costs_table(found), nl=False)


def _readers(peers: str) -> tuple[str, ...]:
    """The engines chosen that read schemas.

    Raises: WorkbenchError for an unknown name or a peer that is not installed.
    """
    return tuple(name for name in chosen_engines(peers) if name in SCHEMA_ENGINES)


def _schemas(plan: SchemaPlan, json: bool) -> None:
    """Measure schemas and print the report.

    Raises: WorkbenchError for a missing file or vocabulary; typer.Exit where a case failed.
    """
    if not plan.file.is_file():
        raise WorkbenchError(f"there is no file {str(plan.file)!r}", "name a file of JSON lines")
    Vocabulary.load(plan.vocabulary)
    records, memory = [], []
    for record in measured_schemas(plan):
        if isinstance(record, SchemaRecord):
            records.append(record)
            if json:
                line(asdict(record))
        else:
            memory.append(record)
    if not json:
        typer.echo(report(records, memory), nl=False)
    if any(record.status == "failed" for record in records):
        raise typer.Exit(1)


def _chosen_cases(names: str) -> tuple[str, ...]:
    """The cases named, separated by commas.

    Raises: WorkbenchError for an unknown name.
    """
    if names == "all":
        return tuple(CASES)
    chosen = tuple(dict.fromkeys(names.split(",")))
    for name in chosen:
        if name not in CASES:
            raise WorkbenchError(f"there is no case {name!r}", f"choose from {', '.join(CASES)}")
    return chosen


def _failed(record: Record) -> bool:
    """Whether a measurement of this engine failed."""
    if record.kind == "check" or record.engine != OURS:
        return False
    return record.status not in ("ok", "not read")


def evaluate(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT]…", help="All by default.")
    ] = None,
    questions: Annotated[
        int, typer.Option(min=1, help="Questions of each set whose answers are checked.")
    ] = 200,
    shots: Annotated[
        int, typer.Option(min=0, help="Worked problems before each question; the paper has 5.")
    ] = 0,
    chat: Annotated[
        bool, typer.Option("--chat", help="Prompts as messages, in the model's chat template.")
    ] = False,
    tokens: Annotated[
        int, typer.Option(min=1, help="Tokens of an answer at most; cut ones are counted.")
    ] = 256,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Runs of each method on each task, interleaved.")
    ] = 30,
    timings: Annotated[
        int, typer.Option(min=1, help="Repetitions of what takes milliseconds.")
    ] = 10,
    gsm8k: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="GSM8K's test questions as JSON lines."),
    ] = None,
    schemas: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For tran-2: JSON lines with a field schema."),
    ] = None,
    regexes: Annotated[
        int, typer.Option(min=1, help="For tran-2: schemas of the file at most.")
    ] = 1_000,
    vocabulary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For koo-2: a vocabulary; can be repeated."),
    ] = None,
    outlines: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="For koo-2: of an environment with outlines==0.0.34."),
    ] = None,
    draft: Annotated[
        str, typer.Option(metavar="NAME", help="For domino-joint: a smaller model, same tokens.")
    ] = "",
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Where results are stored and resumed."),
    ] = Path("evaluation"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the page; else stdout."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
) -> None:
    """Run the experiments; units that were done before are not run again.

    Every result is appended to FOLDER/results.jsonl as soon as it is measured. The page has the
    results of all models in the folder, in columns. Ctrl-C keeps the results and writes
    the page. Exit status 0: all done; 1: stopped; 2: wrong use.
    """
    with errors_reported():
        from workbench.lab.experiments.results_page import EXPERIMENTS, chosen_experiments

        if listed:
            for experiment in EXPERIMENTS.values():
                typer.echo(f"{experiment.name:14} {experiment.title}: {experiment.source}")
            return
        experiments = chosen_experiments(names or ())
        if page is not None and (page.is_dir() or not page.parent.is_dir()):
            raise WorkbenchError(f"cannot write {page}", "name a file in a folder that exists")
        from workbench.lab.experiments.experiment import Results, Setting, Size, worked
        from workbench.lab.experiments.results_page import page as written

        size = Size(
            questions=questions,
            shots=shots,
            chat=chat,
            tokens=tokens,
            repetitions=repetitions,
            timings=timings,
            regexes=regexes,
            gsm8k=None if gsm8k is None else str(gsm8k),
            schemas=None if schemas is None else str(schemas),
            vocabularies=tuple(vocabulary or ()),
            outlines=None if outlines is None else str(outlines),
            draft=draft or None,
        )
        results = Results.at(out)
        drafting = loaded_model(draft, device, dtype) if draft else None
        setting = Setting(
            loaded_model(model, device, dtype, revision), size, lambda: False, drafting
        )
        stopped = False
        try:
            for step in worked(experiments, setting, results):
                state = "done before" if step.done_before else "…"
                where = f"[{step.number + 1}/{step.of}, {step.seconds / 60:.1f} min]"
                typer.echo(f"{where} {step.experiment.name}: {step.unit.key} {state}", err=True)
        except KeyboardInterrupt:
            stopped = True
        text = written(list(EXPERIMENTS.values()), results)
        if page is None:
            sys.stdout.write(text)
        else:
            hint = "the results are stored: run it again with another --page"
            write_file(page, text.encode(), hint)
        if stopped:
            typer.echo(f"stopped: the results so far are in {results.path}", err=True)
            raise typer.Exit(1)


def train(
    out: Annotated[Path, typer.Option(help="Where checkpoint, log and model are written.")],
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps in all.")] = 1950,
    batch: Annotated[int, typer.Option(min=1, help="Rows of 512 tokens a step.")] = 16,
    seed: Annotated[int, typer.Option(help="Determines the data and the initial weights.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint in --out.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Stop with a checkpoint after this time.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A few steps of a tiny model, as a test.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train a small model on the project's own documents; writes checkpoints and can be resumed."""
    with errors_reported():
        from workbench.lab.training.loop import TrainSettings
        from workbench.lab.training.loop import smoke as smaller
        from workbench.lab.training.train import MODEL
        from workbench.lab.training.train import train as run

        settings = TrainSettings(
            out=out, steps=steps, batch=batch, seed=seed, resume=resume, minutes=minutes
        )
        try:
            for progress in run(smaller(settings) if smoke else settings):
                line(asdict(progress)) if json else typer.echo(str(progress))
        except (ValueError, FileNotFoundError, RuntimeError) as error:
            fail(str(error))
        typer.echo(f"the model is in {out / MODEL}", err=json)


app = typer.Typer(add_completion=False)
for command in (bench, evaluate, train):
    app.command()(command)
