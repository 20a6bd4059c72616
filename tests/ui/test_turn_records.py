from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.ui.toy import toy_vocabulary
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.opening_view import model_state
from workbench.app.ui.run_records import Record
from workbench.app.ui.runs import TOP, find_tokens, read_prompt, run_records, take_token, turn
from workbench.decoding.model import ToyModel
from workbench.vocabulary.vocabulary import Vocabulary

PERSON = {"text": '\\{"name": "[A-Za-z ]{1,9}"\\}', "notation": "regex", "seed": 3}


def steps_of(handlers: Handlers, sent: Record) -> list[Record]:
    return [record for record in run_records(handlers, sent) if record["k"] == "step"]


def without_times(step: Record) -> Record:
    return {key: value for key, value in step.items() if key != "ms"}


def test_stepping_writes_what_a_run_writes(handlers: Handlers) -> None:
    whole = steps_of(handlers, PERSON)
    prefix: list[int] = []
    stepped = []
    for _ in whole:
        answer = take_token(handlers, {**PERSON, "prefix": prefix})
        stepped.append(answer["step"])
        prefix.append(answer["step"]["id"])
    assert [without_times(s) for s in stepped] == [without_times(s) for s in whole]
    assert answer["next"]["k"] == "stop"
    assert answer["next"]["good"]


def test_turn_record_agrees_with_the_step_after_it(handlers: Handlers) -> None:
    whole = steps_of(handlers, PERSON)
    for index, step in enumerate(whole):
        prefix = [each["id"] for each in whole[:index]]
        reported = turn(handlers, {**PERSON, "prefix": prefix})["next"]
        assert reported["k"] == "turn"
        for key in ("i", "m", "kept", "allowed", "forced", "cut", "may_end"):
            assert reported[key] == step[key], key
        for key in ("wanted", "may"):
            assert reported[key][:TOP] == step[key], "a run lists fewer"
        for picture, path in reported["path"].items():
            assert path == step["path"][picture][:1], picture


def test_any_allowed_token_is_taken_from_the_first_on(handlers: Handlers) -> None:
    sent = {"text": "ab|ac|b", "notation": "regex", "prompt": "x"}
    answer = take_token(handlers, {**sent, "token": ord("b")})
    assert answer["step"]["token"]["text"] == "b"
    assert answer["next"]["may"][0]["end"], "only the end is left"
    assert answer["next"]["forced"]
    prefix = [answer["step"]["id"]]
    ended = take_token(
        handlers, {**sent, "prefix": prefix, "token": answer["next"]["may"][0]["id"]}
    )
    assert ended["step"]["token"]["end"]
    assert ended["next"]["reason"] == "forced end"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"text": "a", "notation": "regex", "token": ord("z")}, "not allowed here"),
        ({"text": "a", "notation": "regex", "token": "z"}, "a token id"),
        ({"text": "a", "notation": "regex", "prefix": [ord("z")]}, "not allowed"),
        ({"text": "a", "notation": "regex", "prefix": [10**9]}, "not in a vocabulary"),
        ({"text": "a", "notation": "regex", "prefix": ["a"]}, "a list of token ids"),
        ({"text": "a", "notation": "regex", "prefix": [1] * 3000}, "at most"),
        ({"text": "a[", "notation": "regex"}, "cannot be read"),
        ({"text": "a", "notation": "morse"}, "expected one of"),
    ],
)
def test_error_is_a_sentence(handlers: Handlers, sent: Record, why: str) -> None:
    answer = take_token(handlers, sent)
    assert not answer["ok"]
    assert why in answer["why"]


def test_a_search_finds_tokens_with_both_probabilities(handlers: Handlers) -> None:
    sent = {"text": "Ada|name", "notation": "regex", "query": "a"}
    found = find_tokens(handlers, sent)["found"]
    assert found[0]["text"] == "a"
    assert any(each["text"] == "Ada" and each["ok"] and each["rankm"] for each in found)
    for each in found:
        assert "a" in each["text"]
        assert (each["after"] > 0) == each["ok"]
        assert each["ok"] == (each["text"] in ("Ada", "name", "na", "nam"))
        assert 0 < each["before"] < 1
        assert each["rank"] >= 1
    likely = [each["before"] for each in found if each["text"].startswith("a")][1:]
    assert likely == sorted(likely, reverse=True)


def test_the_end_is_found_by_its_name(handlers: Handlers) -> None:
    found = find_tokens(handlers, {"text": "a", "notation": "regex", "query": "end"})["found"]
    assert found[0]["end"]
    assert not found[0]["ok"]


