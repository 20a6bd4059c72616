"""DOMINO's masks: k = ∞ is exact, smaller k are what they say, and none runs into a dead end."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.constraint.domino.toys import PIECES, Slow
from tests.laws.test_mask_laws import grammar_of, slow, texts, trees
from tests.oracles.grammar_oracle import brute_mask
from tests.test_grammar_cases import CASES
from workbench.base.errors import BuildError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile
from workbench.constraint.methods.domino.domino import DominoConstraint, domino
from workbench.constraint.methods.domino.scanner import BETWEEN
from workbench.constraint.protocol import Constraint
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

GALLERY = load_gallery()
PATIENT = Limits(seconds=60.0)
FIGURE_3 = Grammar.from_kbnf("E ::= int | '(' E ')' | E '+' E; int ::= #'[1-9][0-9]*|0+';", "E")
FIGURE_3C = toy(("0", "1", "2", "12", "(", ")", "+", "+1", ")+1"))


@cache
def builtin() -> Vocabulary:
    return Vocabulary.load("builtin")


def words(constraint: Constraint, text: bytes) -> set[str]:
    """The tokens after a text read byte by byte."""
    vocabulary = constraint.vocabulary
    state = constraint.initial
    for byte in text:
        state = constraint.advance(state, vocabulary.ids(bytes((byte,)))[0])
    return {(vocabulary.tokens[i] or b"EOS").decode() for i in constraint.mask(state)}


#   k      allowed after (12                              because
FIGURE_3E = [
    (0,    {"0", "1", "2", "12", ")", "+"},               "numbers, + and )"),
    (1,    {"0", "1", "2", "12", ")", "+", "+1"},         "+1 is a second terminal"),
    (2,    {"0", "1", "2", "12", ")", "+", "+1", ")+1"},  ")+1 is a third"),
    (None, {"0", "1", "2", "12", ")", "+", "+1", ")+1"},  "never ( nor EOS"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("k", "allowed", "because"), FIGURE_3E, ids=[f"k={row[0]}" for row in FIGURE_3E]
)
def test_figure_3e(k: int | None, allowed: set[str], because: str) -> None:
    assert words(compile(FIGURE_3, FIGURE_3C, "domino", k=k), b"(12") == allowed, because


def grammar_named(name: str) -> Grammar:
    if name in GALLERY:
        example = GALLERY[name]
        return Grammar.from_text(example.text, example.notation, example.start, limits=PATIENT)
    return Grammar.from_kbnf(CASES[name]["kbnf"], CASES[name]["start"], limits=PATIENT)


@pytest.mark.parametrize("name", [*GALLERY, *CASES])
def test_masks_with_unlimited_lookahead_are_exact(name: str) -> None:
    """Along random walks, which end with a text or after some tokens."""
    grammar, chance = grammar_named(name), random.Random(name)
    exact = compile(grammar, builtin(), "automaton", PATIENT)
    ours, least = (compile(grammar, builtin(), "domino", PATIENT, k=k) for k in (None, 0))
    for _ in range(4):
        state, there = ours.initial, exact.initial
        narrow: int | None = least.initial
        for _ in range(25):
            mask = ours.mask(state)
            assert mask == exact.mask(there)
            assert ours.is_final(state) == exact.is_final(there)
            assert ours.forced(state) == exact.forced(there)
            if narrow is not None:
                assert set(least.mask(narrow)) <= set(mask)
                assert len(least.mask(narrow)) > 0
            token = chance.choice(mask.ids.tolist())
            if token == builtin().end:
                break
            narrow = (
                least.advance(narrow, token)
                if narrow is not None and token in least.mask(narrow)
                else None
            )
            state, there = ours.advance(state, token), exact.advance(there, token)


@pytest.mark.exhaustive
@slow
@given(trees(), texts)
def test_masks_of_random_grammars_are_exact(tree: GrammarTree, text: bytes) -> None:
    constraint = domino(grammar_of(tree), PIECES, LIMITS)
    state = constraint.readings.after(constraint.initial, text)
    allowed = brute_mask(tree, PIECES, text)
    if state is None:
        assert not allowed
        return
    assert set(constraint.mask(state)) == allowed
    assert {i for i in range(len(PIECES)) if fresh(constraint).allows(state, i)} == allowed


def fresh(constraint: DominoConstraint) -> DominoConstraint:
    """The same without the masks it remembers, so that ``allows`` has to look."""
    constraint._masks.clear()
    return constraint


@pytest.mark.exhaustive
@slow
@given(
    trees(), st.lists(st.sampled_from(b"abc"), max_size=4).map(bytes), st.sampled_from((0, 1, 2))
)
def test_k_counts_terminals_that_begin_inside_a_token(
    tree: GrammarTree, text: bytes, k: int
) -> None:
    grammar = grammar_of(tree)
    constraint = domino(grammar, PIECES, LIMITS, k)
    state = constraint.readings.after(constraint.initial, text)
    assume(state is not None)
    assert state is not None
    allowed = set(constraint.mask(state)) - {PIECES.end}
    assert allowed == Slow(grammar, PIECES).mask(text, k)
    by_token = {i for i in range(len(PIECES)) if fresh(constraint).allows(state, i)}
    assert by_token - {PIECES.end} == allowed


#: Not every byte a grammar may ask for is a token.
LACKING = toy(("a", "ab", "bb", "bcab", "c", "ca"))


@pytest.mark.exhaustive
@slow
@given(trees(), st.sampled_from((None, 0, 1)), st.lists(st.integers(0, 5), max_size=8))
def test_every_walk_ends_with_an_accepted_text(
    tree: GrammarTree, k: int | None, choices: list[int]
) -> None:
    """Also where some bytes are no tokens; without an end to k masks are the exact ones even so."""
    grammar = grammar_of(tree)
    try:
        constraint = domino(grammar, LACKING, LIMITS, k)
    except VocabularyError:
        if k is None:
            with pytest.raises(VocabularyError):
                compile(grammar, LACKING)
        return
    exact = compile(grammar, LACKING)
    state, there = constraint.initial, exact.initial
    for choice in choices:
        allowed = set(constraint.mask(state))
        assert allowed
        assert allowed <= set(exact.mask(there))
        assert k is not None or allowed == set(exact.mask(there))
        assert {i for i in range(len(LACKING)) if fresh(constraint).allows(state, i)} == allowed
        token = sorted(allowed)[choice % len(allowed)]
        if token == LACKING.end:
            return
        state, there = constraint.advance(state, token), exact.advance(there, token)


def test_a_finite_lookahead_needs_single_bytes() -> None:
    """ab can be tokenized only as the token ab, which crosses from one terminal into the next."""
    grammar, vocabulary = Grammar.from_kbnf("start ::= 'a' start? 'b';"), toy(("ab", "aab", "a"))
    assert words(compile(grammar, vocabulary, "domino"), b"") == {"ab"}
    with pytest.raises(VocabularyError, match="finite lookahead"):
        compile(grammar, vocabulary, "domino", k=5)


def test_texts_without_single_byte_tokens() -> None:
    constraint = compile(Grammar.from_regex("(ab)*"), toy(("ab", "aba")), "domino", k=0)
    assert words(constraint, b"") == {"ab", "EOS"}, "nothing could finish aba"
    with pytest.raises(VocabularyError, match="finite lookahead"):
        compile(Grammar.from_regex("(ab)+"), toy(("ab", "aba")), "domino", k=0)


@pytest.mark.parametrize("k", [-1, 0.5, "1", True])
def test_a_lookahead_is_a_number(k: object) -> None:
    with pytest.raises(WorkbenchError, match=r"lookahead k|as 'k'"):
        compile(FIGURE_3, FIGURE_3C, "domino", k=k)  # type: ignore[arg-type]


def test_error_no_text_can_be_tokenized() -> None:
    with pytest.raises(VocabularyError):
        compile(FIGURE_3, toy(("(", "+")), "domino")


@pytest.mark.parametrize("k", [0, None])
def test_a_regex_of_the_empty_text_alone_ends_at_once(k: int | None) -> None:
    constraint = compile(Grammar.from_regex(""), FIGURE_3C, "domino", k=k)
    assert words(constraint, b"") == {"EOS"}


def test_error_empty_language() -> None:
    with pytest.raises(BuildError, match="this regex matches no text"):
        compile(Grammar.from_regex(r"[^\s\S]"), FIGURE_3C, "domino")


@pytest.mark.parametrize("k", [0, None])
def test_error_token_not_in_the_mask(k: int | None) -> None:
    constraint = compile(FIGURE_3, FIGURE_3C, "domino", k=k)
    plus, crossing = FIGURE_3C.ids("+", "+1")
    for token in (plus, len(FIGURE_3C) - 1, len(FIGURE_3C), -1):
        with pytest.raises(TokenNotAllowed):
            constraint.advance(constraint.initial, token)
    state = constraint.advance(constraint.initial, FIGURE_3C.ids("1")[0])
    assert FIGURE_3C.end is not None
    assert constraint.advance(state, FIGURE_3C.end) == state
    if k is None:
        constraint.advance(state, crossing)
    else:
        with pytest.raises(TokenNotAllowed):
            constraint.advance(state, crossing)


def test_equal_positions_are_equal_states() -> None:
    constraint = domino(FIGURE_3, FIGURE_3C, LIMITS)
    one, two, twelve = FIGURE_3C.ids("1", "2", "12")
    in_steps = constraint.advance(constraint.advance(constraint.initial, one), two)
    assert in_steps == constraint.advance(constraint.initial, twelve)


def test_keys_of_speculation() -> None:
    """α tells the terminals apart, β the place in the rules; neither how deep brackets nest."""
    constraint = domino(FIGURE_3, FIGURE_3C, LIMITS)
    after = constraint.readings.after
    shallow, deep, plus, start = (after(0, text) for text in (b"(1", b"(((1", b"(1+", b""))
    assert shallow is not None
    assert deep is not None
    assert plus is not None
    assert start is not None
    owners = [constraint.scanner.owner[at] for at in constraint.subterminal(shallow)]
    assert owners[0] == -1, "after an int"
    assert [constraint.scanner.terminals[owner].name for owner in owners[1:]] == ["int"], (
        "within it"
    )
    assert constraint.subterminal(shallow) == constraint.subterminal(deep) != (BETWEEN,)
    assert constraint.parser_substate(shallow) == constraint.parser_substate(deep)
    assert constraint.subterminal(plus) == (BETWEEN,) == constraint.subterminal(start)
    assert constraint.parser_substate(plus) == constraint.parser_substate(start), "E follows both"
    assert constraint.parser_substate(plus) != constraint.parser_substate(shallow)
