"""``workbench audit`` and ``wb.audit``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from workbench.app.cli.options import (
    JsonOption,
    errors_reported,
    line,
    progress_bar,
    read_text,
    write_file,
)
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation
from workbench.lab.audit.auditor import SITES, TOKENS, Auditor, Settings, engine_folders
from workbench.lab.audit.engine_process import EngineProcess, MaskEngine, first_tokens
from workbench.lab.audit.engines import AUDITED, AuditedEngine, engines_named
from workbench.lab.audit.findings import Audit, Status
from workbench.lab.audit.report import page, report
from workbench.lab.audit.subjects import Unread, instances_of, sampled, unread
from workbench.vocabulary.vocabulary import Vocabulary


def audit_command(
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
        Path | None, typer.Option(metavar="FILE", help="Also write a page in Markdown.")
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="The output of an earlier --json: print its report again."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Audit other engines' masks: where they forbid what a valid text needs, or allow too much.

    Ctrl-C ends it and keeps the completed audits. Exit status 0: no finding; 1: some, or it was
    stopped; 2: wrong use.
    """
    settings = Settings(texts=texts, seed=seed, seconds=seconds, shorten_seconds=shorten)
    with errors_reported(), TemporaryDirectory() as folder:
        commands, found = _earlier(earlier or ())
        files = [_stdin(Path(folder)) if str(path) == "-" else path for path in paths or ()]
        if not files and not found:
            raise WorkbenchError("expected a schema or a grammar", "name a file, a folder or -")
        folders = engine_folders(site or ())
        chosen = tuple(engines_named(engines, folders)) if files else ()
        values = instances_of(instances) if instances is not None else ()
        named = [one for path in files for one in unread(path, notation, start, values, only)]
        if files and not named:
            raise WorkbenchError(f"no row holds {only!r}", "its id, suite or subset is compared")
        plan = _Plan(
            tuple(sampled(named, sample, seed)),
            chosen, vocab, tokens, folders, patience, settings,
        )  # fmt: skip
        if files:
            commands.append(_command())
            if json:
                line({"command": commands[-1]})
        stopped = _run(plan, found, json) if files else False
        if not json:
            typer.echo(report(found), nl=False)
        if out is not None:
            hint = "name a file in a folder that exists"
            write_file(out, page(found, commands).encode(), hint)
    if stopped:
        typer.echo("stopped: the audits done are above", err=True)
    raise typer.Exit(int(stopped or any(one.claims for one in found)))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is audited, and how."""

    named: tuple[Unread, ...]
    engines: tuple[AuditedEngine, ...]
    vocabulary: str
    tokens: int
    folders: tuple[str, ...]
    patience: float
    settings: Settings


def _run(plan: _Plan, found: list[Audit], json: bool) -> bool:
    """Add the audits of a plan to those found; whether Ctrl-C stopped it.

    Raises: WorkbenchError where one constraint alone cannot be audited.
    """
    steps = len(plan.named) * len(plan.engines)
    with ExitStack() as stack, progress_bar(steps, "auditing") as advance:
        answering = []
        for one in plan.engines:
            process = EngineProcess(
                one, (plan.vocabulary, plan.tokens), plan.folders, plan.patience
            )
            stack.enter_context(closing(process))
            answering.append((one, one.version(plan.folders), process))
        vocabulary = first_tokens(plan.vocabulary, plan.tokens)
        try:
            for audit in _audits(plan.named, answering, vocabulary, plan.settings):
                found.append(audit)
                advance(f"{audit.engine:12}", 1)
                if json:
                    line(audit.as_record())
        except KeyboardInterrupt:
            if json:
                line({"stopped": len({audit.name for audit in found}), "of": len(plan.named)})
            return True
    return False


def _earlier(files: Sequence[Path]) -> tuple[list[str], list[Audit]]:
    """The commands and the audits in what ``--json`` printed.

    Raises: WorkbenchError where a file cannot be read.
    """
    commands, audits = [], []
    for path in files:
        for text in read_text(path, "name a file of --json").splitlines():
            try:
                record = loads(text)
                if "command" in record:
                    commands.append(record["command"])
                elif "stopped" in record:
                    stopped, of = record["stopped"], record["of"]
                    commands[-1] += f"  # stopped after {stopped} of {of} constraints"
                else:
                    audits.append(Audit.of_record(record))
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise WorkbenchError(f"{path} has no audits: {error!r}", "use --json") from error
    return commands, audits


def _command() -> str:
    """The command line, files by their names."""
    return " ".join(["workbench", *(Path(one).name for one in sys.argv[1:])])


def _stdin(folder: Path) -> Path:
    """The text of stdin as a file."""
    path = folder / "stdin"
    path.write_text(sys.stdin.read(), "utf-8")
    return path


def _audits(
    named: Sequence[Unread],
    engines: Sequence[tuple[AuditedEngine, str, MaskEngine]],
    vocabulary: Vocabulary,
    settings: Settings,
) -> Iterator[Audit]:
    for one in named:
        try:
            auditor = Auditor(one.subject(), vocabulary, settings)
        except WorkbenchError as error:
            if len(named) == 1:
                raise
            for engine, version, _ in engines:
                yield Audit(
                    name=one.name,
                    engine=engine.name,
                    version=version,
                    status=Status.NOT_JUDGED,
                    reason=error.message[:300],
                )
            continue
        for engine, version, answers in engines:
            yield auditor.audit(engine, version, answers)
