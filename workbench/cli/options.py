"""What the commands share: options, how answers are printed, how errors end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from workbench.errors import WorkbenchError
from workbench.limits import Limits
from workbench.plain import finite

ExampleOption = Annotated[
    str | None, typer.Option("--example", metavar="NAME", help="An example of the gallery.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
VocabularyOption = Annotated[
    str,
    typer.Option(
        "--vocab",
        metavar="NAME",
        help="builtin, mistral-v1, mistral-v3, tekken, a directory or a hub id.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model", metavar="NAME", help="builtin, or a transformers model: a directory or a hub id."
    ),
]

#: On the command line the machine is its owner's: more than the public page allows.
LOCAL_LIMITS = Limits(seconds=30.0, megabytes=2_048, states=500_000)


@contextmanager
def told() -> Iterator[None]:
    """Print an error of ours where people look for it, and exit with status 2."""
    try:
        yield
    except WorkbenchError as error:
        fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nothing is left to tell
        raise typer.Exit(1) from None


def fail(message: str) -> NoReturn:
    """Wrong use: the message on stderr, exit status 2."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)


def line(record: dict[str, Any]) -> None:
    """One JSON object on one line, flushed immediately; numbers JSON has no word for are null."""
    typer.echo(json.dumps(finite(record), ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def text_of(data: bytes) -> str:
    """Bytes for reading: UTF-8, and what is none as ``\\xHH``."""
    return data.decode("utf-8", "backslashreplace")
