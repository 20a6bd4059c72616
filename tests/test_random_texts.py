"""Samples are accepted, near misses are not, and both are fast for every grammar."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import assume, given

from tests.automata.machines import dfa_of
from tests.laws.test_mask_laws import slow, trees
from workbench.analysis.random_texts import PathCounts, character, near_misses, samples
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.grammar_tree import GrammarTree

GALLERY = load_gallery()


def grammar_of(name: str) -> Grammar:
    example = GALLERY[name]
    return Grammar.from_text(example.text, example.notation, example.start)


@pytest.mark.parametrize("name", GALLERY)
def test_examples_have_samples_and_near_misses(name: str) -> None:
    grammar = grammar_of(name)
    found = samples(grammar, 4, seed=3)
    assert found
    assert all(grammar.accepts(text) for text in found)
    missed = near_misses(grammar, 2, seed=3)
    assert missed
    assert not any(grammar.accepts(text) for text, _ in missed)
    assert samples(grammar, 4, seed=3) == found, "the seed decides"


#   regex                            all its texts
FINITE = [
    ("yes|no",                       {"yes", "no"}),
    ("a?",                           {"", "a"}),
    ("[ab]{2}",                      {"aa", "ab", "ba", "bb"}),
    ("x",                            {"x"}),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "texts"), FINITE, ids=[pattern for pattern, _ in FINITE])
def test_a_small_language_is_sampled_whole(pattern: str, texts: set[str]) -> None:
    assert set(samples(Grammar.from_regex(pattern), 20, seed=1)) == texts


@pytest.mark.parametrize("pattern", [r"[^\s\S]", r"a[^\s\S]|b[^\s\S]{3}"])
def test_a_language_without_texts_has_no_samples(pattern: str) -> None:
    grammar = Grammar.from_regex(pattern)
    assert samples(grammar) == ()
    assert near_misses(grammar) == ()


#   what is hard about it                                         grammar
HARD = {
    "a machine that would explode": Grammar.from_regex("(a|b)*a(a|b){40}"),
    "no text is short": Grammar.from_regex("(ab){900}x*"),
    "counts of counts": Grammar.from_regex("((a{0,40}b){0,40}c){0,40}"),
    "any character": Grammar.from_regex(r"(?s).{5,}"),
    "no ASCII": Grammar.from_regex("[ぁ-ん]{2,}[^\\x00-\\x7f]"),
    "recursion before anything is read": Grammar.from_kbnf("start ::= start '+' start | 'x';"),
    "recursion that seldom ends": Grammar.from_kbnf("start ::= '(' start start start ')' | 'x';"),
    "rules that call each other": Grammar.from_kbnf("start ::= 'a' b start | 'x'; b ::= '[' start ']' b | 'y';"),
    "a complement": Grammar.from_kbnf("start ::= except!('<end>') '<end>';"),
    "a short complement": Grammar.from_kbnf("start ::= except!('ab', 3);"),
    "no match inside": Grammar.from_kbnf("start ::= '\"' #ex'\"|\\n' '\"';"),
    "pieces of a text": Grammar.from_kbnf("start ::= #substrs'naïve café';"),
    "an empty text": Grammar.from_kbnf("start ::= 'a'? ('(' start ')')?;"),
    "deep before the first end": Grammar.from_kbnf(
        "start ::= r0 | '(' start ')';" + "".join(f"r{i} ::= '{{' r{i + 1} '}}';" for i in range(40)) + "r40 ::= 'z';"
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("why", HARD)
def test_error_hard_grammars_are_sampled_soon(why: str) -> None:
    # a busy machine is no fault of theirs
    grammar = replace(HARD[why], limits=replace(LIMITS, seconds=20.0))
    began = time.perf_counter()
    found = samples(grammar, 5, seed=7)
    seconds = time.perf_counter() - began
    assert found
    assert all(grammar.accepts(text) for text in found)
    assert seconds < 10, "a second, and much for a slow machine"


def test_samples_of_a_recursive_grammar_differ_in_shape() -> None:
    found = samples(grammar_of("json"), 30, seed=2)
    assert {text.strip()[0] for text in found} >= {"{", "[", '"'}


def test_lengths_stay_near_the_requested_one() -> None:
    for name in ("email", "json", "figure_1_odd"):
        assert max(map(len, samples(grammar_of(name), 20, seed=5, longest=25))) <= 25


def paths_by_hand(grammar: Grammar, alphabet: str, length: int) -> int:
    """Texts of a language over letters that are each a separate class."""
    return sum(grammar.accepts("".join(letters)) for letters in product(alphabet, repeat=length))


@pytest.mark.parametrize("pattern", ["(aa|ab|cd)*", "a(b|c)*|cc+", "(a|bb|ccc)+", "(abc|acb|a)*b?"])
def test_paths_are_counted_as_texts_of_single_letters_are(pattern: str) -> None:
    grammar = Grammar.from_regex(pattern)
    dfa = grammar.dfa
    assert dfa is not None
    paths = PathCounts(dfa, 5)
    apart = len(set(dfa.classes[97:100].tolist())) == 3
    assert apart, "each letter leads to another state, else a path would represent several texts"
    for length in range(6):
        # two letters that lead to one state are one path: such states occur only at an end
        assert paths.count(length) <= paths_by_hand(grammar, "abcd", length)
        assert bool(paths.count(length)) == bool(paths_by_hand(grammar, "abcd", length))
    assert paths.lengths == [n for n in range(6) if paths.count(n)]


def test_paths_of_one_length_are_equally_likely() -> None:
    # three branches that never meet before the end: three paths, whatever their sets hold
    dfa = dfa_of("x1|[a-w]2|z3")
    random = Random(11)
    paths = PathCounts(dfa, 4)
    assert paths.count(2) == 3
    drawn = Counter(paths.draw(random)[-1] for _ in range(3000))
    assert set(drawn) == {"1", "2", "3"}
    assert all(900 < count < 1100 for count in drawn.values()), "a third each, within four sigma"


def test_readable_characters_come_first() -> None:
    random = Random(1)
    drawn = [character(((0, 0x10FFFF),), random) for _ in range(400)]
    assert sum(one.isascii() and one.isprintable() for one in drawn) > 360
    assert {character(((0x0A, 0x0A),), random) for _ in range(3)} == {"\n"}
    assert character(((0x41, 0x41), (0x61, 0x61)), random) in "Aa"


@pytest.mark.parametrize("regex", ["[a-z]{5,30}", "[ab]{9}"])
def test_many_samples_are_limited_in_time(regex: str) -> None:
    grammar = Grammar.from_regex(regex, limits=replace(LIMITS, seconds=0.4))
    began = time.process_time()
    found = samples(grammar, 100_000)
    assert found
    assert time.process_time() - began < 3, "0.2 seconds of waiting time, and much for building"


def test_rules_that_read_nothing_do_not_call_each_other_forever() -> None:
    grammar = Grammar.from_kbnf("start ::= A*; A ::= 'a' | start | B; B ::= '';")
    assert len(samples(grammar, 3, longest=8)) == 3


@pytest.mark.slow
@slow
@given(trees())
def test_every_grammar_that_has_texts_has_samples(tree: GrammarTree) -> None:
    try:
        grammar = Grammar(tree.source, Notation.KBNF, build(tree), tree=tree)
    except WorkbenchError:
        assume(False)
    found = samples(grammar, 3, longest=8)
    assert found
    assert all(grammar.accepts(text) for text in found)
    assert not any(grammar.accepts(text) for text, _ in near_misses(grammar, 2, longest=8))
