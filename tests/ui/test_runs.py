from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

import workbench as wb
from tests.ui.toy import Paced, toy_room, toy_vocabulary
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.requests import RunRequest
from workbench.app.ui.run_records import WORDS, token_record
from workbench.app.ui.runs import run_records, take_token, text_facts
from workbench.base.errors import ModelError
from workbench.base.limits import budget_clock, check_time_budget, within
from workbench.decoding.model import ToyModel
from workbench.decoding.trace import StopReason

PERSON = {"text": '\\{"name": "[A-Za-z ]{1,9}"\\}', "notation": "regex", "seed": 3}


def records(handlers: Handlers, sent: dict[str, Any]) -> list[dict[str, Any]]:
    return list(run_records(handlers, sent))


def test_a_run_is_steps_and_an_end(handlers: Handlers) -> None:
    reported = records(handlers, PERSON)
    assert {record["k"] for record in reported[:-1]} <= {"status", "start", "step"}
    assert reported[-1]["k"] == "stop"
    assert reported[-1]["good"]
    steps = [record for record in reported if record["k"] == "step"]
    assert [step["i"] for step in steps] == list(range(len(steps)))
    text = "".join(step["token"].get("text", "") for step in steps)
    assert text.startswith('{"name": "')
    assert text.endswith('"}')


def test_step_record_is_consistent(handlers: Handlers) -> None:
    for step in records(handlers, PERSON):
        if step["k"] != "step":
            continue
        assert step["s"] == pytest.approx(-math.log2(step["p"]), rel=1e-3, abs=1e-3)
        assert step["m"] == pytest.approx(-math.log2(step["kept"]), rel=1e-3, abs=1e-3)
        assert step["forced"] == (step["allowed"] == 1)
        assert step["cut"] == (not step["wanted"][0]["ok"])
        assert step["sm"] == pytest.approx(max(0, step["s"] - step["m"]), abs=1e-3)
        assert step["pm"] == pytest.approx(2 ** -step["sm"], rel=1e-3)
        assert 1 <= step["rankm"] <= min(step["rank"], step["allowed"])
        assert set(step["ms"]) == {"model", "mask", "advance"}
        for listed in (step["may"], step["wanted"]):  # each is rounded to six digits
            assert sum(candidate["before"] for candidate in listed) <= 1 + 1e-6 * len(listed)
            assert sum(candidate["after"] for candidate in listed) <= 1 + 1e-6 * len(listed)
        # every candidate that is allowed is likelier after the mask than before
        assert all(candidate["after"] >= candidate["before"] - 1e-9 for candidate in step["may"])
        assert all((candidate["after"] > 0) == candidate["ok"] for candidate in step["wanted"])


def standing(moment: Any) -> Any:
    """The current states of a moment, or the boxes of a stack."""
    return moment["boxes"] if isinstance(moment, dict) else moment


def test_a_run_follows_its_pictures(handlers: Handlers) -> None:
    steps = [record for record in records(handlers, PERSON) if record["k"] == "step"]
    for before, after in pairwise(steps):
        for picture, path in before["path"].items():
            assert standing(path[-1]) == standing(after["path"][picture][0]), picture


def test_rules_being_read(handlers: Handlers) -> None:
    sent = {"text": "start ::= '<' inner '>'; inner ::= 'x' start? 'y';", "notation": "kbnf"}
    steps = [record for record in records(handlers, sent) if record["k"] == "step"]
    assert steps[0]["stack"] == ["start"]
    assert any(step["stack"] == ["start", "inner"] for step in steps)


def test_without_a_mask_a_run_may_leave_the_language(handlers: Handlers) -> None:
    sent = {**PERSON, "constraint": "unconstrained", "max_tokens": 40}
    steps = [record for record in records(handlers, sent) if record["k"] == "step"]
    assert not any(step["cut"] for step in steps)
    assert all(step["kept"] == pytest.approx(1) for step in steps)


