"""Records of exercises, checks and courses for the page.

A request names an exercise by its name on the shelf or by the fragment of its link, never by a
path. The solution is in no record but that of ``exercise_answer``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from workbench.analysis.conditions import CONDITIONS, drawn
from workbench.analysis.exercise import Exercise, Graded, GrammarText, Outcome
from workbench.analysis.random_texts import near_misses, samples
from workbench.app.exercises.course import course_of, decode_course, encode_course, link_of
from workbench.app.exercises.exercise_links import MAX_LINK
from workbench.app.exercises.exercise_reader import (
    MAX_EXAMPLES,
    SHELVES,
    ExerciseError,
    decode_exercise,
    encode_exercise,
    exercise_of,
    exercises,
)
from workbench.app.lessons.lesson import Lesson
from workbench.app.ui import wire, wire_exercises
from workbench.app.ui.grammar_view import problem_record
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import checked_text, field, up_to
from workbench.app.ui.requests import MAX_TRIED_CHARACTERS, Request, TextRequest
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.automata.drawn_machine import state_sets
from workbench.base.diagnostics import Problem
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.base.visible_text import visible
from workbench.grammar.grammar import Grammar

#: A check takes at most the seconds of one request; the comparison leaves some for the rest.
_COMPARE_LIMITS = replace(LIMITS, seconds=0.8)
#: Characters of a text whose path is listed.
_MAX_PATH = 200
#: Examples suggested for a new exercise.
_SUGGESTED = 4


@question(LIGHT)
def exercise_list(handlers: Handlers, _: Request) -> wire_exercises.ExerciseList | wire.Refusal:
    """Every exercise of the shelf, and the conditions that a new one may have."""
    listed: list[wire_exercises.ShelvedExercise] = [
        {**_entry(exercises()[name]), "shelf": title}
        for title, names in SHELVES.items()
        for name in names
    ]
    conditions: list[wire_exercises.ConditionKind] = [
        {"kind": kind, "words": each.words.replace("{most}", "…"), "counts": each.counts}
        for kind, each in CONDITIONS.items()
    ]
    return {"ok": True, "exercises": listed, "conditions": conditions}


class ExerciseRequest(Request):
    """The name of an exercise, or the fragment of its link."""

    exercise: Annotated[str, up_to(MAX_LINK)] = ""


class AnswerCheckRequest(ExerciseRequest, TextRequest):
    """An exercise, and a grammar that answers it."""


def _exercise(request: ExerciseRequest) -> Exercise:
    """The exercise of a request.

    Raises: WorkbenchError for an unknown name and a damaged link.
    """
    named = request.exercise
    return exercises()[named] if named in exercises() else _of_link(named)


_of_link = lru_cache(maxsize=16)(decode_exercise)


def _key(exercise: Exercise) -> str:
    """What its progress is stored by in the browser."""
    if exercise.name in exercises():
        return exercise.name
    return "x" + hashlib.sha256(encode_exercise(exercise).encode()).hexdigest()[:16]


def _entry(exercise: Exercise) -> wire_exercises.ExerciseEntry:
    """An exercise in a list or on a sheet, without its solution."""
    return {
        "key": _key(exercise),
        "exercise": link_of(exercise),
        "title": exercise.title or "An exercise",
        "task": exercise.task,
        "accepts": [visible(text) for text in exercise.accepts],
        "rejects": [visible(text) for text in exercise.rejects],
        "notations": [str(notation) for notation in exercise.notations],
        "conditions": [str(condition) for condition in exercise.required],
    }


@question(LIGHT)
def exercise(
    handlers: Handlers, request: ExerciseRequest
) -> wire_exercises.OpenedExercise | wire.Refusal:
    """One exercise with the text that the editor begins with, its tests and its hint."""
    exercise = _exercise(request)
    notation = exercise.solution.notation
    begin = exercise.starter or GrammarText("", (exercise.notations or (notation,))[0])
    tests = [(text, "accept") for text in exercise.accepts]
    tests += [(text, "reject") for text in exercise.rejects]
    return {
        "ok": True,
        **_entry(exercise),
        "hint": exercise.hint,
        "begin": _grammar_record(begin),
        "tests": [{"text": text, "expect": expect} for text, expect in tests],
    }


def _grammar_record(written: GrammarText) -> wire_exercises.WrittenGrammar:
    return {
        "text": written.text,
        "notation": str(written.notation),
        "start": written.start,
        "options": dict(written.options),
    }


@question(HEAVY)
def check_exercise(
    handlers: Handlers, request: AnswerCheckRequest
) -> wire_exercises.ExerciseVerdict | wire.Refusal:
    """The verdict on an answer; ``handlers`` caches what was compiled for the pictures."""
    exercise = _exercise(request)
    if not request.options and request.notation is exercise.solution.notation:
        request = request.with_fields(options=tuple(sorted(exercise.solution.options.items())))
    if not request.text.strip():
        return _verdict(exercise, exercise.check("", request.notation), None)
    compiled = handlers.compiled(request)
    if compiled.grammar is None:
        problem = compiled.problems[0]
        graded = Graded(outcome=Outcome.UNREADABLE, problem=problem, why=problem.message)
        return _verdict(exercise, graded, None)
    model_answer = exercise.solution  # cached by the pipeline, whose size is bounded
    solution = _solution(handlers, TextRequest.of(_grammar_record(model_answer)))
    graded = exercise.check_grammar(compiled.accepting, solution=solution, limits=_COMPARE_LIMITS)
    return _verdict(exercise, graded, compiled.grammar)


def _verdict(
    exercise: Exercise, graded: Graded, answer: Grammar | None
) -> wire_exercises.ExerciseVerdict:
    text = None if graded.counterexample is None else _utf8(graded.counterexample)
    return {
        "ok": True,
        "outcome": str(graded.outcome),
        "solved": graded.solved,
        "say": _verdict_sentence(graded),
        "text": text if text is None or len(text) <= MAX_TRIED_CHARACTERS else None,
        "gained": graded.gained,
        "share": graded.share if graded.outcome is Outcome.WRONG and not graded.unmet else None,
        "path": [] if answer is None or text is None else _path(answer, text),
        "problem": problem_record(graded.problem) if graded.problem else None,
        "teaches": exercise.teaches if graded.solved else "",
    }


def _utf8(data: bytes) -> str | None:
    """The text of bytes; None for bytes that are no UTF-8, which the page cannot test."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _verdict_sentence(graded: Graded) -> str:
    """The sentence of a verdict."""
    if graded.outcome is Outcome.RIGHT:
        return "Right: your answer accepts the texts of the language and no others."
    sentence = graded.why[:1].upper() + graded.why[1:]
    if graded.outcome is Outcome.UNREADABLE:
        where = graded.problem.position if graded.problem else None
        return f"Line {where[0]}, column {where[1]}: {graded.why}" if where else sentence
    if graded.outcome is Outcome.UNDECIDED:
        return f"Probably right. {sentence}. No method decides this for all grammars with a stack."
    return sentence.replace("The answer ", "Your answer ", 1)


