"""Records of lessons, figures and answers for the page."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Annotated, Any

from workbench.app.lessons import lesson_reader, questions
from workbench.app.lessons.automaton_films import MAX_INPUT
from workbench.app.lessons.films import EXPLAINED, UPRIGHT, film
from workbench.app.lessons.lesson import (
    MAX_ANSWER_CHARACTERS,
    Answer,
    Film,
    Frame,
    Given,
    Lesson,
    LessonError,
    Opening,
    Step,
    Table,
    View,
)
from workbench.app.lessons.lesson_tables import table
from workbench.app.lessons.lesson_world import OPTIONS
from workbench.app.lessons.merge_films import rule_name
from workbench.app.ui import wire, wire_cards
from workbench.app.ui.explain_view import WhyRequest, why
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import checked_flag, checked_text, field, up_to
from workbench.app.ui.requests import Request
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.base.visible_text import visible
from workbench.drawing.dot import Direction
from workbench.drawing.graph import Graph
from workbench.drawing.render import renderer
from workbench.grammar.notations import Notation

#: Columns of a table that fit next to the text of a step.
MAX_NARROW_COLUMNS = 7


@question(LIGHT)
def lesson_list(handlers: Handlers, _: Request) -> wire_cards.LessonList | wire.Refusal:
    """Every lesson with its shelf and the titles of its steps."""
    lessons = lesson_reader.lessons()
    listed: list[wire_cards.ShelvedLesson] = [
        {**_entry(lessons[name]), "shelf": title}
        for title, names in lesson_reader.SHELVES.items()
        for name in names
    ]
    return {"ok": True, "lessons": listed}


def _entry(lesson: Lesson) -> wire_cards.LessonEntry:
    return {
        "name": lesson.name,
        "title": lesson.title,
        "aim": lesson.aim,
        "source": lesson.source,
        "steps": [step.title for step in lesson.steps],
    }


class LessonRequest(Request):
    """The name of a lesson."""

    lesson: Annotated[str, up_to(40)] = ""


@question(LIGHT)
def lesson(handlers: Handlers, request: LessonRequest) -> wire_cards.LessonContent | wire.Refusal:
    """One lesson: its texts, tables and questions; pictures are requested separately when shown."""
    return _content(lesson_reader.lesson(request.lesson).name)


@lru_cache(maxsize=32)
def _content(name: str) -> wire_cards.LessonContent:
    lesson = lesson_reader.lesson(name)
    return {"ok": True, **_entry(lesson), "pages": [_page(step) for step in lesson.steps]}


def _page(step: Step) -> wire_cards.LessonPage:
    computed = table(step.table, step.world) if step.table else None
    return {
        "title": step.title,
        "paragraphs": list(step.paragraphs),
        "source": step.source,
        "figure": step.figure is not None,
        "broad": step.figure.broad if step.figure else _is_broad(computed),
        "explained": step.figure is not None and step.figure.name in EXPLAINED,
        "caption": step.caption,
        "given": _given_world(step),
        "table": None if computed is None else _table(computed, step.hidden),
        "question": _question(step),
        "open": None if step.opening is None else _opening(step.opening),
    }


def _table(computed: Table, hidden: Collection[str]) -> wire_cards.LessonTable:
    return {
        "caption": computed.caption,
        "heads": list(computed.heads),
        "rows": [list(row) for row in computed.rows],
        "hidden": [i for i, head in enumerate(computed.heads) if head in hidden],
    }


def _is_broad(computed: Table | None) -> bool:
    """Whether a table without a figure needs the whole width."""
    return computed is not None and len(computed.heads) > MAX_NARROW_COLUMNS


def _given_world(step: Step) -> wire_cards.LessonWorld:
    """The language and the tokens of a step."""
    world = step.world
    return {
        "text": world.text.rstrip(),
        "notation": str(world.notation),
        "tokens": [visible(word) for word in world.words] if world.tokens else [],
        "merges": [rule_name(rule) for rule in world.merges],
    }


def _question(step: Step) -> wire_cards.LessonQuestion | None:
    if step.question is None:
        return None
    quiz = questions.question(step.question, step.world)
    return {"ask": step.question.ask, "form": quiz.form, "options": list(quiz.options)}


def _opening(opening: Opening) -> wire_cards.LessonOpening:
    return {
        "text": opening.text if opening.notation == "regex" else opening.text.strip() + "\n",
        "notation": opening.notation,
        "start": opening.start,
        # an example opens with the gallery's options
        "options": {} if opening.example else OPTIONS.get(Notation(opening.notation), {}),
        "prompt": opening.prompt,
        "tab": opening.tab,
        "name": opening.example,
        "tests": [{"text": text, "expect": expect} for text, expect in opening.tests],
    }


def _given(given: object, _: str) -> Given:
    """The reader's input: a text, token ids, or nothing."""
    if given is None:
        return None
    if isinstance(given, str):
        return checked_text(given, "text", MAX_INPUT)
    if isinstance(given, list) and all(type(i) is int for i in given):
        return tuple(given[:MAX_INPUT])
    raise LessonError("expected a text or tokens")


def _checked_number(value: object, _: str) -> int:
    if type(value) is not int:
        raise LessonError("expected the number of a step")
    return value


class StepRequest(LessonRequest):
    """A step of a lesson, by its number."""

    step: Annotated[int, field(_checked_number, sent=int)] = -1


class GivenRequest(StepRequest):
    """A step, and the reader's input: a text, token ids, or null for the lesson's."""

    given: Annotated[Given, field(_given, sent=str | list[int] | None)] = None


