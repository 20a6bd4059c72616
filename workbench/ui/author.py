"""An author's questions: in come a grammar's text and what is asked of it, out go plain records."""

from __future__ import annotations

from workbench.drawing.railroad import draw_railroad as draw_tracks
from workbench.drawing.tracks import NARROW, WIDE
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.ui.handlers import Handlers
from workbench.ui.pictures import sentence
from workbench.ui.records import Record
from workbench.ui.requests import TextRequest


def draw_railroad(handlers: Handlers, sent: Record) -> Record:
    """Railroad diagrams of all rules, in the shape of any other picture's record."""
    try:
        grammar = _grammar(handlers, sent)
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    drawn_of = grammar.tree or grammar.regex
    assert drawn_of is not None, "a grammar is made of one of both"
    made = draw_tracks(drawn_of, width=NARROW if sent.get("narrow") else WIDE)
    count = f"{made.rules:,} rule{'s' * (made.rules != 1)}" if grammar.tree else "the regex"
    partial = made.drawn < made.rules
    return {
        "ok": True,
        "svg": made.svg,
        "dot": "",
        "count": f"{made.drawn:,} of {count}" if partial and grammar.tree else count,
        "centre": "",
        "partial": False,
        "note": "",
        "where": {},
        "follow": None,
        "names": {},
        "ends": False,
        "states": [],
        "edges": [],
    }


def _grammar(handlers: Handlers, sent: Record) -> Grammar:
    """The grammar of a request.

    Raises: WorkbenchError where it cannot be read.
    """
    asked = TextRequest.of(sent)
    grammar = handlers.pipeline.compile(asked.text, asked.notation, asked.start).grammar
    if grammar is None:
        raise WorkbenchError("the grammar cannot be read yet", "mend its problems first")
    return grammar
