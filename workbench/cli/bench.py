"""``workbench bench``: the cost of masks, for this engine and every installed peer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workbench.bench.cases import CASES
from workbench.bench.exactness.run import DECISIONS
from workbench.bench.peers.registry import OURS, chosen_engines
from workbench.bench.proper import costs
from workbench.bench.proper import table as costs_table
from workbench.bench.records import Record
from workbench.bench.run import Plan
from workbench.bench.run import bench as measured
from workbench.bench.schemas.engines import SCHEMA_ENGINES
from workbench.bench.schemas.records import SchemaRecord
from workbench.bench.schemas.report import report
from workbench.bench.schemas.run import Plan as SchemaPlan
from workbench.bench.schemas.run import measured as measured_schemas
from workbench.bench.summary import summary
from workbench.bench.table import table
from workbench.cli.exactness import exactness as check_exactness
from workbench.cli.options import JsonOption, line, told
from workbench.errors import WorkbenchError
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
    exactness: Annotated[
        bool,
        typer.Option(
            "--exactness",
            help="Hold our masks against brute force instead, over every vocabulary installed.",
        ),
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
    decisions: Annotated[
        int, typer.Option(min=1, help="With --exactness: (state, token) pairs to decide at least.")
    ] = DECISIONS,
    seed: Annotated[int, typer.Option(help="With --exactness: of the walks.")] = 0,
    json: JsonOption = False,
) -> None:
    """Measure compile, first mask, later masks, advance, closed form and memory.

    Every engine runs on one thread in a separate process. Exit status 0: measured;
    1: one of this engine's cases failed, or a mask is wrong; 2: wrong use.
    """
    with told():
        if exactness:
            check_exactness(vocab, decisions, seed, json)
            return
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
        with _progress(len(plan.engines) * (len(plan.cases) + 1)) as advance:
            for record in measured(plan):
                records.append(record)
                if record.kind != "check":
                    advance(record)
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
    """Measure schemas and print what became of them.

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


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[Record], None]]:
    """Progress bar on stderr; disabled when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=steps, label="measuring", file=sys.stderr) as bar:

        def advance(record: Record) -> None:
            bar.label = f"{record.engine:22}"
            bar.update(1)

        yield advance


def _failed(record: Record) -> bool:
    """Whether a measurement of this engine failed."""
    if record.kind == "check" or record.engine != OURS:
        return False
    return record.status not in ("ok", "not read")
