from __future__ import annotations

import pytest

from tests.automata.machines import dfa_of
from workbench.constraint.engine.compose import compose
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_dfa, draw_token_fsa
from workbench.drawing.reductions import MIN_RUNGS, fold_counts, fold_tokens, foot_of
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy


def drawn(pattern: str) -> Graph:
    return draw_dfa(dfa_of(pattern))


@pytest.mark.parametrize(
    ("pattern", "states", "said", "why"),
    [
        ('"[a-z]{1,20}"', 4, "≤ 19 times", "a string of bounded length"),
        ("x[a-m]{0,20}y", 3, "≤ 20 times", "it may be left immediately"),
        ("[0-9]{1,9}", 2, "≤ 8 times", "every state may end"),
        ("[0-9]{20}", 21, None, "an exact count has no way out on the way: a chain"),
        ("a{1,3}b", 5, None, "few enough to be drawn"),
        ("[a-z]*x", 2, None, "nothing is counted"),
    ],
)
def test_ladders_become_loops(pattern: str, states: int, said: str | None, why: str) -> None:
    folded = fold_counts(drawn(pattern))
    assert len(folded.nodes) == states, why
    labels = [label for edge in folded.edges for label in edge.labels]
    assert any("≤" in label for label in labels) == (said is not None), why
    if said:
        assert any(said in label for label in labels), why


@pytest.mark.parametrize(
    "pattern",
    ['"[a-z]{1,20}"', "([a-z]{1,9}-){1,9}x", "[ä-ü]{1,20}€{2,30}", "(a{0,9}|b{3,12})c", "a{0,30}"],
)
def test_every_state_is_still_found(pattern: str) -> None:
    graph = drawn(pattern)
    folded = fold_counts(graph)
    assert set(graph.where) == set(folded.where)


def test_how_often_is_what_the_machine_allows() -> None:
    (loop,) = [e for e in fold_counts(drawn("x[a-m]{2,12}y")).edges if "repeat" in e.kinds]
    grammar = Grammar.from_regex("x[a-m]{2,12}y")
    most = int(loop.labels[0].rpartition("≤ ")[2].split()[0])
    # two are read on the way to the loop
    assert grammar.accepts("x" + "a" * (2 + most) + "y")
    assert not grammar.accepts("x" + "a" * (3 + most) + "y")


def test_fewer_rungs_stay() -> None:
    graph = drawn(f"x[a-m]{{0,{MIN_RUNGS - 2}}}y")
    assert fold_counts(graph) is graph


def over_tokens(pattern: str) -> tuple[Graph, Graph]:
    """A machine over tokens, and the same with its ladders folded."""
    dfa = dfa_of(pattern)
    graph = draw_token_fsa(compose(dfa, WORDS), dfa)
    return graph, fold_tokens(graph, foot_of(draw_dfa(dfa), {node.id for node in graph.nodes}))


WORDS = toy(("a", "b", "ab", "aba", "abab", "ab!", "!", "!a", "x"))


def test_a_ladder_over_tokens_is_one_state_with_a_loop() -> None:
    graph, folded = over_tokens("[ab]{1,9}!")
    assert (len(graph.nodes), len(folded.nodes)) == (11, 3)
    loops = [edge for edge in folded.edges if edge.source == edge.target]
    assert [edge.count for edge in loops] == [5]


@pytest.mark.parametrize("pattern", ["[ab]{1,9}!", "x[ab]{0,12}!(a|x)", "([ab]{1,6}!){2}x"])
def test_no_token_of_a_foot_is_lost(pattern: str) -> None:
    graph, folded = over_tokens(pattern)
    kept = {node.id for node in folded.nodes}
    before = sum(edge.count for edge in graph.edges if edge.source in kept)
    assert sum(edge.count for edge in folded.edges) == before


def test_without_ladders_nothing_changes() -> None:
    graph, folded = over_tokens("ab!|x")
    assert folded is graph
