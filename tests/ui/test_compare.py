from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_cli import needs_model
from tests.ui.toy import toy_vocabulary
from workbench.app.ui.compare_opening import SAMPLES, Sample
from workbench.app.ui.compare_view import (
    compare_records,
    compared,
    compared_run,
    contender_list,
    distribution,
)
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.requests import MAX_TOKENS_IN_ALL, CompareRequest
from workbench.base.errors import WorkbenchError
from workbench.decoding.contenders import all_contenders, contenders_named
from workbench.decoding.exact_distribution import exact_comparison
from workbench.decoding.model import ToyModel
from workbench.decoding.transformers_model import load_model
from workbench.grammar.grammar import Grammar

TIME = {
    "text": "[0-9]{2}:[0-9]{2}",
    "notation": "regex",
    "prompts": ["the afternoon: "],
    "methods": ["unconstrained", "automaton"],
    "seeds": 2,
    "max_tokens": 6,
}


def records(handlers: Handlers, **changed: Any) -> list[dict[str, Any]]:
    return list(compare_records(handlers, {**TIME, **changed}))


def reported(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in found if record["k"] == kind]


def test_every_run_begins_writes_and_ends_in_its_turn(handlers: Handlers) -> None:
    found = records(handlers)
    assert found[-1]["k"] == "stop"
    assert [r["r"] for r in reported(found, "began")] == [0, 1, 2, 3]
    assert [r["r"] for r in reported(found, "ended")] == [0, 1, 2, 3]
    for number in range(4):
        own = [r["k"] for r in found if r.get("r") == number]
        assert own == ["began", *["step"] * (len(own) - 2), "ended"]


def test_run_record_agrees_with_its_text(handlers: Handlers) -> None:
    found = records(handlers)
    for end in reported(found, "ended"):
        steps = [r for r in reported(found, "step") if r["r"] == end["r"]]
        assert end["tokens"] == len(steps)
        assert end["interventions"] == sum("cut" in step for step in steps)
        assert end["forced_tokens"] == sum("forced" in step for step in steps)
        assert end["mask_bits"] == pytest.approx(sum(step["m"] for step in steps), abs=1e-3)
        masked = end["r"] % 2  # the second of two methods
        assert not masked or end["valid"]
    assert all(json.dumps(record, allow_nan=False) for record in found)


def test_method_that_does_not_apply_has_a_reason_and_the_others_continue(
    handlers: Handlers,
) -> None:
    nested = "start ::= '(' start? ')';"
    found = records(
        handlers, text=nested, notation="kbnf", methods=["outlines", "automaton"], seeds=1
    )
    (failed,) = reported(found, "failed")
    assert failed["r"] == 0
    assert "calls itself" in failed["why"]
    assert [end["r"] for end in reported(found, "ended")] == [1]


def test_a_comparison_ends_where_the_server_closes(handlers: Handlers) -> None:
    handlers = Handlers(handlers.rooms)
    going = compare_records(handlers, {**TIME, "seeds": 20})
    found = [next(going) for _ in range(4)]
    handlers.closing.set()
    found += list(going)
    assert not found[-1]["good"]
    assert "verdict" not in found[-1], "not all requested runs were compared"
    assert found[-1]["words"] == "ended because the server was closed"
    assert len(reported(found, "began")) < 40


def test_at_last_two_lines_say_what_the_runs_show(handlers: Handlers) -> None:
    texts, cost = records(handlers)[-1]["verdict"]
    assert "valid text" in texts
    assert "passes of the model per token" in cost


