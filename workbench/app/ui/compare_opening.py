"""What the view *Compare* opens with: small languages to try, and a recorded comparison of one.

``python -m workbench.app.ui.replay`` records the comparison again; the tests compute it again and
compare. It is shown with the embedded model, which wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import cast

from workbench.app.ui import wire_compare
from workbench.app.ui.compare_view import compare_records, distribution
from workbench.app.ui.handlers import Handlers, encoded
from workbench.app.ui.model_registry import BUILTIN
from workbench.app.ui.question import question
from workbench.app.ui.requests import Request
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import LIGHT
from workbench.base.errors import WorkbenchError
from workbench.base.resources import GRAMMARS


@dataclass(frozen=True, slots=True)
class Sample:
    """A finite language whose exact distribution can be computed, with a prompt."""

    title: str
    text: str
    prompt: str
    notation: str = "regex"


DOOR = Sample(
    "Behind the door",
    "( cat)|( dog)|( big dog)|( cake)|( car)|( carrot)",
    "She opened the door and saw a",
)

#: Methods differ on these languages.
SAMPLES = (
    Sample("Six names", "( William)|( Theodore)|( Ada)|( Olivia)|( Al)|( Albert)", "My name is"),
    DOOR,
    Sample("A review", "good|bad|not good", "Was the review good or bad? The review was "),
)

#: The recorded comparison: a record of what was requested, then those of the answers.
RECORDED = GRAMMARS / "door.compare.ndjson"

#: The request of the recorded comparison.
_REQUEST: Record = {
    **asdict(DOOR),
    "start": "start",
    "prompts": [DOOR.prompt],
    "methods": ["unconstrained", "automaton", "proper", "asap"],
    "seeds": 3,
    "seed": 1,
    "temperature": 1.0,
    "max_tokens": 12,
}


@question(LIGHT)
def compare_opening(handlers: Handlers, _: Request) -> wire_compare.CompareOpening:
    """The samples, and the lines of the recorded comparison; none with another model."""
    lines = RECORDED.read_text("utf-8") if handlers.room.name == BUILTIN else ""
    return {"samples": [_sample_record(each) for each in SAMPLES], "recorded": lines}


def _sample_record(sample: Sample) -> wire_compare.CompareSample:
    return cast("wire_compare.CompareSample", asdict(sample))


def recorded_comparison(handlers: Handlers) -> str:
    """The lines of the recorded comparison, computed anew.

    Raises: WorkbenchError where the comparison fails.
    """
    return "".join(f"{encoded(record)}\n" for record in _records(handlers))


def _records(handlers: Handlers) -> Iterator[Record]:
    yield {"k": "about", **_REQUEST}
    for record in compare_records(handlers, _REQUEST):
        if record["k"] in ("error", "failed"):
            raise WorkbenchError(f"the recorded comparison failed: {json.dumps(record)}")
        if record["k"] != "status":
            yield record
    yield {"k": "distribution", **distribution(handlers, _REQUEST)}
