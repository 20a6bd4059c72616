"""Several end tokens: the mask of an accepting state has all of them, under every method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.constraint.compile import METHODS, compile
from workbench.constraint.engine.automaton import LazyConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

TEXT = (b"a", b"b", b"c", b"ab", b"cc", b"\n")
MERGES = [("a", "b"), ("c", "c")]
#: The first one has not the lowest id, and a special token that ends nothing lies between them.
ENDS = (8, 6)


def vocabulary_of(tokens: Iterable[bytes], ends: tuple[TokenId, ...] = ENDS) -> Vocabulary:
    """Tokens with three special ids after them, some of which are end tokens."""
    merges = [(a.encode(), b.encode()) for a, b in MERGES]
    return Vocabulary((*tokens, None, None, None), ends, merges, special=(6, 7, 8))


TWO, ONE = vocabulary_of(TEXT), vocabulary_of(TEXT, ENDS[:1])

REGEX = wb.Grammar.from_regex("a*b?(cc|b){0,2}")
NESTED = wb.Grammar.from_kbnf("start ::= 'a' start 'b' | 'c' | 'ab' 'c'*;")

#: Each method, with options that change how a mask is computed.
ASKED: list[tuple[str, dict[str, Any]]] = [
    *((method, {}) for method in METHODS),
    *(("domino", {"k": k}) for k in (0, 1)),
    *(("online", {"how": how}) for how in ("flat", "trie")),
    *(("online", {"checker": name}) for name in ("synchromesh", "llama.cpp", "gcd")),
    ("template", {"healing": False}),
]
#: Those without a stack.
REGULAR = ("outlines", "vegas", "direct_merge")


def pairs(one: Constraint, two: Constraint, depth: int = 4) -> Iterator[tuple[bytes, State, State]]:
    """The texts of both constraints with their states, by the tokens of the first one's masks."""
    waiting: list[tuple[bytes, State, State, int]] = [(b"", one.initial, two.initial, 0)]
    for text, here, there, taken in waiting:
        yield text, here, there
        for token_id in one.mask(here) if taken < depth else ():
            token = one.vocabulary.tokens[token_id]
            if token is not None:
                step = one.advance(here, token_id), two.advance(there, token_id)
                waiting.append((text + token, *step, taken + 1))


def check(one: Constraint, two: Constraint) -> int:
    """The masks differ in the further end tokens alone; returns in how many states a text ends."""
    count = 0
    for _, here, there in pairs(one, two):
        expected = set(one.mask(here))
        ends = two.vocabulary.ends if ENDS[0] in expected else ()
        assert set(two.mask(there)) == expected.union(ends)
        assert two.is_final(there) == one.is_final(here) == bool(ends)
        assert two.forced(there) == one.forced(here)
        allows = getattr(two, "allows", None)
        for end in two.vocabulary.ends:
            assert allows is None or allows(there, end) == bool(ends)
            if ends:
                assert two.advance(there, end) == there
            else:
                with pytest.raises(TokenNotAllowed):
                    two.advance(there, end)
        count += bool(ends)
    return count


@pytest.mark.parametrize(
    ("method", "options"), ASKED, ids=[f"{method} {options}" for method, options in ASKED]
)
def test_masks_have_all_end_tokens_or_none(method: str, options: dict[str, Any]) -> None:
    for grammar in (REGEX,) if method in REGULAR else (REGEX, NESTED):
        one, two = (compile(grammar, v, method, **options) for v in (ONE, TWO))
        assert check(one, two) > 1


@pytest.mark.parametrize("method", ["automaton", "composed", "online", "domino"])
@pytest.mark.parametrize("grammar", [REGEX, NESTED], ids=["regular", "nested"])
def test_masks_by_enumeration(method: str, grammar: wb.Grammar) -> None:
    constraint = compile(grammar, TWO, method)
    for text, state, _ in pairs(constraint, constraint):
        allowed = {i for i, token in enumerate(TEXT) if grammar.is_prefix(text + token)}
        if grammar.accepts(text):
            allowed |= {*ENDS}
        assert set(constraint.mask(state)) == allowed


#: No single b and no single c: some tokens are dead ends, so rows are trimmed.
HOLES = (b"a", b"bb", b"ab", b"cc", b"abc", b"ca")


@pytest.mark.parametrize(
    "grammar",
    [wb.Grammar.from_regex("a*(bb|cc){0,2}|abca?"), NESTED, wb.Grammar.from_regex("(a|bb)*")],
    ids=["regular", "nested", "loop"],
)
@pytest.mark.parametrize("method", ["automaton", "composed", "domino", "online", "lalr"])
def test_vocabularies_with_dead_ends(grammar: wb.Grammar, method: str) -> None:
    one, two = (compile(grammar, vocabulary_of(HOLES, ends), method) for ends in (ENDS[:1], ENDS))
    assert check(one, two) > 1


def test_automata_that_are_determinized_on_demand() -> None:
    grammar = wb.Grammar.from_regex("(a|b)*a(a|b){30}|(a|b){0,4}")
    one, two = (compile(grammar, v) for v in (ONE, TWO))
    assert isinstance(two, LazyConstraint)
    assert check(one, two) > 1


def test_small_tokens_labels_and_intersections() -> None:
    labels = wb.Grammar.from_regex(r"a(?P<TEXT_TOKEN>)?b|(?P<PARAGRAPH_TOKEN>)c")
    other = wb.Grammar.from_regex("[ab]*c{0,3}b?")
    makers: tuple[Callable[[Vocabulary], Constraint], ...] = (
        lambda v: compile(NESTED, v, small_tokens=True),
        lambda v: compile(labels, v),
        lambda v: wb.Intersection(compile(REGEX, v), compile(other, v)),
    )
    for make in makers:
        assert check(make(ONE), make(TWO)) > 1


def test_error_intersection_over_other_end_tokens() -> None:
    with pytest.raises(VocabularyError, match="over one vocabulary"):
        wb.Intersection(compile(REGEX, ONE), compile(REGEX, TWO))


def test_the_kbnf_engine_uses_no_end_token() -> None:
    engine = wb.Engine("start ::= 'a'*;", TWO)  # the empty text is accepted
    assert engine.current_possible_tokens() == [0]
