"""Lessons as the page asks for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.app.lessons.lesson_reader import lessons
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.lesson_view import (
    lesson,
    lesson_answer,
    lesson_figure,
    lesson_list,
    lesson_why,
)


def test_the_list_names_every_lesson_and_its_steps(handlers: Handlers) -> None:
    answer = lesson_list(handlers, {})
    assert [one["name"] for one in answer["lessons"]] == list(lessons())
    assert all(one["steps"] and one["aim"] for one in answer["lessons"])


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_travels_as_json_without_its_answers(handlers: Handlers, name: str) -> None:
    answer = lesson(handlers, {"lesson": name})
    assert answer["ok"]
    assert len(answer["pages"]) == len(answer["steps"])
    json.dumps(answer, allow_nan=False)
    asked = [page["question"] for page in answer["pages"] if page["question"]]
    assert all(set(question) == {"ask", "form", "options"} for question in asked)


@pytest.mark.parametrize("name", lessons())
def test_every_figure_becomes_a_picture(handlers: Handlers, name: str) -> None:
    pages = lesson(handlers, {"lesson": name})["pages"]
    for number, page in enumerate(pages):
        answer = lesson_figure(handlers, {"lesson": name, "step": number})
        assert answer["ok"] is page["figure"], answer
        if not answer["ok"]:
            assert answer["why"] == "this step has no figure"
            continue
        json.dumps(answer, allow_nan=False)
        for place, graph in enumerate(answer["graphs"]):
            assert graph["svg"].startswith("<svg")
            for frame in answer["frames"]:
                first = frame["only"] or 0  # the graph of the first view
                own = place - first
                view = frame["views"][own] if 0 <= own < len(frame["views"]) else None
                named = [*view["lit"], *view["arcs"], *(view["shown"] or [])] if view else []
                assert all(f'id="{one}"' in graph["svg"] for one in named)


def test_what_a_reader_types_is_read_by_the_engine(handlers: Handlers) -> None:
    sent = {"lesson": "tokens", "step": 1, "given": "fod", "again": True}
    answer = lesson_figure(handlers, sent)
    assert answer["graphs"] == []
    assert answer["opens_at"] == len(answer["frames"]) - 1
    assert answer["frames"][-1]["good"] is False


def test_what_a_reader_takes_moves_the_mask(handlers: Handlers) -> None:
    answer = lesson_figure(handlers, {"lesson": "tokens", "step": 2, "given": [0], "again": True})
    assert answer["taken"] == [0]
    assert [c["text"] for c in answer["frames"][-1]["choices"] if c["ok"]] == ["oo"]


def test_an_answer_is_judged(handlers: Handlers) -> None:
    sent = {"lesson": "tokens", "step": 2}
    assert lesson_answer(handlers, {**sent, "answer": [0, 2, 4]})["right"]
    wrong = lesson_answer(handlers, {**sent, "answer": [0, 2, 3, 4]})
    assert not wrong["right"]
    assert wrong["notes"] == [{"option": "for", "why": "reads fo, then needs 'o'"}]


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({}, "expected a lesson, not ''"),
        ({"lesson": 7}, "expected a text as lesson"),
        ({"lesson": "tokens"}, "expected the number of a step"),
        ({"lesson": "tokens", "step": 99}, "expected the number of a step"),
        ({"lesson": "tokens", "step": True}, "expected the number of a step"),
        ({"lesson": "tokens", "step": 1, "given": {}}, "expected a text or tokens"),
        ({"lesson": "tokens", "step": 1, "given": ["x"]}, "expected a text or tokens"),
        ({"lesson": "tokens", "step": 1, "given": "x" * 1000}, "has 1,000 characters"),
        ({"lesson": "tokens", "step": 2, "given": [-1]}, "expected tokens of this lesson"),
    ],
)  # fmt: skip
def test_bad_requests_become_sentences(handlers: Handlers, sent: dict[str, Any], why: str) -> None:
    answer = lesson_figure(handlers, sent)
    assert not answer["ok"]
    assert why in answer["why"]


@pytest.mark.parametrize("answer", [None, {}, [True], ["a"], [99], "x" * 300])
def test_bad_answers_become_sentences(handlers: Handlers, answer: Any) -> None:
    reported = lesson_answer(handlers, {"lesson": "tokens", "step": 2, "answer": answer})
    assert not reported["ok"]
    assert reported["why"]


def test_a_forbidden_token_is_explained_in_the_grammar_of_the_lesson(handlers: Handlers) -> None:
    names = [c["text"] for c in _choices(handlers, "masked", 0)]
    sent = {"lesson": "masked", "step": 0, "given": [names.index("["), names.index("1")]}
    reported = lesson_why(handlers, {**sent, "token": names.index("]]")})
    assert reported["ok"]
    assert [(cell["text"], cell["is"]) for cell in reported["cells"]] == [
        ("]", "read"),
        ("]", "fails"),
    ]
    reported = lesson_why(handlers, {**sent, "token": names.index("[")})
    text = lesson(handlers, {"lesson": "masked"})["pages"][0]["given"]["text"]
    marked = {text[span["start"] : span["end"]] for span in reported["spans"]}
    assert marked <= {",", "]", "[0-9]"}
    assert {",", "]"} <= marked


def _choices(handlers: Handlers, name: str, step: int) -> list[dict[str, Any]]:
    answer = lesson_figure(handlers, {"lesson": name, "step": step, "given": []})
    found: list[dict[str, Any]] = answer["frames"][0]["choices"]
    return found


@pytest.mark.parametrize(
    "sent",
    [{"given": [0], "token": 99}, {"given": "x", "token": 0}, {"given": [99], "token": 0}, {}],
)
def test_nothing_is_explained_of_what_is_no_token(handlers: Handlers, sent: dict[str, Any]) -> None:
    reported = lesson_why(handlers, {"lesson": "masked", "step": 0, **sent})
    assert reported == {"ok": False, "why": "expected tokens of this lesson"}


def test_a_schema_of_a_lesson_opens_as_it_was_laid_out_there(handlers: Handlers) -> None:
    pages = lesson(handlers, {"lesson": "json_schema"})["pages"]
    opened = [page["open"] for page in pages if page["open"]]
    compact = {"whitespace": "compact"}
    assert all(each["options"] == ({} if each["name"] else compact) for each in opened)
