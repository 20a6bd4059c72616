"""All stages of a request of the page share the seconds that one compilation may take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.pipeline import Pipeline
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.picture_view import draw_machine
from workbench.app.ui.questions import QUESTIONS
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.decoding.model import Logits, ToyModel
from workbench.vocabulary.vocabulary import TokenId


def endless(_: Handlers, __: dict[str, Any]) -> dict[str, Any]:
    """Operations that each begin with a clock of their own."""
    while True:
        LIMITS.clock().check()


def test_the_stages_of_a_request_share_its_seconds() -> None:
    handlers = Handlers(ModelRoom("toy"), Pipeline(Limits(seconds=0.05)))
    with pytest.raises(Exception, match="seconds"):
        handlers.within_budget(endless)(handlers, {})


class Slow(ToyModel):
    """A model that computes for longer than a request may."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        began = time.thread_time()
        while time.thread_time() - began < 1.1:
            pass
        return super().logits(token_ids)


@pytest.mark.slow
def test_forward_passes_are_not_part_of_the_budget() -> None:
    quick, slow = (
        Handlers(toy_room(kind), Pipeline(Limits(seconds=1.0))) for kind in (ToyModel, Slow)
    )
    sent = {
        "text": "[ab]c",
        "notation": "regex",
        "constraint": "online",
        "methods": ["online"],
    }
    for name in ("take_token", "distribution"):
        QUESTIONS[name](quick, sent)  # imports what it needs
        answer = slow.within_budget(QUESTIONS[name])(slow, sent)
        assert isinstance(answer, dict)
        assert answer["ok"], answer
        assert not answer.get("failed"), answer


@pytest.mark.slow
def test_a_picture_of_many_edges_ends_with_the_seconds_of_its_request() -> None:
    """Every rule of these may be left out, so an edge leads from each state to all later ones."""
    names = [f"n{i}" for i in range(200)]
    rules = "".join(
        f"{one} ::= {other}? 'a'?;\n"
        for one, other in zip(names, names[1:] + names[:1], strict=True)
    )
    sent = {"text": f"start ::= {' '.join(names)};\n{rules}", "notation": "kbnf"}
    handlers = Handlers(toy_room())
    assert compile_grammar(handlers, sent)["ok"]
    began = time.thread_time()
    with time_budget(0.5):
        answer = draw_machine(handlers, {**sent, "tab": "together"})
    assert answer["why"].startswith("needs more than 0.5 seconds")
    assert time.thread_time() - began < 5  # the layout alone takes more than a minute


def test_error_a_machine_of_rules_that_takes_too_long_names_railroad(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A regex has no railroad diagram: there the hint is the limit's own."""
    handlers = Handlers(toy_room(ToyModel))
    nested = {"text": "start ::= '(' start ')' | 'a';", "notation": "kbnf", "tab": "stack"}
    regex = {"text": "ab*", "notation": "regex", "tab": "characters"}
    assert draw_machine(handlers, nested)["ok"]
    assert draw_machine(handlers, regex)["ok"]

    def slow(*_: object, **__: object) -> None:
        raise LimitError("needs more than 2.0 seconds", "seconds", "simplify it")

    monkeypatch.setattr("workbench.app.ui.picture_view.picture", slow)
    assert draw_machine(handlers, nested)["why"].endswith(
        "Railroad draws the rules without their machine"
    )
    assert draw_machine(handlers, regex)["why"].endswith("simplify it")
