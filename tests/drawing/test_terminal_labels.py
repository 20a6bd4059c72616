"""Terminal labels in pictures: one edge with the label's name, however many tokens it reads."""

from __future__ import annotations

import pytest

from workbench.base.limits import LIMITS
from workbench.drawing.drawable import Machine, draw, draw_tokens, missing
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.railroad import draw_railroad
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

BULLETS = Grammar.from_regex(r"a(\n\*(?P<PARAGRAPH_TOKEN>)+){2}")
NESTED = Grammar.from_kbnf(
    "start ::= '(' start ')' | #'(?P<TEXT_TOKEN>)' | list; list ::= '[' #'x(?P<IMAGE>)?' start ']';"
)
WORDS = toy(["a", "\n", "*", "\n*", "word", "two words", "b\nc"])


def terminals(graph: Graph) -> list[Edge]:
    return [edge for edge in graph.edges if "terminal" in edge.kinds]


def ends(edges: list[Edge]) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in edges]


def test_a_label_is_one_edge_of_the_character_automaton() -> None:
    graph = draw(BULLETS, Machine.CHARACTERS).graph
    labels = terminals(graph)
    assert [edge.labels for edge in labels] == [("PARAGRAPH_TOKEN",)] * 4
    # into the loop and around in it, for each bullet
    assert sum(source == target for source, target in ends(labels)) == 2
    # nothing of its sign is left
    assert not [edge for edge in graph.edges if "bytes" in edge.kinds]
    assert len(graph.nodes) == 1 + 1 + 2 * 3
    # a run that stands inside a sign is shown on the edge
    assert all(len(edge.inside) == 1 for edge in labels)


def test_a_label_is_one_edge_of_the_token_automaton() -> None:
    characters = draw(BULLETS, Machine.CHARACTERS)
    graph = draw_tokens(BULLETS, characters, WORDS, LIMITS).graph
    labels = terminals(graph)
    assert sorted(ends(labels)) == sorted(ends(terminals(characters.graph)))
    # all but "\n", "\n*" and "b\nc"
    assert {edge.labels for edge in labels} == {("PARAGRAPH_TOKEN\n4 tokens",)}
    assert {edge.count for edge in labels} == {4}
    plain = {edge.labels for edge in graph.edges if "terminal" not in edge.kinds}
    assert plain == {("a",), ("⏎",), ("*",), ("⏎*",)}


def test_labels_in_rules_and_on_a_stack() -> None:
    for machine in (Machine.RULES, Machine.STACK):
        graph = draw(NESTED, machine).graph
        names = {edge.labels[0].split("\n")[0] for edge in terminals(graph)}
        assert names == {"TEXT_TOKEN", "IMAGE"}, machine
        told = " ".join(label for edge in graph.edges for label in edge.labels)
        assert "\\x" not in told, machine
        assert "<0x" not in told, machine


def test_labels_over_tokens_and_a_stack() -> None:
    vocabulary = Vocabulary(
        (b"(", b")", b"[", b"]", b"x", b"((", None), special=(6,), names={6: "<image>"}
    )
    drawn = draw_tokens(NESTED, draw(NESTED, Machine.RULES), vocabulary, LIMITS)
    found = {(label, edge.pops) for edge in terminals(drawn.graph) for label in edge.labels}
    assert "IMAGE\n1 token" in {label for label, _ in found}
    # read in an inner rule, or in the outermost one
    assert ("TEXT_TOKEN\n6 tokens", ("start → ( start • )",)) in found
    assert ("TEXT_TOKEN\n6 tokens", ("S",)) in found


def test_labels_in_railroads() -> None:
    assert BULLETS.regex is not None
    svg = draw_railroad(BULLETS.regex).svg
    assert '<g class="terminal label' in svg
    assert "PARAGRAPH_TOKEN" in svg


@pytest.mark.slow
def test_labels_of_a_partly_computed_machine() -> None:
    """Of 2^20 states; the first reads 'a', 'b' or a label."""
    large = Grammar.from_regex(r"(a|b)*(a(a|b){20}|(?P<PARAGRAPH_TOKEN>)b)")
    characters = draw(large, Machine.CHARACTERS)
    over_tokens = draw_tokens(large, characters, WORDS, LIMITS)
    for drawn, label in (
        (characters, "PARAGRAPH_TOKEN"),
        (over_tokens, "PARAGRAPH_TOKEN\n4 tokens"),
    ):
        found = terminals(drawn.parts.around("0", 8))
        assert {edge.labels for edge in found} == {(label,)}


def test_no_machine_over_canonical_tokenizations() -> None:
    assert (
        missing(BULLETS, Machine.PROPER)
        == "PARAGRAPH_TOKEN reads one token, which no tokenizer chose"
    )
    assert not missing(BULLETS, Machine.CHARACTERS)
