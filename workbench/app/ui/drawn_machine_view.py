"""Answers for the drawing of a machine: its layout, files of JFLAP, its states along a text."""

from __future__ import annotations

from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.requests import MAX_TRIED_CHARACTERS, text_in
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.automata.drawn_machine import state_sets
from workbench.base.source import Source
from workbench.drawing.render import arranged
from workbench.syntax.machine_text import DrawnMachine, from_jflap, read_machine


def _machine_in(handlers: Handlers, fields: Record) -> DrawnMachine:
    source = Source(text_in(fields, "text"), "machine")
    return read_machine(source, handlers.pipeline.limits.clock())


@question(HEAVY)
def arrange_machine(handlers: Handlers, fields: Record) -> wire.Arranged | wire.Refusal:
    """Positions for all states of the machine."""
    places = arranged(_machine_in(handlers, fields))
    return {
        "ok": True,
        "places": [{"name": name, "x": x, "y": y} for name, (x, y) in places.items()],
    }


@question(LIGHT)
def machine_from_file(_: Handlers, fields: Record) -> wire.MachineText | wire.Refusal:
    """The text of a machine in a file of JFLAP."""
    return {"ok": True, "text": from_jflap(Source(text_in(fields, "text"), "file"))}


@question(LIGHT)
def machine_path(handlers: Handlers, fields: Record) -> wire.MachinePath | wire.Refusal:
    """The author's own states and edges after each beginning of the text ``read``."""
    machine = _machine_in(handlers, fields)
    text = text_in(fields, "read", MAX_TRIED_CHARACTERS)
    sets = state_sets(machine, text, handlers.pipeline.limits)
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
