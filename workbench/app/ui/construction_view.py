"""Records of the constructions of the grammar in the editor: a list, films, frames as TikZ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.app.lessons.constructions import (
    Construction,
    construct,
    missing_construction,
    part_of,
    parts_of,
)
from workbench.app.lessons.lesson import Film, LessonError, View
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.lesson_view import film_record, view_record
from workbench.app.ui.pictures import sentence
from workbench.app.ui.records import Record
from workbench.app.ui.requests import TextRequest, text_in
from workbench.base.errors import WorkbenchError
from workbench.drawing.dot import Direction
from workbench.drawing.render import renderer
from workbench.drawing.tikz import Marks, tikz
from workbench.grammar.grammar import Grammar

_Sent = Mapping[str, Any]


def construction_list(handlers: Handlers, sent: _Sent) -> Record:
    """Every construction with the reason why the grammar has none, and the parts of the grammar."""
    try:
        grammar = _grammar(handlers, sent)
        return {
            "ok": True,
            "constructions": [
                {
                    "name": str(one),
                    "title": one.heading,
                    "missing": missing_construction(grammar, one),
                }
                for one in Construction
            ],
            "parts": [{"key": part.key, "title": part.title} for part in parts_of(grammar)],
        }
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def construction_film(handlers: Handlers, sent: _Sent) -> Record:
    """The film of a construction, or the reason for its absence."""
    try:
        return film_record(_film(handlers, sent), _direction(sent))
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def frame_tikz(handlers: Handlers, sent: _Sent) -> Record:
    """The pictures of a frame for LaTeX, with what it shows and marks."""
    try:
        made, number = _film(handlers, sent), sent.get("frame")
        if type(number) is not int or not 0 <= number < len(made.frames):
            raise LessonError("expected the number of a frame")
        frame = made.frames[number]
        graphs = made.graphs if frame.only is None else (made.graphs[frame.only],)
        shown = [
            tikz(renderer().draw(graph, _direction(sent)), marks)
            for graph, marks in zip(graphs, map(_marks, frame.views), strict=True)
            if marks.shown != frozenset()
        ]
        says = frame.say.replace("\n", " ")
        return {"ok": True, "tikz": "\n".join((f"% {says}", *shown))}
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def _marks(view: View) -> Marks:
    record = view_record(view)
    shown = record["shown"]
    return Marks(
        None if shown is None else frozenset(shown),
        frozenset(record["lit"]),
        frozenset(record["arcs"]),
        frozenset(record["dead"]),
    )


def _direction(sent: _Sent) -> Direction:
    return "TB" if sent.get("narrow") else "LR"


def _grammar(handlers: Handlers, sent: _Sent) -> Grammar:
    return handlers.compiled(TextRequest.of(sent)).readable()


def _film(handlers: Handlers, sent: _Sent) -> Film:
    """The requested film.

    Raises: WorkbenchError if the grammar or its part has no such film.
    """
    name = text_in(sent, "construction", 40)
    if name not in list(Construction):
        raise LessonError(f"expected one of {', '.join(Construction)}, not {name!r}")
    construction = Construction(name)
    grammar = part_of(_grammar(handlers, sent), text_in(sent, "part", 200))
    vocabulary = handlers.vocabulary_of(dict(sent)) if construction is Construction.TOKENS else None
    return construct(grammar, construction, vocabulary)
