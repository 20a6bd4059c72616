"""Conflicts of stack machines: which grammars have some, the messages, and that they are true."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, reject

from tests.laws.test_mask_laws import grammar_of, slow, texts, trees
from workbench.analysis.conflicts import (
    Conflict,
    characters_beginning_with,
    conflict_sites,
    conflicts,
    quoted_end,
)
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.pushdown.shortest_texts import Shortest
from workbench.syntax.grammar_tree import GrammarTree


def found(text: str) -> tuple[Conflict, ...]:
    grammar = Grammar.from_kbnf(text)
    return conflicts(grammar.network, lambda: grammar.rules, grammar.tree)


#   grammar                                                   why there is nothing to decide
DETERMINISTIC = [
    ("start ::= 'a' start 'b' | 'ab';",                       "after 'a' the next character tells"),
    ("start ::= ('a' start 'b')?;",                           "the same, with nothing in the middle"),
    ("start ::= item*; item ::= '(' start ')' | '[' start ']' | '{' start '}';", "brackets, Dyck 1882"),
    ("start ::= 'a' start 'a' | 'b' start 'b' | 'c';",        "the middle is marked"),
    ("start ::= m 'b'*; m ::= ('a' m 'b')?;",                 "the matched part comes first"),
    ("start ::= '[' l ']'; l ::= i | i ',' l; i ::= #'[0-9]'+ | start;", "no LL(1), but alternatives of one rule are one automaton"),
    ("start ::= start '+' start | start '*' start | '(' start ')' | #'[a-z]';", "ambiguous, yet read by a loop: a mask sees no difference"),
    ("start ::= e; e ::= t (('+' | '-') t)*; t ::= f ('*' f)*; f ::= '-' f | '(' e ')' | #'[0-9]'+;", "arithmetic without left recursion"),
    ("start ::= #'(a|b)*a(a|b)';",                            "a regular language is determinized"),
    ("start ::= 'a'* 'a'?;",                                  "ambiguous and regular"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), DETERMINISTIC, ids=[why for _, why in DETERMINISTIC])
def test_deterministic_grammars_have_no_conflict(text: str, why: str) -> None:
    assert found(text) == ()


#   grammar, the exact message, why
TOLD = [
    ("start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | '';",
     ["after 'a', 'a' can begin an inner 'start' or be read by the 'start' around it",
      "after 'aa', 'a' can belong to 'start' or to the 'start' around it"],
     "the middle of a palindrome cannot be predicted"),
    ("start ::= one | two; one ::= 'a' one 'b' | 'ab'; two ::= 'a' two 'bb' | 'abb';",
     ["after 'a', 'a' can be read by 'one' or 'two'"],
     "one b an a, or two: distinguished only at the end"),
    ("start ::= s; s ::= 'if ' s ('else ' s)? | 'x ';",
     ["after 'if if x ', 'e' can belong to 's' or to the 's' around it"],
     "the dangling else"),
    ("start ::= '1 + ' operand ';'; operand ::= group | call; group ::= '(' group ')' | '()';"
     " call ::= '(' call ']' | '(]';",
     ["after '1 + ', '(' can begin 'group' or 'call'"],
     "two brackets that close differently"),
    ("start ::= '.' left | right; left ::= '(' left '1' | right ']'; right ::= '(' right '2' | '3';",
     ["after '.', '(' can begin 'right' or be read by 'left' itself"],
     "a call that begins like the rule that contains it"),
    ("start ::= 'a' start 'b' | surplus; surplus ::= 'b'*;",
     ["after 'a', 'b' can begin an inner 'start' or be read by the 'start' around it",
      "after 'ab', 'b' can belong to 'start' or to the 'start' around it"],
     "a deterministic language, but not by this grammar"),
    ("start ::= list ' ' 'x'; list ::= '[' list ']' ' '* | '[]';",
     ["after '[[]]', ' ' can belong to 'list' or come after it in 'start'"],
     "white space on both sides of a rule's end"),
    ("start ::= opt start 'x' | 'y'; opt ::= 'z'?;",
     ["after 'zy', 'x' can belong to 'start' or to the 'start' around it"],
     "z is optional, so the number of missing x is unknown"),
    ("start ::= 'é' start 'é' | 'é';",
     ["after 'éé', 'é' can belong to 'start' or to the 'start' around it"],
     "characters of two bytes are reported as characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "messages", "why"), TOLD, ids=[why for _, _, why in TOLD])
def test_error_conflicts_are_reported(text: str, messages: list[str], why: str) -> None:
    told = found(text)
    assert [conflict.message for conflict in told] == messages
    for conflict in told:
        assert successors(Grammar.from_kbnf(text).network, conflict.text, conflict.bytes[0]) > 1


def test_a_conflict_names_its_rules_with_their_spans() -> None:
    text = "start ::= one | two; one ::= 'a' one 'b' | 'ab'; two ::= 'a' two 'bb' | 'abb';"
    (conflict,) = found(text)
    assert conflict.rules == ("one", "two")
    assert [text[span.start : span.end] for span in conflict.spans] == ["one", "two"]
    assert (conflict.example, conflict.text, conflict.bytes) == ("a", b"a", (ord("a"),))
    assert conflict.next == ((ord("a"), ord("a")),)
    assert "deterministic" in conflict.hint


def test_conflicts_without_rule_names_are_reported() -> None:
    grammar = Grammar.from_kbnf("start ::= 'a' start 'a' | 'a';")
    (first, *_) = conflicts(grammar.network)
    assert first.message.startswith("after 'aa', 'a' can ")
    assert first.spans == ()


def test_at_most_ten_are_reported_the_nearest_first() -> None:
    names = [f"r{i}" for i in range(30)]
    rules = [f"{n} ::= 'x' {n} '{i:02}' | 'x';" for i, n in enumerate(names)]
    places = [f"'{i:02}' ({n} | {n} '!')" for i, n in enumerate(names)]
    told = found(f"start ::= {' | '.join(places)}; {' '.join(rules)}")
    assert 0 < len(told) <= 10
    assert [len(c.text) for c in told] == sorted(len(c.text) for c in told)


def test_without_time_there_is_no_advice() -> None:
    grammar = Grammar.from_kbnf(TOLD[0][0])
    late = Limits(seconds=1e-9)
    assert conflicts(grammar.network, limits=late) == ()
    with pytest.raises(LimitError):
        conflict_sites(grammar.network, late)


@pytest.mark.parametrize("name", [n for n, e in load_gallery().items() if e.notation == "kbnf"])
def test_gallery_is_linted_in_time(name: str) -> None:
    example = load_gallery()[name]
    grammar = Grammar.from_kbnf(example.text, example.start)
    began = time.thread_time()
    told = conflicts(grammar.network, lambda: grammar.rules, grammar.tree)
    assert time.thread_time() - began < 5, "a hundredth of it is needed"
    assert bool(told) == (name in {"domino_c", "domino_xml", "expression", "typed"})
    for conflict in told:
        assert successors(grammar.network, conflict.text, conflict.bytes[0]) > 1


@pytest.mark.slow
def test_thousands_of_transitions_are_reported_as_fast() -> None:
    text = "start ::= (A 'c' B)*; A ::= (A 'c' B)*; B ::= 'a' start | start;"
    grammar = Grammar.from_kbnf(text)
    found(text)  # the runner's kernels are compiled once
    began = time.thread_time()
    told = conflicts(grammar.network, lambda: grammar.rules, grammar.tree)
    assert time.thread_time() - began < 3, "a thirtieth of it; comparing every two ways took four"
    assert len(told) == 3


#   bytes                 the characters that begin with them
BEGINNINGS = [
    (b"a",                ((0x61, 0x61),)),
    (b"az",               ((0x61, 0x61), (0x7A, 0x7A))),
    (b"\xc3",             ((0xC0, 0xFF),)),
    (b"\xe0",             ((0x800, 0xFFF),)),
    (b"\xf0",             ((0x10000, 0x3FFFF),)),
    (b"\xf4",             ((0x100000, 0x10FFFF),)),
    (b"a\x80",            ()),
    (b"\xff",             ()),
]  # fmt: skip


@pytest.mark.parametrize(("data", "ranges"), BEGINNINGS)
def test_characters_by_their_first_byte(data: bytes, ranges: tuple[tuple[int, int], ...]) -> None:
    assert characters_beginning_with(list(data)) == ranges


def test_long_texts_are_cut_on_the_left() -> None:
    assert quoted_end(b"ab\n") == r"'ab\n'"
    assert quoted_end(b"a" * 100) == repr("…" + "a" * 60)


def settled(
    network: Network, state: int, stack: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """A configuration and all it returns to, without those that can only return."""
    while True:
        while network.stars[state] and stack[-1:] == (state,):
            stack = stack[:-1]
        if network.goes_on[state] or not stack:
            yield state, stack
        if not network.finals[state] or not stack:
            return
        state, stack = stack[-1], stack[:-1]


def successors(network: Network, text: bytes, byte: int) -> int:
    """The number of distinct configurations after a text and a byte."""
    runner = Runner(network)
    try:
        here = runner.run(text)
    except LimitError:
        return LIMITS.configurations  # more than can be counted
    if here == DEAD:
        return 0
    after = set()
    for state, node in runner.configurations(here):
        for target, pushed in network.moves(state, int(runner.classes[byte])):
            stack = runner.stack(node)
            for symbol in pushed:
                if not (network.stars[symbol] and stack[-1:] == (symbol,)):
                    stack = (*stack, symbol)
            after.add(frozenset(settled(network, target, stack)))
    return len(after)


@pytest.mark.exhaustive
@slow
@given(trees(), texts)
def test_without_conflicts_every_text_has_one_configuration(tree: GrammarTree, text: bytes) -> None:
    network = grammar_of(tree).network
    assume(not conflict_sites(network))
    for end, byte in enumerate(text):
        assert successors(network, text[:end], byte) <= 1


@pytest.mark.exhaustive
@slow
@given(trees())
def test_every_conflict_has_its_example(tree: GrammarTree) -> None:
    """After the example, two configurations read the byte."""
    grammar = grammar_of(tree)
    network = grammar.network
    for clash in conflict_sites(network)[:8]:
        for members in clash.columns:
            assert successors(network, clash.text, members[0]) > 1
    assert len(conflicts(network, lambda: grammar.rules, tree, LIMITS)) <= 10


@pytest.mark.exhaustive
@slow
@given(trees())
def test_shortest_texts_lead_where_they_say(tree: GrammarTree) -> None:
    network = grammar_of(tree).network
    assume(not network.stars.any())
    shortest, runner = Shortest(network), Runner(network)
    for state in range(len(network)):
        text = shortest.to(state)
        if text is not None and network.goes_on[state]:
            try:
                here = runner.run(text)
            except LimitError:
                reject()  # ambiguous without bound
            assert state in {s for s, _ in runner.configurations(here)}
