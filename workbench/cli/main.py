"""The commands gathered under one name; what ``workbench`` and ``python -m workbench`` run."""

from __future__ import annotations

import typer

from workbench.cli import bench, check, draw, generate, lint, mask, serve, train

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
app.command()(draw.draw)
app.command()(mask.mask)
app.command()(generate.generate)
app.command()(train.train)
app.command()(bench.bench)


def main() -> None:
    """Run the command line."""
    app()
