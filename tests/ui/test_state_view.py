from __future__ import annotations

import pytest

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import about_edge, draw_flags, draw_machine, find_states
from workbench.app.ui.state_view import about_state

LIST = "start ::= '[' (item (', ' item)*)? ']'; item ::= #'[0-9]{1,3}' | start;"
NESTED = {"text": LIST, "notation": "kbnf"}
TIME = {"text": "([01][0-9]|2[0-3]):[0-5][0-9]", "notation": "regex"}


@pytest.mark.parametrize("tab", ["characters", "tokens"])
def test_a_state_tells_what_it_reads_and_where_that_is_written(
    handlers: Handlers, tab: str
) -> None:
    reported = about_state(handlers, {**TIME, "tab": tab, "state": "3"})
    assert reported["ok"], reported
    assert reported["reads"] == ":"
    (place,) = reported["places"]
    assert TIME["text"][place["start"] : place["end"]] == ":"
    assert len(reported["reached"]) == 2


def test_the_first_state_of_a_rule_is_reached_by_its_call(handlers: Handlers) -> None:
    drawn = draw_machine(handlers, {**NESTED, "tab": "rules"})
    first = next(s["id"] for s in drawn["states"] if s["rule"] == "item" and "rule" in s["kinds"])
    reported = about_state(handlers, {**NESTED, "tab": "rules", "state": first})
    assert reported["reached"] == "["
    assert reported["places"]


def test_what_is_read_after_returning_is_told_apart(handlers: Handlers) -> None:
    """An expression in parentheses: what a state reads itself, and what its callers read."""
    text = "start ::= sum; sum ::= atom (#'[+-]' atom)*; atom ::= 'x' | '(' sum ')';"
    sent = {"text": text, "notation": "kbnf", "tab": "stack"}
    drawn = draw_machine(handlers, sent)
    ends = {
        state["rule"]: about_state(handlers, {**sent, "state": state["id"]})
        for state in drawn["states"]
        if "final" in state["kinds"]
    }
    reported = {rule: (each["reads"], each["returns"]) for rule, each in ends.items()}
    assert reported == {
        "start": ("", ""),
        "sum": ("[+\\-]", "`)`"),
        "atom": ("", "`)` `+` or `-`"),
    }
    assert ends["atom"]["places"] == []
    assert [place["what"] for place in ends["sum"]["places"]] == ["[+-]"]


def test_error_a_state_there_is_not(handlers: Handlers) -> None:
    assert about_state(handlers, {**TIME, "tab": "tokens", "state": "999"})["ok"] is False
    assert about_state(handlers, {**TIME, "tab": "characters", "state": "999"})["ok"] is False
    assert about_state(handlers, {**NESTED, "tab": "rules", "state": "999"})["ok"] is False
    assert about_state(handlers, {**NESTED, "tab": "stack", "state": "999999999"})["ok"] is False
    assert about_state(handlers, {**TIME, "tab": "characters", "state": "x y"})["ok"]
    assert about_state(handlers, {"text": "[", "notation": "regex", "state": "0"})["ok"] is False


def test_an_edge_tells_all_its_tokens(handlers: Handlers) -> None:
    sent = {**TIME, "tab": "together"}
    segments = [each for flag in draw_flags(handlers, sent)["flags"] for each in flag["segments"]]
    assert segments
    for segment in segments:
        reported = about_edge(handlers, {**sent, "parts": segment["parts"]})
        assert reported["count"] == segment["edge"]["count"]
        assert len(reported["tokens"]) == reported["count"]
    assert not about_edge(handlers, {**TIME, "tab": "tokens", "source": "77", "target": "0"})["ok"]
    refused = about_edge(handlers, {**sent, "parts": [99]})
    assert not refused["ok"]
    assert refused["why"]


@pytest.mark.parametrize(
    ("tab", "query", "reason"),
    [
        ("rules", "item", "the first of item"),
        ("rules", "[", "reads ["),
        ("rules", "0", "its number"),
        ("stack", "item", "the first of item"),
        ("tokens", "[", "reads ["),
    ],
)
def test_states_are_found(handlers: Handlers, tab: str, query: str, reason: str) -> None:
    found = find_states(handlers, {**NESTED, "tab": tab, "query": query})["found"]
    assert reason in [one["why"] for one in found]
    shown = draw_machine(handlers, {**NESTED, "tab": tab, "centre": found[0]["id"]})
    assert found[0]["id"] in {*shown["where"], *shown["names"]}


def test_a_chain_is_found_by_what_it_spells(handlers: Handlers) -> None:
    sent = {"text": "(name|value): [a-z]+;(one|two|three)", "notation": "regex"}
    found = find_states(handlers, {**sent, "tab": "characters", "query": "alu"})["found"]
    assert found


def test_nothing_is_found_quietly(handlers: Handlers) -> None:
    assert find_states(handlers, {**TIME, "tab": "characters", "query": "  "})["found"] == []
    assert find_states(handlers, {**TIME, "tab": "characters", "query": "zebra"})["found"] == []
    assert find_states(handlers, {"text": "[", "notation": "regex", "query": "0"})["found"] == []


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("q0", ["q0", "{q0, q1}", "{q0, q2}"]),
        ("q2", ["{q0, q2}"]),
        ("1", ["{q0, q1}"]),
        ("{q0, q1}", ["{q0, q1}"]),
    ],
)
def test_a_state_of_a_drawn_machine_is_found_by_its_name(
    handlers: Handlers, query: str, numbers: list[str]
) -> None:
    text = "initial q0\nfinal q2\nq0 -> q0 : a, b\nq0 -> q1 : a\nq1 -> q2 : b"
    sent = {"text": text, "notation": "machine", "query": query}
    for tab in ("characters", "tokens"):
        found = find_states(handlers, {**sent, "tab": tab})["found"]
        assert [one["number"] for one in found] == numbers
        assert {one["why"] for one in found} <= {"its name"}
