"""Laws of regexes and their machines, on random ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import reduce
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import brute_force
from workbench.automata.build import regex_dfa
from workbench.automata.code_points import fold
from workbench.automata.determinize import determinize
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.operations import (
    complement,
    concatenation,
    difference,
    equivalent,
    excluding,
    first_match,
    intersection,
    literals,
    substrings,
    union,
    without_match,
    witness,
)
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax import ranges
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Characters

pytestmark = pytest.mark.exhaustive

SHORT = list(brute_force.byte_texts(b"ab", 5))
BYTES = list(brute_force.byte_texts(b"a\xc3\xa9\xff", 4))

ATOMS = st.sampled_from(["a", "b", "c", ".", "é", "[^a]", "[a-c]", "[é-ж]", r"\w", "", "[^é]"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?"])),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{})(?:{})".format, inner, inner),
    ),
    max_leaves=6,
)
TEXTS = st.text(st.sampled_from("abcéж\n1"), max_size=6)


def machine(pattern: str) -> Dfa:
    return regex_dfa(parse_regex(Source(pattern, "regex")))


@given(PATTERNS, st.lists(TEXTS, min_size=5, max_size=10))
def test_a_machine_accepts_what_re_matches(pattern: str, texts: list[str]) -> None:
    dfa = machine(pattern)
    for text in texts:
        assert dfa.accepts(text.encode()) is brute_force.matches(pattern, text)


@st.composite
def nfas(draw: st.DrawFn) -> Nfa:
    """Random machines over {a, b} with ε-edges."""
    builder = NfaBuilder()
    size = draw(st.integers(1, 6))
    states = [builder.new_state() for _ in range(size)]
    state = st.sampled_from(states)
    for source, symbol, target in draw(
        st.lists(st.tuples(state, st.integers(0, 1), state), max_size=12)
    ):
        builder.edge(source, 97 + symbol, 97 + symbol, target)
    for source, target in draw(st.lists(st.tuples(state, state), max_size=4)):
        builder.epsilon(source, target)
    return builder.build(states[0], draw(st.frozensets(state)))


def accepts(nfa: Nfa, text: bytes) -> bool:
    """All states a text can lead to, one byte at a time: nothing clever."""
    here = _closed(nfa, {nfa.initial})
    for byte in text:
        here = _closed(
            nfa,
            {t for state in here for low, high, t in nfa.edges[state] if low <= byte <= high},
        )
    return not nfa.finals.isdisjoint(here)


def _closed(nfa: Nfa, states: set[int]) -> set[int]:
    while more := {target for state in states for target in nfa.epsilons[state]} - states:
        states = states | more
    return states


@given(nfas())
def test_determinize_and_minimize_keep_the_language(nfa: Nfa) -> None:
    dfa = determinize(nfa)
    smallest = minimize(dfa)
    assert len(smallest) <= len(dfa)
    for text in SHORT:
        assert accepts(nfa, text) is dfa.accepts(text) is smallest.accepts(text)


@given(nfas())
def test_every_state_of_a_machine_is_coaccessible(nfa: Nfa) -> None:
    dfa = determinize(nfa)
    for text in SHORT:
        if not dfa.is_empty and dfa.run(text) != DEAD:
            assert brute_force.is_viable(dfa.accepts, text, b"ab", len(dfa))


@given(nfas())
def test_the_minimal_machine_has_no_equivalent_states(nfa: Nfa) -> None:
    """Myhill and Nerode: every state is reached, and any two differ in what may follow."""
    smallest = minimize(determinize(nfa))
    starts = [
        Dfa(smallest.classes, smallest.table, smallest.finals, state)
        for state in range(len(smallest))
    ]
    for one, other in itertools.combinations(starts, 2):
        assert not equivalent(one, other)
    reached = {int(target) for target in smallest.table.flat} - {DEAD}
    assert reached | {0} == set(range(len(smallest)))


@given(nfas(), nfas())
def test_equal_languages_have_one_machine(left: Nfa, right: Nfa) -> None:
    one, other = minimize(determinize(left)), minimize(determinize(right))
    same = (
        one.table.tolist() == other.table.tolist() and one.finals.tolist() == other.finals.tolist()
    )
    same = same and one.classes.tolist() == other.classes.tolist()
    assert same is equivalent(one, other)
    text = witness(one, other)
    assert (text is None) is same
    if text is not None:
        assert one.accepts(text) is not other.accepts(text)


@given(nfas(), nfas())
def test_boolean_laws(left: Nfa, right: Nfa) -> None:
    a, b = determinize(left), determinize(right)
    assert equivalent(complement(complement(a)), a)
    assert equivalent(complement(union(a, b)), intersection(complement(a), complement(b)))
    assert equivalent(difference(a, b), intersection(a, complement(b)))
    assert equivalent(union(a, b), union(b, a))
    assert intersection(a, complement(a)).is_empty


@given(nfas(), nfas())
def test_concatenation_splits_somewhere(left: Nfa, right: Nfa) -> None:
    a, b = determinize(left), determinize(right)
    both = concatenation(a, b)
    for text in SHORT[:31]:
        split = any(a.accepts(text[:at]) and b.accepts(text[at:]) for at in range(len(text) + 1))
        assert both.accepts(text) is split


@given(PATTERNS)
def test_first_and_without_match_by_their_definitions(pattern: str) -> None:
    regex = parse_regex(Source(pattern, "regex"))
    whole = regex_dfa(regex)
    first, without = first_match(whole), without_match(regex)
    for text in BYTES:
        assert first.accepts(text) is brute_force.is_first_match(whole.accepts, text)
        assert without.accepts(text) is brute_force.is_without_match(whole.accepts, text)


@given(st.lists(st.binary(min_size=1, max_size=4), max_size=4), st.binary(max_size=12))
def test_sets_of_strings(strings: list[bytes], text: bytes) -> None:
    assert literals(strings).accepts(text) is (text in strings)
    free = bool(text) and not any(string in text for string in strings)
    assert excluding(strings).accepts(text) is free
    assert excluding(strings, 5).accepts(text) is (free and len(text) <= 5)


@given(st.binary(max_size=30), st.binary(max_size=3))
def test_substrings_are_the_pieces(data: bytes, text: bytes) -> None:
    dfa = substrings(data)
    assert dfa.accepts(text) is (text in data)
    assert all(dfa.accepts(piece) for piece in brute_force.pieces(data))


@given(
    st.lists(st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 0x3000)), min_size=1, max_size=6)
)
def test_fold_undoes_utf8(starts: list[tuple[int, int]]) -> None:
    wanted = ranges.intersection(
        ranges.normalized((low, min(low + more, 0x10FFFF)) for low, more in starts),
        ranges.ANY_CHARACTER,
    )
    if wanted:
        fsa = fold(regex_dfa(Characters(wanted, _SPAN)))
        assert [(source, found) for source, found, _ in fsa.edges] == [(0, wanted)]
        assert fsa.raw == ()


_SPAN = parse_regex(Source("x", "regex")).span


@given(PATTERNS)
def test_folded_machines_read_the_same_texts(pattern: str) -> None:
    dfa = machine(pattern)
    fsa = fold(dfa)
    assert fsa.raw == ()
    for text in ("", "a", "é", "ab", "aé", "ж1", "abc"):
        state: int | None = fsa.initial
        for character in text:
            following = (
                target
                for source, found, target in fsa.edges
                if source == state and ranges.contains(found, ord(character))
            )
            state = next(following, None)
        assert (state in fsa.finals) is dfa.accepts(text.encode())


ITEMS = st.sampled_from(["a", "b-d", "x-z", r"\d", r"\w", "é", "_", "0-9", "[:alpha:]", "[^a-m]"])


@st.composite
def classes(draw: st.DrawFn, depth: int = 2) -> tuple[str, Ranges]:
    """A class in Rust's syntax, and its members computed without the parser."""
    text, members = _operand(draw, depth)
    for _ in range(draw(st.integers(0, 2))):
        sign = draw(st.sampled_from(["&&", "--", "~~"]))
        other_text, other = _operand(draw, depth)
        text += sign + other_text
        members = {
            "&&": ranges.intersection,
            "--": ranges.difference,
            "~~": ranges.symmetric_difference,
        }[sign](members, other)
    if draw(st.booleans()):
        return f"[^{text}]", ranges.difference(ranges.ANY_CHARACTER, members)
    return f"[{text}]", members


