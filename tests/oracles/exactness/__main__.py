"""``python -m tests.oracles.exactness``: run the comparison and print what it found."""

from __future__ import annotations

from typing import Annotated

import typer

from tests.oracles.exactness.check import (
    DECISIONS,
    WHOLE,
    Plan,
    checked,
    records,
    report,
)
from workbench.app.cli.options import JsonOption, errors_reported, line, progress_bar

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
        with progress_bar(plan.decisions, "checking") as advance:
            before = 0
            for found in checked(plan):
                advance(f"wrong: {found.wrong}", found.decisions - before)
                before = found.decisions
        if json:
            for record in records(found):
                line(record)
        else:
            typer.echo(report(found), nl=False)
        if found.wrong:
            raise typer.Exit(1)


if __name__ == "__main__":
    app()
