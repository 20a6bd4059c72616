"""Grammars with a stack in proper tokens: against the encoder, and against the regular rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

import workbench as wb
from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import cases, encode, of_case, toy
from tests.constraint.proper.test_proper import sequences
from tests.oracles.brute_force import texts
from workbench.analysis.random_texts import samples
from workbench.constraint.methods.proper.proper import NestedRows, ProperConstraint
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import network_of
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

#: Grammar, its alphabet, rules.
NESTED: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("start ::= 'a' start 'b' | 'c';", "abc", [("a", "a"), ("b", "b"), ("c", "b"), ("aa", "aa")]),
    ("start ::= 'a' start 'a' | 'b';", "ab", [("a", "b"), ("ab", "a"), ("a", "a")]),
    ("start ::= '[' (start (',' start)*)? ']';", "[],", [("[", "]"), ("]", ","), ("[]", ","), ("]", "]")]),
    ("start ::= e; e ::= e '+' t | t; t ::= '(' e ')' | 'x';", "()+x", [("(", "x"), ("x", "+"), ("+", "("), (")", ")")]),
    ("start ::= 'a' start 'b' | '';", "ab", [("a", "b"), ("a", "a"), ("b", "b")]),
]  # fmt: skip


def nested(text: str, vocabulary: Vocabulary) -> ProperConstraint:
    found = wb.compile(Grammar.from_kbnf(text), vocabulary, "proper")
    assert isinstance(found, ProperConstraint)
    assert isinstance(found.rows, NestedRows)
    return found


@pytest.mark.parametrize(("text", "alphabet", "rules"), NESTED)
def test_the_canonical_tokenization_of_nested_texts_is_allowed(
    text: str, alphabet: str, rules: list[tuple[str, str]]
) -> None:
    longest = 7 if len(alphabet) < 4 else 5
    grammar = Grammar.from_kbnf(text)
    accepted = [t for t in texts(alphabet, longest) if grammar.accepts(t)]
    constraint = nested(text, toy(alphabet, rules))
    assert sequences(constraint, longest) == sorted(tuple(encode(rules, t)) for t in accepted)
    assert constraint.rows.given_up == 0


@pytest.mark.parametrize(
    "case",
    [*cases("proper.json"), *cases("proper_pretokenized.json")],
    ids=lambda case: case["id"],
)
def test_a_regular_grammar_run_as_a_network(case: dict[str, Any]) -> None:
    """What is searched for token by token is what was decided beforehand."""
    dfa = dfa_of(case["regex"])
    found = ProperConstraint(network_of(dfa), of_case(case))
    assert sequences(found, case["max_len"]) == sorted(map(tuple, case["proper_sequences"]))


def test_no_token_after_one_that_always_joins() -> None:
    """After tru every text continues with e, which would have been joined."""
    rules = [("t", "r"), ("tr", "u"), ("tru", "e")]
    constraint = nested("start ::= '[' start ']' | 'true';", toy("[]true", rules))
    first = constraint.mask(constraint.initial)
    vocabulary = constraint.vocabulary
    assert sorted(vocabulary.tokens[t] or b"" for t in first) == [b"[", b"true"]


JSON = """
start ::= '{' (pair (', ' pair)*)? '}';
pair  ::= #'"[a-z]{1,8}"' ': ' value;
value ::= start | #'[0-9]+' | #'"[^"]*"' | 'true' | 'null';
"""


def test_texts_of_the_embedded_tokenizer() -> None:
    vocabulary = Vocabulary.load("builtin")
    bpe, grammar = Bpe.of(vocabulary), Grammar.from_kbnf(JSON)
    constraint = wb.compile(grammar, vocabulary, "proper")
    for text in samples(grammar, 12, seed=4, longest=60):
        state = constraint.initial
        for token in bpe.encode(text):
            assert token in constraint.mask(state), text
            state = constraint.advance(state, token)
        assert constraint.is_final(state)


@pytest.mark.slow
def test_walks_with_the_embedded_tokenizer() -> None:
    vocabulary = Vocabulary.load("builtin")
    bpe, choose = Bpe.of(vocabulary), random.Random(5)
    constraint = wb.compile(Grammar.from_kbnf(JSON), vocabulary, "proper")
    finished = 0
    for _ in range(12):
        taken: list[int] = []
        state = constraint.initial
        while not constraint.is_final(state) and len(taken) < 120:
            allowed = list(constraint.mask(state))
            taken.append(choose.choice(allowed))
            state = constraint.advance(state, taken[-1])
        if constraint.is_final(state):
            finished += 1
            assert bpe.encode(vocabulary.decode(taken)) == taken
    assert finished


def test_texts_of_any_length_fit_into_the_memory() -> None:
    """Masks are those of a constraint with more memory, for old states too."""
    grammar = Grammar.from_kbnf("start ::= '(' start ')' start | '[' start ']' start | 'x';")
    vocabulary = toy("()[]x", [("(", "("), ("((", "["), (")", "]"), ("x", ")")])
    wide = ProperConstraint(grammar.rules, vocabulary)
    small = ProperConstraint(grammar.rules, vocabulary, wb.Limits(megabytes=1))
    pairs, choose = [(wide.initial, small.initial)], random.Random(1)
    most = 0
    while pairs[-1][1].state >> 32 < 2:  # until it began anew twice
        one, other = choose.choice(pairs[-40:] if choose.random() < 0.9 else pairs)
        mask = wide.mask(one)
        assert (mask.bits == small.mask(other).bits).all()
        assert wide.is_final(one) == small.is_final(other)
        if len(mask):
            token = choose.choice(mask.ids.tolist())
            pairs.append((wide.advance(one, token), small.advance(other, token)))
        most = max(most, small.rows._edge_bytes)
    assert most < 2**19
    assert small.rows.given_up == wide.rows.given_up == 0
