"""``python -m lab bench``, ``evaluate``, ``fuzz``, ``train``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.bench.benchmark import Plan
from lab.bench.benchmark import bench as measured
from lab.bench.cases import CASES, REAL
from lab.bench.cold_starts import cold_start_table, cold_starts
from lab.bench.measurements import Record
from lab.bench.peers.registry import OURS, chosen_engines
from lab.bench.proper_costs import costs
from lab.bench.proper_costs import table as costs_table
from lab.bench.schema_worker import ANY_ORDER, SCHEMA_ENGINES
from lab.bench.schemas import WORK as SCHEMA_WORK
from lab.bench.schemas import Plan as SchemaPlan
from lab.bench.schemas import records_of, report
from lab.bench.tables import summary, table
from workbench.app.cli.options import (
    ChatOption,
    DeviceOption,
    DraftOption,
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
from workbench.app.cli.tasks import (
    GpusOption,
    JobsOption,
    RayOption,
    run_tasks,
    runner_named,
)
from workbench.base.errors import WorkbenchError
from workbench.base.kernels import wait_until_compiled
from workbench.grammar.notations import Notation
from workbench.tasks.summary import failures_of
from workbench.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from lab.experiments.experiment import Progress
    from workbench.tasks.runners import Runner
    from workbench.tasks.task import Outcome

#: The vocabulary of the benchmark, if none is named.
_VOCABULARY = "mistral-v1"


def bench(
    context: typer.Context,
    vocab: Annotated[
        str,
        typer.Option(
            "--vocab",
            metavar="NAME",
            help="mistral-v1 (the default; with --real or --schemas tekken), mistral-v3, tekken, "
            "builtin or a model's directory.",
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
        bool,
        typer.Option(help="Also time new processes to their first mask, kernels cached or not."),
    ] = True,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds without a result after which a peer is killed.")
    ] = 120.0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a short table: ours and the fastest peer.")
    ] = False,
    real: Annotated[
        bool,
        typer.Option("--real", help="Measure grammars of programming languages instead."),
    ] = False,
    proper: Annotated[
        bool,
        typer.Option("--proper", help="Measure what proper tokenization costs instead."),
    ] = False,
    cold_start: Annotated[
        bool,
        typer.Option("--cold-start", help="Measure new processes, with and without a cache."),
    ] = False,
    schemas: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measure JSON Schemas instead: a line of FILE is a schema with its instances, or "
            "a file of a folder.",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option(help="With --schemas: the rows whose id, suite or subset holds this.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --schemas: a Parquet file of the results; the same command resumes from it.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="With --schemas: processes. Times measured side by side are longer and noisier: "
            "use 1 for times, more for what compiles and passes.",
        ),
    ] = 1,
    ray: RayOption = None,
    json: JsonOption = False,
) -> None:
    """Measure compile, first mask, later masks, advance, closed form and memory.

    Every engine runs on one thread in a separate process. Exit status 0: measured;
    1: one of this engine's cases failed, or a mask is wrong; 2: wrong use.
    """
    with errors_reported():
        _check_options(context)
        if cold_start:
            _cold_starts(vocab or "builtin", repeat, timeout, json)
            return
        _wait_for_kernels()
        if schemas is not None:
            of_schemas = SchemaPlan(schemas, _readers(peers), vocab or "tekken", only, timeout)
            _schemas(of_schemas, runner_named(jobs, ray), out, json)
            return
        vocab = vocab or ("tekken" if real else _VOCABULARY)
        if proper:
            _proper(vocab, json)
            return
        plan = Plan(
            tuple(chosen_engines(peers)),
            _chosen_cases(cases, tuple(REAL if real else CASES)),
            vocab,
            repeat=repeat,
            check=check,
            process=process,
            patience=timeout,
        )
        _cases(plan, json, partial(summary, real=real) if markdown else table)


#: The options that have an effect with each mode of ``bench``, besides ``--vocab`` and ``--json``;
#: with "" where no mode is chosen.
_OF_CASES = {"peers", "cases", "repeat", "check", "process", "timeout", "markdown"}
_EFFECTIVE = {
    "": _OF_CASES,
    "real": _OF_CASES,
    "proper": set[str](),
    "cold_start": {"repeat", "timeout"},
    "schemas": {"peers", "only", "timeout", "out", "jobs", "ray"},
}


def _check_options(context: typer.Context) -> None:
    """At most one mode, and no option without an effect.

    Raises: WorkbenchError
    """
    given = [
        name
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    modes = [name for name in given if name in _EFFECTIVE]
    mode = modes[0] if modes else ""
    effective = {mode, "vocab", "json", *_EFFECTIVE[mode]}
    idle = [name for name in given if name not in effective]
    if not idle:
        return
    shown = ["--" + name.replace("_", "-") for name in ([mode] if mode else []) + idle]
    if len(shown) == 1:
        raise WorkbenchError(f"{shown[0]} has no effect here", "add --schemas, or leave it out")
    raise WorkbenchError(f"{' and '.join(shown)} do not go together", "leave one out")


def _wait_for_kernels() -> None:
    """Wait until kernels run in their compiled form.

    Raises: WorkbenchError if they were not compiled: the figures would be of ordinary Python.
    """
    if not wait_until_compiled():
        raise WorkbenchError(
            "the kernels are not compiled, so nothing is measured",
            "look at what is logged above, and at WORKBENCH_KERNELS in the environment",
        )


def _cases(plan: Plan, json: bool, printed: Callable[[Sequence[Record]], str]) -> None:
    """Measure constraints and print the records, or their table.

    Raises: VocabularyError for an unknown name; typer.Exit where a case failed.
    """
    Vocabulary.load(plan.vocabulary)  # reported here rather than by every process
    records = []
    with progress_bar(len(plan.engines) * (len(plan.cases) + 1), "measuring") as advance:
        for record in measured(plan):
            records.append(record)
            if record.kind != "check":
                advance(f"{record.engine:22}", 1)
            if json:
                line(asdict(record))
    if not json:
        typer.echo(printed(records), nl=False)
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


def _cold_starts(vocab: str, repeat: int, timeout: float, json: bool) -> None:
    """Measure new processes and print the seconds until their first mask.

    Raises: VocabularyError for an unknown name; ProcessError if a process fails.
    """
    Vocabulary.load(vocab)
    found = list(cold_starts(vocab, repeat, timeout))
    if json:
        for one in found:
            line(asdict(one))
    else:
        typer.echo(cold_start_table(found), nl=False)


def _readers(peers: str) -> tuple[str, ...]:
    """The engines chosen that read schemas.

    Raises: WorkbenchError for an unknown name or a peer that is not installed.
    """
    readers = [name for name in chosen_engines(peers) if name in SCHEMA_ENGINES]
    return (*readers[:1], ANY_ORDER, *readers[1:])


def _schemas(plan: SchemaPlan, runner: Runner, out: Path | None, json: bool) -> None:
    """Measure schemas and print the report.

    Raises: WorkbenchError for a missing file or vocabulary; typer.Exit where a case failed.
    """
    if not plan.file.exists():
        raise WorkbenchError(
            f"there is no file {str(plan.file)!r}", "name a file of JSON lines, or a folder"
        )
    Vocabulary.load(plan.vocabulary)

    def show(outcome: Outcome) -> None:
        for record in records_of([outcome]):
            line(asdict(record))

    try:
        tasks = plan.tasks()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbenchError(
            f"cannot read {plan.file}: {error!r}", "each line is an object with id and schema"
        ) from error
    outcomes, stopped = run_tasks(
        runner, SCHEMA_WORK, tasks, out, plan.as_record(), show if json else None
    )
    records = records_of(outcomes)
    if not json:
        typer.echo(report(records), nl=False)
    failures = failures_of(outcomes)
    if failures:
        typer.echo(failures, err=True)
    if stopped:
        where = f"in {out}; the same command resumes from it" if out else "above"
        typer.echo(f"stopped: the completed results are {where}", err=True)
    if stopped or failures or any(record.status == "failed" for record in records):
        raise typer.Exit(1)


def _chosen_cases(names: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The cases named, separated by commas.

    Raises: WorkbenchError for an unknown name.
    """
    if names == "all":
        return known
    chosen = tuple(dict.fromkeys(names.split(",")))
    for name in chosen:
        if name not in known:
            raise WorkbenchError(f"there is no case {name!r}", f"choose from {', '.join(known)}")
    return chosen


