"""Byte-level tokenizers with a small alphabet: what the tokenizers library does, and what we write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.tiny_checkpoint import TEXT, tiny_tokenizer
from tests.vocabulary.tokenization.slow_bpe import walks
from tests.vocabulary.tokenization.test_added_tokens import encoder, late, raw, sentencepiece
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import check_exact, vocabulary_of
from workbench.vocabulary.vocabulary import Vocabulary

Encode = Callable[[str], list[int]]

#: GPT-2's characters for bytes: Ġ is the space, Ċ the line break, Ã© are the two bytes of é.
PIECES = ["a", "b", "Ġ", "Ã", "©", "â", "ab", "Ġa", "Ã©", "aÃ", "Ġab"]
RULES = [("a", "b"), ("Ġ", "a"), ("Ã", "©"), ("a", "Ã"), ("Ġ", "ab")]
#: Tokens that no rule produces, with bytes that are not tokens: ÿc, and all of è and of b with →.
WHOLE = ["ac", "Ã¨", "bâĨĴ"]

KINDS: dict[str, dict[str, Any]] = {
    "alone": {},
    "unknown token": {"unk_token": "<unk>"},
    "one unknown token for many": {"unk_token": "<unk>", "fuse_unk": True},
    "words": {"ignore_merges": True},
}


def small_alphabet(
    *,
    added: Sequence[AddedToken] = (),
    pieces: Sequence[str] = (*PIECES, *WHOLE),
    **options: object,
) -> Tokenizer:
    """Byte-level, split by GPT-2's pattern; most bytes have no token."""
    vocab = {piece: i for i, piece in enumerate([*pieces, "<unk>"])}
    rules = [rule for rule in RULES if {*rule, "".join(rule)} <= vocab.keys()]
    tokenizer = Tokenizer(models.BPE(vocab, rules, **options))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<unk>", special=True)])
    tokenizer.add_tokens(list(added))
    return tokenizer


def compare(tokenizer: Tokenizer, characters: str, longest: int = 3) -> tuple[int, int]:
    """Short texts and token sequences, by the library; how many texts it can and cannot write."""
    encode = encoder(tokenizer)
    vocabulary = vocabulary_of(
        json.loads(tokenizer.to_str()), name="made", end=None, encoder=encode
    )
    check_exact(vocabulary, encode)
    bpe = Bpe.of(vocabulary)
    rng, written, lost = random.Random(0), 0, 0
    texts = ["".join(t) for n in range(longest) for t in product(characters, repeat=n)]
    texts += ["".join(rng.choices(characters, k=rng.randint(3, 12))) for _ in range(400)]
    for text in texts:
        wanted = encode(text)
        if vocabulary.decode(wanted) == text.encode():
            assert bpe.encode(text) == wanted, text
            assert walks(bpe, wanted), text
            written += 1
        else:
            with pytest.raises(VocabularyError, match="has no token for"):
                bpe.encode(text)
            lost += 1
    tokens = [i for i, token in enumerate(vocabulary.tokens) if token]
    for count in range(longest + 1):
        for found in product(tokens[:12], repeat=count):
            same = is_encoding(vocabulary, encode, found)
            assert walks(bpe, found) == bpe.is_proper(found) == same, found
    return written, lost


def is_encoding(vocabulary: Vocabulary, encode: Encode, tokens: Sequence[int]) -> bool:
    """The definition: whether the library encodes the text of these tokens so."""
    try:
        return encode(vocabulary.decode(tokens).decode()) == [*tokens]
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_texts_with_a_byte_without_a_token_are_not_written(kind: str) -> None:
    written, lost = compare(small_alphabet(**KINDS[kind]), "ab éèc→\t")
    assert min(written, lost) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_added_tokens_with_such_bytes(kind: str) -> None:
    added = [raw("→"), late("c\t"), raw("éc")]
    written, lost = compare(small_alphabet(added=added, **KINDS[kind]), "ab éc→\t")
    assert min(written, lost) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_in_utf8_of_bytes_without_tokens(kind: str) -> None:
    """All tokens are valid UTF-8, but merging starts from bytes, not from characters."""
    pieces = ["a", "b", "Ġ", "ab", "Ġa", "Ġab", "Ã©", "aÃ©"]
    written, lost = compare(small_alphabet(pieces=pieces, **KINDS[kind]), "ab é")
    assert min(written, lost) > 20


def test_byte_fallback_without_some_bytes() -> None:
    """A character is encoded by its bytes if all of them are tokens; else it is unknown."""
    spec = json.loads(sentencepiece([raw("bé")], metaspace="never").to_str())
    for byte in (0x09, 0xC3, 0x82):  # a tab, the first byte of é, the second of €
        del spec["model"]["vocab"][f"<0x{byte:02X}>"]
    numbered = {piece: i for i, piece in enumerate(spec["model"]["vocab"])}
    spec["model"]["vocab"] = numbered
    spec["added_tokens"][0]["id"] = len(numbered)
    written, lost = compare(Tokenizer.from_str(json.dumps(spec)), "ab é€日\n", 2)
    assert min(written, lost) > 20


def test_normal_form_of_a_small_alphabet() -> None:
    tokenizer = small_alphabet(pieces=[*PIECES, "e", "Ì", "ģ"])
    tokenizer.normalizer = normalizers.NFC()
    written, lost = compare_normalised(tokenizer)
    assert min(written, lost) > 20


def compare_normalised(tokenizer: Tokenizer) -> tuple[int, int]:
    """As ``compare``, for texts that may be changed: e and its accent are one character."""
    encode = encoder(tokenizer)
    vocabulary = vocabulary_of(
        json.loads(tokenizer.to_str()), name="made", end=None, encoder=encode
    )
    bpe = Bpe.of(vocabulary)
    written, lost = 0, 0
    for text in ("".join(t) for n in range(5) for t in product("abe\u0301\u00e9", repeat=n)):
        tokens = encode(text)
        if vocabulary.decode(tokens) == text.encode():
            assert walks(bpe, tokens)
            written += 1
        elif tokens:
            assert walks(bpe, tokens) == is_encoding(vocabulary, encode, tokens)
            lost += 1
    return written, lost


def test_tiny_checkpoint() -> None:
    """Trained on ASCII: no tab, no capitals, no other characters."""
    written, lost = compare(tiny_tokenizer(), 'and so on {"12}\n\tZé', 2)
    assert min(written, lost) > 20
    assert compare(tiny_tokenizer(), "".join(sorted(set("".join(TEXT)))), 2)[1] == 0
