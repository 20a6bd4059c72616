"""What the commands share: how a grammar is named, how answers are printed, how errors end.

In come option values; out come a ``Grammar`` with the prompt and budget its example brings, lines
of JSON, and exit statuses.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from workbench.errors import WorkbenchError
from workbench.gallery import Example, load_gallery
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.plain import finite

RegexOption = Annotated[
    str | None, typer.Option("--regex", metavar="PATTERN", help="A regular expression.")
]
RegexFileOption = Annotated[
    Path | None, typer.Option("--regex-file", metavar="FILE", help="A file with one regex.")
]
KbnfOption = Annotated[
    Path | None,
    typer.Option("--kbnf", metavar="FILE", help="A KBNF grammar; - reads it from stdin."),
]
ExampleOption = Annotated[
    str | None, typer.Option("--example", metavar="NAME", help="An example of the gallery.")
]
StartOption = Annotated[
    str, typer.Option("--start", metavar="RULE", help="The start symbol of a KBNF grammar.")
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


@dataclass(frozen=True, slots=True)
class Named:
    """A grammar as the command line names it, with what its example brings."""

    grammar: Grammar
    #: The gallery's entry for it, or None.
    example: Example | None


def named_grammar(
    regex: str | None,
    regex_file: Path | None,
    kbnf: Path | None,
    example: str | None,
    start: str,
) -> Named:
    """The one grammar that was named.

    Raises: WorkbenchError where none or several were; ParseError, BuildError, LimitError.
    """
    given = [option for option in (regex, regex_file, kbnf, example) if option is not None]
    if len(given) != 1:
        raise WorkbenchError(
            f"expected one grammar, not {len(given)}",
            "name it with --regex, --regex-file, --kbnf or --example",
        )
    if regex is not None:
        return Named(Grammar.from_regex(regex, limits=LOCAL_LIMITS), None)
    if example is not None:
        return _from_gallery(example)
    path = regex_file or kbnf
    assert path is not None
    text, name = _read(path), str(path)
    entry = _entry_of(path)
    if regex_file is not None:
        pattern = text.removesuffix("\n")
        return Named(Grammar.from_regex(pattern, limits=LOCAL_LIMITS, name=name), entry)
    return Named(Grammar.from_kbnf(text, start, limits=LOCAL_LIMITS, name=name), entry)


def _from_gallery(name: str) -> Named:
    gallery = load_gallery()
    if name not in gallery:
        raise WorkbenchError(
            f"there is no example {name!r} in the gallery", f"choose one of {', '.join(gallery)}"
        )
    entry = gallery[name]
    if entry.notation == "regex":
        grammar = Grammar.from_regex(entry.text, limits=LOCAL_LIMITS, name=name)
    else:
        grammar = Grammar.from_kbnf(entry.text, entry.start, limits=LOCAL_LIMITS, name=name)
    return Named(grammar, entry)


def _read(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}", "name a UTF-8 text file") from error


def _entry_of(path: Path) -> Example | None:
    """The gallery's entry for a file, if it is one of the gallery's own."""
    from workbench.resources import GRAMMARS

    if path.resolve().parent != GRAMMARS.resolve():
        return None
    gallery = load_gallery()
    return next((e for e in gallery.values() if e.file == path.name), None)


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
    """One JSON object on a line of its own, at once; numbers JSON has no word for are null."""
    typer.echo(json.dumps(finite(record), ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def text_of(data: bytes) -> str:
    """Bytes for reading: UTF-8, and what is none as ``\\xHH``."""
    return data.decode("utf-8", "backslashreplace")
