"""Pictures of the tokens that may follow: each edge has a flag, the state is that of the run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import about_edge, draw_flags, draw_machine
from workbench.app.ui.runs import turn

EXPRESSION = """start ::= expression;
expression ::= expression '+' expression | '(' expression ')' | number;
number ::= #'[1-9][0-9]{0,3}';"""


def after(text: str, centre: str = "") -> dict[str, Any]:
    sent = {"text": EXPRESSION, "notation": "kbnf", "tab": "together", "centre": centre}
    return draw_flags(Handlers(toy_room()), {**sent, "so_far": text.encode().hex()})


@pytest.mark.parametrize("text", ["", "5", "51", "5+", "(7"])
def test_each_flag_stands_in_the_picture(text: str) -> None:
    sent = {"text": EXPRESSION, "notation": "kbnf", "tab": "together"}
    drawn = draw_machine(Handlers(toy_room()), sent)
    states = {f"state-{node['id']}" for node in drawn["states"]}
    edges = {f"edge-{number}" for number in range(len(drawn["edges"]))}
    flags = after(text)["flags"]
    assert flags
    for flag in flags:
        assert f"state-{flag['anchor']}" in states
        assert flag["place"] in states | edges


def test_text_with_several_readings_is_shown_at_the_requested_state() -> None:
    first = after("5")
    drawn = draw_machine(
        Handlers(toy_room()), {"text": EXPRESSION, "notation": "kbnf", "tab": "together"}
    )
    others = {node["id"] for node in drawn["states"] if node["kinds"]} - {first["state"]}
    shown = {after("5", state)["state"] for state in others}
    assert len(shown) > 1  # "5" can end in start, in expression and in number
    assert after("5", "no state")["state"] == first["state"]


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
    shown = draw_flags(handlers, {**sent, "masked": own})
    flags = sum(flag["tokens"] for flag in shown["flags"])
    assert flags == answer["next"]["allowed"]
    every = exact["next"]["allowed"]
    more = f"this run allows {flags:,} of {every:,} tokens"
    assert shown["count"] in (more, f"{flags:,} token{'s' * (flags != 1)} may follow")
    assert (shown["count"] == more) == (flags < every)
    segment = shown["flags"][0]["segments"][0]
    listed = about_edge(
        handlers, {**sent, "masked": own, "parts": segment["parts"], "source": "", "target": ""}
    )
    assert listed["count"] == segment["edge"]["count"]
