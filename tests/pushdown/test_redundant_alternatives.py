"""Redundant alternatives: they add no text, and can be deleted."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.advice import lint
from workbench.analysis.redundant_alternatives import is_included
from workbench.automata.build import regex_dfa
from workbench.automata.operations import difference, equivalent
from workbench.grammar.grammar import Grammar

#   regex                      pieces that add nothing, and why
REGEXES = [
    ("a|bc|a",                 ["|a"], "written twice"),
    ("(?:x|y+|x)z",            ["|x"], "also inside a group"),
    ("true|[a-z]+",            ["true|"], "held by a class"),
    ("[0-9]{1,3}|[0-9]{2}|x",  ["|[0-9]{2}"], "held by a count"),
    ("ab|(ab|cd)",             ["ab|"], "held by a group"),
    ("a|b|cd|c",               [], "nothing is held"),
    ("[a-m]+|[g-z]+",          [], "they share texts, and each has its own"),
    ("(a|aa|aaa)b",            [], "each has its own"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "pieces", "why"), REGEXES, ids=[why for *_, why in REGEXES])
def test_branches_of_a_regex(pattern: str, pieces: list[str], why: str) -> None:
    grammar = Grammar.from_regex(pattern)
    found = [one for one in lint(grammar).advice if one.kind.endswith("_alternative")]
    assert [pattern[one.span.start : one.span.end] for one in found] == pieces, why
    for one in found:
        assert one.fix == ""
        mended = Grammar.from_regex(pattern[: one.span.start] + pattern[one.span.end :])
        assert grammar.dfa is not None
        assert mended.dfa is not None
        assert equivalent(grammar.dfa, mended.dfa)


#   grammar                                                    kinds, pieces, and why
RULES = [
    ("start ::= 'a' | 'b' | 'a';",                             [("duplicate_alternative", " | 'a'")], "written twice"),
    ("start ::= x 'q' | y | x  'q'; x ::= 'x'; y ::= 'y';",    [("duplicate_alternative", " | x  'q'")], "calls too"),
    ("start ::= 'ab' | #'[a-z]+';",                            [("included_alternative", "'ab' | ")], "a literal held by a regex"),
    ("start ::= #'a|b|a';",                                    [("duplicate_alternative", "|a")], "inside a terminal"),
    ("start ::= a; a ::= 'x'; a ::= 'x';",                     [("duplicate_alternative", "'x'")], "rules of one name: nothing to cut"),
    ("start ::= 'x' e; e ::= ''? ;",                           [("empty_rule", "e")], "a rule without a text"),
    ("start ::= 'x' e; e ::= '' | 'y';",                       [], "one with two"),
    ("start ::= a | b; a ::= 'x'; b ::= 'x';",                 [("ambiguous", "start")], "two rules are two meanings"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "why"), RULES, ids=[why for *_, why in RULES])
def test_branches_of_rules(text: str, message: list[tuple[str, str]], why: str) -> None:
    found = [
        one
        for one in lint(Grammar.from_kbnf(text), seconds=0.3).advice
        if one.kind != "ambiguous" or (message and message[0][0] == "ambiguous")
    ]
    assert [(one.kind, text[one.span.start : one.span.end]) for one in found] == message, why
    for one in found:
        if one.fix is not None:
            mended = Grammar.from_kbnf(text[: one.span.start] + one.fix + text[one.span.end :])
            for length in range(3):
                for letters in product("abqxyz", repeat=length):
                    word = "".join(letters)
                    assert mended.accepts(word) == Grammar.from_kbnf(text).accepts(word)


patterns = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "ab", "c?"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        inner.map(lambda one: f"({one})*"),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(patterns, patterns)
@settings(max_examples=60, deadline=None)
def test_inclusion_is_that_of_texts(smaller: str, larger: str) -> None:
    one, other = Grammar.from_regex(smaller), Grammar.from_regex(larger)
    assert one.regex is not None
    assert other.regex is not None
    small, large = regex_dfa(one.regex), regex_dfa(other.regex)
    assert is_included(small, large) == difference(small, large).is_empty