class FigureRequest(GivenRequest):
    """A step with a figure; ``again`` if the page has its pictures."""

    narrow: Annotated[bool, field(checked_flag, sent=bool)] = False
    again: Annotated[bool, field(checked_flag, sent=bool)] = False


@question(HEAVY)
def lesson_figure(
    handlers: Handlers, request: FigureRequest
) -> wire_cards.FilmAnswer | wire.Refusal:
    """A step's film, for the lesson's input or for the reader's."""
    step = _step(request)
    if step.figure is None:
        raise LessonError("this step has no figure")
    lesson_film = film(step.figure, step.world, request.given)
    direction: Direction = "TB" if request.narrow or step.figure.name in UPRIGHT else "LR"
    return film_record(lesson_film, direction, again=request.again)


def _step(request: StepRequest) -> Step:
    steps = lesson_reader.lesson(request.lesson).steps
    if not 0 <= request.step < len(steps):
        raise LessonError("expected the number of a step")
    return steps[request.step]


def film_record(film: Film, direction: Direction, *, again: bool = False) -> wire_cards.FilmAnswer:
    """A film with its pictures; ``again``: the page has these already."""
    opens_at = film.opens_at if film.opens_at >= 0 else len(film.frames) - 1
    return {
        "ok": True,
        "graphs": [] if again else [_graph(graph, direction) for graph in film.graphs],
        "takes": film.takes,
        "opens_at": opens_at,
        "taken": list(film.taken),
        "frames": [_frame(frame) for frame in film.frames],
    }


def _frame(frame: Frame) -> wire_cards.FilmFrame:
    return {
        "say": frame.say,
        "good": frame.good,
        "only": frame.only,
        "rules": list(frame.rules),
        "views": [view_record(view) for view in frame.views],
        "rows": [
            {
                "name": r.name,
                "chips": list(r.chips),
                "now": r.now,
                "next": r.next,
                "bits": list(r.bits),
            }
            for r in frame.rows
        ],
        "choices": [
            {"id": c.token_id, "text": c.text, "ok": c.allowed, "why": c.why} for c in frame.choices
        ],
        "bars": [
            {"text": b.text, "before": b.before, "after": b.after, "taken": b.taken}
            for b in frame.bars
        ],
    }


def view_record(view: View) -> wire_cards.FilmView:
    """What is highlighted and what is visible, by the ids of the picture's elements."""
    return {
        "lit": [f"state-{node}" for node in view.lit],
        "arcs": [f"edge-{number}" for number in view.arcs],
        "dead": [f"state-{node}" for node in sorted(view.dead)],
        "shown": None
        if view.nodes is None
        else [
            *(f"state-{node}" for node in sorted(view.nodes)),
            *(f"edge-{number}" for number in sorted(view.edges or ())),
        ],
    }


def _graph(graph: Graph, direction: Direction) -> wire_cards.FilmGraph:
    """A graph as the script ``wb.graph`` expects it."""
    return {
        "name": graph.name,
        "svg": renderer().draw(graph, direction),
        "centre": "",
        "where": graph.where,
        "names": {},
        "states": [
            {"id": n.id, "label": n.label, "title": n.title, "kinds": list(n.kinds)}
            for n in graph.nodes
        ],
        "edges": [
            {"source": e.source, "target": e.target, "labels": list(e.labels), "title": e.title}
            for e in graph.edges
        ],
    }


class LessonTokenRequest(GivenRequest):
    """A step, the tokens of the reader, and the id of a token after them."""

    token: Annotated[Any, field(lambda value, _: value, sent=int)] = None


@question(LIGHT)
def lesson_why(handlers: Handlers, request: LessonTokenRequest) -> wire.Why | wire.Refusal:
    """Why a token is forbidden after the reader's tokens: the record of ``explain_view.why``."""
    world, given, token_id = _step(request).world, request.given, request.token
    tokens = world.vocabulary.tokens
    if not isinstance(given, tuple) or type(token_id) is not int:
        raise LessonError("expected tokens of this lesson")
    if any(not 0 <= i < len(tokens) for i in (*given, token_id)):
        raise LessonError("expected tokens of this lesson")
    token = tokens[token_id]
    asked = {
        "text": world.text,
        "notation": str(world.notation),
        "start": world.start,
        "hole": {"prefix": world.prefix, "suffix": world.suffix},
        "so_far": world.vocabulary.decode(given).hex(),
        "token": None if token is None else token.hex(),
    }
    answer: wire.Why | wire.Refusal = why.function(handlers, WhyRequest.of(asked))
    return answer


def _answer(answer: object, _: str) -> Answer:
    if isinstance(answer, str):
        return checked_text(answer, "answer", MAX_ANSWER_CHARACTERS)
    if isinstance(answer, list) and all(type(i) is int for i in answer):
        return answer
    raise LessonError("expected an answer")


class AnswerRequest(StepRequest):
    """A step with a question, and the answer: a text, or the numbers of options."""

    answer: Annotated[Answer, field(_answer, sent=str | list[int])]


@question(LIGHT)
def lesson_answer(handlers: Handlers, request: AnswerRequest) -> wire_cards.Judged | wire.Refusal:
    """The engine's reply to an answer."""
    step = _step(request)
    if step.question is None:
        raise LessonError("this step has no question")
    reply = questions.question(step.question, step.world).judge(request.answer)
    notes: list[wire_cards.Note] = [{"option": option, "why": why} for option, why in reply.notes]
    return {"ok": True, "right": reply.right, "say": reply.say, "notes": notes}
