"""Pictures of the tokens that may follow: each edge has a flag, the state is that of the run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers

EXPRESSION = """start ::= expression;
expression ::= expression '+' expression | '(' expression ')' | number;
number ::= #'[1-9][0-9]{0,3}';"""


def after(text: str, centre: str = "") -> dict[str, Any]:
    sent = {"text": EXPRESSION, "notation": "kbnf", "tab": "together", "centre": centre}
    return Handlers(toy_room()).draw({**sent, "so_far": text.encode().hex()})


@pytest.mark.parametrize("text", ["", "5", "51", "5+", "(7"])
def test_each_token_edge_has_a_flag(text: str) -> None:
    drawn = after(text)
    edges = {str(i) for i, edge in enumerate(drawn["edges"]) if "token" in edge["kinds"]}
    flags = re.findall(r'class="label flag[^"]*" data-edges="(\d+)"', drawn["svg"])
    assert set(flags) == edges
    assert edges


def test_text_with_several_readings_is_shown_at_the_requested_state() -> None:
    first = after("5")
    others = {node["id"] for node in first["states"] if node["kinds"]} - {first["current"]}
    shown = {after("5", state)["current"] for state in others}
    assert len(shown) > 1  # "5" can end in start, in expression and in number
    assert after("5", "no state")["current"] == first["current"]
