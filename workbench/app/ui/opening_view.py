"""What the page opens with: examples, recorded runs, methods, models."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, cast

from workbench.app.ui import wire_cards
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import BUILTIN
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import up_to
from workbench.app.ui.requests import MAX_NAME, Request
from workbench.app.ui.shares import LIGHT
from workbench.base.errors import WorkbenchError
from workbench.base.kernels import interpreting
from workbench.constraint.compile import METHODS
from workbench.grammar.gallery import Example
from workbench.grammar.gallery import recorded_run as recorded_lines
from workbench.grammar.notations import FINISHING


def page_record(handlers: Handlers) -> wire_cards.PageRecord:
    """All examples by name, the first one in full, the methods, and the Space's id if any."""
    examples = list(handlers.gallery.values())
    names: list[wire_cards.ExampleName] = [
        {"name": each.name, "title": each.title, "group": each.group} for each in examples
    ]
    record: wire_cards.PageRecord = {
        "gallery": names,
        "first": example_record(examples[0]) if examples else None,
        "methods": method_records(),
        "space": os.environ.get("SPACE_ID", ""),
    }
    if handlers.served_results:
        record["results"] = handlers.served_results.name
    return record


class ExampleRequest(Request):
    """The name of an example."""

    name: Annotated[str, up_to(80)] = ""


@question(LIGHT)
def open_example(handlers: Handlers, request: ExampleRequest) -> wire_cards.Example:
    """An example in full, by its name.

    Raises: WorkbenchError for an unknown one.
    """
    if request.name not in handlers.gallery:
        raise WorkbenchError("there is no such example")
    return example_record(handlers.gallery[request.name])


class ModelRequest(Request):
    """A model's name or its id on the hub, and a token of the hub."""

    name: Annotated[str, up_to(MAX_NAME)] = ""
    token: Annotated[str, up_to(MAX_NAME)] = ""


@question(LIGHT)
def open_model(handlers: Handlers, request: ModelRequest) -> wire_cards.OpenedModel:
    """Open a model that the page does not offer; its name on the page."""
    return {"name": handlers.rooms.open(request.name, request.token)}


@question(LIGHT)
def model_state(handlers: Handlers, _: Request) -> wire_cards.Models:
    """The state of the models for the header; also begins to load the chosen one.

    ``compiling``: a new installation compiles the engine's kernels, and answers take longer.
    """
    handlers.room.start()
    rooms = handlers.rooms
    state = cast("wire_cards.ModelState", asdict(handlers.room.state()))
    models = cast("list[wire_cards.KnownModel]", rooms.known())
    return {
        **state,
        "models": models,
        "may_open": rooms.may_open,
        "compiling": interpreting(),
    }


class RecordedRequest(Request):
    """The name of an example with a recorded run."""

    example: Annotated[str, up_to(80)] = ""


@question(LIGHT, refused=lambda _: "")
def recorded_run(handlers: Handlers, request: RecordedRequest) -> str:
    """A run of the embedded model recorded for an example, as NDJSON; empty without one."""
    name = request.example
    if name not in handlers.gallery or handlers.room.name != BUILTIN:
        return ""  # a name from a request never becomes a path
    return recorded_lines(name)


def method_records() -> list[wire_cards.Method]:
    """Every method for the page; ``deep`` if it has the option ``k``."""
    return [
        {"name": name, "title": each.title, "source": each.source, "deep": "k" in each.options}
        for name, each in METHODS.items()
    ]


def example_record(example: Example) -> wire_cards.Example:
    """An example as the page opens it."""
    return {
        "name": example.name,
        "title": example.title,
        "note": example.note,
        "notation": str(example.notation),
        "text": example.text,
        "prompt": example.prompt,
        "max_tokens": example.max_tokens,
        "accepts": list(example.accepts),
        "rejects": list(example.rejects),
        "group": example.group,
        "start": example.start,
        "breaks": list(example.breaks) or None,
        "settings": {
            "small_tokens": example.small_tokens,
            "monitor": example.monitor,
            "temperature": example.temperature,
            "seed": example.seed,
            "finish": example.notation in FINISHING and not example.monitor,
        },
    }
