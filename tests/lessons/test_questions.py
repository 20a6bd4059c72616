"""Answers of every kind, and what the engine says to them."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.app.lessons.lesson import Kind, LessonError
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.questions import question
from workbench.grammar.notations import Notation

FOO = World(text="(foo)+d", tokens=("f", "oo", "foo", "for", "food"))

WRITE = Kind("write", {"length": 4})
REJECTED = Kind("write", {"accepted": False})
CUT = Kind("cut", {"text": "foofood", "refuse": ["foo food"]})
STATES = Kind("number", {"of": "states of the automaton", "hint": "Count."})
BITS = Kind(
    "number",
    {"of": "surprisal", "token": "foo"},
    world=World(text="foo|f", tokens=("foo", "f"), chances={"": {"foo": 0.3, "f": 0.7}}),
)
POINT = World(
    notation=Notation.DATACLASS, text="@dataclass\nclass P:\n    x: int\n    y: float = 0.0\n"
)
SAME_VALUE = Kind("same value", {"text": "P(x=1, y=0.0)"}, world=POINT)
TOKENS = Kind("tokens", {"after": "foo"})


@pytest.mark.parametrize(
    ("kind", "answer", "right", "said"),
    [
        (WRITE, "food", True, "Right: the machine accepts food."),
        (WRITE, "foo", False, "foo has 3 characters, not 4."),
        (WRITE, "fooo", False, "The machine rejects it: it fails at column 4: expected [df]."),
        (WRITE, "", False, "nothing has 0 characters, not 4."),
        (REJECTED, "x", True, "Right: the machine rejects x."),
        (REJECTED, "food", False, "The machine accepts it; write one that it rejects."),
        (SAME_VALUE, "P(x=1, y=0e9)", True, "Right: both have the value P(x=1, y=0.0)."),
        (SAME_VALUE, "P(x=1)", True, "Right: both have the value P(x=1, y=0.0)."),
        (SAME_VALUE, "P(x=1, y=0.0)", False, "That one is in the question; find another."),
        (SAME_VALUE, "P(x=1, y=1)", False, "Its value is P(x=1, y=1.0), not P(x=1, y=0.0)."),
        (SAME_VALUE, "P(y=0)", False, "The machine rejects it: it fails at column 3: expected x."),
        (CUT, "f oo food", True, "Right: 2 sequences of tokens spell this text."),
        (CUT, "  f  oo food ", True, "Right: 2 sequences of tokens spell this text."),
        (CUT, "foo food", False, "That one is in the lesson; find another."),
        (CUT, "foo foo d", False, "d is no token of this vocabulary."),
        (CUT, "foo foo", False, "Your tokens spell foofoo, not foofood."),
        (CUT, "", False, "Your tokens spell nothing, not foofood."),
        (STATES, "5", True, "Right: 5."),
        (STATES, " 5 ", True, "Right: 5."),
        (STATES, "6", False, "Too many. Count."),
        (STATES, "4.9", False, "Too few. Count."),
        (STATES, "five", False, "Type a number."),
        (STATES, "nan", False, "Type a number."),
        (STATES, "1e999", False, "Type a number."),
        (BITS, "1.74", True, "Right: 1.74."),
        (BITS, "1,74", True, "Right: 1.74."),
        (BITS, "2", False, "Too much."),
        (TOKENS, [0, 2, 4], True, "Right."),
        (TOKENS, [0, 2], False, "Not yet: 1 is missing."),
        (TOKENS, [], False, "Not yet: 3 are missing."),
        (TOKENS, [0, 3], False, "Not yet: 1 of your choices is not right, and 2 are missing."),
    ],
)  # fmt: skip
def test_an_answer(kind: Kind, answer: Any, right: bool, said: str) -> None:
    reply = question(kind, FOO).judge(answer)
    assert (reply.right, reply.say) == (right, said)


def test_a_wrong_option_has_its_reason() -> None:
    reply = question(TOKENS, FOO).judge([1, 3, 5])
    assert reply.notes == (
        ("oo", "needs 'd' or 'f'"),
        ("for", "reads fo, then needs 'o'"),
        ("end", "the text may not end yet: it needs 'd' or 'f'"),
    )


@pytest.mark.parametrize("answer", ["f", [99], [-1], ["0"], [True]])
def test_error_for_what_is_no_option(answer: Any) -> None:
    with pytest.raises(LessonError, match="expected some of the options"):
        question(TOKENS, FOO).judge(answer)


def test_error_for_a_text_that_is_too_long() -> None:
    with pytest.raises(LessonError, match="expected a text of at most 200"):
        question(WRITE, FOO).judge("f" * 201)


def test_error_for_an_unknown_number() -> None:
    with pytest.raises(LessonError, match="expected a number, not 'beauty'"):
        question(Kind("number", {"of": "beauty"}), FOO).judge("1")
