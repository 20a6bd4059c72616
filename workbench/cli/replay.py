"""``workbench replay``: a recorded run becomes one page that plays it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench import __version__
from workbench.cli.options import ExampleOption, told
from workbench.errors import WorkbenchError
from workbench.gallery import Example, load_gallery

_Record = dict[str, Any]


def replay(
    trace: Annotated[
        Path, typer.Argument(help="A run as NDJSON, as the page exports it; - reads it from stdin.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file; without one it goes to stdout.")
    ] = None,
    example: ExampleOption = None,
) -> None:
    """Make a page of a run: one file that plays it with its machines, without a server.

    Traces of older versions do not say which grammar they are of; --example names it then.
    """
    with told():
        records = _records(_read(trace))
        head = next((record for record in records if record["k"] == "head"), {})
        page = page_of(_about(head, _named(trace, example)), records)
        if out is None:
            sys.stdout.buffer.write(page.encode())
            return
        try:
            out.write_text(page, "utf-8")
        except OSError as error:
            raise WorkbenchError(f"cannot write {out}: {error}", "choose another --out") from error


def page_of(about: _Record, records: list[_Record]) -> str:
    """The page of a run.

    Raises: WorkbenchError where its grammar cannot be read.
    """
    from workbench.ui.handlers import Handlers
    from workbench.ui.models import BUILTIN, ModelRoom
    from workbench.ui.replay import drawn, taken
    from workbench.ui.replay import replay as written

    steps = [record for record in records if record["k"] == "step"]
    end = next((record for record in records if record["k"] == "stop"), None)
    handlers = Handlers(ModelRoom(about.get("model") or BUILTIN))
    sent = {key: about.get(key, "") for key in ("text", "notation", "start", "style", "example")}
    sent["small_tokens"] = about.get("small_tokens")
    return written(about, steps, end, drawn(handlers, sent, taken(steps)))


def _read(trace: Path) -> str:
    try:
        return sys.stdin.read() if str(trace) == "-" else trace.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "name a run that the page exported as NDJSON"
        raise WorkbenchError(f"cannot read {trace}: {error}", hint) from error


def _records(text: str) -> list[_Record]:
    """The records, one a line.

    Raises: WorkbenchError where a line is none, or no token was taken.
    """
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            record = None
        if not isinstance(record, dict) or "k" not in record:
            hint = "the page exports runs as NDJSON under Export"
            raise WorkbenchError(f"line {number} is not a record of a run", hint)
        records.append(record)
    if not any(record["k"] == "step" for record in records):
        raise WorkbenchError("this run has no tokens", "a replay needs at least one")
    return records


def _named(trace: Path, example: str | None) -> Example | None:
    """The example that was named, or that the file is named after."""
    gallery = load_gallery()
    if example is not None and example not in gallery:
        hint = f"choose one of {', '.join(gallery)}"
        raise WorkbenchError(f"there is no example {example!r} in the gallery", hint)
    name = example or trace.name.partition(".")[0]
    return gallery.get(name)


def _about(head: _Record, example: Example | None) -> _Record:
    """What the run was made with.

    Raises: WorkbenchError where it is not named.
    """
    made = {key: value for key, value in head.items() if key not in ("k", "run", "prefix")}
    title = {"title": example.title} if example is not None else {}
    if made.get("text") and made.get("notation"):
        return {**title, **made, "version": __version__}
    if example is None:
        raise WorkbenchError(
            "the run does not name its grammar", "pass the --example it was made with"
        )
    asked = {
        "text": example.text,
        "notation": str(example.notation),
        "start": example.start,
        "prompt": example.prompt,
        "example": example.name,
    }
    return {**title, **made, **asked, "version": __version__}
