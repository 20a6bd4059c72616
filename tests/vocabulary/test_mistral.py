"""Mistral's vocabularies, held against the libraries that read the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.base.errors import VocabularyError
from workbench.vocabulary import disk_cache, mistral
from workbench.vocabulary.load import load_vocabulary
from workbench.vocabulary.mistral import read_model
from workbench.vocabulary.tokenizer import SAMPLES

sentencepiece = pytest.importorskip(
    "sentencepiece", reason="pip install 'grammar-workbench[tokenizers]'"
)

SIZES = [("mistral-v1", 32_000), ("mistral-v3", 32_768), ("tekken", 131_072)]


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_size_and_bytes(name: str, size: int) -> None:
    vocabulary = load_vocabulary(name)
    assert len(vocabulary) == size
    assert vocabulary.end == 2
    assert vocabulary.tokens[:3] == (None, None, None)
    assert vocabulary.single_bytes == frozenset(range(256))


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_sentencepiece_tokens_spell_the_text(name: str) -> None:
    vocabulary = load_vocabulary(name)
    path = mistral._data_folder(name) / mistral.MISTRAL[name]
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for sample in SAMPLES:
        assert vocabulary.decode(model.encode(sample)) == b" " + sample.encode()
    assert sum(len(vocabulary.tokens[i] or b"") for i in vocabulary.tokenizer.byte_fallback) == 256


def test_tekken_tokens_spell_the_text() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    vocabulary = load_vocabulary("tekken")
    ranks = {t: i - 1000 for i, t in enumerate(vocabulary.tokens) if t is not None}
    encoding = tiktoken.Encoding(
        "tekken", pat_str=vocabulary.tokenizer.patterns[0], mergeable_ranks=ranks, special_tokens={}
    )
    for sample in SAMPLES:
        ids = [rank + 1000 for rank in encoding.encode(sample)]
        assert vocabulary.decode(ids) == sample.encode()
    assert vocabulary.special == frozenset(range(1000))


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_sentencepiece_names_its_special_tokens(name: str) -> None:
    vocabulary = load_vocabulary(name)
    path = mistral._data_folder(name) / mistral.MISTRAL[name]
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert vocabulary.names == {i: model.id_to_piece(i) for i in sorted(vocabulary.special)}


@pytest.mark.slow
def test_tekken_names_the_special_tokens_it_uses() -> None:
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    named = tekken.Tekkenizer.DEPRECATED_SPECIAL_TOKENS
    found = {token["rank"]: str(token["token_str"]) for token in named}
    assert load_vocabulary("tekken").names == found


@pytest.mark.parametrize(
    ("name", "has_one"), [("mistral-v1", False), ("mistral-v3", True), ("tekken", True)]
)
def test_which_of_them_have_a_token_for_an_image(name: str, has_one: bool) -> None:
    assert ("[IMG]" in load_vocabulary(name).names.values()) is has_one


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mistral-v1", "tekken"])
def test_a_vocabulary_is_the_same_when_remembered(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, read = (mistral.mistral_vocabulary(name) for _ in range(2))
    assert made.tokens == read.tokens
    for field in ("special", "end", "names"):
        assert getattr(made, field) == getattr(read, field), field
    for field in ("patterns", "byte_fallback", "ignore_merges", "added", "prefix"):
        assert getattr(made.tokenizer, field) == getattr(read.tokenizer, field), field
    np.testing.assert_array_equal(made.tokenizer.ranks, read.tokenizer.ranks)
    (file,) = (tmp_path / "grammar-workbench").iterdir()
    damaged: disk_cache.Arrays = {"text": np.zeros(3, np.uint8), "lengths": np.ones(9, np.int32)}
    with file.open("wb") as opened:
        disk_cache._put(opened, damaged, file.name)
    assert mistral.mistral_vocabulary(name).tokens == made.tokens


def test_error_mistral_common_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistral, "find_spec", lambda _: None)
    with pytest.raises(VocabularyError) as caught:
        mistral.mistral_vocabulary("tekken")
    assert str(caught.value) == (
        "the vocabulary 'tekken' comes with mistral-common\n"
        "hint: pip install 'grammar-workbench[tokenizers]'"
    )


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_pieces_are_those_sentencepiece_reads(name: str) -> None:
    path = mistral._data_folder(name) / mistral.MISTRAL[name]
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    read = read_model(path.read_bytes())
    assert read.pieces == [model.id_to_piece(i) for i in range(model.vocab_size())]
    assert read.scores == [model.get_score(i) for i in range(model.vocab_size())]
    for kind, is_it in ((2, model.is_unknown), (3, model.is_control), (6, model.is_byte)):
        assert [k == kind for k in read.kinds] == [is_it(i) for i in range(model.vocab_size())]
    assert read.merges
    assert read.dummy_prefix
    assert read.plain


@pytest.mark.parametrize("data", [b"", b"\x0a\xff", b"\x07", b"{}", b"\x12\x02\x18"])
def test_error_no_such_file(data: bytes) -> None:
    with pytest.raises(VocabularyError, match="expected the file of a SentencePiece model"):
        read_model(data)


def test_user_defined_pieces_are_added_tokens() -> None:
    vocabulary = load_vocabulary("mistral-v3")
    texts = {vocabulary.tokens[i] for i in vocabulary.added}
    assert texts == {b"[REFERENCE_DOC_%d]" % n for n in range(20)}
    assert vocabulary.tokenizer.prefix == b" "


def test_error_the_file_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistral, "_data_folder", lambda _: tmp_path)
    with pytest.raises(VocabularyError, match=r"expected tekken_240718\.json"):
        mistral.mistral_vocabulary("tekken")