def test_several_end_tokens_are_one_row() -> None:
    one = toy_vocabulary()
    assert one.end is not None
    two = Vocabulary((*one.tokens, None), (one.end, len(one)))
    handlers = Handlers(ModelRoom("two ends", lambda _: ToyModel(two), lambda _: two))
    sent = {"text": "a?", "notation": "regex"}
    reported = turn(handlers, sent)["next"]
    assert (reported["allowed"], reported["may_end"]) == (2, True)
    (end,) = (each for each in reported["may"] if "end" in each)
    assert end["id"] == one.end
    assert not any(each["id"] == len(one) for each in reported["wanted"])
    for query in ("end", f"#{len(one)}"):
        (found,) = (
            e for e in find_tokens(handlers, {**sent, "query": query})["found"] if "end" in e
        )
        assert (found["id"], found["before"], found["ok"]) == (one.end, end["before"], True)
    logits = np.exp(ToyModel(two).logits(ToyModel(two).encode("")))
    assert end["before"] == pytest.approx(logits[-2:].sum() / logits.sum(), rel=1e-4)
    last = take_token(handlers, {**sent, "prefix": [ord("a")]})
    assert last["step"]["forced"]
    assert last["next"]["reason"] == "forced end"
    first = take_token(handlers, {**sent, "token": one.end})
    assert first["next"]["reason"] == "accepted"
    *_, stop = run_records(handlers, sent)
    assert (stop["k"], stop["good"]) == ("stop", True)


def test_probabilities_after_the_mask_are_those_before_over_what_is_kept(
    handlers: Handlers,
) -> None:
    reported = turn(handlers, {"text": "(Ada|name|x)+", "notation": "regex"})["next"]
    assert reported["m"] == pytest.approx(-math.log2(reported["kept"]), abs=1e-3)
    for each in [*reported["wanted"], *reported["may"]]:
        expected = each["before"] / reported["kept"] if each["ok"] else 0
        assert each["after"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_visitors_do_not_disturb_each_other(handlers: Handlers) -> None:
    asked = [{**PERSON, "seed": seed} for seed in range(6)]
    alone = [[s["id"] for s in steps_of(handlers, each)] for each in asked]

    def stepped(sent: dict[str, Any]) -> list[int]:
        prefix: list[int] = []
        while True:
            answer = take_token(handlers, {**sent, "prefix": prefix})
            prefix.append(answer["step"]["id"])
            if answer["next"]["k"] == "stop":
                return prefix

    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(stepped, asked))
    assert together == alone


class Short(ToyModel):
    """A model that can read four tokens."""

    context_length = 4


def test_the_end_of_what_a_model_can_read_is_an_end_with_a_name() -> None:
    short = Handlers(ModelRoom("short", lambda _: Short(toy_vocabulary()), toy_vocabulary))
    sent = {"text": "[a-z]{9}", "notation": "regex", "prompt": "xy"}
    reported = list(run_records(short, {**sent, "max_tokens": 9}))
    assert reported[-1]["reason"] == "model full"
    taken = [record["id"] for record in reported if record["k"] == "step"]
    assert len(taken) == 3, "the last one is not read"
    assert turn(short, {**sent, "prefix": taken})["next"]["reason"] == "model full"
    last = take_token(short, {**sent, "prefix": taken[:2]})
    assert last["step"] is not None
    assert last["next"]["reason"] == "model full"
    # a prompt of that length is read, a longer one is an error
    full = list(run_records(short, {**sent, "prompt": "1234", "max_tokens": 9}))
    assert [record["k"] for record in full][-2:] == ["step", "stop"]
    told = "the prompt has 5 tokens; the model reads at most 4"
    asked = {**sent, "prompt": "12345"}
    assert read_prompt(short, asked)["too_long"] == told
    assert read_prompt(short, {**asked, "prompt": "1234"})["too_long"] == ""
    assert (
        read_prompt(short, {**asked, "prompt": "1234", "hole": {"prefix": "5", "suffix": ""}})[
            "too_long"
        ]
        == told
    )
    assert model_state(short, {})["most"] == 4
    assert list(run_records(short, {**asked, "max_tokens": 9}))[-1]["message"] == told
    assert turn(short, asked)["why"].startswith(told)
    # a smaller budget is the run's own
    assert list(run_records(short, {**sent, "max_tokens": 2}))[-1]["reason"] == "token budget"


def test_end_is_reported_where_no_token_may_follow(handlers: Handlers) -> None:
    answer = turn(handlers, {"text": "", "notation": "regex"})
    assert answer["next"]["k"] == "turn", "the empty text is accepted: the end may be taken"
    assert answer["next"]["forced"]
