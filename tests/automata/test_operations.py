"""Operations on languages, each compared with its definition on every short text; witness()."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

from tests.automata.machines import machine, tree
from tests.oracles import brute_force
from workbench.automata.determinize import determinize, nothing
from workbench.automata.minimize import minimize_in_rounds
from workbench.automata.nfa import nfa_of_dfa
from workbench.automata.operations import (
    complement,
    concatenation,
    difference,
    equivalent,
    excluding,
    first_match,
    intersection,
    literals,
    shortest,
    some_bytes,
    substrings,
    union,
    without_match,
    witness,
)
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits

PAIRS = [("(ab)*", "a(ba)*b|a"), ("a*b", "[ab]{2}"), ("", "a"), (r"[^\s\S]", "a+"), ("é", "è|é")]
SHORT = list(brute_force.byte_texts(b"ab\xc3\xa9\xff", 4))


def accepted(dfa: Dfa) -> set[bytes]:
    return {text for text in SHORT if dfa.accepts(text)}


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_boolean_operations(left: str, right: str) -> None:
    a, b = machine(left), machine(right)
    assert accepted(intersection(a, b)) == accepted(a) & accepted(b)
    assert accepted(union(a, b)) == accepted(a) | accepted(b)
    assert accepted(difference(a, b)) == accepted(a) - accepted(b)
    assert accepted(complement(a)) == set(SHORT) - accepted(a)


@pytest.mark.parametrize("operation", [intersection, union, difference])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_operations_give_the_smallest_machine(
    operation: Callable[[Dfa, Dfa], Dfa], left: str, right: str
) -> None:
    made = operation(machine(left), machine(right))
    slow = minimize_in_rounds(determinize(nfa_of_dfa(made)), LIMITS.clock())
    assert made.data == slow.data


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_concatenation_equals_that_of_the_regexes(left: str, right: str) -> None:
    assert equivalent(
        concatenation(machine(left), machine(right)), machine(f"(?:{left})(?:{right})")
    )


def test_intersection_of_multiples_counts_to_their_product() -> None:
    counters = [machine(f"(?:a{{{n}}})*") for n in (3, 5, 7)]
    assert len(reduce(intersection, counters)) == 105


def test_error_where_a_product_is_too_large() -> None:
    left, right = machine("(?:a{101})*"), machine("(?:a{103})*")
    with pytest.raises(LimitError, match="needs more than 5,000 states"):
        intersection(left, right, Limits(states=5_000))


#   pattern         accepted                    rejected
FIRST_MATCHES = [
    ("[0-9]+",      [b"0", b"7"],               [b"", b"77", b"a"]),
    ("a*",          [b"a"],                     [b"", b"aa"]),
    (".*AA",        [b"AA", b"xAA", b"ABAA"],   [b"AAA", b"AAxAA", b"A"]),
    ("[ab]*b",      [b"b", b"aab"],             [b"abb", b"bb", b"a"]),
    ("ab|abc|c",    [b"ab", b"c"],              [b"abc"]),
    ("",            [],                         [b"", b"a"]),
    (r"(.|\n)*\n\n", [b"\n\n", b"x\n\n"],       [b"\n\n\n", b"x\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "yes", "no"), FIRST_MATCHES)
def test_first_match(pattern: str, yes: list[bytes], no: list[bytes]) -> None:
    dfa = first_match(machine(pattern))
    assert [text for text in yes if not dfa.accepts(text)] == []
    assert [text for text in no if dfa.accepts(text)] == []


@pytest.mark.parametrize(
    "pattern", ["ab", "a*", "b|aa", "a|b", "(a|b)*ab", "é", r"[^\s\S]", "..", "a.?b"]
)
def test_first_match_and_without_match_by_their_definitions(pattern: str) -> None:
    whole = machine(pattern)
    first, without = first_match(whole), without_match(tree(pattern))
    for text in SHORT:
        assert first.accepts(text) is brute_force.is_first_match(whole.accepts, text), text
        assert without.accepts(text) is brute_force.is_without_match(whole.accepts, text), text


def test_without_match_of_a_regex_that_matches_nothing_read_is_empty() -> None:
    assert without_match(tree("a*")).is_empty


def test_without_match_accepts_invalid_utf8() -> None:
    dfa = without_match(tree("a"))
    assert dfa.accepts(b"\xff\xc3")
    assert not dfa.accepts(b"\xffa")


@pytest.mark.parametrize(
    "data", [b"", b"a", b"aaaa", b"abab", b"abcbc", b"aabbabd", "né né".encode()]
)
def test_substrings_are_all_pieces_of_a_text(data: bytes) -> None:
    dfa = substrings(data)
    wanted = brute_force.pieces(data)
    alphabet = bytes(sorted(set(data)))[:3] + b"!"
    for text in wanted | set(brute_force.byte_texts(alphabet, 4)):
        assert dfa.accepts(text) is (text in wanted), text


def test_substrings_of_a_long_text_is_quick_and_small() -> None:
    data = bytes((i * i + i // 7) % 17 + 97 for i in range(5_000))
    dfa = substrings(data)
    assert len(dfa) <= 2 * len(data)
    assert dfa.accepts(data[1234:4321])
    assert not dfa.accepts(data[10:20] + b"\x00")


def test_error_where_the_substrings_are_too_many() -> None:
    with pytest.raises(LimitError, match="needs more than 100 states"):
        substrings(b"abc" * 50, Limits(states=100))


@pytest.mark.parametrize(
    "strings", [[b"ab"], [b"ab", b"ba"], [b"a", b"b"], [b"aab", b"ab\xc3"], []]
)
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_excluding_leaves_texts_without_the_strings(
    strings: list[bytes], limit: int | None
) -> None:
    dfa = excluding(strings, limit)
    for text in SHORT:
        wanted = text != b"" and not any(string in text for string in strings)
        wanted = wanted and (limit is None or len(text) <= limit)
        assert dfa.accepts(text) is wanted, text


def test_excluding_agrees_with_the_regex_that_says_the_same() -> None:
    assert equivalent(excluding([b"ab", b"a.c"]), without_match(tree(r"ab|a\.c")))


def test_excluding_the_empty_string_leaves_nothing() -> None:
    assert excluding([b"", b"a"]).is_empty


def test_error_if_a_limit_needs_too_many_states() -> None:
    with pytest.raises(LimitError, match="needs more than 1,000 states"):
        excluding([b"\n\n"], 5_000, Limits(states=1_000))


def test_literals_are_the_given_words_in_few_states() -> None:
    words = [b"Red", b"Orange", b"Yellow", b"Green", b"Blue", b"Indigo", b"Violet"]
    dfa = literals(words)
    assert equivalent(dfa, machine("Red|Orange|Yellow|Green|Blue|Indigo|Violet"))
    assert literals([]).is_empty
    assert len(literals([b"cat", b"bat", b"rat"])) == 4


def test_some_bytes() -> None:
    assert accepted(some_bytes()) == set(SHORT) - {b""}


def test_complement_of_nothing_is_everything() -> None:
    everything = complement(nothing(256))
    assert len(everything) == 1
    assert accepted(everything) == set(SHORT)


def test_operations_keep_larger_alphabets() -> None:
    classes = np.zeros(300, np.uint16)
    classes[260] = 1
    call = Dfa(classes, np.array([[-1, 1], [-1, -1]], np.int32), np.array([False, True]))
    outside = complement(call)
    assert len(outside.classes) == 300
    assert not outside.finals[outside.step(outside.initial, 260)]
    assert outside.finals[outside.step(outside.initial, 261)]


#   left            right           witness     because
WITNESSES = [
    ("a*",          "(a|aa)*",      None,       "equal"),
    ("a*",          "a+",           b"",        "the empty text"),
    ("a|b",         "b|c",          b"a",       "the first by bytes among the shortest"),
    ("(ab)*",       "(ab)*abab",    b"",        "nothing read"),
    ("[^x]",        "[^xé]",        "é".encode(), "a character of two bytes"),
    (r"[^\s\S]",    "abc",          b"abc",     "against the empty language"),
    ("a{0,50}",     "a{0,49}",      b"a" * 50,  "far away"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "text", "because"), WITNESSES)
def test_the_witness_is_the_shortest_text_of_one_machine_alone(
    left: str, right: str, text: bytes | None, because: str
) -> None:
    assert witness(machine(left), machine(right)) == text, because
    assert witness(machine(right), machine(left)) == text, because
    assert equivalent(machine(left), machine(right)) is (text is None)


@pytest.mark.parametrize(
    ("pattern", "text"), [("b+|ab?", b"a"), (r"[^\s\S]", None), ("x*", b""), (r"\d{3}", b"000")]
)
def test_the_shortest_text_of_a_language(pattern: str, text: bytes | None) -> None:
    assert shortest(machine(pattern)) == text
