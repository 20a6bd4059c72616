"""The shelf of exercises, their files, and links that hold one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.exercise import Outcome
from workbench.app.exercises import exercise_reader
from workbench.app.exercises.exercise_links import COURSE, EXERCISE, Link, LinkError
from workbench.app.exercises.exercise_reader import (
    CONTENT,
    SHELVES,
    ExerciseError,
    data_of,
    decode_exercise,
    encode_exercise,
    exercise_of,
    exercises,
    grammar_text,
    load_exercise,
    read_exercise,
)
from workbench.base.limits import Limits

NAMES = [name for shelf in SHELVES.values() for name in shelf]
QUICK = Limits(seconds=0.5)


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_is_complete_and_its_examples_are_right(name: str) -> None:
    exercise = exercises()[name]
    exercise.verify()
    assert len(exercise.accepts) >= (2 if name == "yes_no" else 3)
    assert len(exercise.rejects) >= 3
    assert exercise.title
    assert exercise.task.endswith(".")
    assert exercise.hint.endswith((".", "`"))
    assert exercise.teaches.endswith(".")
    assert exercise.notations
    if exercise.starter:
        assert exercise.starter.notation in exercise.notations
        assert not exercise.check(
            exercise.starter.text, exercise.starter.notation, exercise.starter.start, limits=QUICK
        ).solved


@pytest.mark.parametrize("name", NAMES)
def test_the_model_answer_is_right(name: str) -> None:
    exercise = exercises()[name]
    answer = exercise.solution
    assert exercise.check(answer.text, answer.notation, answer.start)


@pytest.mark.parametrize("name", NAMES)
def test_typical_wrong_answers_get_their_counterexample(name: str) -> None:
    exercise = exercises()[name]
    wrong = tomllib.loads((CONTENT / f"{name}.toml").read_text("utf-8"))["wrong"]
    assert len(wrong) >= 3
    assert {each["gives"] for each in wrong} & {"gained", "lost"}
    for each in wrong:
        answer = grammar_text(each, "a wrong answer")
        graded = exercise.check(answer.text, answer.notation, answer.start, limits=QUICK)
        given: str = graded.outcome
        if given is Outcome.WRONG:
            assert graded.counterexample is not None
            compiled = answer.grammar()
            assert compiled.accepts(graded.counterexample) is graded.gained
            assert exercise.grammar.accepts(graded.counterexample) is not graded.gained
            assert graded.share is not None
            assert graded.share < 1
            given = "gained" if graded.gained else "lost"
        assert given == each["gives"], answer.text


def test_titles_and_tasks_differ() -> None:
    assert len({each.title for each in exercises().values()}) == len(NAMES)
    assert len({each.task for each in exercises().values()}) == len(NAMES)


# -- files -----------------------------------------------------------------------------------------

TASK = 'task = "a or b."\nregex = "a|b"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task = ", "x.toml: this is not TOML"),
        ('regex = "a"', "x.toml: expected a text as 'task'"),
        ('task = "a."', "x.toml: expected one grammar as the solution, not 0"),
        (TASK + "kbnf = ''", "x.toml: expected one grammar as the solution, not 2"),
        (TASK + "colour = 1", "x.toml: an exercise has no 'colour'"),
        (TASK + "accepts = 'a'", "x.toml: expected a list of texts as 'accepts'"),
        (TASK + "notations = ['bnf']", "x.toml: expected one of regex"),
        (TASK + "conditions = 3", "x.toml: expected a table as 'conditions'"),
        (TASK + "conditions = { size = 3 }", "x.toml: there is no condition 'size'"),
        (TASK + f"accepts = {['a'] * 21}", "x.toml: expected at most 20 texts"),
    ],
)
def test_error_in_a_file(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(content, "utf-8")
    with pytest.raises(ExerciseError, match=message):
        load_exercise(path)


def test_error_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExerciseError, match="cannot read"):
        read_exercise(tmp_path / "x.toml")


def test_error_when_a_file_is_on_no_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercise_reader, "SHELVES", {"First": ("yes_no",)})
    with pytest.raises(ExerciseError, match="expected the files yes_no, found"):
        exercises.__wrapped__()


def test_error_for_an_unknown_name() -> None:
    with pytest.raises(ExerciseError, match="there is no exercise 'yes'"):
        wb.load_exercise("yes")


# -- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_link_holds_the_exercise(name: str) -> None:
    exercise = exercises()[name]
    fragment = encode_exercise(exercise)
    for link in (fragment, f"https://example.org/?a=b#{fragment}", fragment[2:], f" {fragment}\n"):
        held = wb.load_exercise(link)
        assert data_of(held) == data_of(exercise)
        assert held.notations == exercise.notations
        assert held.required == exercise.required
    assert exercise.solution.text not in fragment


def test_the_table_of_a_file_is_that_of_a_link() -> None:
    for name in NAMES:
        data = tomllib.loads((CONTENT / f"{name}.toml").read_text("utf-8"))
        assert data_of(exercise_of(data)) == data_of(exercises()[name])


def test_error_for_a_damaged_link() -> None:
    fragment = encode_exercise(exercises()["colour"])
    for cut in range(14, len(fragment)):
        with pytest.raises(LinkError, match="the link to an exercise cannot be read"):
            decode_exercise(fragment[:cut])
    for at in range(13, len(fragment), 7):
        changed = fragment[:at] + ("A" if fragment[at] != "A" else "B") + fragment[at + 1 :]
        with pytest.raises(LinkError):
            decode_exercise(changed)
    with pytest.raises(LinkError, match="no link to an exercise"):
        decode_exercise("c" + fragment[1:])


def test_error_for_a_link_that_unfolds_without_end() -> None:
    huge = EXERCISE.encode({"task": "a" * 10_000_000})
    assert len(huge) < 20_000
    with pytest.raises(LinkError, match="cannot be read"):
        decode_exercise(huge)


def test_error_for_a_link_to_something_else() -> None:
    with pytest.raises(ExerciseError, match="expected a text as 'task'"):
        decode_exercise(EXERCISE.encode({"regex": "a"}))
    assert Link.is_link(COURSE.encode({"title": "x"}))
    assert not Link.is_link("https://example.org/#g=2.abc.def")
