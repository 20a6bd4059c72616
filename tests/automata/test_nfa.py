"""NfaBuilder: states, edges and embedded machines."""

from __future__ import annotations

import pytest

from tests.automata.machines import machine
from workbench.automata.code_points import utf8_sequences
from workbench.automata.determinize import determinize
from workbench.automata.nfa import NfaBuilder, class_runs
from workbench.automata.operations import equivalent


def test_a_built_nfa_has_the_edges_that_were_added() -> None:
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    builder.edge(start, 97, 99, end)
    builder.epsilon(end, start)
    nfa = builder.build(start, {end})
    assert nfa.edges == (((97, 99, end),), ())
    assert nfa.epsilons == ((), (start,))
    assert (nfa.initial, nfa.finals, len(nfa), nfa.symbols) == (0, frozenset({1}), 2, 256)


def test_an_epsilon_to_the_same_state_is_no_edge() -> None:
    builder = NfaBuilder()
    state = builder.new_state()
    builder.epsilon(state, state)
    assert builder.build(state, {state}).epsilons == ((),)


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (5, 4), (0, 256)])
def test_error_on_symbols_outside_the_alphabet(low: int, high: int) -> None:
    builder = NfaBuilder()
    state = builder.new_state()
    with pytest.raises(ValueError, match="an edge needs 0 <= low <= high < 256"):
        builder.edge(state, low, high, state)


@pytest.mark.parametrize("pattern", ["", "a", "ab*|c", "é+", "[^a]", "(a|b)*abb"])
def test_embed_keeps_the_language(pattern: str) -> None:
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    builder.edge(start, ord("<"), ord("<"), start)
    builder.embed(machine(pattern), start, end)
    whole = determinize(builder.build(start, {end}))
    assert equivalent(whole, machine(f"<*(?:{pattern})"))


def test_class_runs() -> None:
    dfa = machine("[a-cx]y")
    runs = class_runs(dfa)
    assert sorted(run for of_class in runs for run in of_class) == [
        (0, 96), (97, 99), (100, 119), (120, 120), (121, 121), (122, 255),
    ]  # fmt: skip
    assert [(97, 99), (120, 120)] in runs


def test_any_character_is_nine_ranges() -> None:
    assert sum(len(utf8_sequences(*r)) for r in ((0, 0xD7FF), (0xE000, 0x10FFFF))) == 9