def test_the_same_prompt_twice_is_one(handlers: Handlers) -> None:
    assert len(reported(records(handlers, prompts=["a", "a", "b"], seeds=1), "ended")) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"methods": []}, "at least one method"),
        ({"methods": ["magic"]}, "no method 'magic'"),
        ({"methods": "automaton"}, "a list of methods"),
        ({"prompts": "hello"}, "a list of prompts"),
        ({"prompts": [str(i) for i in range(11)]}, "at most 10 prompts"),
        (
            {"seeds": 30, "max_tokens": 512, "prompts": list("abcde")},
            f"takes at most {MAX_TOKENS_IN_ALL:,}",
        ),
        ({"temperature": "hot"}, "a number as temperature"),
    ],
)
def test_error_for_requests_that_cannot_be_compared(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        CompareRequest.of({**TIME, **changed})


def test_error_a_grammar_that_cannot_be_read_is_the_last_record(handlers: Handlers) -> None:
    assert "cannot be read" in records(handlers, text="([")[-1]["message"]


def test_a_budget_is_what_the_model_can_read(handlers: Handlers) -> None:
    class Short(ToyModel):
        context_length = 12

    room = ModelRoom("x", lambda _: Short(toy_vocabulary()), toy_vocabulary)
    sent = {**TIME, "text": "[a-z]{300}", "seeds": 1, "max_tokens": 50}
    ended = reported(
        list(compare_records(Handlers(room), {**sent, "prompts": ["1234567890"]})), "ended"
    )
    assert {end["tokens"] for end in ended} == {3}, "the last token is never read"
    full = list(compare_records(Handlers(room), {**sent, "prompts": ["1" * 40]}))[-1]
    assert "the prompt has 40 tokens; the model reads at most 12" in full["message"]


def test_a_program_hears_of_runs_and_at_last_of_all_of_them(handlers: Handlers) -> None:
    *runs, last = compared(handlers, TIME)
    assert last["runs"] == runs
    assert [(run["method"], run["seed"]) for run in runs] == [
        ("unconstrained", 1),
        ("automaton", 1),
        ("unconstrained", 2),
        ("automaton", 2),
    ]
    assert all(len(run["text"]) == 5 and run["text"][2] == ":" for run in runs if run["valid"])
    assert list(compared(handlers, {**TIME, "methods": []}))[-1]["k"] == "error"


def test_every_method_is_offered_under_a_heading(handlers: Handlers) -> None:
    methods = contender_list(handlers, {})["methods"]
    assert [method["name"] for method in methods] == list(all_contenders())
    assert all(method["group"] and method["title"] and method["source"] for method in methods)
    assert {method["group"] for method in methods} == {
        "Baseline",
        "Koo, Liu & He 2024",
        "Tran-Thien 2024",
        "DOMINO 2024",
        "Willard & Louf 2023",
        "The model's own distribution",
        "Meaning",
        "Other systems",
    }
    assert max(len(method["title"]) for method in methods) <= 42, "one line of the list"
    assert sum(method["usual"] for method in methods) >= 2


def test_repeated_run_has_the_same_tokens_with_all_fields(handlers: Handlers) -> None:
    found = records(handlers)
    for number, method in enumerate(TIME["methods"][:2]):  # type: ignore[index]
        taken = [r for r in reported(found, "step") if r["r"] == number]
        answer = compared_run(
            handlers,
            {
                **TIME,
                "method": method,
                "prompt": "the afternoon: ",
                "prefix": [step["id"] for step in taken],
            },
        )
        assert answer["ok"], answer
        assert [step["id"] for step in answer["steps"]] == [step["id"] for step in taken]
        assert [step["s"] for step in answer["steps"]] == pytest.approx(
            [step["s"] for step in taken], abs=1e-3
        )
        assert answer["constraint"] == method


def test_tokens_the_mask_forbids_are_shown_without_it(handlers: Handlers) -> None:
    sent = {**TIME, "method": "automaton", "prompt": "", "prefix": [ord("x"), ord("y")]}
    answer = compared_run(handlers, sent)
    assert answer["ok"]
    assert answer["constraint"] == "unconstrained"


def test_error_for_a_run_of_an_unknown_method(handlers: Handlers) -> None:
    answer = compared_run(handlers, {**TIME, "method": "magic"})
    assert not answer["ok"]
    assert "magic" in answer["why"]


def test_the_distribution_of_a_finite_language(handlers: Handlers) -> None:
    answer = distribution(handlers, {**TIME, "text": "14:30|the|an"})
    assert answer["ok"], answer
    assert {one["text"] for one in answer["texts"]} == {"14:30", "the", "an"}
    names = [column["name"] for column in answer["columns"]]
    assert names[0] == "own"
    assert "automaton" in names
    for i in range(len(names)):
        assert sum(one["p"][i] for one in answer["texts"]) == pytest.approx(1)
    own = [one["p"][0] for one in answer["texts"]]
    assert own == sorted(own, reverse=True)
    masked = [one["p"][names.index("automaton")] for one in answer["texts"]]
    distance = sum(abs(p - q) for p, q in zip(own, masked, strict=True)) / 2
    assert answer["columns"][names.index("automaton")]["total_variation"] == pytest.approx(
        distance, abs=1e-3
    )


def test_who_chooses_among_less_than_its_mask_has_no_distribution_here(handlers: Handlers) -> None:
    answer = distribution(handlers, {**TIME, "text": "a|b", "methods": ["picard", "automaton"]})
    assert "fewer tokens" in answer["failed"]["picard"]
    assert "picard" not in {column["name"] for column in answer["columns"]}


def test_the_distance_by_passes_of_methods_that_converge(handlers: Handlers) -> None:
    methods = ["automaton", "asap", "cars", "particles", "awrs"]
    answer = distribution(handlers, {**TIME, "text": "14:30|the|an", "methods": methods})
    assert [curve["name"] for curve in answer["curves"]] == [
        "automaton",
        "asap",
        "cars",
        "particles",
    ]
    for curve in answer["curves"]:
        passes = [passes for passes, _ in curve["points"]]
        assert passes == sorted(set(passes))
        assert all(0 <= far <= 1 for _, far in curve["points"])
        assert curve["texts"] > 1
    assert {"asap", "particles"} == set(answer["failed"])
    names = [column["name"] for column in answer["columns"]]
    assert answer["columns"][names.index("cars")]["total_variation"] == 0
    masked = answer["columns"][names.index("automaton")]["total_variation"]
    awrs = answer["columns"][names.index("awrs")]["total_variation"]
    assert awrs == pytest.approx(masked)


def test_no_curves_without_such_a_method(handlers: Handlers) -> None:
    answer = distribution(handlers, {**TIME, "text": "a|b", "methods": ["automaton"]})
    assert answer["curves"] == []


def test_texts_after_the_likeliest_are_summed(handlers: Handlers) -> None:
    answer = distribution(handlers, {**TIME, "text": "[a-z][a-e]"})
    assert answer["count"] == 130
    assert len(answer["texts"]) < 130
    whole = [sum(one["p"][i] for one in answer["texts"]) + answer["others"][i] for i in range(2)]
    assert whole == pytest.approx([1, 1])


def test_an_infinite_language_has_no_such_distribution(handlers: Handlers) -> None:
    answer = distribution(handlers, {**TIME, "text": "a+"})
    assert not answer["ok"]
    assert "finite" in answer["why"]


def test_failing_model_is_reported(handlers: Handlers) -> None:
    class Broken(ToyModel):
        def logits(self, token_ids: Any) -> Any:
            raise WorkbenchError("the model broke")

    room = ModelRoom("x", lambda _: Broken(toy_vocabulary()), toy_vocabulary)
    found = list(compare_records(Handlers(room), TIME))
    assert {record["why"] for record in reported(found, "failed")} == {"the model broke"}
    assert found[-1]["k"] == "stop"


@pytest.mark.slow
@needs_model
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.title)
def test_methods_differ_on_the_examples_of_the_page(sample: Sample) -> None:
    methods = contenders_named(["automaton", "proper"])
    grammar = Grammar.from_text(sample.text, sample.notation)
    compared = exact_comparison(load_model("builtin"), sample.prompt, grammar, methods, most=600)
    found = compared.as_record()
    apart = [abs(one["automaton"] - one["proper"]) for one in found["texts"]]
    assert sum(apart) / 2 > 0.05
    assert found["distances"]["automaton"]["total_variation"] > 0.2
