from __future__ import annotations

import re
from typing import Any

import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import cases, labels
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.direct_merge import TokenDfa, minimal, permissive, trimmed
from workbench.grammar.grammar import Grammar


def over(pattern: str, *tokens: str) -> TokenDfa:
    return permissive(dfa_of(pattern), labels(tokens))


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_permissive_automata_have_the_case_files_sizes_and_sequences(case: Any) -> None:
    tokens = [*case["alphabet"], *(a + b for a, b in case["merges"])]
    found = over(case["regex"], *tokens)
    least = minimal(found)
    assert len(least) == case["permissive_min_states"]
    assert least.edge_count == case["permissive_min_transitions"]
    if case["all_sequences_count"] > 20_000:
        return  # 609,936 of them in one case
    widest = max(len(c.encode()) for c in case["alphabet"])
    counted = [
        tokens
        for tokens in found.sequences(case["max_len"] * widest)
        if len(b"".join(tokens).decode()) <= case["max_len"]
    ]
    assert len(counted) == case["all_sequences_count"]


def test_dead_ends_are_trimmed() -> None:
    found = over("ab|cd", "a", "b", "c")
    assert found.sequences(9) == [(b"a", b"b")]
    assert found.edge_count == 2


def test_a_language_that_cannot_be_tokenized_is_one_state() -> None:
    found = over("ab", "a")
    assert (len(found), found.edge_count, found.finals) == (1, 0, frozenset())


def test_trimming_keeps_names() -> None:
    edges = {3: {b"a": 5, b"b": 7}, 5: {}, 7: {b"a": 7}, 9: {b"a": 5}}
    found = trimmed(3, {5, 9}, edges)
    assert found.edges == {3: {b"a": 5}, 5: {}}
    assert found.finals == {5}


def test_the_minimal_automaton_is_unique() -> None:
    one = TokenDfa(4, frozenset({2, 6}), {4: {b"x": 2, b"y": 6}, 2: {b"x": 2}, 6: {b"x": 6}})
    other = TokenDfa(0, frozenset({1}), {0: {b"x": 1, b"y": 1}, 1: {b"x": 1}})
    assert minimal(one).edges == minimal(other).edges == {0: {b"x": 1, b"y": 1}, 1: {b"x": 1}}


def test_the_minimal_automaton_without_edges() -> None:
    assert minimal(over("", "a")).finals == {0}
    assert minimal(over("ab", "a")).finals == frozenset()


def test_a_machine_that_grows_too_large_is_stopped() -> None:
    with pytest.raises(LimitError, match=re.escape("token edges")):
        permissive(
            Grammar.from_regex("[a-z]{20}").dfa,  # type: ignore[arg-type]
            labels("abcdefghij"),
            Limits(token_edges=50),
        )