def _path(answer: Grammar, text: str) -> list[wire_exercises.PathPart]:
    """The states of a drawn machine along a text; empty for other notations."""
    machine = drawn(answer)
    if machine is None or len(text) > _MAX_PATH:
        return []
    try:
        sets = state_sets(machine, text, _COMPARE_LIMITS)
    except LimitError:
        return []
    return [
        {
            "text": visible(read),
            "states": list(each.states),
            "edges": list(each.edges),
            "inside": list(each.inside),
            "final": each.is_final,
        }
        for read, each in zip(("", *text), sets, strict=True)
    ]


@question(LIGHT)
def exercise_answer(
    handlers: Handlers, request: ExerciseRequest
) -> wire_exercises.ModelAnswer | wire.Refusal:
    """The model answer, when the reader asks for it."""
    exercise = _exercise(request)
    return {"ok": True, **_grammar_record(exercise.solution), "teaches": exercise.teaches}


# -- a teacher's exercise and course ---------------------------------------------------------------


@question(HEAVY)
def suggest_examples(
    handlers: Handlers, request: TextRequest
) -> wire_exercises.SuggestedExamples | wire.Refusal:
    """Texts of a solution, and texts one edit away that it rejects, for the maker."""
    grammar = _solution(handlers, request)
    return {
        "ok": True,
        "accepts": list(samples(grammar, _SUGGESTED, longest=16)),
        "rejects": [text for text, _ in near_misses(grammar, _SUGGESTED, longest=16)],
    }


