"""A text that is read under the mask, as the page asks for it."""

from __future__ import annotations

import pytest

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.run_records import Record
from workbench.app.ui.runs import read_text, take_token

SENT: Record = {"text": "[0-9]{2}:[0-9]{2}", "notation": "regex", "prompt": "at ", "temperature": 1}


def read(handlers: Handlers, text: str, **more: object) -> Record:
    answer = read_text(handlers, {**SENT, **more, "read": text})
    assert answer["ok"], answer
    return answer


#   text      marks of the tokens from the first refused one on    words
ENDS = [
    ("14:30",  [],                   "the grammar accepts this text"),
    ("14:3",   ["refused"],          "the text is not complete: the grammar needs more"),
    ("14:3x",  ["refused"],          "is refused"),
    ("x4:30",  ["refused", "alone"], "; the model alone scores the rest"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marks", "words"), ENDS)
def test_the_end_of_a_reading(handlers: Handlers, text: str, marks: list[str], words: str) -> None:
    answer = read(handlers, text)
    steps, end = answer["steps"], answer["end"]
    assert "".join(step["token"].get("text", "") for step in steps) == text
    found = [step["read"] for step in steps if "read" in step]
    assert found[:2] == marks
    assert set(found[1:]) <= {"alone"}
    assert words in end["words"]
    assert end["good"] is (not marks)
    assert end["reason"] == "read"


def test_its_steps_are_those_of_tokens_taken_by_hand(handlers: Handlers) -> None:
    steps = read(handlers, "14:30", temperature=0.7)["steps"]
    taken: list[int] = []
    for step in steps:
        other = take_token(
            handlers, {**SENT, "temperature": 0.7, "prefix": taken, "token": step["id"]}
        )
        del other["step"]["ms"]
        assert {key: step[key] for key in other["step"]} == other["step"]
        taken.append(step["id"])


def test_a_refused_token_has_no_probability_after_the_mask(handlers: Handlers) -> None:
    (refused,) = (s for s in read(handlers, "14:3x")["steps"] if s.get("read") == "refused")
    assert refused["pm"] == 0
    assert refused["sm"] is None
    assert refused["rankm"] == 0
    assert refused["p"] > 0


def test_error_for_a_long_text_and_for_none(handlers: Handlers) -> None:
    long = read_text(handlers, {**SENT, "read": "1" * 5000})
    assert long["ok"] is False
    assert "the text has 5,000 tokens; this page reads at most 1,024" in long["why"]
    none = read_text(handlers, {**SENT, "read": 5})
    assert "text" in none["why"]
