"""The parser over terminals: what can follow a sequence of them."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given

from tests.laws.test_mask_laws import grammar_of, slow, trees
from tests.oracles.grammar_oracle import GrammarOracle
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.methods.domino.scanner import Terminals, terminals_of
from workbench.constraint.methods.domino.terminal_parser import Parser
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import toy


def after(parser: Parser, sequence: tuple[int, ...]) -> int:
    state = parser.initial
    for terminal in sequence:
        state = parser.step(state, terminal) if state != DEAD else DEAD
    return state


def sequences(terminals: Terminals, most: int) -> list[tuple[int, ...]]:
    numbers = range(len(terminals.each))
    return [some for length in range(most + 1) for some in product(numbers, repeat=length)]


@pytest.mark.exhaustive
@slow
@given(trees())
def test_agrees_with_the_oracle(tree: GrammarTree) -> None:
    terminals = terminals_of(grammar_of(tree))
    parser = Parser(terminals, LIMITS)
    for sequence in sequences(terminals, 3):
        codes = b"".join(map(terminals.code, sequence))
        oracle = GrammarOracle(terminals.tree, codes, terminals.start)
        state = after(parser, sequence)
        assert (state != DEAD) == oracle.is_prefix
        assert oracle.accepts == (state != DEAD and parser.is_final(state))


@pytest.mark.exhaustive
@slow
@given(trees())
def test_follows_contains_every_pair_that_occurs(tree: GrammarTree) -> None:
    terminals = terminals_of(grammar_of(tree))
    parser = Parser(terminals, LIMITS)
    for sequence in sequences(terminals, 4):
        if len(sequence) > 1 and after(parser, sequence) != DEAD:
            assert sequence[-1] in parser.follows[sequence[-2]]


def test_follows_contains_no_impossible_pair() -> None:
    terminals = terminals_of(
        Grammar.from_kbnf("E ::= int | '(' E ')' | E '+' E; int ::= #'[1-9][0-9]*|0+';", "E")
    )
    names = [terminal.name for terminal in terminals.each]
    found = {
        names[number]: {names[after] for after in some}
        for number, some in enumerate(Parser(terminals, LIMITS).follows)
    }
    assert found == {
        "int": {"')'", "'+'"},
        "'('": {"int", "'('"},
        "')'": {"')'", "'+'"},
        "'+'": {"int", "'('"},
    }


def test_old_states_remain_valid() -> None:
    parser = Parser(terminals_of(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';")), LIMITS)
    once = parser.step(parser.initial, 0)
    twice = parser.step(once, 0)
    assert parser.step(once, 0) == twice
    assert parser.step(once, 2) != DEAD
    assert parser.step(once, 1) == DEAD


def test_substates_do_not_depend_on_callers() -> None:
    """After 'a' the parser is at the same place of the rule at every depth."""
    parser = Parser(terminals_of(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';")), LIMITS)
    once = parser.step(parser.initial, 0)
    twice = parser.step(once, 0)
    assert once != twice
    assert parser.substate(once) == parser.substate(twice) != parser.substate(parser.initial)


def test_more_terminals_than_bytes() -> None:
    words = " | ".join(f"'w{i:03}'" for i in range(300))
    terminals = terminals_of(Grammar.from_kbnf(f"start ::= ({words}) start 'x' | 'x';"))
    parser = Parser(terminals, LIMITS)
    number = {terminal.name: i for i, terminal in enumerate(terminals.each)}
    state = after(parser, (number["'w299'"], number["'w007'"], number["'x'"]))
    assert state != DEAD
    assert not parser.is_final(state)
    assert parser.step(state, number["'w001'"]) == DEAD
    assert parser.is_final(after(parser, (number["'w299'"], number["'x'"], number["'x'"])))
    assert number["'x'"] in parser.follows[number["'w299'"]]
    assert parser.follows[number["'x'"]] == (number["'x'"],)


@pytest.mark.slow
def test_error_when_the_rules_take_too_long() -> None:
    text = (
        'start: "if" _NEWLINE _INDENT line~1..1000 _DEDENT\nline: "x" _NEWLINE | start\n'
        "_NEWLINE: /\\n */\n%declare _INDENT _DEDENT\n"
    )
    limits = Limits(seconds=1.0, states=20_000)
    grammar = Grammar.from_lark(text, limits=limits)
    began = time.process_time()
    with pytest.raises(LimitError, match="seconds"):
        compile_constraint(grammar, toy(["if", "x", "\n", " "]), "domino", limits)
    assert time.process_time() - began < 20  # it was minutes
