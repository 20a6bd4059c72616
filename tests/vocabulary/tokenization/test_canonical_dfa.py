"""The automaton of the article's figures; random tables are in test_random_tables."""

from __future__ import annotations

import json

import pytest

from tests.vocabulary.tokenization.slow_bpe import DATA, rows_of, table
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.pair_automaton import canonical_dfa_by_merges

FIGURE = json.loads((DATA / "proper_figures.json").read_text("utf-8"))["figure_9"]


def test_figure_9_by_merges() -> None:
    dfa = canonical_dfa_by_merges(FIGURE["alphabet"], [tuple(rule) for rule in FIGURE["merges"]])
    drawn = {int(state): frozenset(row) for state, row in FIGURE["forbidden_next"].items()}
    of_token = FIGURE["state_of_last_token"]
    assert {t: dfa.forbidden[s] for t, s in dfa.state_of.items()} == {
        token: drawn[state] for token, state in of_token.items()
    }
    edges = sum(len(dfa.state_of) - len(row) for row in dfa.forbidden)
    assert (len(dfa.forbidden), edges) == (FIGURE["dfa"]["states"], FIGURE["dfa"]["transitions"])


@pytest.mark.parametrize(
    ("merges", "alphabet", "states", "edges"),
    [
        (FIGURE["merges"], "abc", 3, 12),
        # Mistral's tokens of the letter a alone
        ([("a", "a"), ("aa", "aa"), ("aaaa", "aaaa")], "a", 4, 7),
        ([], "ab", 1, 2),
        ([("a", "b")], "ab", 2, 5),
    ],
)
def test_states_and_edges(
    merges: list[tuple[str, str]], alphabet: str, states: int, edges: int
) -> None:
    bpe = Bpe.of(table(merges, alphabet))
    rows = rows_of(bpe)
    forbidden = sum(int((row[:, 1] - row[:, 0]).sum()) for row in rows.values())
    assert (len(rows), states * len(bpe.tables.order) - forbidden) == (states, edges)
    by_merges = canonical_dfa_by_merges(alphabet, [(left, right) for left, right in merges])
    assert len(by_merges.forbidden) == states
