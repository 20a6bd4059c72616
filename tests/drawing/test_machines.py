"""Finite automata as graphs: characters instead of bytes, tokens in groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.automata.machines import dfa_of
from tests.drawing.graphs import arcs, states, texts
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.source import Source
from workbench.constraint.engine.compose import TokenFsa, compose
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.machines import draw_dfa, draw_nfa, draw_token_fsa
from workbench.drawing.token_edges import MAX_EXAMPLES
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary


def tokens_of(pattern: str, vocabulary: Vocabulary) -> tuple[TokenFsa, Dfa]:
    dfa = dfa_of(pattern)
    return compose(dfa, vocabulary), dfa


@pytest.mark.parametrize("pattern", ["ab", "a(aa)*", "a+|ab", "(ab|c)*d", "a?b?c?", "é(€é|😀)*"])
def test_the_character_automaton_accepts_the_same(pattern: str) -> None:
    dfa = dfa_of(pattern)
    drawn = texts(draw_dfa(dfa), 4)
    alphabet = sorted({c for c in pattern if c.isalpha() or not c.isascii()})
    every = ("".join(letters) for n in range(5) for letters in product(alphabet, repeat=n))
    assert drawn == {text for text in every if dfa.accepts(text.encode())}


def test_a_character_of_many_bytes_is_one_edge() -> None:
    drawn = draw_dfa(dfa_of("é😀"))
    assert [edge.labels for edge in drawn.edges] == [("é",), ("😀",)]
    assert len(drawn.nodes) == 3
    assert len(drawn.where) == 7, "the four states between bytes are found on the edges"


def test_characters_between_two_states_are_one_edge() -> None:
    (edge,) = draw_dfa(dfa_of("[a-cxyz]|é")).edges
    assert len(edge.labels) == 1
    assert edge.kinds == ("class",)
    assert edge.detail == "U+0061–U+0063, U+0078–U+007A, U+00E9"


def test_states_are_marked_initial_and_final() -> None:
    drawn = draw_dfa(dfa_of("ab?"))
    assert states(drawn, "initial") == {"0"}
    assert states(drawn, "final") == {"1", "2"}
    assert drawn.nodes[1].title == "state 1 · final"


def test_the_empty_language_is_one_state() -> None:
    drawn = draw_dfa(
        Dfa(np.zeros(256, np.uint16), np.full((1, 1), -1, np.int32), np.zeros(1, np.bool_))
    )
    assert (len(drawn.nodes), drawn.edges) == (1, ())


def test_an_nfa_keeps_its_silent_edges() -> None:
    nfa = thompson(parse_regex(Source("a*", "test")))
    drawn = draw_nfa(nfa)
    silent = {(e.source, e.target) for e in drawn.edges if "epsilon" in e.kinds}
    assert silent == {(str(s), str(t)) for s in range(len(nfa)) for t in nfa.epsilons[s]}
    assert {label for _, _, label in arcs(drawn)} == {"a", "ε"}


def _edge(graph: Graph, source: str, target: str, *kinds: str) -> Edge:
    return next(e for e in graph.edges if (e.source, e.target, e.kinds) == (source, target, kinds))


def test_few_tokens_are_written_out() -> None:
    fsa, dfa = tokens_of("(foo)+d", toy(["f", "oo", "foo", "for", "food"]))
    drawn = draw_token_fsa(fsa, dfa)
    assert arcs(drawn) == {
        ("0", "1", "f"), ("0", "3", "foo"), ("0", "4", "food"), ("1", "3", "oo"),
        ("3", "1", "f"), ("3", "3", "foo"), ("3", "4", "food"),
    }  # fmt: skip
    assert drawn.note == "7 token edges"


def test_many_tokens_are_counted() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    fsa, dfa = tokens_of("[a-z]*", toy([*letters, *(x + y for x in letters for y in letters)]))
    (edge,) = draw_token_fsa(fsa, dfa).edges
    assert edge.count == 26 + 26 * 26
    assert edge.labels == ("702 tokens: aa  ab  ac …",)
    assert edge.examples[:3] == ("aa", "ab", "ac")
    assert len(edge.examples) == MAX_EXAMPLES
    assert edge.title.startswith("702 tokens: a  b  c")
    assert edge.detail.endswith("and 642 more")


def test_tokens_that_pass_over_states_skip() -> None:
    fsa, dfa = tokens_of("a?b?c", toy(["a", "b", "c", "ab", "bc", "abc"]))
    drawn = draw_token_fsa(fsa, dfa)
    assert _edge(drawn, "0", "3").labels == ("c",)
    assert _edge(drawn, "0", "3", "skip").labels == ("bc", "abc")
    assert _edge(drawn, "0", "2", "skip").labels == ("ab",)
    assert _edge(drawn, "0", "2").labels == ("b",)


def test_tokens_that_stay_in_a_loop_do_not_skip() -> None:
    fsa, dfa = tokens_of("x[a-z]*", toy(["x", "abc", "xabc"]))
    drawn = draw_token_fsa(fsa, dfa)
    assert _edge(drawn, "0", "1").labels == ("x", "xabc")
    assert all("skip" not in edge.kinds for edge in drawn.edges)


def test_a_token_of_one_character_never_skips() -> None:
    fsa, dfa = tokens_of("é€😀", toy(["é", "€", "😀"]))
    drawn = draw_token_fsa(fsa, dfa)
    assert [edge.labels for edge in drawn.edges] == [("é",), ("€",), ("😀",)]
    assert all(edge.kinds == () for edge in drawn.edges)


def test_pieces_of_characters_are_one_edge() -> None:
    fsa, dfa = tokens_of("[é€]*", toy(["é", b"\xc3", b"\xa9", b"\xe2", b"\x82\xac"]))
    drawn = draw_token_fsa(fsa, dfa)
    assert len(drawn.nodes) == 1
    assert _edge(drawn, "0", "0").labels == ("é",)
    pieces = _edge(drawn, "0", "0", "bytes")
    assert pieces.labels == ("2 pieces of characters",)
    assert len(pieces.between) == 2
    assert set(drawn.where) == {"0", *pieces.between}


def test_tokens_of_the_same_bytes_are_written_once() -> None:
    fsa, dfa = tokens_of("a", toy(["a", "a"]))
    (edge,) = draw_token_fsa(fsa, dfa).edges
    assert (edge.labels, edge.count, edge.title) == (("a",), 2, "2 tokens: a")


def test_white_space_is_visible() -> None:
    fsa, dfa = tokens_of(r" \n\t", toy([" ", "\n\t"]))
    assert [edge.labels for edge in draw_token_fsa(fsa, dfa).edges] == [("·",), ("⏎⇥",)]


@pytest.mark.exhaustive
def test_every_token_edge_is_counted_once() -> None:
    letters = [bytes((b,)) for b in range(256)]
    words = [w.encode() for w in ('{"', '":', '", "', "name", "né", "e€", '"}')]
    fsa, dfa = tokens_of(r'\{"name": "[^"]*"(, "x": \d+)?\}', toy([*letters, *words]))
    drawn = draw_token_fsa(fsa, dfa)
    inside = set(drawn.where) - states(drawn)
    from_whole = sum(len(fsa.row(s)) for s in range(len(fsa)) if str(s) not in inside)
    counted: dict[tuple[str, tuple[str, ...]], int] = {}
    for edge in drawn.edges:
        key = (edge.source, edge.kinds if "bytes" in edge.kinds else (edge.target, *edge.kinds))
        counted[key] = edge.count
    assert sum(counted.values()) == from_whole
