"""Records of the constructions of the grammar in the editor: a list, films, frames as TikZ."""

from __future__ import annotations

from workbench.app.lessons.constructions import (
    Construction,
    construct,
    missing_construction,
    part_of,
    parts_of,
)
from workbench.app.lessons.lesson import Film, LessonError, View
from workbench.app.ui.handlers import Handlers, or_refusal
from workbench.app.ui.lesson_view import Sent, film_record, view_record
from workbench.app.ui.requests import TextRequest, text_in
from workbench.app.ui.run_records import Record
from workbench.drawing.dot import Direction
from workbench.drawing.render import renderer
from workbench.drawing.tikz import Marks, tikz
from workbench.grammar.grammar import Grammar


@or_refusal
def construction_list(handlers: Handlers, sent: Sent) -> Record:
    """Every construction with the reason why a part has none, and the parts of the grammar."""
    grammar = _grammar(handlers, sent)
    part = part_of(grammar, text_in(sent, "part", 200))
    return {
        "ok": True,
        "constructions": [
            {
                "name": str(one),
                "title": one.heading,
                "missing": missing_construction(part, one),
            }
            for one in Construction
        ],
        "parts": [{"key": one.key, "title": one.title} for one in parts_of(grammar)],
    }


@or_refusal
def construction_film(handlers: Handlers, sent: Sent) -> Record:
    """The film of a construction, or the reason for its absence."""
    return film_record(_film(handlers, sent), _direction(sent))


@or_refusal
def frame_tikz(handlers: Handlers, sent: Sent) -> Record:
    """The pictures of a frame for LaTeX, with what it shows and marks."""
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


def _marks(view: View) -> Marks:
    record = view_record(view)
    shown = record["shown"]
    return Marks(
        None if shown is None else frozenset(shown),
        frozenset(record["lit"]),
        frozenset(record["arcs"]),
        frozenset(record["dead"]),
    )


def _direction(sent: Sent) -> Direction:
    return "TB" if sent.get("narrow") else "LR"


def _grammar(handlers: Handlers, sent: Sent) -> Grammar:
    return handlers.compiled(TextRequest.of(sent)).readable()


def _film(handlers: Handlers, sent: Sent) -> Film:
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