def _failed(record: Record) -> bool:
    """Whether a measurement of this engine failed."""
    if record.kind == "check" or record.engine != OURS:
        return False
    return record.status not in ("ok", "not read")


#: What follows the list of experiments on stderr.
_HOW_TO_EVALUATE = "start one by its name, as in python -m lab evaluate koo-a, or all with --all"


def evaluate(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXPERIMENT…", help="Names of the list; none prints the list."),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Run all experiments, which takes hours.")
    ] = False,
    questions: Annotated[
        int, typer.Option(min=1, help="Questions of each set whose answers are checked.")
    ] = 200,
    shots: Annotated[
        int, typer.Option(min=0, help="Worked problems before each question; the paper has 5.")
    ] = 0,
    chat: ChatOption = False,
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
        str | None, typer.Option(metavar="FILE", help="GSM8K's test questions as JSON lines.")
    ] = None,
    schemas: Annotated[
        str | None, typer.Option(metavar="FILE", help="For tran-2: JSON lines with a field schema.")
    ] = None,
    regexes: Annotated[
        int, typer.Option(min=1, help="For tran-2: schemas of the file at most.")
    ] = 1_000,
    vocabulary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For koo-2: a vocabulary; can be repeated."),
    ] = None,
    outlines: Annotated[
        str | None,
        typer.Option(metavar="PYTHON", help="For koo-2: of an environment with outlines==0.0.34."),
    ] = None,
    draft: DraftOption = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where results are stored and resumed.")
    ] = Path("evaluation"),
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the page; else stdout.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    jobs: JobsOption = 1,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
) -> None:
    """Run experiments; units that were done before are not run again. Without names list them.

    Each result is appended to FOLDER/results.jsonl when it is measured. The page has the results
    of these experiments, those of all models in the folder in columns. Ctrl-C keeps the results
    and writes the page.
    Exit status 0: all done; 1: stopped, or a part failed; 2: wrong use.
    """
    with errors_reported():
        from lab.experiments.experiment import Begun, Results, Size, machine, worked
        from lab.experiments.results_page import EXPERIMENTS, chosen_experiments
        from lab.experiments.results_page import page as results_page
        from lab.experiments.unit_tasks import ModelChoice, units_run_by
        from workbench.decoding.checkpoint import Checkpoint, device_named

        if names and whole:
            raise WorkbenchError("expected names of experiments or --all, not both")
        if listed or not (names or whole):
            for experiment in EXPERIMENTS.values():
                typer.echo(f"{experiment.name:14} {experiment.title}: {experiment.source}")
            if not listed:
                typer.echo(_HOW_TO_EVALUATE, err=True)
            return
        experiments = chosen_experiments(names or ())
        if page is not None and (page.is_dir() or not page.parent.is_dir()):
            raise WorkbenchError(f"cannot write {page}", "name a file in a folder that exists")
        size = Size(
            questions=questions,
            shots=shots,
            chat=chat,
            tokens=tokens,
            repetitions=repetitions,
            timings=timings,
            regexes=regexes,
            gsm8k=gsm8k,
            schemas=schemas,
            vocabularies=tuple(vocabulary or ()),
            outlines=outlines,
            draft=draft or None,
        )
        results = Results.at(out)
        if jobs == 1 and ray is None:
            loaded_model(model, device, dtype, revision)  # the only worker takes it
        else:
            Checkpoint.find(model, revision)  # each worker loads it
        _wait_for_kernels()
        chosen = tuple(experiment.name for experiment in experiments)
        call = Begun(model, size, chosen, machine(str(device_named(device)), jobs))
        choice = ModelChoice(name=model, device=device, dtype=dtype, revision=revision)
        run = units_run_by(runner_named(jobs, ray, gpus), choice, size)
        completed = _completed(worked(experiments, call, results, run))
        text = results_page(list(EXPERIMENTS.values()) if whole else experiments, results)
        write_file(page, text.encode(), "the results are stored: run it again with another --page")
        if not completed:
            typer.echo(f"not complete: run it again; the results are in {results.path}", err=True)
            raise typer.Exit(1)


