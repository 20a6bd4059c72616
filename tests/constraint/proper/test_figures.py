"""Every drawn automaton of the article and its notebook, on the vocabulary they were drawn with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import figures
from workbench.constraint.methods.proper.direct_merge import TokenDfa, minimal, permissive
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.proper_methods import proper_automaton
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

pytest.importorskip("mistral_common")

FIGURES = figures()
LONG = "This is an example of a somewhat long sentence"

#: Regex; states and edges of the permissive automaton and of the proper one.
COUNTS = [
    ("a*b*", (2, 10), (8, 26)),
    ("boolean: ((true)|(false))", (17, 48), (4, 4)),
    ("( William)|( Theodore)", (16, 44), (3, 3)),
    ("(a|b){6}", (7, 43), (14, 47)),
    (LONG, (47, 123), (10, 9)),
    (r'\{"boolean_value": ((false)|(true))\}', (27, 68), (8, 8)),
]


def every_spelling(regex: str) -> TokenDfa:
    """With the tokens the figures know: pieces, no bytes of byte fallback."""
    bpe, dfa = Bpe.of(Vocabulary.load("mistral-v1")), dfa_of(regex)
    read = {byte for byte in range(256) if (dfa.table[:, dfa.classes[byte]] >= 0).any()}
    pieces = [
        text
        for token, text in enumerate(bpe.vocabulary.tokens)
        if text is not None
        and token not in bpe.vocabulary.tokenizer.byte_fallback
        and read.issuperset(text)
    ]
    return permissive(dfa, pieces)


def proper(regex: str) -> TokenDfa:
    return proper_automaton(
        ProperConstraint(dfa_of(regex), Vocabulary.load("mistral-v1"))
    ).automaton


def drawn(edges: list[list[Any]], start: int, accept: list[int]) -> TokenDfa:
    """A figure's automaton, its states numbered as equal ones are here."""
    rows: dict[int, dict[bytes, int]] = {start: {}}
    for source, label, target in edges:
        rows.setdefault(source, {})[label.replace("▁", " ").encode()] = target
        rows.setdefault(target, {})
    return minimal(TokenDfa(start, frozenset(accept), rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("regex", "all_of_them", "proper_ones"), COUNTS, ids=[c[0] for c in COUNTS]
)
def test_states_and_edges(
    regex: str, all_of_them: tuple[int, int], proper_ones: tuple[int, int]
) -> None:
    every, few = every_spelling(regex), proper(regex)
    assert (len(every), every.edge_count) == all_of_them
    assert (len(few), few.edge_count) == proper_ones


def test_figure_1_and_its_trace() -> None:
    figure = FIGURES["figure_1"]["permissive_token_dfa"]
    every = every_spelling("a*b*")
    assert minimal(every).edges == drawn(figure["edges"], 0, figure["accept"]).edges
    here = every.run([b"aaaa", b"aa", b"ab"])
    assert sorted(every.edges[here]) == [b"b", b"bb"]
    few = proper("a*b*")
    here = few.run([b"aaaa", b"aa", b"ab"])
    assert sorted(few.edges[here]) == [b"bb"]
    wanted = FIGURES["figure_1"]["proper_token_dfa"]
    assert few.edges == drawn(wanted["edges"], wanted["start"], wanted["accept"]).edges


def test_figure_2() -> None:
    figure = FIGURES["figure_2"]
    every = every_spelling(figure["regex"])
    wanted = drawn(figure["edges_article_numbering"], figure["start"], figure["accept"])
    assert minimal(every).edges == wanted.edges
    assert len(every.sequences(14)) == 1_369
    lone = [state for state, row in every.edges.items() if len(row) == 1]
    assert len(lone) == len(figure["single_choice_states_article_numbering"])


def test_figure_3() -> None:
    found = proper("boolean: ((true)|(false))")
    assert {tuple(tokens) for tokens in found.sequences(14)} == {
        tuple(token.replace("▁", " ").encode() for token in tokens)
        for tokens in FIGURES["figure_3"]["proper_sequences"]
    }


def test_challenge_1() -> None:
    figure = FIGURES["challenge_1"]
    every, few = every_spelling(figure["regex"]), proper(figure["regex"])
    for found, told in ((every, "permissive"), (few, "proper")):
        wanted = drawn(figure[told]["edges"], 0, figure[told]["accept"])
        assert minimal(found).edges == wanted.edges
        first = [label.replace("▁", " ").encode() for label in figure[f"first_tokens_{told}"]]
        assert sorted(found.edges[found.initial]) == sorted(first)
    assert len(every.sequences(9)) == 177


@pytest.mark.parametrize("regex", ["(a|b){6}", LONG])
def test_graphs_of_the_notebook(regex: str) -> None:
    figure = FIGURES["notebook_graphs"][regex]["proper"]
    assert proper(regex).edges == drawn(figure["edges"], figure["start"], figure["accept"]).edges
