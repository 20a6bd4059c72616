"""``workbench evaluate``: the papers' experiments on a model, and the written page of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import ModelOption, told
from workbench.errors import WorkbenchError


def evaluate(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT]…", help="All where none is named.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a few minutes instead of many.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where results are kept and resumed from.")
    ] = Path("evaluation"),
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page is written; else printed.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the experiments and stop.")] = False,
    model: ModelOption = "builtin",
) -> None:
    """Work through the experiments; what is done already is not done again.

    Ctrl-C keeps what is done and writes the page of it. Exit status 0: all done; 1: stopped;
    2: wrong use.
    """
    with told():
        from workbench.evaluate.experiments.registry import EXPERIMENTS, chosen_experiments

        if listed:
            for experiment in EXPERIMENTS.values():
                typer.echo(f"{experiment.name:14} {experiment.title}: {experiment.source}")
            return
        experiments = chosen_experiments(names or ())
        if page is not None and (page.is_dir() or not page.parent.is_dir()):
            raise WorkbenchError(f"cannot write {page}", "name a file in a folder that exists")
        from workbench.decoding.transformers_model import load_model
        from workbench.evaluate.experiment import FULL, QUICK, Setting
        from workbench.evaluate.page import page as written
        from workbench.evaluate.results import Results, worked

        size = QUICK if quick else FULL
        setting = Setting(load_model(model), size, lambda: False)
        results = Results.at(out, setting)
        stopped = False
        try:
            for step in worked(experiments, setting, results):
                state = "done before" if step.done_before else "…"
                where = f"[{step.number + 1}/{step.of}]"
                typer.echo(f"{where} {step.experiment.name}: {step.unit.key} {state}", err=True)
        except KeyboardInterrupt:
            stopped = True
        text = written(experiments, results, size, setting.model)
        if page is None:
            sys.stdout.write(text)
        else:
            _write(page, text)
        if stopped:
            typer.echo(f"stopped: what is done is kept in {results.path}", err=True)
            raise typer.Exit(1)


def _write(page: Path, text: str) -> None:
    try:
        page.write_text(text, "utf-8")
    except OSError as error:
        raise WorkbenchError(
            f"cannot write {page}: {error}",
            "the results are kept: run it again with another --page",
        ) from error