def _completed(steps: Iterable[Progress]) -> bool:
    """Print a line for each unit of experiments; False if one failed or Ctrl-C stopped them."""
    completed, started, before = True, time.monotonic(), 0
    try:
        for step in steps:
            before += step.done_before
            spent = time.monotonic() - started
            left = spent / max(step.number - before, 1) * (step.of - step.number)
            where = f"[{step.number}/{step.of}, {spent / 60:.1f} min, about {left / 60:.1f} left]"
            state = "done before" if step.done_before else step.error or "done"
            typer.echo(f"{where} {step.experiment.name}: {step.unit.key}: {state}", err=True)
            completed = completed and not step.error
    except KeyboardInterrupt:
        return False
    return completed


def fuzz(
    texts: Annotated[int | None, typer.Option(min=1, help="How many texts.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same texts.")] = 0,
    notation: Annotated[
        list[Notation] | None, typer.Option(help="Only texts of this notation; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the faults that are found.")] = Path(
        "faults"
    ),
    again: Annotated[
        list[Path] | None, typer.Option(help="Test a stored fault once more; may be repeated.")
    ] = None,
) -> None:
    """Test random changes of real grammars and requests; ends with 1 if there are faults.

    Without --texts and --minutes it continues until Ctrl+C.
    """
    with errors_reported():
        from lab import fuzz as lab

        wait_until_compiled()  # or the first texts would take long

        def show(finding: lab.Finding) -> None:
            kept = lab.stored(finding, out)
            typer.echo(f"{finding.stage}: {finding.fault} ({kept})", err=True)

        if again:
            found = [finding for path in again for finding in lab.again(path)]
            for finding in found:
                typer.echo(f"{finding.stage}: {finding.fault}")
            raise typer.Exit(bool(found))
        seconds, chosen = minutes and 60 * minutes, tuple(notation or Notation)
        report, shown = lab.Report(), time.monotonic()
        with suppress(KeyboardInterrupt):
            for report in lab.fuzz(texts, seconds, seed, chosen, show):
                if time.monotonic() - shown > _REPORT_SECONDS:
                    shown = time.monotonic()
                    typer.echo(str(report), err=True)
        typer.echo(str(report))
        raise typer.Exit(bool(report.findings))


#: Seconds between two lines of ``fuzz``.
_REPORT_SECONDS = 30.0


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
        from lab.training.loop import TrainSettings
        from lab.training.loop import smoke as smaller
        from lab.training.whole_training import MODEL
        from lab.training.whole_training import train as run

        settings = TrainSettings(
            out=out, steps=steps, batch=batch, seed=seed, resume=resume, minutes=minutes
        )
        try:
            for progress in run(smaller(settings) if smoke else settings):
                line(asdict(progress)) if json else typer.echo(str(progress))
        except (ValueError, FileNotFoundError, RuntimeError) as error:
            fail(str(error))
        typer.echo(f"the model is in {out / MODEL}", err=json)


app = typer.Typer(
    name="python -m lab",
    help="Measure, repeat the papers' experiments, look for faults, train the embedded model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (bench, evaluate, fuzz, train):
    app.command()(command)
