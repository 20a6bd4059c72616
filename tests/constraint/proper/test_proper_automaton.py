"""The drawn machine of proper tokens against the case files and the explicit product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import cases, labels, of_case, toy
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.proper_methods import ProperAutomaton, proper_automaton
from workbench.drawing.machine_files import token_fsa_record
from workbench.drawing.parts import ProperParts
from workbench.vocabulary.vocabulary import Vocabulary


def machine(regex: str, vocabulary: Vocabulary, limits: Limits | None = None) -> ProperAutomaton:
    return proper_automaton(ProperConstraint(dfa_of(regex), vocabulary, limits or Limits()))


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_minimal_automata_of_the_case_files(case: dict[str, Any]) -> None:
    found = machine(case["regex"], of_case(case))
    told = (case["dfa_min_states"], case["dfa_min_transitions"])
    assert (len(found), found.edge_count) == told


@pytest.mark.parametrize("case", cases("proper_pretokenized.json"), ids=lambda case: case["id"])
def test_sequences_with_a_pre_tokenizer(case: dict[str, Any]) -> None:
    vocabulary = of_case(case)
    found = machine(case["regex"], vocabulary).automaton.sequences(case["max_len"])
    assert sorted(found) == sorted(labels(tokens) for tokens in case["proper_sequences"])


def test_figure_1_is_drawn_with_all_its_tokens() -> None:
    """Tran-Thien 2024, figure 1: a*b* as the tokenizer writes it, 8 states and 26 edges."""
    rules = [("a", "b"), ("b", "b"), ("a", "a"), ("aa", "aa"), ("ab", "b"), ("aaaa", "aaaa")]
    vocabulary = toy("ab", rules)
    found = machine("a*b*", vocabulary)
    assert (len(found), found.edge_count, int(np.sum(found.finals))) == (8, 26, 8)
    parts = ProperParts(found)
    graph = parts.whole()
    assert sum(edge.count for edge in graph.edges) == 26
    start = str(found.initial)
    spelt = {vocabulary.tokens[token_id] for token_id in parts.tokens(start)}
    assert spelt == {b"a", b"aa", b"aaaa", b"aaaaaaaa", b"ab", b"abb", b"b", b"bb"}
    edge = next(e for e in graph.edges if e.source == start and e.count == 1)
    assert [vocabulary.tokens[i] for i in parts.tokens(start, edge.target)] == [
        edge.labels[0].encode()
    ]


def test_its_record_is_that_of_a_token_machine() -> None:
    record = token_fsa_record(machine("ab|b", toy("ab", [("a", "b")])), "proper")
    assert (record["machine"], record["states"], record["finals"]) == ("proper", 2, [1])
    assert [set(edge["tokens"]) for edge in record["edges"]] == [{1, 2}]


def test_error_when_it_grows_too_large() -> None:
    rules = [("a", "a"), ("aa", "aa"), ("aaaa", "aaaa")]
    with pytest.raises(LimitError, match="token edges"):
        machine("(a|b)*", toy("ab", rules), Limits(token_edges=5))
