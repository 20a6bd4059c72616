"""Answers for the drawing of a machine: its layout, files of JFLAP, its states along a text."""

from __future__ import annotations

from typing import Annotated

from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import up_to
from workbench.app.ui.requests import MAX_TRIED_CHARACTERS, Request
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.automata.drawn_machine import state_sets
from workbench.base.source import Source
from workbench.drawing.render import arranged
from workbench.syntax.machine_text import DrawnMachine, from_jflap, read_machine


class MachineRequest(Request):
    """The text of a drawn machine, or of a file."""

    text: Annotated[str, up_to()] = ""


class PathRequest(MachineRequest):
    """The text of a drawn machine, and a text that it reads."""

    read: Annotated[str, up_to(MAX_TRIED_CHARACTERS)] = ""


def _machine_in(handlers: Handlers, request: MachineRequest) -> DrawnMachine:
    source = Source(request.text, "machine")
    return read_machine(source, handlers.pipeline.limits.clock())


@question(HEAVY)
def arrange_machine(handlers: Handlers, request: MachineRequest) -> wire.Arranged | wire.Refusal:
    """Positions for all states of the machine."""
    places = arranged(_machine_in(handlers, request))
    return {
        "ok": True,
        "places": [{"name": name, "x": x, "y": y} for name, (x, y) in places.items()],
    }


@question(LIGHT)
def machine_from_file(_: Handlers, request: MachineRequest) -> wire.MachineText | wire.Refusal:
    """The text of a machine in a file of JFLAP."""
    return {"ok": True, "text": from_jflap(Source(request.text, "file"))}


@question(LIGHT)
def machine_path(handlers: Handlers, request: PathRequest) -> wire.MachinePath | wire.Refusal:
    """The author's own states and edges after each beginning of the text ``read``."""
    machine = _machine_in(handlers, request)
    sets = state_sets(machine, request.read, handlers.pipeline.limits)
    return {
        "ok": True,
        "sets": [
            {
                "states": list(step.states),
                "edges": list(step.edges),
                "inside": list(step.inside),
                "final": step.is_final,
            }
            for step in sets
        ],
    }
