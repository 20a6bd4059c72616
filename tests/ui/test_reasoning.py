"""Runs with free text before the grammar's: requests, records, programs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.requests import RunRequest
from workbench.app.ui.runs import run_records, take_token, turn
from workbench.app.ui.takeaway import take_code
from workbench.base.errors import WorkbenchError
from workbench.constraint.reasoning import Reasoning

PART = {"opening": "[", "closing": "]", "budget": 6}
SENT = {"text": "[0-9]{2}", "notation": "regex", "prompt": "at ", "seed": 5, "reasoning": PART}


@pytest.fixture
def handlers() -> Handlers:
    return Handlers(toy_room())


def test_a_run_has_a_free_part_then_a_text_of_the_grammar(handlers: Handlers) -> None:
    records = list(run_records(handlers, SENT))
    steps, stop = [r for r in records if r["k"] == "step"], records[-1]
    text = "".join(step["token"].get("text", "") for step in steps)
    free = "".join(step["token"]["text"] for step in steps if "free" in step)
    assert text.startswith("[")
    assert free.partition("]")[0] + "]" == text.partition("]")[0] + "]"
    read = "".join(bytes.fromhex(step["free"]).decode() for step in steps if "free" in step)
    answer = free.partition("]")[2] + text[len(free) :]
    assert read == free.partition("]")[2]
    assert (len(answer), answer.isdecimal()) == (2, True)
    assert stop["good"]
    assert all(step["loop"] is None for step in steps if "free" in step)


def test_the_pictures_follow_the_answer_alone(handlers: Handlers) -> None:
    steps = [r for r in run_records(handlers, SENT) if r["k"] == "step"]
    plain = {k: v for k, v in SENT.items() if k != "reasoning"}
    states = [r["state"] for r in run_records(handlers, plain) if r["k"] == "step"]
    assert {step["state"] for step in steps if step.get("free") == ""} == {states[0]}
    assert [step["state"] for step in steps if "free" not in step][-1] == states[-1]


def test_tokens_are_taken_by_hand(handlers: Handlers) -> None:
    assert turn(handlers, SENT)["next"]["free"] == ""
    (opening,) = handlers.room.model().vocabulary.ids("[")
    taken = take_token(handlers, {**SENT, "token": opening})
    assert taken["step"]["free"] == ""
    refused = take_token(handlers, {**SENT, "token": handlers.room.model().vocabulary.ids("1")[0]})
    assert "is not allowed here" in refused["why"]


def test_masks_of_the_free_part_are_computed_once(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Any] = []
    compute = Reasoning._mask

    def counted(*given: Any) -> Any:
        computed.append(given[1:])
        return compute(*given)

    monkeypatch.setattr(Reasoning, "_mask", counted)
    prefix = list(b"[ab")
    for length in range(len(prefix) + 1):
        assert turn(handlers, {**SENT, "prefix": prefix[:length]})["ok"]
    assert turn(handlers, {**SENT, "prefix": prefix, "prompt": "of "})["ok"]
    assert len(computed) == len(set(computed)) > 0
    assert turn(handlers, {**SENT, "reasoning": {**PART, "budget": 5}})["ok"]
    assert len(computed) > len(set(computed)), "another budget"


def test_programs_have_the_free_part(handlers: Handlers) -> None:
    code = take_code(handlers, SENT)
    line = 'constraint = wb.Reasoning(constraint, "[", "]", budget=6)'
    assert line in code["python"]
    assert line in code["transformers"]
    assert "--reasoning 6 --markers '[' ']'" in code["shell"]
    assert 'reasoning={"opening": "[", "closing": "]", "budget": 6}' in code["client"]
    for name in ("python", "transformers", "client"):
        compile(code[name], name, "exec")
    assert take_code(handlers, {**SENT, "code": "xgrammar"})["xgrammar"].startswith(
        "# this program"
    )


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("think", "expected reasoning with opening"),
        ({"opening": "<"}, "expected a closing marker"),
        ({**PART, "budget": "many"}, "expected a number as budget"),
        ({**PART, "closing": 3}, "expected a text as closing"),
    ],
)
def test_error_of_another_form(part: Any, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        RunRequest.of({**SENT, "reasoning": part})


def test_without_it_there_is_no_free_part(handlers: Handlers) -> None:
    request = RunRequest.of({**SENT, "reasoning": None})
    compiled, vocabulary = handlers.compiled(request), handlers.room.model().vocabulary
    assert not isinstance(request.machine(compiled, vocabulary), Reasoning)