@pytest.mark.parametrize(("text", "good"), [("14:30", True), ("14:3", False)])
def test_without_a_mask_the_grammar_judges_the_text(text: str, good: bool) -> None:
    wanted = "The train leaves at half past two in the afternoon: 14:30"
    room = ModelRoom("x", lambda _: ToyModel(toy_vocabulary(), wanted), toy_vocabulary)
    sent = {"text": text, "notation": "regex", "constraint": "unconstrained", "temperature": 0}
    last = records(Handlers(room), {**sent, "prompt": wanted[:-5]})[-1]
    assert last["reason"] == "accepted", "the model's own end"
    assert last["good"] is good
    assert ("accepts" if good else "rejects") in last["words"]


def test_run_continues_from_a_prefix(handlers: Handlers) -> None:
    whole = [record for record in records(handlers, PERSON) if record["k"] == "step"]
    prefix = [step["id"] for step in whole[:3]]
    rest = [
        record
        for record in records(handlers, {**PERSON, "prefix": prefix})
        if record["k"] == "step"
    ]
    assert [step["id"] for step in rest] == [step["id"] for step in whole[3:]]
    assert rest[0]["path"] == whole[3]["path"]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"text": "ab[", "notation": "regex"}, "the grammar cannot be read"),
        ({"text": "a", "notation": "regex", "constraint": "x"}, "expected one of automaton"),
        ({"text": "a", "notation": "regex", "prefix": [7]}, "not allowed"),
        ({}, "the grammar cannot be read"),
    ],
)
def test_error_is_the_last_record(handlers: Handlers, sent: dict[str, Any], message: str) -> None:
    last = records(handlers, sent)[-1]
    if sent:
        assert last["k"] == "error"
        assert message in last["message"]
    else:
        assert last["k"] in ("error", "stop")


def test_error_a_model_that_cannot_be_loaded() -> None:
    def broken(_: str) -> Any:
        raise ModelError("no such model", "name another")

    reported = list(run_records(Handlers(ModelRoom("x", broken, toy_vocabulary)), PERSON))
    assert reported[-1] == {"k": "error", "message": "no such model", "hint": "name another"}


def test_a_run_ends_where_the_server_closes() -> None:
    paced = Handlers(toy_room(Paced))
    run = run_records(paced, {**PERSON, "text": "[a-z]{200}", "max_tokens": 200})
    reported = [next(run) for _ in range(4)]
    paced.closing.set()
    reported += list(run)
    assert reported[-1]["reason"] == "stopped"
    assert reported[-1]["words"] == "ended because the server was closed"
    assert len(reported) < 100


