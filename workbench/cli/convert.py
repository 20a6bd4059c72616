"""``workbench convert``: writes a grammar in another notation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.naming import Named, of_file, takes_grammar
from workbench.errors import WorkbenchError
from workbench.export.registry import EXPORTS, export, named_by_suffix
from workbench.grammar import Grammar
from workbench.notations import Notation

_STDIO = Path("-")


@takes_grammar
def convert(
    named: Named | None = None,
    start: str = "start",
    style: str = "",
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FROM", help="A grammar; its suffix names the notation; - reads stdin."
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TO", help="The file to write, likewise; stdout where omitted or -."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="NOTATION", help=f"One of {', '.join(Notation)}."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NOTATION", help=f"One of {', '.join(EXPORTS)}.")
    ] = None,
) -> None:
    """Write a grammar in another notation, or as a Python program that generates under it.

    Exit status 0: written; 2: the grammar cannot be read, or not be said so.
    """
    if named is not None:
        if target is not None:
            raise WorkbenchError("expected one grammar, not two", "leave FROM or the option out")
        grammar, target = named.grammar, source
    else:
        grammar = _read(source, from_, start, style)
    text = export(grammar, _wanted(target, to))
    if target is None or target == _STDIO:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        target.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"cannot write {target}: {error}", "name another file") from error


def _read(source: Path | None, notation: str | None, start: str, style: str) -> Grammar:
    if source is None:
        raise WorkbenchError("expected a grammar", "name a file, or one of the options for it")
    if notation is not None and notation not in list(Notation):
        raise WorkbenchError(f"expected one of {', '.join(Notation)}, not {notation!r}")
    known = Notation.of_file(source.name) if notation is None else Notation(notation)
    if known is None:
        hint = f"pass --from, or name the file {', '.join(n.suffix for n in Notation)}"
        raise WorkbenchError(f"the notation of {source} does not follow from its name", hint)
    return of_file(source, known, start, style)


def _wanted(target: Path | None, notation: str | None) -> str:
    """What is to be written."""
    if notation is not None:
        return notation
    known = None if target is None else named_by_suffix(target.name)
    if known is None:
        ends = ", ".join(dict.fromkeys(one.suffix for one in EXPORTS.values()))
        hint = f"pass --to, or name a file that ends with {ends}"
        raise WorkbenchError("expected a notation to write", hint)
    return known
