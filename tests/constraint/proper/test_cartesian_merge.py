"""The explicit product against the case files, the figures, and DirectMerge."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import (
    cases,
    encode,
    figures,
    labels,
    of_case,
    proper_sequences,
    random_rules,
    toy,
)
from workbench.constraint.methods.proper.cartesian_merge import cartesian_merge
from workbench.constraint.methods.proper.direct_merge import TokenDfa, minimal, permissive
from workbench.constraint.methods.proper.proper_methods import merged_automaton
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary


def product(regex: str, vocabulary: Vocabulary) -> TokenDfa:
    return cartesian_merge(dfa_of(regex), Bpe.of(vocabulary))


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_minimal_automata_of_the_case_files(case: dict[str, Any]) -> None:
    least = minimal(product(case["regex"], of_case(case)))
    assert (len(least), least.edge_count) == (
        case["dfa_min_states"],
        case["dfa_min_transitions"],
    )


@pytest.mark.parametrize("case", cases("proper_pretokenized.json"), ids=lambda case: case["id"])
def test_sequences_with_a_pre_tokenizer(case: dict[str, Any]) -> None:
    vocabulary = of_case(case)
    found = product(case["regex"], vocabulary).sequences(case["max_len"])
    assert sorted(found) == sorted(labels(tokens) for tokens in case["proper_sequences"])


def test_forbidden_pairs_have_no_edge() -> None:
    """Rule (a, b), regex ab: after a only b could come; both factors are trim, the product not."""
    found = product("ab", toy("ab", [("a", "b")]))
    assert found.edges == {0: {b"ab": 1}, 1: {}}


def test_a_language_that_cannot_be_tokenized_is_empty() -> None:
    assert not product("ac", toy("ab", [])).finals


def test_figure_5() -> None:
    vocabulary = toy("abc", [("a", "b"), ("a", "a"), ("a", "c")])
    matching = Grammar.from_regex("a*b*").dfa
    everything = Grammar.from_regex("[abc]*").dfa
    assert matching is not None
    assert everything is not None
    tokens = labels(["a", "b", "c", "ab", "aa", "ac"])
    automata = [
        product("[abc]*", vocabulary),
        permissive(matching, tokens),
        product("a*b*", vocabulary),
        permissive(everything, tokens),
    ]
    for longest, *counts in figures()["figure_5"]["rows"]:
        assert [len(automaton.sequences(longest)) for automaton in automata] == counts


@pytest.mark.parametrize("seed", range(30))
def test_random_tables(seed: int) -> None:
    """The product, DirectMerge and the encoder agree; the least automata are identical."""
    rules = random_rules(random.Random(seed), 5)
    vocabulary = toy("ab", rules)
    for regex in ("(a|b)*", "a*b*", "(ab|ba)*b?", "(a|bb){0,4}"):
        found = product(regex, vocabulary)
        wanted = proper_sequences(lambda text: encode(rules, text), regex, "ab", 6)
        assert sorted(found.sequences(6)) == sorted(map(labels, wanted))
        if Bpe.of(vocabulary).monotone:
            dfa = dfa_of(regex)
            one, other = minimal(found), minimal(merged_automaton(dfa, vocabulary))
            assert (one.edges, one.finals) == (other.edges, other.finals)
