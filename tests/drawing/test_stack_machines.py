"""Push-down machines as graphs: what is read, popped and pushed, and rules that call each other."""

from __future__ import annotations

import pytest

from tests.drawing.graphs import arcs, states
from workbench.constraint.compose_pda import compose_pda
from workbench.drawing.rule_machines import draw_network
from workbench.drawing.stack_machines import bracketed, draw_pda, draw_token_pda
from workbench.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.pda import pda
from workbench.vocabulary.toy import toy

NESTED = "S ::= 'é' | '€' S '€' S;"


def network_of(text: str, start: str = "S") -> Network:
    return Grammar.from_kbnf(text, start).network


def test_a_character_that_pushes_is_one_edge() -> None:
    drawn = draw_pda(pda(network_of(NESTED)))
    read = {label.split("\n")[0] for _, _, label in arcs(drawn)}
    assert read == {"é", "€", "ε"}
    pushing = [edge for edge in drawn.edges if "push" in edge.kinds]
    assert pushing
    assert all("\n(S → " in label for edge in pushing for label in edge.labels)


def test_states_have_the_networks_numbers() -> None:
    network = network_of(NESTED)
    drawn = draw_pda(pda(network))
    assert states(drawn) <= {"end", *map(str, range(len(network)))}
    assert states(drawn, "initial") == {str(network.initial)}
    assert states(drawn, "final") == {"end"}
    assert set(draw_network(network).where) >= states(drawn) - {"end"}


def test_every_state_of_the_machine_is_found_in_the_picture() -> None:
    network = network_of(NESTED)
    machine = pda(network)
    assert {str(s) for s in machine.network_states if s >= 0} <= set(draw_pda(machine).where)


def test_the_first_symbol_is_a_dot() -> None:
    drawn = draw_pda(pda(network_of(NESTED)))
    (last,) = [edge for edge in drawn.edges if edge.target == "end"]
    assert last.labels == ("ε\n]·",)
    assert last.kinds == ("epsilon", "pop")


def test_line_breaks_in_literals_are_seen() -> None:
    drawn = draw_pda(pda(network_of("S ::= 'a' | 'x\\n' S 'y\\n';")))
    assert all(len(label.split("\n")) <= 2 for _, _, label in arcs(drawn))


@pytest.mark.parametrize(
    "text",
    [
        "S ::= 'ab' | 'a' S 'b';",
        NESTED,
        "S ::= '(' S ')' S | 'x';",
        "S ::= 'x' | T; T ::= '[' S ']';",
    ],
)
def test_brackets_spell_the_token_and_balance(text: str) -> None:
    network = network_of(text)
    tokens = ["a", "b", "ab", "aab", "bb", "(", ")", "((", "x)", "x", "()", "[[", "x]]", "é", "€€é"]
    machine = compose_pda(network, toy([*tokens, b"\xe2\x82", b"\xac"]))
    for edge in machine.edges:
        told = bracketed(machine, network, edge)
        token = machine.vocabulary.tokens[edge.token_id] or b""
        if token.isalpha():
            marks = [c for c in told if c in "()]"]
            depth = marks.count("(") - marks.count(")") - marks.count("]")
            assert depth == len(edge.pushes) - len(edge.pops)
            assert "".join(c for c in told if c not in "()]") == token.decode()


def test_tokens_that_do_the_same_are_one_edge() -> None:
    network = network_of("S ::= 'a' | 'b' | 'c' | '(' S ')';")
    drawn = draw_token_pda(compose_pda(network, toy(["a", "b", "c", "(", ")"])), network)
    together = [edge for edge in drawn.edges if edge.count == 3]
    assert together
    plain = [[letter.strip("()]") for letter in edge.labels] for edge in together]
    assert plain == [["a", "b", "c"]] * len(together)


def test_many_tokens_are_counted() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    network = network_of("S ::= #'[a-z]' | '(' S ')';")
    drawn = draw_token_pda(compose_pda(network, toy([*letters, "(", ")"])), network)
    counted = [edge for edge in drawn.edges if edge.count == 26]
    assert counted
    assert all(label.endswith("\n26 tokens") for edge in counted for label in edge.labels)


RULES = "start ::= '<' item '>'; item ::= 'x' | '[' start ']' item;"


def test_rules_stand_in_frames_and_calls_are_boxes() -> None:
    network = network_of(RULES, "start")
    drawn = draw_network(network)
    assert {node.cluster for node in drawn.nodes} == set(network.names)
    boxes = [node for node in drawn.nodes if "call" in node.kinds]
    assert {box.label for box in boxes} <= {f"→ {name}" for name in network.names}
    for box in boxes:
        _, rule, back = box.id.split("-")
        assert box.label == f"→ {network.names[int(rule)]}"
        assert [edge.target for edge in drawn.edges if edge.source == box.id] == [back]
        assert any(edge.target == box.id for edge in drawn.edges)


def test_every_state_of_the_network_is_found() -> None:
    network = network_of(RULES, "start")
    assert set(map(str, range(len(network)))) <= set(draw_network(network).where)


def test_the_first_state_of_a_rule_is_marked() -> None:
    network = network_of(RULES, "start")
    drawn = draw_network(network)
    assert states(drawn, "rule") == {str(s) for s in network.initials}
    assert states(drawn, "initial") == {str(network.initial)}
