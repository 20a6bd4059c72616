"""The guide: byte fallback, whole words, added tokens, and all of them with a pattern."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.vocabulary.tokenization.slow_bpe import sequences, table, walks
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization import guide as kernels
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.guide import Guide
from workbench.vocabulary.tokenizer import vocabulary_of
from workbench.vocabulary.vocabulary import Vocabulary

FALLBACK = [f"<0x{byte:02X}>" for byte in range(256)]


def of(tokenizer: Tokenizer) -> Bpe:
    return Bpe.of(vocabulary_of(json.loads(tokenizer.to_str()), name="made", end=None))


def sentencepiece_kind(*, fallback: bool = True) -> Tokenizer:
    pieces = ["<unk>", *FALLBACK, "▁", "a", "b", "é", "日", "ab", "▁a", "▁▁"]
    tokenizer = Tokenizer(
        models.BPE(
            {piece: i for i, piece in enumerate(pieces)},
            [("▁", "▁"), ("a", "b"), ("▁", "a")],
            unk_token="<unk>",
            byte_fallback=fallback,
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    return tokenizer


def byte_level_kind(**options: object) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, "ab", "bc", "abc", "Ã©", "Ġa", "ĠĠ"]
    tokenizer = Tokenizer(
        models.BPE(
            {piece: i for i, piece in enumerate(pieces)},
            [("a", "b"), ("b", "c"), ("Ġ", "Ġ"), ("Ġ", "a")],  # no rule produces é and abc
            **options,
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def compare(bpe: Bpe, tokenizer: Tokenizer, alphabet: str, rng: random.Random) -> int:
    """Random tokenizations of random texts are accepted exactly if the library writes them.

    Returns how many were accepted.
    """
    proper = 0
    ids_of = bpe.vocabulary.ids_of
    for _ in range(1500):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 5)))
        wanted = tokenizer.encode(text, add_special_tokens=False).ids
        assert bpe.encode(text) == wanted, text
        assert walks(bpe, wanted), text
        tokens, rest = [], text.encode()
        while rest:
            size = rng.choice([n for n in range(1, len(rest) + 1) if rest[:n] in ids_of])
            tokens.append(rng.choice(ids_of[rest[:size]]))
            rest = rest[size:]
        assert walks(bpe, tokens) == (tokens == wanted), (text, tokens)
        proper += tokens == wanted
    return proper


@pytest.mark.slow
def test_byte_fallback_encodes_characters_that_are_not_tokens() -> None:
    tokenizer = sentencepiece_kind()
    bpe = of(tokenizer)
    assert compare(bpe, tokenizer, "ab é日本\n😀ü", random.Random(0)) > 50
    byte = {
        (bpe.vocabulary.tokens[i] or b"?")[0]: i for i in bpe.vocabulary.tokenizer.byte_fallback
    }
    for text, is_proper in (
        (b"\n", True),  # not a token, so its byte is required
        (b"a", False),  # a token, so its byte is forbidden
        ("é".encode(), False),  # the same with two bytes
        ("本".encode(), True),
        ("本".encode()[:2], False),  # incomplete
        ("▁".encode(), False),  # the tokenizer reads this character as a space
        (b"\xff", False),
        (b"\xc0\x8a", False),  # overlong
    ):
        assert walks(bpe, [byte[b] for b in text]) == is_proper, text
    a = bpe.vocabulary.ids("ab")[0]
    first, *rest = (byte[b] for b in "本".encode())
    assert walks(bpe, [a, first, *rest, a])
    assert not walks(bpe, [first, a, *rest])


@pytest.mark.slow
def test_words_are_taken_whole() -> None:
    tokenizer = byte_level_kind(ignore_merges=True)
    bpe = of(tokenizer)
    assert bpe.words == {"abc": bpe.vocabulary.ids("abc")[0], "Ã©": bpe.vocabulary.ids("é")[0]}
    assert bpe.is_canonical(bpe.vocabulary.ids("abc")[0])
    assert compare(bpe, tokenizer, "abc é", random.Random(1)) > 50


@pytest.mark.slow
def test_without_ignoring_merges_they_are_not() -> None:
    tokenizer = byte_level_kind()
    bpe = of(tokenizer)
    assert bpe.words == {}
    assert not bpe.is_canonical(bpe.vocabulary.ids("abc")[0])
    assert compare(bpe, tokenizer, "abc é", random.Random(1)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", [byte_level_kind, sentencepiece_kind])
@pytest.mark.parametrize(
    "texts",
    [
        ("bba", "aé"),  # one ends with a prefix of the other
        ("bab", "aba", "babab"),  # overlapping themselves, and inside each other
        ("  ", "   ", "     "),  # runs of spaces, as in GPT-NeoX
        ("b", "bb", "éa", " a"),  # one of them is a symbol
    ],
)
def test_added_tokens_are_cut_out_first(
    kind: Callable[[], Tokenizer], texts: tuple[str, ...]
) -> None:
    tokenizer = kind()
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in texts])
    bpe = of(tokenizer)
    assert bpe.vocabulary.added
    assert compare(bpe, tokenizer, "ab é", random.Random(2)) > 50


def test_runs_of_spaces_among_added_tokens_are_merged() -> None:
    """As in Gemma: split at spaces after they were replaced, and listed with ▁ for a space."""
    tokenizer = sentencepiece_kind()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("▁▁", "\n\n")])
    bpe = of(tokenizer)
    assert [bpe.vocabulary.tokens[i] for i in bpe.vocabulary.added] == [b"\n\n"]
    assert compare(bpe, tokenizer, "ab \n", random.Random(4)) > 50


@pytest.mark.slow
def test_words_added_tokens_and_a_pattern_together() -> None:
    tokenizer = byte_level_kind(ignore_merges=True)
    tokenizer.add_tokens([AddedToken("c a", normalized=False)])
    bpe = of(tokenizer)
    assert compare(bpe, tokenizer, "abc  ", random.Random(3)) > 50
    seen = 0
    for tokens in islice(sequences_of(bpe, "abc "), 4000):
        assert walks(bpe, tokens) == bpe.is_proper(tokens), tokens
        seen += bpe.is_proper(tokens)
    assert seen > 100


def sequences_of(bpe: Bpe, alphabet: str) -> Iterator[tuple[int, ...]]:
    tokens = [
        token if token and set(token) <= set(alphabet.encode()) else None
        for token in bpe.vocabulary.tokens
    ]
    return sequences(Vocabulary(tokens), 5)


def test_merges_alone_need_no_guide() -> None:
    assert Bpe.of(table([("a", "b")], "ab")).guide is None


def test_row_agrees_with_take() -> None:
    bpe = Bpe.of(table([("a", "b"), (" ", "a")], " ab", ["bab"], r" ?\S+|\s+", ignore_merges=True))
    guide = bpe.guide
    assert isinstance(guide, Guide)
    guesses = {guide.start}
    for _ in range(3):
        for guess in tuple(guesses):
            for marked in (False, True):
                row = guide.row(guess, marked)
                taken = [guide.take(guess, t, marked) for t in range(len(bpe.vocabulary))]
                assert [None if g < 0 else g for g in row.tolist()] == taken
                guesses |= {g for g in taken if g is not None}
    assert len(guesses) > 5
    assert guide.may_end(guide.start)


def test_special_tokens_are_never_taken() -> None:
    bpe = Bpe.of(table([("a", "b")], "ab", pattern=r"\S"))
    assert bpe.guide is not None
    assert bpe.vocabulary.end is not None
    assert bpe.guide.take(bpe.guide.start, bpe.vocabulary.end, marked=True) is None


def test_guesses_with_one_base_differ_only_before_few_tokens() -> None:
    tokenizer = byte_level_kind(ignore_merges=True)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_tokens([AddedToken("c a", normalized=False), AddedToken("a\n")])
    guide = of(tokenizer).guide
    assert guide is not None
    guesses = {guide.start}
    for _ in range(2):
        for guess in tuple(guesses):
            for marked in (False, True):
                found = set(np.unique(guide.row(guess, marked)).tolist()) - {-1}
                guesses |= {after for after in found if not after & guide.within_bits}
    bases = {guide.base(guess) for guess in guesses}
    assert 3 * len(bases) < len(guesses)
    assert 0 < guide.separate.sum() < len(guide.separate)
    for guess in guesses:
        for marked in (False, True):
            different = guide.row(guess, marked) != guide.row(guide.base(guess), marked)
            assert not (different & guide.separate).any()


def test_error_too_many_bits() -> None:
    with pytest.raises(VocabularyError, match="needs 71 bits to follow, more than 63"):
        kernels.Layout.of([1 << 10, 2, 1 << 20, 1 << 20, 1 << 20])
