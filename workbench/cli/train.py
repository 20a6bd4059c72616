"""``workbench train``: train the embedded model again, from the repository alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import JsonOption, fail, line, told


def train(
    out: Annotated[Path, typer.Option(help="Where checkpoint, log and model are written.")],
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps in all.")] = 1950,
    batch: Annotated[int, typer.Option(min=1, help="Rows of 512 tokens a step.")] = 16,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data and start.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint in --out.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Stop with a checkpoint after this time.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A few steps of a tiny model, to see that it runs.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train a small model on the project's own documents; writes checkpoints and can be resumed."""
    with told():
        from dataclasses import asdict, replace

        from workbench.training import settings as known
        from workbench.training.train import MODEL
        from workbench.training.train import train as run

        settings = replace(
            known.TrainSettings(out=out),
            steps=steps, batch=batch, seed=seed, resume=resume, minutes=minutes,
        )  # fmt: skip
        try:
            for progress in run(known.smoke(settings) if smoke else settings):
                line(asdict(progress)) if json else typer.echo(str(progress))
        except (ValueError, FileNotFoundError, RuntimeError) as error:
            fail(str(error))
        typer.echo(f"the model is in {out / MODEL}", err=json)
