"""Courses: lessons and exercises in an order that a teacher chooses, shared as a link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.analysis.exercise import Exercise
from workbench.app.exercises.exercise_links import COURSE, EXERCISE, Link
from workbench.app.exercises.exercise_reader import (
    ExerciseError,
    data_of,
    decode_exercise,
    exercise_of,
    exercises,
)
from workbench.app.lessons.lesson import Lesson
from workbench.app.lessons.lesson_reader import lesson, lessons
from workbench.base.errors import WorkbenchError

#: Lessons and exercises of a course at most, and characters of its title.
MAX_ITEMS, MAX_TITLE = 100, 200


@dataclass(frozen=True, slots=True)
class Course:
    """A list of lessons and exercises."""

    title: str
    items: tuple[Lesson | Exercise, ...]


def course_of(title: str, named: Iterable[str]) -> Course:
    """A course of lessons, exercises of the shelf, and links to exercises.

    Raises: ExerciseError for an unknown name and for a damaged link.
    """
    items = tuple(_item(each.strip()) for each in named if each.strip())
    if not 1 <= len(items) <= MAX_ITEMS:
        raise ExerciseError(
            f"expected 1 to {MAX_ITEMS} lessons and exercises, not {len(items)}",
            "write one name or link on each line",
        )
    if len(title) > MAX_TITLE:
        raise ExerciseError(f"expected a title of at most {MAX_TITLE} characters")
    return Course(title.strip() or "A course", items)


def _item(named: str) -> Lesson | Exercise:
    if Link.is_link(named):
        return decode_exercise(named)
    if named in exercises():
        return exercises()[named]
    if named in lessons():
        return lesson(named)
    raise ExerciseError(
        f"there is no lesson and no exercise {named[:80]!r}",
        f"lessons: {', '.join(lessons())}; exercises: {', '.join(exercises())}; or a link",
    )


def encode_course(course: Course) -> str:
    """The course as the fragment of a link; it holds the exercises that are not on the shelf."""
    return COURSE.encode({"title": course.title, "items": [_data(each) for each in course.items]})


def _data(item: Lesson | Exercise) -> list[Any]:
    if isinstance(item, Lesson):
        return ["lesson", item.name]
    return ["exercise", item.name] if item.name in exercises() else ["task", data_of(item)]


def decode_course(link: str) -> Course:
    """The course of a link or of its fragment.

    Raises: LinkError where it is incomplete; ExerciseError where it names what is not here.
    """
    data = COURSE.decode(link)
    title, items = data.get("title"), data.get("items")
    if not isinstance(title, str) or not isinstance(items, list) or len(items) > MAX_ITEMS:
        raise ExerciseError("expected a course with a title and items", "copy the link again")
    decoded: list[Lesson | Exercise] = []
    for each in items:
        try:
            decoded.append(_decode(each))
        except WorkbenchError as error:
            raise ExerciseError(f"item {len(decoded) + 1}: {error.message}", error.hint) from None
    return Course(title, tuple(decoded))


def _decode(item: object) -> Lesson | Exercise:
    match item:
        case ["lesson", str(name)]:
            return lesson(name)
        case ["exercise", str(name)] if name in exercises():
            return exercises()[name]
        case ["task", dict(data)]:
            return exercise_of(data)
    raise ExerciseError("expected a lesson or an exercise of this version of the page")


def link_of(exercise: Exercise) -> str:
    """How a request names an exercise: its name on the shelf, or its fragment."""
    return exercise.name if exercise.name in exercises() else EXERCISE.encode(data_of(exercise))
