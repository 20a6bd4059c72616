"""The wire format, continued: the records of exercises and courses."""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.app.ui.wire import ExpectedText, Problem, StatesRead


class ExerciseEntry(TypedDict):
    """An exercise in a list; ``exercise`` names it in requests, ``key`` in the browser."""

    key: str
    exercise: str
    title: str
    task: str
    accepts: list[str]
    rejects: list[str]
    notations: list[str]
    conditions: list[str]


class ShelvedExercise(ExerciseEntry):
    """An exercise with its shelf."""

    shelf: str


class ConditionKind(TypedDict):
    """A condition that an exercise may have; ``counts``: it has a number."""

    kind: str
    words: str
    counts: bool


class ExerciseList(TypedDict):
    """All exercises of the shelf, and all conditions."""

    ok: Literal[True]
    exercises: list[ShelvedExercise]
    conditions: list[ConditionKind]


class WrittenGrammar(TypedDict):
    """The text of a grammar, with its notation."""

    text: str
    notation: str
    start: str
    options: dict[str, str | bool | int]


class OpenedExercise(ExerciseEntry):
    """An exercise with all that is needed to open it."""

    ok: Literal[True]
    hint: str
    begin: WrittenGrammar
    tests: list[ExpectedText]


class PathPart(StatesRead):
    """The states of a drawn machine after one more character, ``text``."""

    text: str


class ExerciseVerdict(TypedDict):
    """The check of an answer; ``text`` is the counterexample, ``share`` the partial credit."""

    ok: Literal[True]
    outcome: str
    solved: bool
    say: str
    text: str | None
    gained: bool
    share: float | None
    path: list[PathPart]
    problem: Problem | None
    teaches: str


class ModelAnswer(WrittenGrammar):
    """The solution of an exercise."""

    ok: Literal[True]
    teaches: str


class SuggestedExamples(TypedDict):
    """Texts that a solution accepts and rejects."""

    ok: Literal[True]
    accepts: list[str]
    rejects: list[str]


class MadeExercise(ExerciseEntry):
    """A new exercise; ``link`` is the fragment of its address."""

    ok: Literal[True]
    link: str


class MadeLink(TypedDict):
    """The fragment of an address."""

    ok: Literal[True]
    link: str


class CourseLesson(TypedDict):
    """A lesson of a course, with the number of its steps."""

    lesson: str
    steps: int
    title: str


class CourseAnswer(TypedDict):
    """A course."""

    ok: Literal[True]
    title: str
    items: list[CourseLesson | ExerciseEntry]


class SolvedExercise(ExerciseEntry, WrittenGrammar):
    """An exercise with its solution, for a teacher's sheet."""

    teaches: str


class SolutionSheet(TypedDict):
    """Exercises with their solutions."""

    ok: Literal[True]
    exercises: list[SolvedExercise]