def test_a_run_whose_client_left_ends_while_its_constraint_is_computed(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []

    def endless(*_: object) -> None:
        while True:
            checks.append(1)
            check_time_budget()

    def run() -> list[dict[str, Any]]:
        with within(clock):
            return records(handlers, PERSON)

    clock = budget_clock()
    monkeypatch.setattr(handlers, "compiled", endless)
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(run)
        while not checks:
            time.sleep(0.001)
        assert not ended.done()
        clock.end()
        assert ended.result(20) == []


def test_a_fault_of_ours_reaches_the_page_too() -> None:
    def broken(_: str) -> Any:
        raise RuntimeError("unforeseen")

    reported = list(run_records(Handlers(ModelRoom("x", broken, toy_vocabulary)), PERSON))
    assert reported[-1]["k"] == "error"
    assert "unforeseen" in reported[-1]["message"]


@pytest.mark.parametrize(
    ("token", "reported"),
    [
        (b"ab", {"id": 1, "text": "ab"}),
        ("é".encode(), {"id": 1, "text": "é"}),
        (b"\xe2\x82", {"id": 1, "hex": "e282"}),
        (None, {"id": 1, "text": "⟨special 1⟩"}),
    ],
)
def test_a_token_as_the_page_reads_it(token: bytes | None, reported: dict[str, Any]) -> None:
    assert token_record(1, token, toy_vocabulary()) == reported


def test_the_end_token_has_no_text() -> None:
    vocabulary = toy_vocabulary()
    assert vocabulary.end is not None
    assert token_record(vocabulary.end, None, vocabulary) == {"id": vocabulary.end, "end": True}


def test_every_reason_to_stop_has_words() -> None:
    assert WORDS.keys() == set(StopReason)


@pytest.mark.slow
def test_a_regex_whose_automaton_explodes_runs_all_the_same(handlers: Handlers) -> None:
    sent = {**PERSON, "text": "(a|b)*a(a|b){30}", "max_tokens": 5}
    reported = records(handlers, sent)
    assert [record for record in reported if record["k"] == "error"] == []
    steps = [record for record in reported if record["k"] == "step"]
    assert len(steps) == 5
    assert "outside" not in {step["state"] for step in steps}, "a lazy machine, followed too"


POINT = "@dataclass\nclass Point:\n    shape: Literal['a', 'b']\n    there: bool\n"

#   notation, text, options                                 the value of the text
VALUES = [
    ("json_schema", '{"const": ["a", null]}', {"whitespace": "compact"}, {"['a', None]"}),
    ("dataclass",   POINT,                  {},             {f"Point(shape='{c}', there={b})" for c in "ab" for b in (True, False)}),
    ("regex",       "[ab]",                 {},             {None}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("notation", "text", "options", "values"), VALUES)
def test_value_of_an_accepted_text(
    handlers: Handlers, notation: str, text: str, options: dict[str, str], values: set[str | None]
) -> None:
    end = records(handlers, {"text": text, "notation": notation, "options": options})[-1]
    assert end["good"]
    assert end.get("value") in values
    cut = records(handlers, {"text": text + " ", "notation": notation, "max_tokens": 1})[-1]
    assert cut["good"] or "value" not in cut


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        ({}, False),
        ({"constraint": "proper"}, True),
        ({"prompt": "the", "text": "er"}, False),
        ({"prompt": "", "text": "th[e]"}, True),
        ({"prompt": "", "text": "th[e]", "small_tokens": True}, False),
    ],
)
def test_other_tokens_than_the_tokenizers_are_reported_where_they_say_something(
    handlers: Handlers, sent: dict[str, Any], reported: bool
) -> None:
    request = RunRequest.of({"text": "a", "prompt": "the ", **sent})  # " a" is a token
    compiled, model = handlers.compiled(request), handlers.room.model()
    spelt = {"a": ["a"], "er": ["er"], "th[e]": ["t", "h", "e"]}[request.text]
    taken = model.vocabulary.ids(*spelt)
    constraint = wb.compile(compiled.readable(), model.vocabulary)
    facts = text_facts(model, compiled, request, constraint, taken, StopReason.ACCEPTED)
    assert (facts["proper"] is not None) == reported


def test_steps_have_every_stage_of_sampling(handlers: Handlers) -> None:
    stages = {"top_k": 3, "min_p": 0.05, "repetition_penalty": 1.5, "temperature": 0.8}
    sent = {**PERSON, **stages}
    names = ["model", "repetition penalty", "mask", "temperature", "top-k", "min-p"]
    steps = [record for record in records(handlers, sent) if record["k"] == "step"]
    for step in steps:
        assert step["stages"] == names
        for candidate in (*step["wanted"], *step["may"]):
            shares = candidate["after_stages"]
            assert len(shares) == len(names)
            assert shares[0] == pytest.approx(candidate["before"], rel=1e-3, abs=1e-9)
            assert (shares[2] > 0) == candidate["ok"] or candidate["before"] == 0
        drawn = [each["after_stages"][-1] for each in step["may"]]
        assert sum(drawn) == pytest.approx(1, abs=2e-3), "at most three tokens are drawn from"
        assert step["after_stages"][-1] > 0
    prefix = [step["id"] for step in steps[:2]]
    answer = take_token(handlers, {**sent, "prefix": prefix})
    assert answer["step"]["id"] == steps[2]["id"]
    assert answer["step"]["after_stages"] == steps[2]["after_stages"]
    assert answer["next"]["stages"] == names
    assert "after_stages" in answer["next"]["may"][0]


def test_the_mask_alone_has_no_table_of_stages(handlers: Handlers) -> None:
    for settings in ({"temperature": 1}, {"temperature": 0, "top_k": 3}):
        for step in records(handlers, {**PERSON, **settings}):
            assert "stages" not in step
            assert "after_stages" not in step
