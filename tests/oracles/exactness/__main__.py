"""``python -m tests.oracles.exactness``: run the comparison and print what it found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tests.oracles.exactness.check import (
    DECISIONS,
    WHOLE,
    Findings,
    Plan,
    checked,
    records,
    report,
)
from workbench.app.cli.options import JsonOption, errors_reported, line

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def exactness(
    vocab: Annotated[
        str,
        typer.Option(
            "--vocab",
            metavar="NAME",
            help=f"{', '.join(WHOLE)} or a model's directory; all installed ones by default.",
        ),
    ] = "",
    decisions: Annotated[
        int, typer.Option(min=1, help="(state, token) pairs to decide at least.")
    ] = DECISIONS,
    seed: Annotated[int, typer.Option(help="Seed of the random walks.")] = 0,
    json: JsonOption = False,
) -> None:
    """Compare the engine's masks with brute force.

    Exit status 0: all decisions agree; 1: a decision is wrong; 2: wrong use.
    """
    with errors_reported():
        plan = Plan(decisions, seed, (vocab,) if vocab else WHOLE)
        with _with_progress_bar(plan) as findings:
            *_, found = findings
        if json:
            for record in records(found):
                line(record)
        else:
            typer.echo(report(found), nl=False)
        if found.wrong:
            raise typer.Exit(1)


@contextmanager
def _with_progress_bar(plan: Plan) -> Iterator[Iterator[Findings]]:
    """The findings, with a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield checked(plan)
        return
    with typer.progressbar(length=plan.decisions, label="checking", file=sys.stderr) as bar:

        def updating() -> Iterator[Findings]:
            before = 0
            for findings in checked(plan):
                bar.label = f"wrong: {findings.wrong}"
                bar.update(findings.decisions - before)
                before = findings.decisions
                yield findings

        yield updating()


if __name__ == "__main__":
    app()
