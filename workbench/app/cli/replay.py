"""``workbench replay``: a page that plays a recorded run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench import __version__
from workbench.app.cli.options import ExampleOption, errors_reported, read_text, write_file
from workbench.base.errors import WorkbenchError
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.notations import notation_of, options_in

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

    Traces of older versions do not name their grammar; --example names it then.
    """
    with errors_reported():
        text = read_text(trace, "name a run that the page exported as NDJSON")
        page = replay_page(text, _example_of(trace, example))
        write_file(out, page.encode(), "choose another --out")


#: The settings that the pictures and explanations of a run depend on, besides its grammar.
_SETTINGS = (
    *("prompt", "chat", "hole", "constraint", "lookahead", "small_tokens"),
    *("monitor", "reasoning", "finish", "max_tokens"),
)


def replay_page(text: str, example: Example | None = None) -> str:
    """The page of a run, given as NDJSON; ``example`` has its grammar if the run does not name it.

    Raises: WorkbenchError if the lines are no run, or its grammar cannot be read.
    """
    from workbench.app.ui.handlers import Handlers
    from workbench.app.ui.model_registry import BUILTIN, ModelRoom
    from workbench.app.ui.replay import ReplayRequest, drawn, run_masks, taken
    from workbench.app.ui.replay import replay as page_of
    from workbench.app.ui.request_fields import text_in
    from workbench.app.ui.requests import MAX_NAME

    records = _records(text)
    head = next((record for record in records if record["k"] == "head"), {})
    about = _about(head, example)
    steps = [record for record in records if record["k"] == "step"]
    end = next((record for record in records if record["k"] == "stop"), None)
    handlers = Handlers(ModelRoom(text_in(about, "model", MAX_NAME) or BUILTIN))
    fields = {
        key: about.get(key, "") for key in ("text", "notation", "start", "options", "example")
    }
    settings = {name: about[name] for name in _SETTINGS if about.get(name) is not None}
    run = ReplayRequest.of({**fields, **settings})
    masks = run_masks(handlers, run, [step.get("id", -1) for step in steps])
    return page_of(about, steps, end, drawn(handlers, run, taken(steps), masks))


def _records(text: str) -> list[_Record]:
    """The records, one on each line.

    Raises: WorkbenchError if a line is not a record, or there is no step.
    """
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            record = None
        if isinstance(record, dict) and "token_id" in record:
            raise WorkbenchError(
                f"line {number} is of generate --json, which names neither grammar nor masks",
                "call wb.replay(trace, grammar, constraint), or export the run on the page",
            )
        if not isinstance(record, dict) or "k" not in record:
            hint = "the page exports runs as NDJSON under Export"
            raise WorkbenchError(f"line {number} is not a record of a run", hint)
        records.append(record)
    if not any(record["k"] == "step" for record in records):
        raise WorkbenchError("this run has no tokens", "a replay needs at least one")
    return records


def _example_of(trace: Path, example: str | None) -> Example | None:
    """The example given by name, or else the one that the file is named after, if there is one.

    Raises: WorkbenchError if the gallery has no example of the given name.
    """
    gallery = load_gallery()
    if example is not None and example not in gallery:
        hint = f"choose one of {', '.join(gallery)}"
        raise WorkbenchError(f"there is no example {example!r} in the gallery", hint)
    name = example or trace.name.partition(".")[0]
    return gallery.get(name)


def _about(head: _Record, example: Example | None) -> _Record:
    """The grammar, prompt, model and settings of a run, from its first record and its example.

    Raises: WorkbenchError if its grammar is unknown.
    """
    recorded = {key: value for key, value in head.items() if key not in ("k", "run", "prefix")}
    title = {"title": example.title} if example is not None else {}
    if recorded.get("text") and recorded.get("notation"):
        options = options_in(recorded.get("options") or recorded, notation_of(recorded["notation"]))
        recorded.pop("style", None)  # written by earlier versions
        return {**title, **recorded, "options": options, "version": __version__}
    if example is None:
        raise WorkbenchError(
            "the run does not name its grammar", "pass the --example it was made with"
        )
    settings = {
        "text": example.text,
        "notation": str(example.notation),
        "start": example.start,
        "prompt": example.prompt,
        "example": example.name,
    }
    return {**title, **recorded, **settings, "version": __version__}
