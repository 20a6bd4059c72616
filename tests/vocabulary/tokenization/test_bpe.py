"""Bpe: the cases of small tables, and every token sequence over them."""

from __future__ import annotations

import re
from itertools import islice, product
from typing import Any

import pytest

from tests.vocabulary.tokenization.slow_bpe import (
    case_table,
    cases,
    greedy,
    passes,
    ranked,
    sequences,
    walks,
)
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Tokenizer, Vocabulary

CASES = cases("proper") + cases("proper_pretokenized")
NAMED = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


@NAMED
def test_proper_sequences_are_encodings(case: dict[str, Any]) -> None:
    bpe = Bpe.of(case_table(case))
    assert case["proper_sequences"]
    for proper in case["proper_sequences"]:
        tokens = bpe.vocabulary.ids(*proper)
        assert bpe.encode("".join(proper)) == tokens
        assert bpe.is_proper(tokens)
        assert walks(bpe, tokens)


@NAMED
def test_no_other_text_of_the_regex_has_a_proper_sequence(case: dict[str, Any]) -> None:
    bpe = Bpe.of(case_table(case))
    longest = min(case["max_len"], 6 if len(case["alphabet"]) < 4 else 3)
    proper_texts = {"".join(proper) for proper in case["proper_sequences"]}
    for size in range(longest + 1):
        for text in map("".join, product(case["alphabet"], repeat=size)):
            matches = re.fullmatch(case["regex"], text, re.DOTALL) is not None
            assert matches == (text in proper_texts)
            assert bpe.is_proper(bpe.encode(text))


@NAMED
def test_walking_token_by_token_finds_what_encoding_does(case: dict[str, Any]) -> None:
    bpe = Bpe.of(case_table(case))
    proper = 0
    for tokens in islice(sequences(bpe.vocabulary, min(case["max_len"], 6)), 1500):
        assert walks(bpe, tokens) == bpe.is_proper(tokens), tokens
        proper += bpe.is_proper(tokens)
    assert proper


@pytest.mark.parametrize("case", cases("proper"), ids=lambda case: case["id"])
def test_both_encoders_agree_on_normalised_merges(case: dict[str, Any]) -> None:
    bpe = Bpe.of(case_table(case))
    merges = [(left.decode(), right.decode()) for left, right in bpe.merges]
    for proper in case["proper_sequences"]:
        text = "".join(proper)
        assert greedy(ranked(case["merges"]), text) == proper
        assert greedy(ranked(merges), text) == proper
        assert passes(merges, text) == proper


def test_built_once_for_each_vocabulary() -> None:
    vocabulary = case_table(CASES[0])
    assert Bpe.of(vocabulary) is Bpe.of(vocabulary)
    assert Bpe.of(vocabulary) is not Bpe.of(case_table(CASES[0]))


def test_a_sequence_of_invalid_utf8_is_not_proper() -> None:
    byte_level = Vocabulary([bytes([byte]) for byte in range(256)], merges=())
    assert not Bpe.of(byte_level).is_proper([0xC3])
    assert Bpe.of(byte_level).is_proper([0xC3, 0xA9])


def test_error_without_merges() -> None:
    with pytest.raises(VocabularyError, match="toy has no merge rules"):
        Bpe.of(toy(["a", "b"]))


def test_error_unpredictable() -> None:
    vocabulary = Vocabulary(
        [b"a"], name="dicey", tokenizer=Tokenizer((), unpredictable="it throws dice")
    )
    with pytest.raises(
        VocabularyError, match=r"encodings of dicey cannot be predicted exactly: it throws dice"
    ):
        Bpe.of(vocabulary)


def test_error_a_rule_with_an_unknown_token() -> None:
    vocabulary = Vocabulary([b"a", b"aa"], merges=[(b"a", b"a"), (b"a", b"b")], name="odd")
    with pytest.raises(VocabularyError, match="rule 1 of odd has 'b', which is not a token"):
        Bpe.of(vocabulary)


def test_error_text_without_a_token() -> None:
    bpe = Bpe.of(case_table(CASES[0]))
    with pytest.raises(VocabularyError, match="no token for 'c'"):
        bpe.encode("abc")
    with pytest.raises(VocabularyError, match="expected a text in UTF-8"):
        bpe.encode(b"\xff")
