"""check_encoder(): our encoder is compared with the tokenizer before it is used."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer, pre_tokenizers

from tests.vocabulary.small_tokenizers import byte_level, fallback_bpe, split_byte_level
from workbench.base.errors import VocabularyError
from workbench.vocabulary.load import load_vocabulary
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import vocabulary_of


def added() -> Tokenizer:
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("  ", normalized=False), AddedToken("fox", normalized=False)])
    return tokenizer


def digits() -> Tokenizer:
    """As in SmolLM: each digit separately, then GPT-2's pattern."""
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    return byte_level(pre_tokenizers.Sequence(parts))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [byte_level, split_byte_level, fallback_bpe, added, digits])
def test_tokenizers_of_every_kind(kind: Callable[[], Tokenizer]) -> None:
    tokenizer = kind()
    texts = []

    def encode(text: str) -> list[int]:
        texts.append(text)
        return tokenizer.encode(text, add_special_tokens=False).ids

    spec = json.loads(tokenizer.to_str())
    bpe = Bpe.of(vocabulary_of(spec, name="made", end=None, encoder=encode))
    assert len(set(texts)) > 300
    for text in set(texts):
        wanted = tokenizer.encode(text, add_special_tokens=False).ids
        assert wanted in (
            bpe.encode(text),
            bpe.encode(bpe.vocabulary.tokenizer.prefix.decode() + text),
        )


def test_a_loaded_vocabulary_has_its_tokenizer() -> None:
    vocabulary = load_vocabulary("builtin")
    assert vocabulary.tokenizer.encoder is not None
    assert vocabulary.tokenizer.encoder("the fox") == Bpe.of(vocabulary).encode("the fox")


def test_error_where_they_differ() -> None:
    tokenizer = byte_level()
    spec = json.loads(tokenizer.to_str())

    texts = []

    def reversed_ids(text: str) -> list[int]:
        texts.append(text)
        return tokenizer.encode(text, add_special_tokens=False).ids[::-1]

    vocabulary = vocabulary_of(spec, name="odd", end=None, encoder=reversed_ids)
    with pytest.raises(VocabularyError, match="its tokenizer and its merges differ on 'The quick"):
        Bpe.of(vocabulary)
    calls = len(texts)
    with pytest.raises(VocabularyError, match="its tokenizer and its merges differ on 'The quick"):
        Bpe.of(vocabulary)
    assert len(texts) == calls, "the error is cached"
