"""Records of the constructions of the grammar in the editor: a list, films, frames as TikZ."""

from __future__ import annotations

from typing import Annotated

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
from workbench.app.ui.lesson_view import film_record, view_record
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import checked_flag, field, up_to
from workbench.app.ui.requests import TextRequest
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.drawing.dot import Direction
from workbench.drawing.render import renderer
from workbench.drawing.tikz import Marks, tikz


class ConstructionRequest(TextRequest):
    """A grammar, and the part of it that is constructed; empty for all of it."""

    part: Annotated[str, up_to(200)] = ""


def _checked_frame(value: object, _: str) -> int:
    if type(value) is not int:
        raise LessonError("expected the number of a frame")
    return value


class FilmRequest(ConstructionRequest):
    """A construction of a grammar; ``narrow`` for a page with little width."""

    construction: Annotated[str, up_to(40)] = ""
    #: The example whose own tokens are used, if it has some.
    example: Annotated[str, up_to(80)] = ""
    narrow: Annotated[bool, field(checked_flag, sent=bool)] = False


class FrameRequest(FilmRequest):
    """A film, and the number of a frame."""

    frame: Annotated[int, field(_checked_frame, sent=int)] = -1


@question(LIGHT)
def construction_list(
    handlers: Handlers, request: ConstructionRequest
) -> wire_cards.ConstructionList | wire.Refusal:
    """Every construction with the reason why a part has no film of it, and the grammar's parts."""
    grammar = handlers.compiled(request).readable()
    part = part_of(grammar, request.part)
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
def construction_film(
    handlers: Handlers, request: FilmRequest
) -> wire_cards.FilmAnswer | wire.Refusal:
    """The film of a construction, or the reason for its absence."""
    return film_record(_film(handlers, request), _direction(request))


@question(HEAVY)
def frame_tikz(handlers: Handlers, request: FrameRequest) -> wire_cards.TikzAnswer | wire.Refusal:
    """The pictures of a frame for LaTeX, with what it shows and marks."""
    film = _film(handlers, request)
    if not 0 <= request.frame < len(film.frames):
        raise LessonError("expected the number of a frame")
    frame = film.frames[request.frame]
    graphs = film.graphs if frame.only is None else (film.graphs[frame.only],)
    shown = [
        tikz(renderer().draw(graph, _direction(request)), marks)
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


def _direction(request: FilmRequest) -> Direction:
    return "TB" if request.narrow else "LR"


def _film(handlers: Handlers, request: FilmRequest) -> Film:
    """The requested film.

    Raises: WorkbenchError if the grammar or its part has no such film.
    """
    if request.construction not in list(Construction):
        names = ", ".join(Construction)
        raise LessonError(f"expected one of {names}, not {request.construction!r}")
    construction = Construction(request.construction)
    grammar = part_of(handlers.compiled(request).readable(), request.part)
    over_tokens = construction is Construction.TOKENS
    vocabulary = handlers.vocabulary_of(request.example) if over_tokens else None
    return construct(grammar, construction, vocabulary)
