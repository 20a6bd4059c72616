"""The masks against the tokenizers' own encoders: both ways, on texts with all that is awkward."""

from __future__ import annotations

import random

import pytest

from tests.automata.machines import dfa_of
from workbench.analysis.random_texts import samples
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

#: Regex, what it is there for.
REGEXES = [
    (r'\{"name": "[a-z]{1,9}", "ok": (true|false)\}', "JSON"),
    (r"[ \t\n]{1,30}x?", "white space, whose pieces are cut by what follows"),
    (r"(é|日本|👍|𓀀|a| ){1,8}", "characters that are a token, several, or bytes"),
    (r'"[^"\\]{1,6}"', "any characters, half ones between tokens"),
    (r"(I'll|don't|we're|x's| )*", "contractions"),
    (r"(-?[0-9]+(\.[0-9]+)?,? ?)+", "numbers"),
    (r"(\w|\s){0,6}", "letters of all scripts"),
    (r"\n{0,5} {0,5}\n{0,3}a?", "line ends among spaces"),
]

NAMES = [
    "builtin",
    pytest.param("mistral-v1", marks=pytest.mark.exhaustive),
    pytest.param("tekken", marks=pytest.mark.exhaustive),
]


def constraint_of(regex: str, name: str) -> ProperConstraint:
    if name != "builtin":
        pytest.importorskip("mistral_common")
    return ProperConstraint(dfa_of(regex), Vocabulary.load(name), Limits(seconds=60))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("regex", "reason"), REGEXES)
def test_the_encoding_of_every_text_is_allowed(regex: str, reason: str, name: str) -> None:
    constraint = constraint_of(regex, name)
    bpe = Bpe.of(constraint.vocabulary)
    for text in samples(Grammar.from_regex(regex), 15, seed=7, longest=16):
        state = constraint.initial
        for token in bpe.encode(text):
            assert token in constraint.mask(state), (text, reason)
            state = constraint.advance(state, token)
        assert constraint.is_final(state), (text, reason)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("regex", "reason"), REGEXES)
def test_masks_lead_only_to_encodings(regex: str, reason: str, name: str) -> None:
    """Whatever is chosen, an end is reached, and the text encodes to the tokens chosen."""
    constraint, choose = constraint_of(regex, name), random.Random(11)
    vocabulary = constraint.vocabulary
    bpe, finished = Bpe.of(vocabulary), 0
    for _ in range(25):
        taken: list[int] = []
        state = constraint.initial
        while len(taken) < 120:
            mask = constraint.mask(state)
            assert len(mask), (taken, reason)
            token = int(choose.choice(mask.ids))
            if constraint.is_final(state) and (token == vocabulary.end or choose.random() < 0.3):
                finished += 1
                assert bpe.encode(vocabulary.decode(taken)) == taken, reason
                break
            taken.append(token)
            state = constraint.advance(state, token)
    assert finished


def test_a_prompt_and_its_continuation_are_one_encoding() -> None:
    vocabulary = Vocabulary.load("builtin")
    bpe, grammar = Bpe.of(vocabulary), Grammar.from_regex(r" ?[a-z]{1,8}( [a-z]{1,5})?")
    dfa = grammar.dfa
    assert dfa is not None
    for prompt in ("The answer is", "x = (", "Name:", "1,", "\n\n"):
        before = bpe.encode(prompt)
        constraint = ProperConstraint(dfa, vocabulary, joined=before)
        for text in samples(grammar, 12, seed=3, longest=12):
            whole = bpe.encode(prompt + text)
            joins = whole[: len(before)] != before
            state, allowed = constraint.initial, not joins
            for token in whole[len(before) :] if not joins else bpe.encode(text):
                if token not in constraint.mask(state):
                    allowed = False
                    break
                state = constraint.advance(state, token)
            assert (allowed and constraint.is_final(state)) == (not joins), (prompt, text)
