"""The online checkers against the exact mask, and what each refuses."""

from __future__ import annotations

import pytest

from workbench.constraint.compile import automaton, compile
from workbench.constraint.online.checker import Online, by_trie, flat, read
from workbench.constraint.online.checkers import CHECKERS
from workbench.constraint.online.recogniser import OfMachine
from workbench.constraint.protocol import Constraint, State
from workbench.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.toy import all_bytes, named_toy, toy
from workbench.vocabulary.vocabulary import Vocabulary

EVERY_BYTE = [bytes((byte,)) for byte in range(256)]
JSON_WORDS = toy(
    [*EVERY_BYTE, '{"', '":', '": ', '", "', '"}', "[[", "]]", "},", "12", "tru", "é", "é"]
)
BRACKETS = "start ::= '[' (start (',' start)*)? ']' | number; number ::= #'[0-9]+';"
JSON = """
start ::= object | array | text | #'-?[0-9]+' | 'true' | 'null';
object ::= '{' (text ':' start (',' text ':' start)*)? '}';
array ::= '[' (start (',' start)*)? ']';
text ::= #'"[^"]*"';
"""


def walk(constraint: Constraint, data: bytes) -> State:
    """The state after a text, byte token by byte token."""
    state = constraint.initial
    for byte in data:
        state = constraint.advance(state, byte)
    return state


#   grammar                     texts it stands after                      because
WORLDS = [
    (Grammar.from_regex("(foo)+d"), [b"", b"f", b"foo", b"food"],          "a regex, a small automaton"),
    (Grammar.from_regex("[é-ü]+x?"), [b"", "é".encode(), b"\xc3"],         "inside a character"),
    (Grammar.from_regex("(a|b)*a(a|b){9}"), [b"", b"abba"],                "made as it is read"),
    (Grammar.from_kbnf(BRACKETS), [b"", b"[", b"[[1", b"[1,", b"[]"],      "a stack"),
    (Grammar.from_kbnf(JSON), [b"", b"{", b'{"a":', b'[{"a":1}', b"tr"],   "JSON"),
    (Grammar.from_kbnf("start ::= 'a' start 'a' | 'b' start 'b' | '';"), [b"", b"ab", b"abb"],
                                                                           "ambiguous at every step"),
]  # fmt: skip


@pytest.mark.parametrize("how", ["flat", "trie"])
@pytest.mark.parametrize(("grammar", "texts", "because"), WORLDS, ids=[w[2] for w in WORLDS])
def test_masks_are_the_exact_ones(
    grammar: Grammar, texts: list[bytes], because: str, how: str
) -> None:
    exact = automaton(grammar, JSON_WORDS, LIMITS)
    constraint = compile(grammar, JSON_WORDS, "online", how=how)
    for text in texts:
        here = walk(constraint, text)
        there = walk(exact, text)
        assert constraint.mask(here) == exact.mask(there), f"after {text!r}: {because}"
        assert constraint.is_final(here) == exact.is_final(there)
        assert constraint.forced(here) == exact.forced(there)


@pytest.mark.parametrize("how", ["flat", "trie"])
def test_dead_ends_are_known_where_bytes_are_missing(how: str) -> None:
    vocabulary = toy(["a", "ab", "bb"])
    grammar = Grammar.from_kbnf("start ::= 'ab' | 'a' start 'b';")
    constraint = compile(grammar, vocabulary, "online", how=how)
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1]
    after_a = constraint.advance(constraint.initial, 0)
    assert constraint.mask(after_a).ids.tolist() == [0], "a·ab leaves one b"
    with pytest.raises(TokenNotAllowed):
        constraint.advance(after_a, 1)


def test_one_token_is_asked_about_alone() -> None:
    constraint = compile(Grammar.from_regex("(foo)+d"), named_toy("figure-4"), "online")
    assert isinstance(constraint, Online)
    asked = [constraint.allows(constraint.initial, i) for i in range(-1, 7)]
    assert asked == [False, True, False, True, False, True, False, False]
    food = constraint.advance(constraint.initial, 4)
    assert constraint.allows(food, 5), "the end token"
    assert constraint.advance(food, 5) == food


class Counting(OfMachine):
    """A recogniser that counts what it is asked."""

    steps = 0

    def step(self, state: State, byte: int) -> State | None:
        self.steps += 1
        return super().step(state, byte)


def test_what_each_way_costs() -> None:
    """Flat reads every token; over the trie a shared beginning is read once."""
    vocabulary = toy(["abc", "abd", "abe", "b", "bz"])
    counted = Counting(automaton(Grammar.from_regex("a?b?[cde]"), toy([*"abcde", "z"]), LIMITS))
    clock = LIMITS.clock()
    assert list(flat(counted, vocabulary, counted.initial, clock)) == [0, 1, 2, 3]
    assert counted.steps == 3 + 3 + 3 + 1 + 2
    counted.steps = 0
    assert sorted(by_trie(counted, vocabulary, counted.initial, clock)) == [0, 1, 2, 3]
    assert counted.steps == 2 + 3 + 1 + 1


def test_nothing_is_remembered_but_the_last_mask() -> None:
    counted = Counting(automaton(Grammar.from_regex("[ab]*c"), all_bytes(), LIMITS))
    constraint = Online(counted, all_bytes(), flat)
    first = constraint.mask(constraint.initial)
    asked = counted.steps
    assert constraint.mask(constraint.initial) is first
    assert counted.steps == asked
    c = constraint.advance(constraint.initial, ord("c"))
    assert constraint.mask(c).ids.tolist() == [256]
    assert constraint.mask(constraint.initial) == first
    assert counted.steps > 3 * asked - 256, "asked about every token again"


def test_reading_stops_at_the_first_byte_that_cannot_be_read() -> None:
    counted = Counting(automaton(Grammar.from_regex("abc"), all_bytes(), LIMITS))
    assert read(counted, counted.initial, b"abd") is None
    assert counted.steps == 3


def test_error_names_nobody_knows() -> None:
    grammar = Grammar.from_regex("a")
    with pytest.raises(WorkbenchError, match="no way to go through the vocabulary 'fast'"):
        compile(grammar, all_bytes(), "online", how="fast")
    with pytest.raises(WorkbenchError, match="no checker 'magic'") as caught:
        compile(grammar, all_bytes(), "online", checker="magic")
    assert all(name in caught.value.hint for name in CHECKERS)


def test_error_a_text_the_vocabulary_cannot_spell() -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelt"):
        compile(Grammar.from_regex("xyz"), named_toy("figure-4"), "online")


def test_error_a_mask_takes_too_long() -> None:
    words = Vocabulary((*(f"a{i}".encode() for i in range(5000)), *EVERY_BYTE))
    for how in ("flat", "trie"):
        constraint = compile(Grammar.from_regex("[a0-9]*"), words, "online", how=how)
        assert isinstance(constraint, Online)
        constraint.limits = Limits(seconds=1e-6)
        with pytest.raises(LimitError, match="method='automaton'"):
            constraint.mask(constraint.initial)
