"""Ambiguity: texts with two derivations, and that they have two."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given

from tests.laws.test_mask_laws import grammar_of, slow, texts, trees
from tests.oracles.tree_oracle import derivation_trees
from workbench.analysis.ambiguity import AmbiguitySearch, ambiguity, derivations
from workbench.analysis.parse_forest import Symbols
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Cfg, gathered
from workbench.syntax.grammar_tree import GrammarTree

LIMITS = Limits(seconds=2.0)


def search(text: str, limits: Limits = LIMITS) -> AmbiguitySearch:
    grammar = Grammar.from_kbnf(text)
    assert grammar.tree is not None
    return ambiguity(context_free(grammar.tree, "start"), grammar.rules, limits)


#   grammar, message, the two derivations (or another hint), why
AMBIGUOUS = [
    ("start ::= start '+' start | '1';",
     "the rule 'start' can read '1+1+1' in two ways",
     "either start(start(start(1) + start(1)) + start(1)) or start(start(1) + start(start(1) + start(1)))",
     "which sum is the inner one"),
    ("start ::= s; s ::= 'if ' s ('else ' s)? | 'x ';",
     "the rule 's' can read 'if if x else x ' in two ways",
     "either s(if  s(if  s(x ) else  s(x ))) or s(if  s(if  s(x )) else  s(x ))",
     "the dangling else"),
    ("start ::= '-'? digit; digit ::= #'[0-9]' | #'[1-9]' #'[0-9]'*;",
     "the rule 'digit' can read '1' in two ways",
     "either #'[0-9]' reads '1' or #'[1-9]' reads '1'",
     "DOMINO's number: no difference is seen on 0"),
    ("start ::= 'a'* 'a'?;",
     "the rule 'start' can read 'a' in two ways",
     "either 'a'* reads 'a' or 'a'? reads 'a'",
     "an optional letter after many of them"),
    ("start ::= 'x' name | 'x' word; name ::= 'ab' 'c'; word ::= 'a' 'bc';",
     "the rule 'start' can read 'xabc' in two ways",
     "either start(x name(ab c)) or start(x word(a bc))",
     "cut in two places"),
    ("start ::= start | 'a';",
     "the rule 'start' can read 'a' in two ways",
     "either start(a) or start(start(a))",
     "a rule that is itself: derivations without end"),
    ("start ::= 'a' m; m ::= 'b'? | 'c'?;",
     "the rule 'm' can read the empty text in two ways",
     "either 'b'? reads nothing or 'c'? reads nothing",
     "nothing, by either alternative"),
    ("start ::= opt start 'x' | 'y'; opt ::= 'z'?;",
     "the rule 'start' can read 'zyxx' in two ways",
     "either start(opt(z) start(opt() start(y) x) x) or start(opt() start(opt(z) start(y) x) x)",
     "left recursion behind something optional"),
    ("start ::= ('a'*)*;",
     "the rule 'start' can read 'aa' in two ways",
     "either ('a'*)* reads the copies 'a' and 'a' or ('a'*)* reads the copy 'aa'",
     "a repetition in a repetition has no alternatives"),
    ("start ::= 'a'? 'a'? 'b';",
     "the rule 'start' can read 'ab' in two ways",
     "either 'a'? (line 1, column 11) reads 'a' or 'a'? (line 1, column 16) reads 'a'",
     "pieces that look alike have their positions"),
    ("start ::= ('a' | #'a')*;",
     "the rule 'start' can read 'a' in two ways",
     "either 'a' reads 'a' or #'a' reads 'a'",
     "equal copies by different alternatives"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "hint", "why"), AMBIGUOUS, ids=[a[-1] for a in AMBIGUOUS]
)
def test_error_ambiguity_is_reported(text: str, message: str, hint: str, why: str) -> None:
    found = search(text).found
    assert found is not None
    assert found.message == message
    assert found.hint == hint


#   grammar                                                   why every text has one derivation
UNAMBIGUOUS = [
    ("start ::= 'a' start 'b' | 'ab';",                       "a stack with one letter"),
    ("start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | '';", "not deterministic, yet each palindrome has one middle"),
    ("start ::= #'(a|b)*a(a|b)*';",                           "a terminal has one derivation however it matches inside"),
    ("start ::= ('a'?)* 'b';",                                "empty copies are no separate derivations"),
    ("start ::= 'a' start 'b' | s; s ::= 'b'*;",              "every b has one position, though it is known only at the end"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "why"), UNAMBIGUOUS, ids=[why for _, why in UNAMBIGUOUS])
def test_unambiguous_grammars(text: str, why: str) -> None:
    looked = search(text, replace(LIMITS, seconds=0.5))
    assert looked.found is None
    assert looked.tried > 0


# -- against derivations written down one by one ----------------------------------------------


def slow_count(cfg: Cfg, name: str, text: bytes, most: int = 2) -> int:
    """Distinct derivation trees of a text, up to ``most``."""
    return min(most, len(derivation_trees(cfg, name, text, most)))


@pytest.mark.exhaustive
@slow
@given(trees(), texts)
def test_counts_of_derivations(tree: GrammarTree, text: bytes) -> None:
    grammar_of(tree)  # those that are refused are not drawn
    cfg = context_free(tree, "start")
    text = text[:4]
    counted = derivations(Symbols.of_cfg(cfg), "start", text).count()
    assert min(counted, 2) == slow_count(cfg, "start", text)


@pytest.mark.exhaustive
@slow
@given(trees())
def test_a_witness_has_two_derivations(tree: GrammarTree) -> None:
    grammar = grammar_of(tree)
    cfg = context_free(tree, "start")
    found = ambiguity(cfg, grammar.rules, Limits(seconds=0.2)).found
    assume(found is not None and len(found.text) <= 5)
    assert found is not None
    assert found.rule in gathered(tree)
    assert slow_count(cfg, found.rule, found.text) == 2
    for reading in found.readings:
        assert (
            reading.startswith(f"{found.rule}(")
            or " reads " in reading
            or reading == "nothing is read"
        )
    assert len(set(found.readings)) == len(found.readings) in (0, 2)


@pytest.mark.exhaustive
@slow
@given(trees(), texts)
def test_derivations_are_of_accepted_texts(tree: GrammarTree, text: bytes) -> None:
    grammar = grammar_of(tree)
    symbols = Symbols.of_cfg(context_free(tree, "start"))
    forest = derivations(symbols, "start", text)
    assert bool(forest.count()) == forest.accepted == grammar.accepts(text)


def test_the_bound_is_reported() -> None:
    assert search("start ::= 'a' 'b';").pieces is None, "there is no other text"
    stopped = search("start ::= start 'a' | 'b' start 'c' | 'd';", Limits(seconds=0.05))
    assert stopped.found is None
    assert stopped.pieces is not None
