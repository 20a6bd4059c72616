"""Runs of the gallery, recorded: in come names of examples, out come files the page shows at once.

``python -m workbench.ui.record person`` writes ``grammars/person.trace.ndjson``: a visitor sees a
finished run before any model is loaded. To be done again when the embedded model changes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from workbench.errors import WorkbenchError
from workbench.resources import GRAMMARS
from workbench.ui.handlers import Handlers
from workbench.ui.models import ModelRoom
from workbench.ui.records import line
from workbench.ui.runs import run_records

#: Temperatures and seeds of runs worth a first look: in the first the model wants to go on with an
#: "age", which this grammar has no place for.
_SETTINGS = {"person": (1.0, 1)}
_USUAL = (0.7, 1)


def recorded_lines(handlers: Handlers, name: str) -> Iterator[str]:
    """The lines of a run of an example, as the page asks for it.

    Its head says how it was asked for, so that the page can ask for the same.

    Raises: WorkbenchError for a name that is none, or a run that does not end well.
    """
    if name not in handlers.gallery:
        raise WorkbenchError(f"there is no example {name!r}", "the gallery lists them")
    example = handlers.gallery[name]
    temperature, seed = _SETTINGS.get(name, _USUAL)
    sent = {
        "run": "recorded",
        "text": example.text,
        "notation": example.notation,
        "start": example.start,
        "prompt": example.prompt,
        "max_tokens": example.max_tokens,
        "temperature": temperature,
        "seed": seed,
    }
    for record in run_records(handlers, sent):
        if record["k"] == "error":
            raise WorkbenchError(f"{name}: {record['message']}", record["hint"])
        if record["k"] == "head":
            record |= {key: sent[key] for key in ("temperature", "seed", "max_tokens")}
        if record["k"] != "status":
            yield line(record)


def main(names: list[str]) -> None:
    """Record the examples named."""
    handlers = Handlers(ModelRoom())
    for name in names:
        lines = "".join(recorded_lines(handlers, name))
        (GRAMMARS / f"{name}.trace.ndjson").write_text(lines, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
