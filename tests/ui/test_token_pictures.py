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


def test_of_many_rules_those_that_tokens_lead_to_are_sent() -> None:
    """The record of a large grammar has the rules that may fit into the box, not all of them."""
    rules = [f"r{i} ::= '{chr(97 + i % 26)}' r{i + 1} | '(' r{i} ')';" for i in range(300)]
    text = "start ::= r0;\n" + "\n".join(rules) + "\nr300 ::= 'z';"
    sent = {"text": text, "notation": "kbnf", "tab": "together", "height": 400}
    for so_far in ("", "a(((b"):
        drawn = Handlers(toy_room()).draw({**sent, "so_far": so_far.encode().hex()})
        assert "token" in drawn["svg"]
        assert len({state["rule"] for state in drawn["states"]} - {""}) <= 20
        numbers = {state["id"] for state in drawn["states"]}
        assert all(edge["target"] in numbers for edge in drawn["edges"])


@pytest.mark.parametrize(("width", "height"), [(778, 409), (364, 473)])
def test_a_rule_higher_than_the_box_is_drawn_around_its_state(width: int, height: int) -> None:
    schema = (
        '{"properties": {"name": {"type": "string"}, "age": {"type": "integer"}, '
        '"tags": {"items": {"type": "string"}}, "home": {"type": "object"}}}'
    )
    sent = {"text": schema, "notation": "json_schema", "tab": "together"}
    box = {"width": width, "height": height}
    drawn = Handlers(toy_room()).draw({**sent, **box, "so_far": b"{".hex()})
    assert 'class="tokenmap fan' not in drawn["svg"]
    assert drawn["svg"].count('id="state-') >= 5
    assert drawn["current"] in {state["id"] for state in drawn["states"]}
