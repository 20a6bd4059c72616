"""Small tokens: a token is allowed where it is one character and small tokens continue it."""

from __future__ import annotations

from itertools import product

import pytest

from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.combined import is_small
from workbench.constraint.compile import compile
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

WORDS = toy(["a", "b", "aa", "ab", "aabb", "(", ")", "()", "é", "éa", b"\xc3", b"\xa9", "d", "bc"])

#   a grammar                                       why it is here
GRAMMARS = [
    (Grammar.from_kbnf("start ::= 'a' start 'b' | 'ab';"), "no finite automaton"),
    (Grammar.from_kbnf("start ::= '(' start? ')';"), "brackets"),
    (Grammar.from_regex("(aa|ab)*é?"), "a character with a token, and with bytes"),
    (Grammar.from_regex("a(bc|d)"), "the character c has no token: bc is a dead end"),
]
#: Small tokens of the longest text that is tried.
LONGEST = 4


@pytest.mark.parametrize("method", ["automaton", "online", "domino"])
@pytest.mark.parametrize(("grammar", "why"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_masks_are_those_of_the_small_tokens(grammar: Grammar, why: str, method: str) -> None:
    small = [i for i, token in enumerate(WORDS.tokens) if token and is_small(token)]
    constraint = compile(grammar, WORDS, method, small_tokens=True)
    assert constraint.vocabulary is WORDS
    spelt = {ids: WORDS.decode(ids) for n in range(LONGEST + 1) for ids in product(small, repeat=n)}
    accepted = {ids for ids, text in spelt.items() if is_text(grammar, text)}
    begun = {ids[:n] for ids in accepted for n in range(len(ids) + 1)}
    for ids in [one for one in begun if len(one) <= 1]:
        state = constraint.initial
        for token_id in ids:
            state = constraint.advance(state, token_id)
        allowed = {i for i in small if (*ids, i) in begun}
        assert {*constraint.mask(state)} - {WORDS.end} == allowed
        assert (WORDS.end in {*constraint.mask(state)}) == (ids in accepted)
        assert constraint.is_final(state) == (ids in accepted)


def is_text(grammar: Grammar, data: bytes) -> bool:
    try:
        return grammar.accepts(data.decode())
    except UnicodeDecodeError:
        return False


def test_a_larger_token_cannot_be_taken() -> None:
    constraint = compile(GRAMMARS[0][0], WORDS, small_tokens=True)
    (ab,) = WORDS.ids("ab")
    assert ab in compile(GRAMMARS[0][0], WORDS).mask(0)
    with pytest.raises(TokenNotAllowed):
        constraint.advance(constraint.initial, ab)


def test_a_run_uses_only_small_tokens() -> None:
    model = ToyModel(WORDS)
    constraint = compile(GRAMMARS[1][0], WORDS, small_tokens=True)
    steps = list(generate(model, constraint, "", Sampling(temperature=1, seed=3), max_tokens=40))
    assert len(steps) > 2
    assert all(is_small(step.token) for step in steps if not step.is_end)
    # what the model prefers is still named in full
    assert {one.token for step in steps for one in step.wanted} - {*map(bytes, [b"(", b")"])}


def test_every_byte_of_the_embedded_vocabulary_is_a_small_token() -> None:
    vocabulary = Vocabulary.load("builtin")
    assert len({token for token in vocabulary.tokens if token and len(token) == 1}) == 256


def test_error_no_text_can_be_tokenized_with_small_tokens() -> None:
    with pytest.raises(VocabularyError, match="the small tokens of toy"):
        compile(Grammar.from_regex("bc"), WORDS, small_tokens=True)


def test_error_with_a_terminal_label() -> None:
    grammar = Grammar.from_regex("a(?P<TEXT_TOKEN>)")
    with pytest.raises(WorkbenchError, match="a label reads a whole token"):
        compile(grammar, WORDS, small_tokens=True)


def test_error_for_a_method_over_canonical_tokens() -> None:
    with pytest.raises(VocabularyError, match="does not write text in single characters"):
        compile(Grammar.from_regex("a+"), Vocabulary.load("builtin"), "proper", small_tokens=True)
