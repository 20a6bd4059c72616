"""Runs whose text must end in its budget: requests, records, programs, reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.test_cli import needs_model
from tests.ui.toy import toy_room
from workbench.app.pipeline import Pipeline
from workbench.app.ui.compare_view import compare_records, compared_run
from workbench.app.ui.explain_view import explain_tokens, why
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.replay import ReplayRequest, drawn
from workbench.app.ui.runs import run_records, take_token, turn
from workbench.app.ui.takeaway import take_code
from workbench.base.limits import LIMITS

SENT = {
    "text": "start ::= '(' start* ')';", "notation": "kbnf", "prompt": "at ", "seed": 5,
    "temperature": 2.0, "max_tokens": 8, "finish": True, "small_tokens": True,
}  # fmt: skip


@pytest.fixture
def handlers() -> Handlers:
    return Handlers(toy_room())


def steps_of(handlers: Handlers, sent: dict[str, Any]) -> list[dict[str, Any]]:
    *steps, stop = (r for r in run_records(handlers, sent) if r["k"] in ("step", "stop"))
    assert stop["good"], stop
    return steps


@pytest.mark.parametrize("seed", range(6))
def test_a_run_ends_in_its_budget_and_says_what_it_needs(handlers: Handlers, seed: int) -> None:
    steps = steps_of(handlers, {**SENT, "seed": seed})
    budgets = [step["budget"] for step in steps]
    assert [each["left"] for each in budgets] == list(range(8, 8 - len(steps), -1))
    depth = 0
    for step, budget in zip(steps, budgets, strict=True):
        # a bracket for each open one, and the end
        assert budget["needs"] == (depth + 1 if step["i"] else 3)
        assert budget["needs"] <= budget["left"]
        depth += {"(": 1, ")": -1}.get(step["token"].get("text", ""), 0)


def test_at_most_counts_the_whole_text(handlers: Handlers) -> None:
    steps = steps_of(handlers, SENT)
    prefix = [step["id"] for step in steps[:3]]
    here = turn(handlers, {**SENT, "prefix": prefix})["next"]
    assert here["budget"] == steps[3]["budget"]
    again = steps_of(handlers, {**SENT, "prefix": prefix})
    assert [step["id"] for step in again] == [step["id"] for step in steps[3:]]
    taken = take_token(handlers, {**SENT, "prefix": prefix, "token": steps[3]["id"]})
    assert taken["step"]["budget"] == steps[3]["budget"]


def test_a_run_without_the_switch_has_no_gauge(handlers: Handlers) -> None:
    records = list(run_records(handlers, {**SENT, "finish": False}))
    assert not any("budget" in record for record in records)


def test_a_budget_that_is_too_small_says_how_many_are_needed(handlers: Handlers) -> None:
    (error,) = (r for r in run_records(handlers, {**SENT, "max_tokens": 2}) if r["k"] == "error")
    assert error["message"] == "the shortest text needs 3 tokens with the end token; at most is 2"
    assert error["hint"] == "allow 3 tokens or more, or clear 'must finish'"
    opening = handlers.room.model().vocabulary.ids("(")
    late = turn(handlers, {**SENT, "prefix": opening * 4, "max_tokens": 8})
    assert "the shortest text needs 5 tokens more; at most 4 may follow" in late["why"]
    assert "allow 9 tokens or more" in late["why"]


def test_free_text_counts_too(handlers: Handlers) -> None:
    part = {"opening": "[", "closing": "]", "budget": 5}
    steps = steps_of(handlers, {**SENT, "small_tokens": False, "max_tokens": 7, "reasoning": part})
    assert "free" in steps[0]
    assert steps[0]["budget"]["left"] == 7


def test_programs_end_in_the_budget_too(handlers: Handlers) -> None:
    code = take_code(handlers, {**SENT, "max_tokens": 12})
    assert "max_tokens=12, finish=True)" in code["python"]
    assert "constraint = wb.WithinBudget(constraint, 12)\n" in code["transformers"]
    assert "--finish" in code["shell"]
    assert "    finish=True,\n" in code["client"]
    plain = take_code(handlers, {**SENT, "finish": False})
    assert not any(word in "".join(plain.values()) for word in ("finish", "WithinBudget"))


def test_the_budget_is_a_reason(handlers: Handlers) -> None:
    sent = {**SENT, "small_tokens": False, "so_far": b"((".hex()}
    tokens = [b"(".hex(), b"x".hex(), None]
    reasons = explain_tokens(handlers, {**sent, "tokens": tokens})["reasons"]
    assert reasons[0] == "no text ends with the tokens left after it"
    assert "needs" in reasons[1]
    assert reasons[2] == "start is not finished"
    told = why(handlers, {**sent, "token": b"(".hex()})
    assert (told["allowed"], told["reason"]) == (
        False, "the grammar allows it, but no text ends with the tokens left after it",
    )  # fmt: skip
    replay = drawn(handlers, ReplayRequest.of(sent), [(b"(", [b"(", None])])
    assert replay["reasons"][0][0] == "no text ends with the tokens left after it"


def test_a_comparison_has_the_method(handlers: Handlers) -> None:
    sent = {**SENT, "methods": ["automaton", "finishing"], "max_tokens": 3, "seeds": 6}
    records = list(compare_records(handlers, {**sent, "prompts": ["at "]}))
    ended = [r for r in records if r["k"] == "ended"]
    assert len(ended) == 12
    assert all(r["valid"] for r in ended if r["method"] == "finishing")
    assert not all(r["valid"] for r in ended if r["method"] == "automaton"), "some are cut"


def test_a_run_of_the_comparison_opens_with_its_switch(handlers: Handlers) -> None:
    grammar = wb.Grammar.from_kbnf(SENT["text"])  # type: ignore[arg-type]
    model = handlers.room.model()
    constraint = wb.compile(grammar, model.vocabulary)
    run = wb.generate(model, constraint, "at ", max_tokens=4, finish=True)
    tokens = [step.token_id for step in run]
    opened = compared_run(
        handlers, {**SENT, "method": "finishing", "prefix": tokens, "max_tokens": 4}
    )
    assert opened["ok"], opened
    assert opened["finish"]
    assert opened["steps"][0]["budget"]["left"] == 4


PYDANTIC = (Path(__file__).parent.parent / "data" / "pydantic_schemas.jsonl").read_text("utf-8")


@needs_model
@pytest.mark.slow
def test_every_schema_of_pydantic_ends_with_the_defaults_of_the_page() -> None:
    handlers, ends = Handlers(ModelRoom()), {}
    for written in map(json.loads, PYDANTIC.splitlines()):
        prompt = f"{written['schema'].get('title', 'Task')} in JSON: "
        text = json.dumps(written["schema"], indent=2)
        sent = {"text": text, "notation": "json_schema", "prompt": prompt, "finish": True}
        ends[written["name"]] = [*run_records(handlers, sent)][-1]
    assert len(ends) == 20
    assert {name: end for name, end in ends.items() if not end.get("good")} == {}


def test_error_where_counting_takes_too_long_says_what_to_do() -> None:
    handlers = Handlers(toy_room(), Pipeline(replace(LIMITS, token_edges=1)))
    end = [*run_records(handlers, {**SENT, "text": "start ::= 'a' start 'b' | 'x';"})][-1]
    assert end["k"] == "error"
    assert "clear 'must finish'" in end["hint"]


def test_a_run_without_a_mask_is_cut(handlers: Handlers) -> None:
    """The model alone does not choose the end that a budget would force: no text is called valid."""
    sent = {**SENT, "constraint": "unconstrained", "small_tokens": False, "max_tokens": 3}
    ends = [[*run_records(handlers, {**sent, "seed": seed})][-1] for seed in range(6)]
    assert {end["reason"] for end in ends} <= {"token budget", "accepted"}
    assert any(end["reason"] == "token budget" for end in ends)


def test_error_where_tokens_are_not_counted_names_the_option(handlers: Handlers) -> None:
    schema = {"text": '{"type": "object"}', "notation": "json_schema", "finish": True}
    end = [*run_records(handlers, {**schema, "monitor": "keys"})][-1]
    assert end["k"] == "error"
    assert "clear 'must finish'" in end["hint"]
