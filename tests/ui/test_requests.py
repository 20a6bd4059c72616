from __future__ import annotations

from typing import Any

import pytest

from workbench.app.ui.grammar_view import CheckRequest
from workbench.app.ui.request_fields import MAX_TEXT_CHARACTERS, text_in
from workbench.app.ui.requests import MAX_RUN_TOKENS, MAX_TRIED_TEXTS, RunRequest, TextRequest
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation


def test_a_grammar_as_the_editor_sends_it() -> None:
    assert TextRequest.of({"text": "a+", "notation": "kbnf"}) == TextRequest(
        text="a+", notation=Notation.KBNF
    )


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"text": 3}, "expected a text as text"),
        ({"text": None}, "expected a text as text"),
        ({"text": "a" * (MAX_TEXT_CHARACTERS + 1)}, "this page takes at most 50,000"),
        (
            {"text": "a", "notation": "perl"},
            "expected one of regex, kbnf, json_schema, .*, not 'perl'",
        ),
        ({"text": "a", "notation": ["regex"]}, "expected one of"),
    ],
)
def test_error_for_a_malformed_grammar_request(sent: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        TextRequest.of(sent)


def test_a_lone_surrogate_becomes_something_utf8_can_hold() -> None:
    text_in({"text": "a\ud83d"}, "text").encode("utf-8")


def test_at_most_so_many_texts_are_tried() -> None:
    assert len(CheckRequest.of({"texts": ["x"] * 500}).texts) == MAX_TRIED_TEXTS


@pytest.mark.parametrize("texts", ["abc", [1], [None], {"a": 1}])
def test_error_texts_that_are_none(texts: object) -> None:
    with pytest.raises(WorkbenchError):
        CheckRequest.of({"texts": texts})


def test_the_numbers_of_a_run_are_held_within_bounds() -> None:
    sent = {"text": "a", "max_tokens": 10**9, "temperature": -3, "seed": 1.7}
    request = RunRequest.of(sent)
    assert request.max_tokens == MAX_RUN_TOKENS
    assert request.sampling.temperature == 0
    assert request.sampling.seed == 1
    stages = {"top_k": 2.7, "top_p": 7, "min_p": -1, "repetition_penalty": 0}
    sampling = RunRequest.of({"text": "a", **stages}).sampling
    assert (sampling.top_k, sampling.top_p, sampling.min_p) == (2, 1, 0)
    assert sampling.repetition_penalty == 0.1
    unset = RunRequest.of({"text": "a", **dict.fromkeys(stages)}).sampling
    assert unset == RunRequest.of({"text": "a"}).sampling


@pytest.mark.parametrize(
    "sent",
    [
        {"temperature": "hot"},
        {"temperature": float("nan")},
        {"top_k": "all"},
        {"min_p": [0.1]},
        {"seed": True},
        {"max_tokens": None},
        {"prefix": "abc"},
        {"prefix": [1.5]},
        {"constraint": "../etc"},
        {"constraint": ["automaton"]},
        {"prompt": 5},
        {"small_tokens": "yes"},
        {"draft": ["toy"]},
        {"draft": "x" * 501},
    ],
)
def test_error_for_a_malformed_run_request(sent: dict[str, Any]) -> None:
    with pytest.raises(WorkbenchError):
        RunRequest.of({"text": "a", **sent})
