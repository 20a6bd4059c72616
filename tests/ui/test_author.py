"""The author's requests about a grammar, and malformed requests."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workbench.app.ui import author
from workbench.app.ui.grammar_view import check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import draw_machine

JSON = {
    "text": "start ::= '[' (start (',' start)*)? ']' | digits;\ndigits ::= #'[0-9]+';\nold ::= 'x';",
    "notation": "kbnf",
}
REGEX = {"text": "a(b|c)[0-9]{2}", "notation": "regex"}

QUESTIONS = [
    author.lint_grammar,
    author.time_mask,
    author.outline_rules,
    author.sample_texts,
    author.draw_railroad,
]


def test_lint_has_more_advice_than_compile(handlers: Handlers) -> None:
    answer = author.lint_grammar(handlers, JSON)
    reported = [(one["severity"], one["message"], one["fix"]) for one in answer["problems"]]
    assert reported[0] == (
        "warning",
        "this repetition of digits has no end: a model may never leave it",
        "[0-9]{1,8}",
    )
    assert ("note", "the rule 'old' is never used", "") in reported
    assert {one["severity"] for one in answer["problems"]} == {"warning", "note"}


def test_bound_of_the_search_is_reported(handlers: Handlers) -> None:
    answer = author.lint_grammar(
        handlers, {"text": "start ::= 'a' start 'b' | 'c' start | 'd';", "notation": "kbnf"}
    )
    assert answer["problems"] == []
    assert answer["searched"].startswith("no ambiguity found in texts of up to ")


def test_the_first_mask_is_timed(handlers: Handlers) -> None:
    answer = author.time_mask(handlers, JSON)
    assert [phase["name"] for phase in answer["phases"]] == ["tokens", "first mask"]
    assert all(phase["ms"] >= 0 for phase in answer["phases"])


def test_an_unfinished_grammar_is_drawn_as_far_as_it_can_be_read(handlers: Handlers) -> None:
    draft = {
        "text": "start ::= '{' pair rest '}';\nbroken ::= (;\nrest ::= broken;",
        "notation": "kbnf",
    }
    compiled = compile_grammar(handlers, draft)
    assert (compiled["ok"], compiled["drawable"]) == (False, True)
    assert [one.get("missing_rule") for one in compiled["problems"]] == ["pair ::= 'pair';", None]
    assert compiled["problems"][1]["rule"] == {"start": 29, "end": 42}
    answer = author.draw_railroad(handlers, draft)
    assert answer["count"] == "2 rules, 2 missing"
    boxes = re.findall(r"<g [^>]*non-terminal[^>]*>", answer["svg"])
    dashed = {re.sub(r'.*data-rule="(\w+)".*', r"\1", one) for one in boxes if "absent" in one}
    assert dashed == {"pair", "broken"}
    assert len(boxes) == 3
    assert "drawable" not in compile_grammar(handlers, {"text": "start ::= (;", "notation": "kbnf"})


def test_an_outline_has_places_of_the_text(handlers: Handlers) -> None:
    answer = author.outline_rules(handlers, JSON)
    rules = {rule["name"]: rule for rule in answer["rules"]}
    assert rules["start"]["flags"] == ["start", "recursive"]
    assert rules["digits"]["flags"] == ["regular"]
    assert rules["old"]["flags"] == ["unused", "regular"]
    assert rules["start"]["calls"] == ["start", "digits"]
    assert rules["digits"]["called_by"] == ["start"]
    for rule in answer["rules"]:
        for place in (*rule["places"], *rule["references"]):
            assert JSON["text"][place["start"] : place["end"]] == rule["name"]


def test_a_regex_has_no_rules(handlers: Handlers) -> None:
    assert author.outline_rules(handlers, REGEX) == {"ok": True, "rules": [], "left_out": 0}


@pytest.mark.parametrize("sent", [JSON, REGEX], ids=["rules", "regex"])
def test_samples_are_tests_that_pass(handlers: Handlers, sent: dict[str, Any]) -> None:
    answer = author.sample_texts(handlers, {**sent, "seed": 4})
    assert len(answer["texts"]) == author.SAMPLES
    texts = [*answer["texts"], *(miss["text"] for miss in answer["misses"])]
    results = check_texts(handlers, {**sent, "texts": texts})["results"]
    accepted = [result["accepted"] for result in results]
    assert accepted == [True] * author.SAMPLES + [False] * len(answer["misses"])
    assert author.sample_texts(handlers, {**sent, "seed": 5})["texts"] != answer["texts"]
    assert author.sample_texts(handlers, {**sent, "seed": 4}) == answer


def test_a_railroad_has_the_shape_of_a_picture(handlers: Handlers) -> None:
    drawn = draw_machine(handlers, {**REGEX, "tab": "characters"})
    answer = author.draw_railroad(handlers, REGEX)
    missing = {"svg", "count", "note", "states", "edges", "follow", "partial"} - set(answer)
    assert answer["ok"]
    assert drawn["ok"]
    assert not missing
    assert author.draw_railroad(handlers, JSON)["count"] == "3 rules"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"text": "(", "notation": "regex"}, "cannot be read"),
        ({"text": "", "notation": "kbnf"}, "nothing there"),
        ({"text": 5}, "no text"),
        ({"text": "a", "notation": "latin"}, "no notation"),
        ({"text": "a" * 60_000}, "too long"),
    ],
)
def test_error_bad_requests_are_answered(
    handlers: Handlers, question: Any, sent: dict[str, Any], why: str
) -> None:
    answer = question(handlers, sent)
    assert answer["ok"] is False, why
    assert answer.get("why") or answer["problems"][0]["message"]
