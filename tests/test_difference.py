"""equivalent(): checked against all short texts, and on typical edits."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.test_mask_laws import slow, trees
from tests.oracles.brute_force import texts
from workbench.analysis.difference import Difference, equivalent
from workbench.base.errors import BuildError
from workbench.base.limits import Limits
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.grammar_tree import GrammarTree

QUICK = Limits(seconds=0.3)


def grammar_of(tree: GrammarTree) -> Grammar:
    """The grammar of a drawn tree that has texts."""
    try:
        return Grammar(tree.source, Notation.KBNF, build(tree), tree=tree)
    except BuildError:
        assume(False)
        raise


def read(written: str) -> Grammar:
    return Grammar.from_kbnf(written) if "::=" in written else Grammar.from_regex(written)


#   first                            second                             same   gained    lost    exact  because
CASES = [
    ("a+",                           "aa*",                             True,  None,     None,   True,  "written otherwise"),
    ("a{3}",                         "a{2,4}",                          False, "aa",     None,   True,  "all that was is still there"),
    ("[a-z]+",                       "[a-y]+|é",                        False, "é",      "z",    True,  "one character, not two bytes, is shortest"),
    ("bb",                           "bb|é\U0001f600",                  False, "é😀",    None,   True,  "two characters of six bytes"),
    ("[^\"]*",                       "[^\"€]*",                         False, None,     "€",    True,  "the one character left out"),
    ("a",                            r"[^\s\S]",                        False, None,     "a",    True,  "a language without texts"),
    (r"[^\s\S]",                     r"[^\s\S]b",                       True,  None,     None,   True,  "two of them"),
    ("",                             "a?",                              False, "a",      None,   True,  "the empty text is a text"),
    ("(a|b)*a(a|b){30}",             "(a|b)*a(a|b){30}",                True,  None,     None,   True,  "too large to walk, and the same"),
    ("(a|b)*a(?:b|a){30}",           "[ab]*a([ab]){30}",                True,  None,     None,   True,  "too large to walk, and the same but for brackets"),
    ("(a|b)*a(a|b){3}",              "(a|b)*c(a|b){3}",                 False, "caaa",   "aaaa", True,  "one letter in the middle"),
    ("start ::= 'a' start?;",        "a+",                              True,  None,     None,   True,  "rules that need no stack"),
    ("start ::= '(' start ')' | '';", "start ::= (b | ''); b ::= '(' start ')';",
                                                                        True,  None,     None,   True,  "a stack: the same rules with other names"),
    ("start ::= '(' start ')' | '';", "(\\(\\(\\)\\))?",                False, None,     "()",   True,  "a stack against none: what both read has an end"),
    ("start ::= '(' start ')' | 'a';", "start ::= '(' start ')' | 'b';",
                                                                        False, "b",      "a",    True,  "both found: nothing more to look for"),
    ("a(?P<IMAGE>)",                 "a",                               False, None,     None,   True,  "the same characters, another token"),
    ("(?P<TEXT_TOKEN>)+",            "(?P<TEXT_TOKEN>)",                False, None,     None,   True,  "as many characters, not as many tokens"),
    ("a(?P<TEXT_TOKEN>)",            "a(?P<PARAGRAPH_TOKEN>)",          False, None,     "a\n",  True,  "a label with fewer characters"),
    ("(?:a|b)(?P<TEXT_TOKEN>)*",     "[ab](?P<TEXT_TOKEN>)*",           True,  None,     None,   True,  "labels in the same places"),
    ("[ab](?P<TEXT_TOKEN>)",         "start ::= ('a' | 'b') #'(?P<TEXT_TOKEN>)';",
                                                                        True,  None,     None,   True,  "in another notation"),
    ("start ::= '(' start ')' | 'x';", "start ::= '(' (start ')' | 'x)' | '(' start '))') | 'x';",
                                                                        None,  None,     None,   False, "the same, and no proof of it"),
    ("start ::= '(' start ')' | 'x';", "start ::= '(' (start ')' | 'x)' | '(' start '))') | 'x' | '';",
                                                                        False, "",       None,   False, "the empty text is found, whatever the bound"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "same", "gained", "lost", "exact", "because"),
    CASES,
    ids=[row[-1] for row in CASES],
)
def test_two_grammars_differ_by_their_shortest_texts(
    first: str,
    second: str,
    same: bool | None,
    gained: str | None,
    lost: str | None,
    exact: bool,
    because: str,
) -> None:
    found = equivalent(read(first), read(second), limits=QUICK)
    wanted = tuple(None if text is None else text.encode() for text in (gained, lost))
    assert (found.same, found.gained, found.lost, found.exact) == (same, *wanted, exact), because
    assert bool(found) is (same is True)
    back = equivalent(read(second), read(first), limits=QUICK)
    assert (back.same, back.gained, back.lost) == (same, *reversed(wanted)), "the other way round"


def test_labels_are_reported_by_their_names() -> None:
    found = equivalent(read("ab(?P<IMAGE>)"), read("a(?P<IMAGE>)b|a(?P<TEXT_TOKEN>)"))
    assert found.why.endswith("; labels were compared as the characters they may be")
    found = equivalent(read("ab(?P<IMAGE>)"), read("a(?P<IMAGE>)b"))
    assert found.why == (
        "no text distinguishes them: all states were compared, but tokens are read differently: "
        "only the second reads a⟨IMAGE⟩b, only the first reads ab⟨IMAGE⟩"
    )


def test_labels_that_no_machine_reads_are_compared_as_characters() -> None:
    written = "start ::= #e'a(?P<TEXT_TOKEN>)' | 'b'{};"
    found = equivalent(read(written.format("")), read(written.format(" ")))
    assert (found.same, found.gained, found.lost) == (None, None, None)
    assert found.why.endswith("; labels were compared as characters alone")


def test_bytes_that_are_no_text_are_compared_too() -> None:
    found = equivalent(read("start ::= 'é'?;"), read("start ::= #substrs'é';"))
    assert (found.gained, found.lost) == (b"\xa9", None)
    assert str(found).splitlines()[0] == r"gained: '\\xa9'"


def test_a_difference_past_the_bound_is_found_by_samples() -> None:
    first = read("start ::= s; s ::= '(' s ')' | '<' s '>' | 'x';")
    second = read("start ::= s; s ::= '(' s ')' | '<' s '>' | 'x' | '(((<<<x>>>)))y';")
    found = equivalent(first, second, limits=Limits(configurations=1_000, seconds=0.02))
    assert found.bound is not None
    if (
        found.gained is not None
    ):  # a sample may miss it; a reported text is accepted by only one of the two
        assert second.accepts(found.gained)
        assert not first.accepts(found.gained)
    assert found.lost is None


@pytest.mark.slow
def test_the_time_limit_is_kept() -> None:
    first = read("(a|b)*a(a|b){40}")
    started = time.perf_counter()
    found = equivalent(first, read("(b|a)*a(a|b)(a|b){39}"), limits=Limits(seconds=0.1))
    assert found.same is None
    assert "all texts of up to" in found.why
    assert time.perf_counter() - started < 4.0  # samples have a second each


@pytest.mark.slow
def test_samples_of_a_long_chain_keep_the_time_limit() -> None:
    started = time.perf_counter()
    found = equivalent(read("(a{97})*"), read("(a{97})*|(a{9700}){5}"), limits=QUICK)
    assert found.same is None
    assert time.perf_counter() - started < 6.0  # half a minute where each state asked all others


@pytest.mark.exhaustive
@slow
@given(trees(), trees())
def test_agrees_with_every_short_text(one: GrammarTree, other: GrammarTree) -> None:
    first, second = grammar_of(one), grammar_of(other)
    found = equivalent(first, second, limits=QUICK)
    most = 5 if found.bound is None else min(5, found.bound)
    short = list(texts("abc", most))
    gained = [t for t in short if second.accepts(t) and not first.accepts(t)]
    lost = [t for t in short if first.accepts(t) and not second.accepts(t)]
    assert_shortest(found.gained, gained, most)
    assert_shortest(found.lost, lost, most)
    assert_consistent(found)


def assert_shortest(found: bytes | None, differing: list[str], most: int) -> None:
    """A text within the bound is a shortest one; a longer one is a sample."""
    if differing:
        assert found is not None
        assert len(found.decode()) == len(differing[0])
        assert found.decode() in differing
    elif found is not None:
        assert len(found) > most


def assert_consistent(found: Difference) -> None:
    if found.same is not False:
        assert found.gained is found.lost is None
    if found.same is None:
        assert not found.exact


@pytest.mark.exhaustive
@slow
@given(trees())
def test_a_grammar_equals_itself(tree: GrammarTree) -> None:
    found = equivalent(grammar_of(tree), grammar_of(tree), limits=QUICK)
    assert found.same is True
    assert found.exact


@pytest.mark.slow
@slow
@given(st.sampled_from(sorted(load_gallery())))
def test_an_example_equals_itself(name: str) -> None:
    example = load_gallery()[name]
    if example.notation != "kbnf":
        return
    grammar = Grammar.from_kbnf(example.text, example.start)
    assert equivalent(grammar, Grammar.from_kbnf(example.text + "\n", example.start))
