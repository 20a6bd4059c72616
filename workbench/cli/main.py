"""The commands gathered under one name; what ``workbench`` and ``python -m workbench`` run."""

from __future__ import annotations

import typer

from workbench.cli import (
    bench,
    check,
    compare,
    convert,
    draw,
    evaluate,
    generate,
    lint,
    mask,
    replay,
    serve,
    train,
)
from workbench.kernel import when_compiling

app = typer.Typer(
    name="workbench",
    help="Write grammars, see their automata, and watch them steer a language model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(serve.serve)
app.command()(check.check)
app.command()(lint.lint)
app.command()(convert.convert)
app.command()(draw.draw)
app.command()(mask.mask)
app.command()(generate.generate)
app.command()(compare.compare)
app.command()(evaluate.evaluate)
app.command()(replay.replay)
app.command()(train.train)
app.command()(bench.bench)

_COMPILING = "compiling the kernels: once in a new installation, for ten to twenty seconds"


def main() -> None:
    """Run the command line."""
    when_compiling(lambda: typer.echo(_COMPILING, err=True))
    app()
