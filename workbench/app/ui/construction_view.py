"""Records of the constructions of the grammar in the editor: a list, films, frames as TikZ."""

from __future__ import annotations

from workbench.app.lessons.constructions import (
    Construction,
    construct,
    missing_construction,
    obstacle,
    part_of,
    parts_of,
)
from workbench.app.lessons.lesson import Film, LessonError, View
from workbench.app.ui import wire, wire_cards
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.lesson_view import Fields, film_record, view_record
from workbench.app.ui.question import question
from workbench.app.ui.requests import TextRequest, text_in
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.drawing.dot import Direction
from workbench.drawing.render import renderer
from workbench.drawing.tikz import Marks, tikz
from workbench.grammar.grammar import Grammar


@question(LIGHT)
def construction_list(
    handlers: Handlers, fields: Fields
) -> wire_cards.ConstructionList | wire.Refusal:
    """Every construction with the reason why a part has no film of it, and the grammar's parts."""
    grammar = _grammar(handlers, fields)
    part = part_of(grammar, text_in(fields, "part", 200))
    return {
        "ok": True,
        "constructions": [
            {
                "name": str(construction),
                "title": construction.heading,
                "exists": not missing_construction(part, construction),
                "missing": obstacle(part, construction),
            }
            for construction in Construction
        ],
        "parts": [
            {"key": grammar_part.key, "title": grammar_part.title}
            for grammar_part in parts_of(grammar)
        ],
    }


@question(HEAVY)
def construction_film(handlers: Handlers, fields: Fields) -> wire_cards.FilmAnswer | wire.Refusal:
    """The film of a construction, or the reason for its absence."""
    return film_record(_film(handlers, fields), _direction(fields))


@question(HEAVY)
def frame_tikz(handlers: Handlers, fields: Fields) -> wire_cards.TikzAnswer | wire.Refusal:
    """The pictures of a frame for LaTeX, with what it shows and marks."""
    film, number = _film(handlers, fields), fields.get("frame")
    if type(number) is not int or not 0 <= number < len(film.frames):
        raise LessonError("expected the number of a frame")
    frame = film.frames[number]
    graphs = film.graphs if frame.only is None else (film.graphs[frame.only],)
    shown = [
        tikz(renderer().draw(graph, _direction(fields)), marks)
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


def _direction(fields: Fields) -> Direction:
    return "TB" if fields.get("narrow") else "LR"


def _grammar(handlers: Handlers, fields: Fields) -> Grammar:
    return handlers.compiled(TextRequest.of(fields)).readable()


def _film(handlers: Handlers, fields: Fields) -> Film:
    """The requested film.

    Raises: WorkbenchError if the grammar or its part has no such film.
    """
    name = text_in(fields, "construction", 40)
    if name not in list(Construction):
        raise LessonError(f"expected one of {', '.join(Construction)}, not {name!r}")
    construction = Construction(name)
    grammar = part_of(_grammar(handlers, fields), text_in(fields, "part", 200))
    vocabulary = (
        handlers.vocabulary_of(text_in(fields, "example", 80))
        if construction is Construction.TOKENS
        else None
    )
    return construct(grammar, construction, vocabulary)
