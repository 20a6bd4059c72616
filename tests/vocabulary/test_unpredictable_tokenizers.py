"""Tokenizers whose encodings do not follow from their merges, and the reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from tests.vocabulary.small_tokenizers import byte_level, fallback_bpe
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import vocabulary_of


def spec(tokenizer: Tokenizer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tokenizer.to_str())
    return found


def with_parts(**changed: object) -> dict[str, Any]:
    """A byte-level tokenizer with parts of its model changed."""
    made = spec(byte_level())
    made["model"].update(changed)
    return made


def with_normaliser(normaliser: normalizers.Normalizer) -> dict[str, Any]:
    tokenizer = byte_level()
    tokenizer.normalizer = normaliser
    return spec(tokenizer)


def with_added(*tokens: AddedToken, prefix: bool = False) -> dict[str, Any]:
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=prefix))
    tokenizer.add_tokens(list(tokens))
    return spec(tokenizer)


def cut_after_bytes() -> dict[str, Any]:
    digits = pre_tokenizers.Split(Regex(r"\d"), "isolated")
    return spec(byte_level(pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(), digits])))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (with_parts(dropout=0.1), "leaves merges out at random"),
        (with_parts(end_of_word_suffix="</w>"), "mark the inside or the end of words"),
        (
            with_normaliser(normalizers.Sequence([normalizers.NFC(), normalizers.NFKC()])),
            r"normalises texts before splitting them \(NFKC\)",
        ),
        (
            with_normaliser(normalizers.Sequence([normalizers.Replace(" ", "_x"), normalizers.Lowercase()])),
            r"normalises texts before splitting them \(Lowercase\)",
        ),
        (cut_after_bytes(), "its pre-tokenizer is not a sequence of patterns"),
        (with_added(AddedToken("<x>", single_word=True)), "depends on the letters around it"),
    ],
)  # fmt: skip
def test_error_with_the_reason(made: dict[str, Any], reason: str) -> None:
    vocabulary = vocabulary_of(made, name="made", end=None)
    with pytest.raises(VocabularyError, match=reason):
        Bpe.of(vocabulary)


@pytest.mark.parametrize(
    "made",
    [
        spec(byte_level()),
        spec(fallback_bpe()),
        spec(fallback_bpe(old=False)),
        with_added(AddedToken("<xy", normalized=False), AddedToken("y>", normalized=False)),
        with_added(AddedToken("<xy", normalized=False), AddedToken("y>", normalized=True)),
        with_added(AddedToken("<x>", lstrip=True, rstrip=True)),
        with_added(AddedToken("<x>"), prefix=True),
        with_normaliser(normalizers.NFC()),
    ],
)
def test_the_others_are_predictable(made: dict[str, Any]) -> None:
    bpe = Bpe.of(vocabulary_of(made, name="made", end=None))
    assert bpe.is_proper(bpe.encode("the quick brown fox"))


@pytest.mark.parametrize(
    ("made", "prefix"),
    [
        (spec(byte_level()), b""),
        (spec(byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))), b" "),
        (spec(fallback_bpe()), b" "),  # added by a normaliser
        (spec(fallback_bpe(old=False)), b" "),  # added by Metaspace
    ],
)
def test_the_prefix_that_a_tokenizer_writes(made: dict[str, Any], prefix: bytes) -> None:
    assert vocabulary_of(made, name="made", end=None).tokenizer.prefix == prefix
