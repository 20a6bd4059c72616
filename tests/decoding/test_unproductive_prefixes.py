"""The engine reads into unproductive rules, checked by leftmost derivations."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.decoding.test_kbnf_engine import kind
from workbench.base.errors import BuildError
from workbench.decoding.kbnf_engine import Engine
from workbench.vocabulary.toy_vocabularies import toy

LETTERS = toy("abcx")

#   grammar                                         text    becomes       because
OPEN = [
    ("start ::= 'b' start;",                        "bbb",  "incomplete", "open for ever"),
    ("start = 'a', start;",                         "aab",  "dead",       "and yet not everything"),
    ("start ::= 'a' | 'b' T; T ::= 'b' T;",         "bb",   "incomplete", "an alternative for ever"),
    ("start ::= 'a' | 'b' T; T ::= 'b' T;",         "a",    "finished",   "the other one"),
    ("start ::= T 'x'; T ::= 'b' T;",               "bx",   "dead",       "T is never over"),
    ("start ::= 'a' T 'x' | 'c'; T ::= T2; T2 ::= 'b' T;", "ab", "incomplete", "by way of T2"),
    ("start ::= ('a' T)* 'c'; T ::= 'b' T;",        "c",    "finished",   "no round at all"),
    ("start ::= ('a' T)* 'c'; T ::= 'b' T;",        "abc",  "dead",       "the round is never over"),
    ("start ::= (T | 'a')+ 'c'; T ::= 'b' T;",      "aab",  "incomplete", "the third round is T"),
    ("start ::= (T | 'a')+ 'c'; T ::= 'b' T;",      "aac",  "finished",   "no round is T"),
    ("start ::= 'a' U | 'x'; U ::= U;",             "a",    "incomplete", "U is itself"),
    ("start ::= 'a' U | 'x'; U ::= U;",             "aa",   "dead",       "and reads nothing"),
    ("start ::= P 'x'; P ::= 'a' | 'b' T; T ::= 'c' T;", "bcc", "incomplete", "P may be open"),
    ("start ::= P 'x'; P ::= 'a' | 'b' T; T ::= 'c' T;", "bx", "dead",    "then x is never reached"),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "text", "expected", "because"), OPEN)
def test_rules_that_never_finish(grammar: str, text: str, expected: str, because: str) -> None:
    assert kind(Engine(grammar, LETTERS), text) == expected, because


def test_possible_tokens_are_of_both_kinds() -> None:
    engine = Engine("start ::= 'a' | 'b' T; T ::= 'b' T;", LETTERS)
    assert engine.current_possible_tokens() == [0, 1]
    engine.advance(1)
    assert engine.current_possible_tokens() == [1]


def test_error_a_rule_that_only_calls_itself() -> None:
    with pytest.raises(BuildError) as caught:
        Engine("start ::= start;", LETTERS)
    assert caught.value.kind == "empty_grammar"


Stacks = frozenset[tuple[str, ...]]


def read(rules: dict[str, list[str]], text: str) -> str:
    """The same by leftmost derivations: every continuation, as the symbols that remain.

    Rules must not be left-recursive, or this does not end.
    """
    stacks: Stacks = frozenset({("S",)})
    for place, letter in enumerate(text):
        if place and () in unfolded(rules, stacks):
            return "overrun"
        stacks = frozenset(s[1:] for s in unfolded(rules, stacks) if s and s[0] == letter)
        if not stacks:
            return "dead"
    return "finished" if text and () in unfolded(rules, stacks) else "incomplete"


def unfolded(rules: dict[str, list[str]], stacks: Stacks) -> set[tuple[str, ...]]:
    """Stacks that begin with a letter, or are empty."""
    found, waiting = set(), list(stacks)
    while waiting:
        stack = waiting.pop()
        if stack and stack[0] in rules:
            waiting.extend((*body, *stack[1:]) for body in rules[stack[0]])
        else:
            found.add(stack)
    return found


def written(rules: dict[str, list[str]]) -> str:
    """As KBNF; capital letters are rules."""
    return " ".join(
        f"{name} ::= {' | '.join(map(items, bodies))};" for name, bodies in rules.items()
    )


def items(body: str) -> str:
    return " ".join(c if c.isupper() else f"'{c}'" for c in body) or "''"


BODIES = st.lists(st.text("abSAB", max_size=3), min_size=1, max_size=3)


@pytest.mark.exhaustive
@given(BODIES, BODIES, BODIES)
def test_reads_as_leftmost_derivations_do(s: list[str], a: list[str], b: list[str]) -> None:
    rules = {"S": s, "A": a, "B": b}
    assume(not left_recursive(rules))
    try:
        engine = Engine(written(rules), toy("ab"), start="S")
    except BuildError as error:
        if error.kind == "empty_grammar":
            return
        raise
    for length in range(5):
        for text in map("".join, product("ab", repeat=length)):
            assert kind(engine, text) == read(rules, text), (written(rules), text)


def left_recursive(rules: dict[str, list[str]]) -> bool:
    """Whether a rule can come to stand first in itself, also behind what may be empty."""
    nullable: set[str] = set()
    first: dict[str, set[str]] = {name: set() for name in rules}
    for _ in range(4):
        for name, bodies in rules.items():
            if any(all(c in nullable for c in body) for body in bodies):
                nullable.add(name)
    for _ in range(4):
        for name, bodies in rules.items():
            for body in bodies:
                for c in body:
                    if c in rules:
                        first[name] |= {c} | first[c]
                    if c not in nullable:
                        break
    return any(name in found for name, found in first.items())
