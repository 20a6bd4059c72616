"""Transducers: Koo et al. 2024, Algorithm 1 and its merged form, on tokens of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drawing.graphs import states
from workbench.drawing.transducers import (
    AB_TO_X,
    BRACKETED_RUNS,
    MAX_DRAWN_TOKENS,
    ODD_TO_XOX,
    Fst,
    detokenizer,
    draw_detokenizer,
    draw_unmerged_detokenizer,
    merged_detokenizer,
)
from workbench.vocabulary.toy_vocabularies import toy, words_of

FIGURE_3: list[tuple[Fst, str, set[bytes], str]] = [
    (AB_TO_X, "ab", {b"x"}, "left"),
    (AB_TO_X, "a", set(), "left: half of it"),
    (AB_TO_X, "abb", set(), "left: too much"),
    (ODD_TO_XOX, "a", {b"x"}, "center"),
    (ODD_TO_XOX, "aaaaa", {b"xoxox"}, "center: five"),
    (ODD_TO_XOX, "aa", set(), "center: an even number"),
    (BRACKETED_RUNS, "aaa", {b"[aaa]"}, "right"),
    (BRACKETED_RUNS, "bb", {b"[bb]"}, "right: the other letter"),
    (BRACKETED_RUNS, "ab", set(), "right: no run"),
]


@pytest.mark.parametrize(("machine", "read", "written", "because"), FIGURE_3)
def test_a_transducer_writes_these_texts(
    machine: Fst, read: str, written: set[bytes], because: str
) -> None:
    assert machine.transduce([c.encode() for c in read]) == written, because


TOKENS = st.lists(
    st.text("abé€😀", min_size=1, max_size=4).map(str.encode) | st.binary(min_size=1, max_size=3),
    min_size=1,
    max_size=6,
    unique=True,
)


@pytest.mark.slow
@given(TOKENS, st.data())
def test_both_forms_detokenize(tokens: list[bytes], data: st.DataObject) -> None:
    # Koo et al. 2024, Theorem 1 and Appendix B.1.2
    sequence = data.draw(st.lists(st.sampled_from(tokens), max_size=4))
    for machine in (detokenizer(tokens), merged_detokenizer(tokens)):
        assert machine.transduce(sequence) == {b"".join(sequence)}


@given(TOKENS)
def test_the_merged_form_is_a_trie(tokens: list[bytes]) -> None:
    merged = merged_detokenizer(tokens)
    silent = [edge for edge in merged.edges if edge.reads is None]
    assert len(silent) == merged.states - 1
    assert len({edge.target for edge in silent}) == len(silent)
    assert len(merged.edges) == len(silent) + len(tokens)


def test_a_character_is_one_edge_and_a_stray_byte_too() -> None:
    graph = draw_detokenizer(toy([b"\xe2\x82\xacx", b"\xff", b" \n"]))
    labels = {label for edge in graph.edges for label in edge.labels}
    assert labels == {"ε:€", "€x:x", "<0xFF>:<0xFF>", "ε:·", "·⏎:⏎"}


def test_a_small_vocabulary_is_drawn_whole() -> None:
    graph = draw_detokenizer(toy(["f", "oo", "foo"]))
    assert graph.note == ""
    assert states(graph, "initial") == states(graph, "final") == {"0"}


@pytest.mark.parametrize("draw", [draw_detokenizer, draw_unmerged_detokenizer])
def test_a_large_vocabulary_is_drawn_as_an_excerpt(draw: object) -> None:
    vocabulary = words_of("the then there these red reds reduce reduced bad badge " * 2 + "xyz")
    assert callable(draw)
    graph = draw(vocabulary, 10)
    drawn = sum(len(edge.labels) for edge in graph.edges if "epsilon" not in edge.kinds)
    assert drawn <= 10
    usual = sum(token is not None for token in vocabulary.tokens)
    assert graph.note.startswith(f"{drawn} of {usual} tokens of words of a text")
    assert len(graph.nodes) < 40


def test_an_excerpt_of_unlike_tokens_still_shows_some() -> None:
    vocabulary = toy([bytes((b,)) for b in range(256)])
    drawn = draw_detokenizer(vocabulary)
    assert 0 < sum(len(edge.labels) for edge in drawn.edges) <= MAX_DRAWN_TOKENS