def _operand(draw: st.DrawFn, depth: int) -> tuple[str, Ranges]:
    items = draw(st.lists(ITEMS, min_size=1, max_size=3))
    parts = [(item, _members(item)) for item in items]
    if depth and draw(st.booleans()):
        parts.append(draw(classes(depth - 1)))
    return "".join(text for text, _ in parts), reduce(ranges.union, (m for _, m in parts), ())


def _members(item: str) -> Ranges:
    node = parse_regex(Source(f"[{item}]", "regex"), dialect=Dialect.RUST)
    assert isinstance(node, Characters)
    return node.ranges


@given(classes())
def test_class_algebra(both: tuple[str, Ranges]) -> None:
    text, members = both
    node = parse_regex(Source(text, "regex"), dialect=Dialect.RUST)
    assert isinstance(node, Characters)
    assert node.ranges == members


#: Everything that means something, in pieces that seldom fit.
_PIECES = r"""
a b - ] [ ^ $ ( ) | * + ? { } {2} {,2} {1,} . , 1 \d \W \n \x41 \0 \101 \1 \- \] [a-c] [^a] []a]
[a-] (?: (?i) (?i: (?s: (?-i: (?x) # (?P<n> (?#c) && -- é K \\ *? ?? \Z \A (?a: İ ß (?<n> \p{L}
\b (?= ++
"""
PIECES = st.sampled_from(_PIECES.split())


Read = TypeVar("Read")


def _read(reader: Callable[[str], Read], pattern: str) -> Read | None:
    try:
        return reader(pattern)
    except (re.error, ParseError):
        return None


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=7).map("".join), st.lists(TEXTS, max_size=6))
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_machines_and_re_read_the_same_texts(pattern: str, texts: list[str]) -> None:
    theirs, ours = _read(re.compile, pattern), _read(machine, pattern)
    if theirs is None or ours is None:
        return  # either may refuse; neither may fall over
    for text in (*texts, pattern, pattern[:1], pattern[1:]):
        assert ours.accepts(text.encode()) is (theirs.fullmatch(text) is not None), text


def test_states_that_differ_in_one_far_edge_are_not_merged() -> None:
    """A machine whose states differ in one far edge, for many sizes: never merged."""
    for size in range(2, 60):
        table = np.full((size + 1, 2), -1, np.int32)
        table[:size, 0] = np.arange(1, size + 1)
        table[size - 1, 1] = 0
        classes = np.zeros(256, np.uint16)
        classes[98] = 1
        dfa = Dfa(classes, table, np.ones(size + 1, np.bool_))
        assert len(minimize(dfa)) == size + 1
