"""The page's requests about exercises and courses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.test_wire import check
from workbench.analysis.exercise import Graded, Outcome
from workbench.app.exercises.exercise_links import COURSE
from workbench.app.exercises.exercise_reader import encode_exercise, exercises
from workbench.app.ui import exercise_view as view
from workbench.app.ui import wire_exercises
from workbench.app.ui.handlers import Handlers
from workbench.base.limits import time_budget

MAKING = {
    "title": "Ends with b",
    "task": "Texts of a and b that end with b.",
    "text": "[ab]*b",
    "notation": "regex",
    "notations": ["regex"],
    "conditions": {"no_alternation": True, "characters": 10},
    "accepts": ["b", "ab"],
    "rejects": ["", "ba"],
    "hint": "the last letter",
    "teaches": "a suffix",
}


def answer(handlers: Handlers, named: str, text: str, notation: str, **more: str) -> dict[str, Any]:
    record = view.check_exercise(
        handlers, {"exercise": named, "text": text, "notation": notation, **more}
    )
    check(record, wire_exercises.ExerciseVerdict)
    return record


def test_the_list_has_all_exercises_and_no_solution(handlers: Handlers) -> None:
    record = view.exercise_list(handlers, {})
    check(record, wire_exercises.ExerciseList)
    assert [each["key"] for each in record["exercises"]] == list(exercises())
    for name, each in exercises().items():
        opened = view.exercise(handlers, {"exercise": name})
        check(opened, wire_exercises.OpenedExercise)
        assert each.solution.text not in str((record, opened))
        assert each.teaches not in str((record, opened))


def test_a_wrong_answer_gets_its_text_and_the_path_of_its_machine(handlers: Handlers) -> None:
    machine = "initial e\nfinal e o\ne -> o : a\no -> e : a\ne -> e : b\no -> o : b\n"
    record = answer(handlers, "even_a", machine, "machine")
    assert (record["outcome"], record["text"], record["gained"]) == ("wrong", "a", True)
    assert record["say"] == "Your answer accepts 'a', which the language does not contain"
    assert record["path"] == [
        {"text": "", "states": ["e"], "edges": [], "inside": [], "final": True},
        {"text": "a", "states": ["o"], "edges": [0], "inside": [], "final": True},
    ]
    assert not record["solved"]
    assert record["teaches"] == ""
    assert 0 < record["share"] < 1


def test_a_right_answer_tells_what_it_teaches(handlers: Handlers) -> None:
    for name, each in exercises().items():
        own = each.solution
        record = answer(handlers, name, own.text, str(own.notation), start=own.start)
        assert record["solved"], name
        assert record["teaches"] == each.teaches
        given = view.exercise_answer(handlers, {"exercise": name})
        check(given, wire_exercises.ModelAnswer)
        assert given["text"] == own.text


def test_an_unreadable_answer_has_its_place(handlers: Handlers) -> None:
    record = answer(handlers, "yes_no", "yes|(no", "regex")
    assert record["outcome"] == "unreadable"
    assert record["say"].startswith("Line 1, column 5: expected ')'")
    assert answer(handlers, "yes_no", " ", "regex")["say"] == "The answer is empty"


def test_a_counterexample_that_is_no_text_is_not_offered_as_a_test() -> None:
    graded = Graded(outcome=Outcome.WRONG, counterexample=b"a\xff", why="…")
    exercise = exercises()["yes_no"]
    record = view._verdict(exercise, graded, exercise.grammar)
    check(record, wire_exercises.ExerciseVerdict)
    assert (record["text"], record["path"]) == (None, [])


def test_a_check_ends_within_the_seconds_of_a_request(handlers: Handlers) -> None:
    """A right grammar without a proof: conditions are tested although the comparison takes long."""
    text = (
        "start ::= t; t ::= f ('*' f)* ('+' t)?; f ::= x | y | '(' start ')'; x ::= 'x' z;"
        " y ::= '((' start '))' ; z ::= '';"
    )
    with time_budget(2.0):
        record = answer(handlers, "expressions", text, "kbnf")
    assert record["outcome"] == "refused"
    assert "in two ways" in record["say"]


@pytest.mark.parametrize(
    "named", ["", "no_such", "../pyproject.toml", "/etc/passwd", "x=1.00000000.AAAA", "x" * 600_000]
)
def test_error_for_what_is_no_exercise(handlers: Handlers, named: str) -> None:
    for question in (view.exercise, view.check_exercise, view.exercise_answer):
        record = question(handlers, {"exercise": named, "text": "a", "notation": "regex"})
        assert record["ok"] is False
        assert record["why"]


def test_an_exercise_is_made_opened_and_answered(handlers: Handlers) -> None:
    made = view.make_exercise(handlers, MAKING)
    check(made, wire_exercises.MadeExercise)
    opened = view.exercise(handlers, {"exercise": made["link"]})
    check(opened, wire_exercises.OpenedExercise)
    assert opened["key"] == made["key"]
    assert opened["task"] == MAKING["task"]
    assert opened["begin"]["text"] == ""
    assert "[ab]*b" not in str(opened)
    assert answer(handlers, made["link"], "[ab]*", "regex")["gained"]
    assert answer(handlers, made["link"], "[ab]*b", "regex")["solved"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"task": " "}, "expected a text as 'task'"),
        ({"text": "[ab"}, "line 1, column 1 of the solution"),
        ({"accepts": ["b", "a"]}, "the solution rejects the example a"),
        ({"rejects": ["b"]}, "the solution accepts the example b"),
        ({"conditions": {"characters": 2}}, "the solution does not satisfy the condition"),
        ({"conditions": {"size": 2}}, "there is no condition 'size'"),
        ({"notations": ["kbnf"]}, "the notation of the solution, Regex, is not allowed"),
        ({"notations": "regex"}, "expected a list of texts as 'notations'"),
        ({"accepts": ["b"] * 21}, "expected at most 20 texts"),
    ],
)
def test_error_when_an_exercise_contradicts_itself(
    handlers: Handlers, change: dict[str, Any], why: str
) -> None:
    record = view.make_exercise(handlers, {**MAKING, **change})
    assert record["ok"] is False
    assert why in record["why"]


def test_suggested_examples_are_right(handlers: Handlers) -> None:
    record = view.suggest_examples(handlers, MAKING)
    check(record, wire_exercises.SuggestedExamples)
    assert record["accepts"]
    assert record["rejects"]
    assert all(text.endswith("b") for text in record["accepts"])
    assert not any(set(text) <= {"a", "b"} and text.endswith("b") for text in record["rejects"])


def test_a_course_holds_lessons_and_exercises(handlers: Handlers) -> None:
    own = view.make_exercise(handlers, MAKING)["link"]
    items = f"machines\n even_a \n\nhttps://example.org/#{own}\n"
    made = view.make_course(handlers, {"title": "Week 1", "items": items})
    check(made, wire_exercises.MadeLink)
    record = view.course(handlers, {"course": made["link"]})
    check(record, wire_exercises.CourseAnswer)
    assert record["title"] == "Week 1"
    assert [each["title"] for each in record["items"]][1:] == [
        "An even number of a",
        "Ends with b",
    ]
    assert record["items"][0]["lesson"] == "machines"
    assert view.exercise(handlers, {"exercise": record["items"][2]["exercise"]})["ok"]
    sheet = view.solution_sheet(handlers, {"items": items})
    check(sheet, wire_exercises.SolutionSheet)
    assert [each["text"] for each in sheet["exercises"]][1] == "[ab]*b"


@pytest.mark.parametrize(
    ("title", "items", "why"),
    [
        ("x", "", "expected 1 to 100"),
        ("x", "even_a\n" * 101, "expected 1 to 100"),
        ("x", "no_such", "there is no lesson and no exercise 'no_such'"),
        ("x" * 300, "even_a", "a title of at most 200"),
    ],
)
def test_error_in_a_course(handlers: Handlers, title: str, items: str, why: str) -> None:
    assert why in view.make_course(handlers, {"title": title, "items": items})["why"]


@pytest.mark.parametrize(
    "data", [{}, {"title": 1, "items": []}, {"title": "x", "items": [["lesson", "no_such"]]},
             {"title": "x", "items": [["exercise", "../x"]]}, {"title": "x", "items": ["even_a"]}]
)  # fmt: skip
def test_error_for_a_course_of_another_version(handlers: Handlers, data: dict[str, Any]) -> None:
    assert view.course(handlers, {"course": COURSE.encode(data)})["ok"] is False


def test_a_link_of_the_shelf_is_another_exercise_for_progress(handlers: Handlers) -> None:
    link = encode_exercise(exercises()["even_a"])
    assert view.exercise(handlers, {"exercise": link})["key"].startswith("x")
