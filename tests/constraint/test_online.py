"""The online checkers against the exact mask, and what each refuses."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.laws.test_mask_laws import grammar_of, texts, trees
from workbench.base.errors import (
    BuildError,
    LimitError,
    TokenNotAllowed,
    VocabularyError,
    WorkbenchError,
)
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import CheckerName, TokenTests, compile
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.methods.gcd_recogniser import ChartRecogniser
from workbench.constraint.methods.grammar_recognisers import StackRecogniser
from workbench.constraint.methods.online import CHECKERS, Online, token_by_token
from workbench.constraint.methods.recogniser import MachineRecogniser, characters_from, read
from workbench.constraint.plain_mask import readable_tokens
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import all_bytes, named_toy, toy
from workbench.vocabulary.vocabulary import Vocabulary

EVERY_BYTE = [bytes((byte,)) for byte in range(256)]
JSON_WORDS = toy(
    [*EVERY_BYTE, '{"', '":', '": ', '", "', '"}', "[[", "]]", "},", "12", "tru", "é", "é"]
)
WORDS = toy([*EVERY_BYTE, "ab", "ba", "bc", "abc", "cc"])
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
    (Grammar.from_regex("(a|b)*a(a|b){9}"), [b"", b"abba"],                "determinized on demand"),
    (Grammar.from_kbnf(BRACKETS), [b"", b"[", b"[[1", b"[1,", b"[]"],      "a stack"),
    (Grammar.from_kbnf(JSON), [b"", b"{", b'{"a":', b'[{"a":1}', b"tr"],   "JSON"),
    (Grammar.from_kbnf("start ::= 'a' start 'a' | 'b' start 'b' | '';"), [b"", b"ab", b"abb"],
                                                                           "ambiguous at every step"),
]  # fmt: skip


@pytest.mark.parametrize("how", ["flat", "trie"])
@pytest.mark.parametrize(("grammar", "texts", "because"), WORLDS, ids=[w[2] for w in WORLDS])
def test_masks_are_the_exact_ones(
    grammar: Grammar, texts: list[bytes], because: str, how: TokenTests
) -> None:
    exact = automaton(grammar, JSON_WORDS, LIMITS)
    constraint = compile(grammar, JSON_WORDS, "online", how=how)
    for text in texts:
        here = walk(constraint, text)
        there = walk(exact, text)
        assert constraint.mask(here) == exact.mask(there), f"after {text!r}: {because}"
        assert constraint.is_final(here) == exact.is_final(there)
        assert constraint.forced(here) == exact.forced(there)


@pytest.mark.parametrize("checker", ["synchromesh", "llama.cpp", "gcd"])
@pytest.mark.parametrize(("grammar", "texts", "because"), WORLDS, ids=[w[2] for w in WORLDS])
def test_the_papers_checkers_have_the_exact_masks(
    grammar: Grammar, texts: list[bytes], because: str, checker: CheckerName
) -> None:
    exact = automaton(grammar, JSON_WORDS, LIMITS)
    if checker == "synchromesh" and because == "ambiguous at every step":
        with pytest.raises(WorkbenchError, match="not LALR"):
            compile(grammar, JSON_WORDS, "online", checker=checker)
        return
    constraint = compile(grammar, JSON_WORDS, "online", how="trie", checker=checker)
    for text in texts:
        here = walk(constraint, text)
        there = walk(exact, text)
        assert constraint.mask(here) == exact.mask(there), f"after {text!r}: {because}"
        assert constraint.is_final(here) == exact.is_final(there)
        assert constraint.forced(here) == exact.forced(there)


@pytest.mark.exhaustive
@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(trees(), texts, st.sampled_from(["synchromesh", "llama.cpp", "gcd"]))
def test_masks_are_exact_for_any_supported_grammar(
    tree: GrammarTree, text: bytes, checker: CheckerName
) -> None:
    grammar = grammar_of(tree)
    try:
        constraint = compile(grammar, WORDS, "online", how="trie", checker=checker)
    except WorkbenchError as error:
        assume("LALR" not in error.message and "left recursion" not in error.message)
        raise
    here, there = constraint.initial, (exact := automaton(grammar, WORDS, LIMITS)).initial
    for byte in text:
        assert constraint.mask(here) == exact.mask(there)
        if byte not in exact.mask(there):
            break
        here, there = constraint.advance(here, byte), exact.advance(there, byte)


def test_stacks_hold_the_elements_still_to_be_read() -> None:
    recogniser = StackRecogniser(Grammar.from_kbnf("start ::= 'a' start 'b' | 'é';"), LIMITS)
    assert len(recogniser.initial[0]) == 2, "one for each alternative"
    half = recogniser.step(recogniser.initial, 0xC3)
    assert half is not None
    assert half[1] == b"\xc3", "half a character is kept"
    assert len(half[0]) == 1, "a is no longer possible"
    assert recogniser.step(half, 0xA8) is None, "è is another"
    assert recogniser.step(half, ord("a")) is None
    assert not recogniser.is_final(half)
    whole = recogniser.step(half, 0xA9)
    assert whole is not None
    assert recogniser.is_final(whole)


def test_a_chart_shares_equal_columns() -> None:
    """A left-recursive list of strings: neither its items nor their letters make new columns."""
    rules = "start ::= start ',' text | text; text ::= '<' #'[a-z]*' '>';"
    recogniser = ChartRecogniser(Grammar.from_kbnf(rules), LIMITS)
    read(recogniser, recogniser.initial, b"<ab>,<c>")
    columns = len(recogniser._columns)
    there = read(recogniser, recogniser.initial, b"<abcdefg>,<hijk>,<lmn>,<op>")
    assert there is not None
    assert recogniser.is_final(there)
    assert len(recogniser._columns) == columns


def test_a_chart_completes_empty_rules() -> None:
    grammar = Grammar.from_kbnf("start ::= a a b; a ::= b b | 'x'; b ::= 'y'?;")
    recogniser = ChartRecogniser(grammar, LIMITS)
    for text in ("", "x", "xx", "xxy", "yyyyy", "yxy", "xyxy"):
        there = read(recogniser, recogniser.initial, text.encode())
        assert (there is not None and recogniser.is_final(there)) == grammar.accepts(text), text


#   bytes                   first, last         because
BEGUN = [
    (b"a",                  (0x61, 0x61),       "whole"),
    (b"\xc3",               (0xC0, 0xFF),       "64 characters of two bytes"),
    (b"\xe0",               (0x800, 0xFFF),     "no shorter form"),
    (b"\xf0\x90",           (0x10000, 0x10FFF), "half of four"),
    (b"\xf4\x8f",           (0x10F000, 0x10FFFF), "the last ones"),
    (b"\xf4\x90",           None,               "past the last"),
    (b"\xe0\x80",           None,               "a longer form than needed"),
    (b"\xc1",               None,               "begins nothing"),
    (b"\x80",               None,               "a continuation byte, which begins nothing"),
    (b"\xc3a",              None,               "not a continuation byte"),
    ("漢".encode(),          (0x6F22, 0x6F22),   "three bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "characters", "because"), BEGUN, ids=[row[2] for row in BEGUN])
def test_characters_that_begin_with_some_bytes(
    data: bytes, characters: tuple[int, int] | None, because: str
) -> None:
    assert characters_from(data) == characters, because


#   grammar                                  checker        said                      because
REFUSED = [
    ("start ::= start 'a' | 'b';",           "llama.cpp",   "left recursion.*'start'", "expanding would not end"),
    ("start ::= x 'a'; x ::= y? x 'a' | 'c'; y ::= 'd'?;", "llama.cpp", "left recursion.*'x'", "hidden behind what may be empty"),
    ("start ::= #substrs'abc';",             "llama.cpp",   "not a plain regex",          "no rules say it"),
    ("start ::= start start | 'a';",         "synchromesh", "not LALR",                "the parser needs one way"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "checker", "said", "because"), REFUSED, ids=[r[3] for r in REFUSED])  # fmt: skip
def test_error_grammars_a_checker_does_not_read(
    rules: str, checker: CheckerName, said: str, because: str
) -> None:
    with pytest.raises(WorkbenchError, match=said) as caught:
        compile(Grammar.from_kbnf(rules), all_bytes(), "online", checker=checker)
    assert "the method 'automaton'" in caught.value.hint, because


def test_error_too_many_stacks() -> None:
    grammar = Grammar.from_kbnf("start ::= 'a' start 'a' | 'a' start 'b' | 'a' start 'c' | '';")
    recogniser = StackRecogniser(grammar, Limits(configurations=40))
    with pytest.raises(LimitError, match="ambiguous"):
        read(recogniser, recogniser.initial, b"a" * 40)


@pytest.mark.parametrize("how", ["flat", "trie"])
def test_machine_recognizes_dead_ends_without_single_byte_tokens(how: TokenTests) -> None:
    vocabulary = toy(["a", "ab", "bb"])
    grammar = Grammar.from_kbnf("start ::= 'ab' | 'a' start 'b';")
    constraint = compile(grammar, vocabulary, "online", how=how)
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1]
    after_a = constraint.advance(constraint.initial, 0)
    assert constraint.mask(after_a).ids.tolist() == [0], "a·ab leaves one b"
    with pytest.raises(TokenNotAllowed):
        constraint.advance(after_a, 1)


def test_other_checkers_do_not_recognize_dead_ends() -> None:
    """They check prefixes alone; b leaves c, which nothing spells."""
    vocabulary = toy(["a", "b", "bcd"])
    grammar = Grammar.from_regex("abcd|ae?")
    for checker in ("synchromesh", "llama.cpp", "gcd"):
        constraint = compile(grammar, vocabulary, "online", checker=checker)
        after_a = constraint.advance(constraint.initial, 0)
        assert constraint.mask(after_a).ids.tolist() == [1, 2, 3]
        assert len(constraint.mask(constraint.advance(after_a, 1))) == 0
    exact = compile(grammar, vocabulary, "online")
    assert exact.mask(exact.advance(exact.initial, 0)).ids.tolist() == [2, 3]


def test_one_token_is_tested_without_the_mask() -> None:
    constraint = compile(Grammar.from_regex("(foo)+d"), named_toy("figure-4"), "online")
    assert isinstance(constraint, Online)
    asked = [constraint.allows(constraint.initial, i) for i in range(-1, 7)]
    assert asked == [False, True, False, True, False, True, False, False]
    food = constraint.advance(constraint.initial, 4)
    assert constraint.allows(food, 5), "the end token"
    assert constraint.advance(food, 5) == food


class Counting(MachineRecogniser):
    """A recogniser that counts what it is asked."""

    steps = 0

    def step(self, state: State, byte: int) -> State | None:
        self.steps += 1
        return super().step(state, byte)


def test_number_of_steps_of_flat_and_trie() -> None:
    """Flat reads every token; over the trie a shared beginning is read once."""
    vocabulary = toy(["abc", "abd", "abe", "b", "bz"])
    counted = Counting(automaton(Grammar.from_regex("a?b?[cde]"), toy([*"abcde", "z"]), LIMITS))
    assert list(token_by_token(counted, vocabulary, counted.initial)) == [0, 1, 2, 3]
    assert counted.steps == 3 + 3 + 3 + 1 + 2
    counted.steps = 0
    assert sorted(readable_tokens(counted, vocabulary, counted.initial)) == [0, 1, 2, 3]
    assert counted.steps == 2 + 3 + 1 + 1


def test_only_the_last_mask_is_cached() -> None:
    counted = Counting(automaton(Grammar.from_regex("[ab]*c"), all_bytes(), LIMITS))
    constraint = Online(counted, all_bytes(), token_by_token)
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


def test_error_unknown_names() -> None:
    grammar = Grammar.from_regex("a")
    with pytest.raises(WorkbenchError, match="as 'how', not 'fast'"):
        compile(grammar, all_bytes(), "online", how="fast")  # type: ignore[arg-type]
    with pytest.raises(WorkbenchError, match="as 'checker', not 'magic'") as caught:
        compile(grammar, all_bytes(), "online", checker="magic")  # type: ignore[arg-type]
    assert all(name in caught.value.message for name in CHECKERS)


@pytest.mark.parametrize("checker", CHECKERS)
def test_error_text_that_cannot_be_tokenized(checker: CheckerName) -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        compile(Grammar.from_regex("xyz"), named_toy("figure-4"), "online", checker=checker)


@pytest.mark.parametrize("checker", CHECKERS)
def test_error_empty_language(checker: CheckerName) -> None:
    with pytest.raises(BuildError, match="this regex matches no text"):
        compile(Grammar.from_regex(r"[^\s\S]"), all_bytes(), "online", checker=checker)


def test_error_a_mask_takes_too_long() -> None:
    words = Vocabulary((*(f"a{i}".encode() for i in range(5000)), *EVERY_BYTE))
    for how in ("flat", "trie"):
        constraint = compile(Grammar.from_regex("[a0-9]*"), words, "online", how=how)
        assert isinstance(constraint, Online)
        constraint.limits = Limits(seconds=1e-6)
        with pytest.raises(LimitError, match="the method 'automaton'"):
            constraint.mask(constraint.initial)
