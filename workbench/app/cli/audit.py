"""``workbench audit``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.app.cli.options import JsonOption, errors_reported, line, write_file
from workbench.app.cli.tasks import JobsOption, RayOption, run_tasks, runner_named
from workbench.audits.audit_tasks import WORK, Plan, audits_of, command_of, read_audits
from workbench.audits.auditor import SITES, TOKENS, Settings, engine_folders
from workbench.audits.engines import AUDITED, engines_named
from workbench.audits.findings import Audit, Status
from workbench.audits.judge import check_validator
from workbench.audits.report import page as written
from workbench.audits.report import report
from workbench.audits.subjects import Unread, instances_of, sampled, unread
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation
from workbench.tasks.summary import failures_of

if TYPE_CHECKING:
    from workbench.tasks.runners import Runner
    from workbench.tasks.task import Outcome, Record


def audit(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SCHEMA-OR-GRAMMAR…",
            help="Files, folders, or JSON Lines of schemas with instances; - reads stdin.",
        ),
    ] = None,
    engines: Annotated[
        str,
        typer.Option(metavar="NAMES", help=f"Names of {', '.join(AUDITED)}, separated by commas."),
    ] = "installed",
    notation: Annotated[
        Notation | None,
        typer.Option(help="The notation of the files; by default that of the suffix."),
    ] = None,
    start: Annotated[
        str, typer.Option(metavar="RULE", help="The rule a grammar begins with.")
    ] = "start",
    instances: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instances of the schema, one on each line.")
    ] = None,
    texts: Annotated[int, typer.Option(min=1, help="The approximate number of valid texts.")] = 6,
    seconds: Annotated[
        float, typer.Option(min=1, help="Approximate time for one engine and one constraint.")
    ] = 15.0,
    shorten: Annotated[
        float, typer.Option(min=0, help="Seconds to shorten a finding's reproduction.")
    ] = 5.0,
    patience: Annotated[
        float,
        typer.Option(min=1, help="Seconds without an answer after which an engine is killed."),
    ] = 30.0,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Audit this number of constraints, chosen at random.")
    ] = None,
    only: Annotated[
        str, typer.Option(help="With JSON Lines: rows whose id, suite or subset contains this.")
    ] = "",
    seed: Annotated[int, typer.Option(help="The same seed gives the same texts.")] = 0,
    vocab: Annotated[
        str, typer.Option("--vocab", metavar="NAME", help="The vocabulary of the masks.")
    ] = "builtin",
    tokens: Annotated[
        int, typer.Option(min=0, help="The number of its tokens, besides single bytes.")
    ] = TOKENS,
    site: Annotated[
        list[Path] | None,
        typer.Option(help=f"Another folder of packages that has engines; also in {SITES}."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A Parquet file that keeps each result; the same command resumes from it.",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page in Markdown.")
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Results of another --out, for table and page."),
    ] = None,
    jobs: JobsOption = 1,
    ray: RayOption = None,
    json: JsonOption = False,
) -> None:
    """Audit other engines' masks: where they forbid what a valid text needs, or allow too much.

    Ctrl-C ends it and keeps the completed audits. Exit status 0: no finding; 1: some, an engine is
    not usable, or it was stopped; 2: wrong use.
    """
    settings = Settings(texts=texts, seed=seed, seconds=seconds, shorten_seconds=shorten)
    with errors_reported(), TemporaryDirectory() as folder:
        commands, results = _earlier(earlier or ())
        files = [_stdin(Path(folder)) if str(path) == "-" else path for path in paths or ()]
        if not files and not results:
            raise WorkbenchError("expected a schema or a grammar", "name a file, a folder or -")
        stopped = failed = False
        if files:
            values = instances_of(instances) if instances is not None else ()
            named = _constraints(files, notation, start, values, only)
            folders = engine_folders(site or ())
            chosen = engines_named(engines, folders)
            plan = Plan(
                sampled(named, sample, seed), chosen, vocab, tokens, folders, patience, settings
            )
            record = plan.as_record() | {
                "files": [path.name for path in files],
                "notation": notation and str(notation),
                "start": None if start == "start" else start,
                "instances": instances and instances.name,
                "only": only,
                "sample": sample,
            }
            audits, stopped, failed = _run(plan, runner_named(jobs, ray), out, record, json)
            results += audits
            commands.append(command_of(record, audits) + ("  # stopped" if stopped else ""))
        if results and not json:
            typer.echo(report(results), nl=False)
        if page is not None:
            hint = "name a file in a folder that exists"
            write_file(page, written(results, commands).encode(), hint)
    if stopped:
        where = f"in {out}; the same command resumes from it" if out else "above"
        typer.echo(f"stopped: the audits done are {where}", err=True)
    raise typer.Exit(int(stopped or failed or any(result.claims for result in results)))


def _constraints(
    files: Iterable[Path],
    notation: Notation | None,
    start: str,
    instances: tuple[Any, ...],
    only: str,
) -> list[Unread]:
    """The constraints in files. Raises: WorkbenchError for none, or schemas without a validator."""
    named = [entry for path in files for entry in unread(path, notation, start, instances, only)]
    if not named:
        raise WorkbenchError(f"no row holds {only!r}", "its id, suite or subset is compared")
    if any(entry.notation is Notation.JSON_SCHEMA for entry in named):
        check_validator()
    return named


def _run(
    plan: Plan, runner: Runner, out: Path | None, settings: Record, json: bool
) -> tuple[list[Audit], bool, bool]:
    """The audits of a plan, whether Ctrl-C stopped it, and whether some have no result.

    Raises: WorkbenchError where one constraint alone cannot be audited.
    """
    alone = len(plan.named) == 1

    def show(outcome: Outcome) -> None:
        for audit in audits_of([outcome]):
            if not alone or audit.status is not Status.NOT_JUDGED:
                line(audit.as_record())

    outcomes, stopped = run_tasks(runner, WORK, plan.tasks(), out, settings, show if json else None)
    audits = audits_of(outcomes)
    if alone and any(audit.status is Status.NOT_JUDGED for audit in audits):
        plan.auditor(plan.named[0])  # raises the error, with its place
    failures = failures_of(outcomes)
    if failures:
        typer.echo(failures, err=True)
    return audits, stopped, bool(failures)


def _earlier(files: Sequence[Path]) -> tuple[list[str], list[Audit]]:
    """The commands and the audits of results files. Raises: WorkbenchError."""
    read = [read_audits(path) for path in files]
    return [command for command, _ in read], [audit for _, audits in read for audit in audits]


def _stdin(folder: Path) -> Path:
    """The text of stdin as a file."""
    path = folder / "stdin"
    path.write_text(sys.stdin.read(), "utf-8")
    return path
