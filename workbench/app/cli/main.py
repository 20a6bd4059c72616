"""The command ``workbench`` with its subcommands; ``workbench serve``."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import workbench
from workbench.app.cli import audit, compare, generate, grade, grammar_commands, replay, tasks
from workbench.app.cli.options import (
    DeviceOption,
    DtypeOption,
    RevisionOption,
    errors_reported,
    fail,
)
from workbench.base.kernels import when_waiting

#: The commands of the laboratory, which is not installed.
_LAB = ("bench", "evaluate", "fuzz", "train")


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.")] = 7860,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="builtin, smollm2, a directory, a GGUF file or a hub id; again for each model."
        ),
    ] = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser window.")
    ] = True,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Serve the endpoints as tools for assistants too.")
    ] = False,
    open_models: Annotated[
        bool,
        typer.Option(
            "--open-models",
            help="Visitors with the printed address may open further models.",
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A further name under which the page is requested, of a proxy."),
    ] = None,
    embed: Annotated[
        list[str] | None,
        typer.Option(help="The address of a site that may show the page in a frame."),
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Serve numbers for Prometheus at /metrics.")
    ] = False,
    log_level: Annotated[
        str,
        typer.Option(help="debug, info (a line for each request), warning or error; on stderr."),
    ] = "warning",
    memory: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MB",
            help="What remembered grammars may need.  [default: a quarter of memory]",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Open a file of results written with --out."),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="Tell visitors apart by the proxy's header X-Forwarded-For."
        ),
    ] = False,
) -> None:
    """Open the page in the browser; stops with Ctrl+C."""
    with errors_reported():
        from workbench.app.ui.serve import ServeSettings, check_models, new_token
        from workbench.app.ui.serve import serve as run

        settings = ServeSettings(
            host=host,
            port=port,
            models=tuple(model or ()),
            device=device,
            dtype=dtype,
            revision=revision,
            open_browser=open_browser,
            mcp=mcp,
            token=new_token() if open_models else None,
            allowed_hosts=tuple(allow_host or ()),
            embed=tuple(embed or ()),
            metrics=metrics,
            log_level=log_level,
            memory=memory,
            behind_proxy=behind_proxy,
            results=results,
        )
        check_models(settings)
        run(settings)


class _TextsCommand(TyperCommand):
    """A command whose arguments are texts: what looks like an option may be one of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # click's class of it is private to typer
            option = getattr(error, "option_name", None)
            if option is None or re.fullmatch(r"--[\w-]+", option):
                raise
            text = next((argument for argument in given if argument.startswith(option)), option)
            fail(
                f"there is no option {option.strip()}\n"
                f"hint: write -- before a text that begins with -, as in: -- {shlex.quote(text)}"
            )


class _Commands(TyperGroup):
    """The commands of this package; says where those of the laboratory are."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  # typer's click is private
        if cmd_name in _LAB:
            fail(f"{cmd_name} is not installed\nhint: in a checkout, python -m lab {cmd_name}")
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    name="workbench",
    cls=_Commands,
    help="Write grammars, see their automata, and watch them steer a language model.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"workbench {workbench.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # its callback has done the work
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Write grammars, see their automata, and watch them steer a language model."""


_OF_TEXTS = (grammar_commands.check, grammar_commands.parse)
for command in (
    serve,
    grammar_commands.check,
    grammar_commands.parse,
    grammar_commands.find,
    grammar_commands.lint,
    grammar_commands.convert,
    grammar_commands.draw,
    grammar_commands.mask,
    generate.generate,
    generate.fill,
    generate.read,
    compare.compare,
    tasks.results,
    replay.replay,
    grade.grade,
    audit.audit,
):
    app.command(cls=_TextsCommand if command in _OF_TEXTS else None)(command)

_COMPILING = "waiting for the compiled kernels: once in a new installation, for a minute or two"


def main() -> None:
    """Run the command line."""
    run_commands(app)


def run_commands(commands: typer.Typer) -> None:
    """Run commands; a disk that is full is reported also where the help is written."""
    when_waiting(lambda: typer.echo(_COMPILING, err=True))
    try:
        with errors_reported():
            commands()
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