def _solution(handlers: Handlers, request: TextRequest) -> Grammar:
    """The compiled solution of an exercise.

    Raises: WorkbenchError where it is no grammar.
    """
    compiled = handlers.compiled(request)
    if compiled.grammar is None:
        problem: Problem = compiled.problems[0]
        where = problem.position
        position = (
            f"line {where[0]}, column {where[1]} of the solution" if where else "the solution"
        )
        raise WorkbenchError(f"{position}: {problem.message}", problem.hint)
    return compiled.accepting


def _checked_lines(texts: object, name: str) -> list[str]:
    if not isinstance(texts, list) or len(texts) > MAX_EXAMPLES:
        raise ExerciseError(f"expected at most {MAX_EXAMPLES} texts as {name!r}")
    return [checked_text(each, name, MAX_TRIED_CHARACTERS) for each in texts]


def _checked_begin(value: object, name: str) -> str:
    return checked_text(value or "", name)


def _unchecked(value: object, _: str) -> object:
    return value  # ``exercise_of`` checks it


class MakerRequest(TextRequest):
    """A new exercise, whose solution is the grammar."""

    title: Annotated[str, up_to(5_000)] = ""
    task: Annotated[str, up_to(5_000)] = ""
    hint: Annotated[str, up_to(5_000)] = ""
    teaches: Annotated[str, up_to(5_000)] = ""
    accepts: Annotated[Sequence[str], field(_checked_lines, sent=list[str])] = Field(
        default_factory=list
    )
    rejects: Annotated[Sequence[str], field(_checked_lines, sent=list[str])] = Field(
        default_factory=list
    )
    notations: Annotated[Any, field(_unchecked, sent=list[str])] = Field(default_factory=list)
    conditions: Annotated[Any, field(_unchecked, sent=dict[str, bool | int | str])] = Field(
        default_factory=dict
    )
    #: The text that the editor begins with.
    begin: Annotated[str, field(_checked_begin, sent=str | None)] = ""


#: The fields of a request that an exercise has too.
_EXERCISE_FIELDS = MakerRequest.model_fields.keys() - TextRequest.model_fields.keys() - {"begin"}


@question(HEAVY)
def make_exercise(
    handlers: Handlers, request: MakerRequest
) -> wire_exercises.MadeExercise | wire.Refusal:
    """The fragment of the link to a new exercise, after its examples and conditions are checked."""
    _solution(handlers, request)
    begin = {str(request.notation): request.begin} if request.begin else None
    exercise = exercise_of(
        {
            str(request.notation): request.text,
            "start": request.start,
            **dict(request.options),
            **request.model_dump(include=_EXERCISE_FIELDS),
            **({"begin": begin} if begin else {}),
        }
    )
    exercise.verify()
    return {"ok": True, **_entry(exercise), "link": encode_exercise(exercise)}


class CourseItemsRequest(Request):
    """A course: its title, and the name or the link of an item on each line."""

    title: Annotated[str, up_to(1_000)] = ""
    items: Annotated[str, up_to(MAX_LINK)] = ""


class CourseRequest(Request):
    """The fragment of the link to a course."""

    course: Annotated[str, up_to(MAX_LINK)] = ""


@question(LIGHT)
def make_course(
    handlers: Handlers, request: CourseItemsRequest
) -> wire_exercises.MadeLink | wire.Refusal:
    """The fragment of the link to a course; ``items`` has a name or link on each line."""
    lines = request.items.splitlines()
    course = course_of(request.title, lines)
    return {"ok": True, "link": encode_course(course)}


@question(LIGHT)
def course(
    handlers: Handlers, request: CourseRequest
) -> wire_exercises.CourseAnswer | wire.Refusal:
    """A course as a list."""
    course = decode_course(request.course)
    return {
        "ok": True,
        "title": course.title,
        "items": [
            {"lesson": each.name, "steps": len(each.steps), "title": each.title}
            if isinstance(each, Lesson)
            else _entry(each)
            for each in course.items
        ],
    }


@question(LIGHT)
def solution_sheet(
    handlers: Handlers, request: CourseItemsRequest
) -> wire_exercises.SolutionSheet | wire.Refusal:
    """The exercises of a list of names and links, with solutions, for a teacher's sheet."""
    lines = request.items.splitlines()
    items = course_of("", lines).items
    sheet: list[wire_exercises.SolvedExercise] = [
        {**_entry(each), **_grammar_record(each.solution), "teaches": each.teaches}
        for each in items
        if isinstance(each, Exercise)
    ]
    return {"ok": True, "exercises": sheet}
