"""Push-down machines as graphs: inputs, pops and pushes, and rules that call each other."""

from __future__ import annotations

import pytest

from tests.drawing.graphs import arcs, states
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.machines import draw_network, draw_pda, draw_token_pda
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.textbook_pda import pda
from workbench.vocabulary.toy_vocabularies import toy

NESTED = "S ::= 'é' | '€' S '€' S;"


def network_of(text: str, start: str = "S") -> Network:
    return Grammar.from_kbnf(text, start).network


def test_a_character_that_pushes_is_one_edge() -> None:
    drawn = draw_pda(pda(network_of(NESTED)))
    read = {label for _, _, label in arcs(drawn)}
    assert read == {"é", "€", "ε"}
    pushing = [edge for edge in drawn.edges if "push" in edge.kinds]
    assert pushing
    for edge in pushing:
        (rule,) = edge.pushes
        assert rule.startswith("S → ")
        assert edge.mark.removeprefix("▲") in states(drawn)


def test_pushes_and_pops_have_the_mark_of_the_same_state() -> None:
    drawn = draw_pda(pda(network_of(NESTED)))
    pushed = {(edge.mark.removeprefix("▲"), edge.pushes) for edge in drawn.edges if edge.pushes}
    popped = {(edge.mark.removeprefix("▼"), edge.pops) for edge in drawn.edges if edge.pops}
    assert popped == pushed | {("S", ("S",))}
    for edge in drawn.edges:
        assert edge.mark[:1] == ("▲" if edge.pushes else "▼" if edge.pops else "")
        if edge.pops and edge.pops != ("S",):
            assert edge.target == edge.mark.removeprefix("▼"), "a rule returns there"


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


def test_the_last_edge_pops_the_initial_symbol() -> None:
    drawn = draw_pda(pda(network_of(NESTED)))
    (last,) = [edge for edge in drawn.edges if edge.target == "end"]
    assert (last.labels, last.pops, last.mark) == (("ε",), ("S",), "▼S")
    assert last.kinds == ("epsilon", "pop")


def test_line_breaks_in_literals_are_visible() -> None:
    drawn = draw_pda(pda(network_of("S ::= 'a' | 'x\\n' S 'y\\n';")))
    pushed = [rule for edge in drawn.edges for rule in edge.pushes]
    assert any("⏎" in rule for rule in pushed)
    assert not any("\n" in text for text in (*pushed, *(label for *_, label in arcs(drawn))))


@pytest.mark.parametrize(
    "text",
    [
        "S ::= 'ab' | 'a' S 'b';",
        NESTED,
        "S ::= '(' S ')' S | 'x';",
        "S ::= 'x' | T; T ::= '[' S ']';",
    ],
)
def test_edges_over_tokens_have_the_moves_of_the_machine(text: str) -> None:
    tokens = ["a", "b", "ab", "aab", "bb", "(", ")", "((", "x)", "x", "()", "[[", "x]]", "é", "€€é"]
    machine = compose_pda(network_of(text), toy([*tokens, b"\xe2\x82", b"\xac"]))
    written = {(one.source, one.target, one.pops, one.pushes) for one in machine.edges}
    drawn = draw_token_pda(machine)
    assert len(drawn.edges) == len(written)
    assert sum(edge.count for edge in drawn.edges) == len(set(machine.edges))
    for edge in drawn.edges:
        counts = [f"▼{len(edge.pops)}"] * bool(edge.pops)
        counts += [f"▲{len(edge.pushes)}"] * bool(edge.pushes)
        assert edge.mark == " ".join(counts)
        assert ("pop" in edge.kinds, "push" in edge.kinds) == (bool(edge.pops), bool(edge.pushes))
        assert edge.title.splitlines()[1:] == [
            *(f"pops {rule}" for rule in edge.pops), *(f"pushes {rule}" for rule in edge.pushes)
        ]  # fmt: skip


def test_tokens_with_the_same_effect_are_one_edge() -> None:
    network = network_of("S ::= 'a' | 'b' | 'c' | '(' S ')';")
    drawn = draw_token_pda(compose_pda(network, toy(["a", "b", "c", "(", ")"])))
    together = [edge for edge in drawn.edges if edge.count == 3]
    assert together
    assert {edge.labels for edge in together} == {("a", "b", "c")}


def test_many_tokens_are_counted() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    network = network_of("S ::= #'[a-z]' | '(' S ')';")
    drawn = draw_token_pda(compose_pda(network, toy([*letters, "(", ")"])))
    counted = [edge for edge in drawn.edges if edge.count == 26]
    assert counted
    assert {edge.labels for edge in counted} == {("26 tokens: a  b  c  d …",)}


RULES = "start ::= '<' item '>'; item ::= 'x' | '[' start ']' item;"


def test_rules_have_frames_and_calls_are_boxes() -> None:
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
