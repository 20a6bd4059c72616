from __future__ import annotations

import pytest

from workbench.drawing.counting import fold_counts
from workbench.drawn import Machine
from workbench.errors import WorkbenchError
from workbench.pipeline import Notation, compile_text
from workbench.ui.handlers import Handlers
from workbench.ui.pictures import View, picture, table

LONG = {
    "text": "(name|value): [a-z]{2,9};(one|two|three)x",
    "notation": "regex",
    "tab": "characters",
}


def test_chains_and_edges_are_folded_as_asked(handlers: Handlers) -> None:
    usual = handlers.draw(LONG)
    apart = handlers.draw({**LONG, "chains": False})
    assert len(apart["states"]) > len(usual["states"])
    assert not any(edge["inside"] for edge in apart["edges"])
    spread = handlers.draw({**LONG, "merged": False})
    assert len(spread["edges"]) >= len(usual["edges"])
    assert all(len(edge["labels"]) <= 1 for edge in spread["edges"])


def test_as_many_states_are_shown_as_asked(handlers: Handlers) -> None:
    sent = {**LONG, "chains": False}
    few = handlers.draw({**sent, "size": 5})
    assert len(few["states"]) <= 5
    assert few["partial"]
    assert len(handlers.draw({**sent, "size": 60})["states"]) > 20


def test_the_direction_is_what_is_asked_for() -> None:
    assert View.of({"narrow": True}).direction == "TB"
    assert View.of({"narrow": True, "direction": "LR"}).direction == "LR"
    assert View.of({"direction": "TB"}).direction == "TB"
    assert View.of({"size": 1e9}).size <= 200


@pytest.mark.parametrize("sent", [{"size": "many"}, {"direction": 3}, {"centre": ["0"]}])
def test_error_a_view_no_browser_asks_for(sent: dict[str, object]) -> None:
    with pytest.raises(WorkbenchError):
        View.of(sent)


def test_states_inside_an_edge_stand_in_order(handlers: Handlers) -> None:
    drawn = handlers.draw(
        {
            "text": "start ::= 'abcdefghijklmnopqrstuvw' 'x';",
            "notation": "kbnf",
            "tab": "characters",
        }
    )
    (edge,) = [edge for edge in drawn["edges"] if edge["inside"]]
    assert edge["inside"] == sorted(edge["inside"], key=int)
    assert all(drawn["where"][state].startswith("edge-") for state in edge["inside"])


def test_a_regex_that_explodes_is_shown_in_part() -> None:
    compiled = compile_text("(a|b)*a(a|b){20}", Notation.REGEX)
    drawn = compiled.drawn(Machine.CHARACTERS)
    shown = picture(drawn, Machine.CHARACTERS, View(), own=False)
    assert shown["partial"]
    assert "too many" in shown["count"]
    assert "too many" in shown["note"]
    assert "too many" in table(drawn)["count"]
    assert compiled.missing(Machine.STACK)
    assert not compiled.missing(Machine.TOKENS)


@pytest.mark.parametrize("of", ["characters", "tokens", "stack", "rules"])
def test_every_machine_is_a_table(handlers: Handlers, of: str) -> None:
    told = handlers.draw({"text": "(ab|c)+", "notation": "regex", "tab": "table", "of": of})
    assert told["rows"]
    assert all(len(row) == 2 + len(told["heads"]) for row in told["rows"])
    assert told["follow"] in told["follow"]


def test_ladders_are_rungs_where_no_chain_is_folded(handlers: Handlers) -> None:
    graph = compile_text("[a-z]{1,12}!", Notation.REGEX).graph(Machine.CHARACTERS)
    assert len(fold_counts(graph).nodes) < len(graph.nodes)
    sent = {"text": "[a-z]{1,12}!", "notation": "regex", "tab": "characters", "chains": False}
    assert len(handlers.draw(sent)["states"]) == len(graph.nodes)


def test_tokens_that_end_rules_without_end_are_drawn_in_part(handlers: Handlers) -> None:
    text = "start ::= start '+' start | '(' start ')' | #'[0-9]';"
    told = handlers.draw({"text": text, "notation": "kbnf", "tab": "tokens"})
    assert told["ok"], told
    assert told["edges"]
