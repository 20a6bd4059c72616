"""Lemma 3.1, and that every state knows its terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.test_mask_laws import grammar_of, slow, texts, trees
from workbench.automata.small_dfa import smallest
from workbench.base.dfa import DEAD
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, terminals_of
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree

FIGURE_3 = Grammar.from_kbnf("E ::= int | '(' E ')' | E '+' E; int ::= #'[1-9][0-9]*|0+';", "E")


def scanner_of(grammar: Grammar) -> Scanner:
    return Scanner.of(terminals_of(grammar).each)


#   text        a sequence of terminals   because
SCANNED = [
    ("(12+0)",  True,   "a sum"),
    ("12(",     True,   "no program, but a sequence of terminals: L_R ⊄ L_G"),
    (")+(+",    True,   "terminals in any order"),
    ("0012",    True,   "zeros, then an int"),
    ("",        False,  "r+ matches no empty text"),
    ("1-2",     False,  "- begins no terminal"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "accepted", "because"), SCANNED, ids=[r[0] or "nothing" for r in SCANNED]
)
def test_lemma_3_1_on_the_running_example(text: str, accepted: bool, because: str) -> None:
    assert smallest(scanner_of(FIGURE_3).nfa).accepts(text.encode()) is accepted, because


@pytest.mark.exhaustive
@slow
@given(trees(), st.lists(texts, min_size=4, max_size=8))
def test_lemma_3_1(tree: GrammarTree, tried: list[bytes]) -> None:
    """All texts of the grammar are sequences of its terminals."""
    grammar = grammar_of(tree)
    scanned = smallest(scanner_of(grammar).nfa)
    for text in tried:
        assert not text or not grammar.accepts(text) or scanned.accepts(text)


def test_states_of_terminals_are_contiguous() -> None:
    scanner = scanner_of(FIGURE_3)
    assert len(scanner) == 1 + sum(len(terminal.dfa) for terminal in scanner.terminals)
    assert scanner.owner[BETWEEN] == -1
    for number, terminal in enumerate(scanner.terminals):
        for text in (b"12", b"0", b"00", b"(", b")", b"+", b"1+"):
            state = int(scanner.initials[number])
            for byte in text:
                state = int(scanner.table[state, scanner.classes[byte]]) if state != DEAD else DEAD
            assert (state == DEAD) == (terminal.dfa.run(text) == DEAD)
            if state != DEAD:
                assert scanner.owner[state] == number
                assert scanner.accepting[state] == terminal.dfa.accepts(text)


def test_inside_states() -> None:
    scanner = scanner_of(FIGURE_3)
    assert [scanner.terminals[scanner.owner[state]].name for state in scanner.inside] == [
        "int",
        "int",
    ]
