"""Pictures of the tokens that may follow: each edge has a flag, the state is that of the run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import about_edge
from workbench.app.ui.runs import turn

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


#: ``": "`` crosses the border of two terminals: DOMINO with k = 0 forbids it, as small tokens do.
BORDERS = {
    "regular": "start ::= '{\"' 'name' '\":' ' \"' #'[a-z]+' '\"]'?;",
    "stack": "start ::= '{\"' 'name' '\":' list; list ::= ' \"' #'[a-z]+' | '[' list ']';",
}


@pytest.mark.parametrize("grammar", BORDERS)
@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        *(({"constraint": "domino", "lookahead": 0}, text) for text in ("", "{", '{"name')),
        *(({"small_tokens": True}, text) for text in ("", "{", '{"name')),
        *(({"finish": True, "max_tokens": 14}, text) for text in ("", "{", '{"name": "')),
        ({"constraint": "template"}, ""),
    ],
    ids=str,
)
def test_a_run_with_a_stricter_method_shows_its_own_tokens(
    grammar: str, settings: dict[str, Any], taken: str
) -> None:
    """The flags are the tokens of the step's own mask, which are fewer than the grammar's."""
    handlers, prefix = Handlers(toy_room()), list(taken.encode())
    sent = {"text": BORDERS[grammar], "notation": "kbnf", "tab": "together"}
    own = {"prompt": "", "prefix": prefix, "constraint": "automaton", **settings}
    answer = turn(handlers, {**sent, **own})
    exact = turn(handlers, {**sent, "prompt": "", "prefix": prefix})
    sent["so_far"] = taken.encode().hex()
    if grammar == "regular":
        sent["centre"] = exact["next"]["path"]["characters"][0][0]
    drawn = handlers.draw({**sent, "masked": own})
    flags = sum(drawn["edges"][int(edge)]["count"] for edge in drawn["parts"])
    assert flags == answer["next"]["allowed"]
    every = exact["next"]["allowed"]
    more = f"this run allows {flags:,} of the grammar's {every:,} tokens"
    assert drawn["count"] in (more, f"{flags:,} token{'s' * (flags != 1)} may follow")
    assert (drawn["count"] == more) == (flags < every)
    edge = next(iter(drawn["parts"]))
    listed = about_edge(
        handlers, {**sent, "masked": own, "parts": drawn["parts"][edge], "source": "", "target": ""}
    )
    assert listed["count"] == drawn["edges"][int(edge)]["count"]


@pytest.mark.parametrize(
    ("text", "scale"), [("ab", 1.4), ("[ab]{3}c?", 1.2), ("abcdefghijkl", 1.0)]
)
def test_tokens_over_a_small_machine_are_in_the_middle_and_enlarged(
    text: str, scale: float
) -> None:
    sent = {"text": text, "notation": "regex", "tab": "together", "width": 700, "height": 310}
    drawn = Handlers(toy_room()).draw(sent)
    opening = drawn["opening"]
    assert opening["scale"] == scale
    places = [float(x) for x in re.findall(r'<ellipse cx="([\d.]+)"', drawn["svg"])]
    left = (min(places) - opening["x"]) * scale
    right = 700 - (max(places) - opening["x"]) * scale
    if scale > 1:
        assert abs(left - right) < 80, "about as much room on both sides"
        assert right > 60, "the buttons are there"
