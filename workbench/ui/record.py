"""Records runs of examples into files, so that the page shows a finished run before a model loads.

``python -m workbench.ui.record`` records all examples of the groups in ``GROUPS``, each into
``grammars/NAME.trace.ndjson``; with names it records those. Run it again after a change of the
embedded model, of a grammar or prompt, or of how states are numbered: the tests compare.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from workbench.errors import WorkbenchError
from workbench.gallery import Gallery
from workbench.resources import GRAMMARS
from workbench.ui.handlers import Handlers
from workbench.ui.models import ModelRoom
from workbench.ui.records import line
from workbench.ui.runs import run_records

#: Every example of these groups has a recorded run.
GROUPS = ("Start here", "Classics")

#: Temperature and seed where the usual ones write a text that is too short to be worth reading.
_SETTINGS = {"anbn": (1.0, 3), "palindrome": (1.5, 31), "arithmetic": (1.0, 42)}
_USUAL = (0.7, 1)


#: Settings that the head of a recorded run holds.
_KEPT = ("temperature", "seed", "max_tokens", "small_tokens")


def recorded_lines(handlers: Handlers, name: str) -> Iterator[str]:
    """The lines of a run of an example, as the page asks for it.

    Its head holds the settings, so that the page can run it again.

    Raises: WorkbenchError for an unknown name, or where the run ends in an error.
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
        "small_tokens": example.small_tokens,
    }
    for record in run_records(handlers, sent):
        if record["k"] == "error":
            raise WorkbenchError(f"{name}: {record['message']}", record["hint"])
        if record["k"] == "head":
            record |= {key: sent[key] for key in _KEPT}
        if record["k"] != "status":
            yield line(record)


def main(names: list[str]) -> None:
    """Record the named examples; without names, those of ``GROUPS``."""
    handlers = Handlers(ModelRoom())
    for name in names or to_record(handlers.gallery):
        lines = "".join(recorded_lines(handlers, name))
        (GRAMMARS / f"{name}.trace.ndjson").write_text(lines, "utf-8")


def to_record(gallery: Gallery) -> list[str]:
    """The names of the examples that have a recorded run."""
    return [example.name for example in gallery.values() if example.group in GROUPS]


if __name__ == "__main__":
    main(sys.argv[1:])
