"""Added tokens, prefixes and normal forms: the guide against the tokenizers library itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from tests.vocabulary.tokenization.slow_bpe import walks
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization import added_tokens
from workbench.vocabulary.tokenization.added_tokens import added_table
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import vocabulary_of
from workbench.vocabulary.vocabulary import AddedToken as Added
from workbench.vocabulary.vocabulary import PrefixScope


def raw(text: str, **flags: bool) -> AddedToken:
    return AddedToken(text, normalized=False, **flags)


def late(text: str, **flags: bool) -> AddedToken:
    return AddedToken(text, normalized=True, **flags)


def byte_level(
    added: Sequence[AddedToken],
    special: Sequence[AddedToken] = (),
    normaliser: normalizers.Normalizer | None = None,
    before: Sequence[pre_tokenizers.PreTokenizer] = (),
    *,
    prefixed: bool = False,
) -> Tokenizer:
    """Byte-level merges with "ab", "bb", " a" and "  "."""
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "ab", "bb", "Ġa", "ĠĠ", "eÌ"]
    rules = [("a", "b"), ("b", "b"), ("Ġ", "a"), ("Ġ", "Ġ"), ("e", "Ì")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, rules))
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefixed, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, level])
    tokenizer.decoder = decoders.ByteLevel()
    if normaliser is not None:
        tokenizer.normalizer = normaliser
    tokenizer.add_tokens(list(added))
    tokenizer.add_special_tokens(list(special))
    return tokenizer


FALLBACK = [f"<0x{byte:02X}>" for byte in range(256)]


def sentencepiece(
    added: Sequence[AddedToken],
    special: Sequence[AddedToken] = (),
    *,
    metaspace: str = "",
    split: bool = False,
) -> Tokenizer:
    """Merges over characters with byte fallback; a dummy prefix by Metaspace, or by Prepend."""
    pieces = ["<unk>", *FALLBACK, "▁", "a", "b", "ab", "▁a", "▁▁"]
    rules = [("▁", "▁"), ("a", "b"), ("▁", "a")]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab, rules, unk_token="<unk>", byte_fallback=True))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", metaspace, split)
    else:
        parts = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        tokenizer.normalizer = normalizers.Sequence(parts)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    tokenizer.add_tokens(list(added))
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def bpe_of(tokenizer: Tokenizer) -> Bpe:
    return Bpe.of(
        vocabulary_of(
            json.loads(tokenizer.to_str()), name="made", end=None, encoder=encoder(tokenizer)
        )
    )


def encoder(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def compare(tokenizer: Tokenizer, alphabet: str, longest: int = 3, *, image: bool = False) -> int:
    """Every short sequence of tokens is accepted exactly if the library writes it.

    With ``image`` the library puts a prefix before parts of a text, so the sequences are compared
    with the encodings of all texts up to a length; those of added tokens first.
    """
    bpe, encode = bpe_of(tokenizer), encoder(tokenizer)
    letters = set(alphabet.encode())
    tokens = [i for i, t in enumerate(bpe.vocabulary.tokens) if t and set(t) <= letters]
    written: set[tuple[int, ...]] = set()
    if image:
        size = longest * max(len(bpe.vocabulary.tokens[i] or b"") for i in tokens)
        texts = ("".join(t) for n in range(size + 1) for t in product(alphabet, repeat=n))
        written = {tuple(encode(text)) for text in texts}
    proper = 0
    for count in range(longest + 1):
        for found in product(tokens, repeat=count):
            text = bpe.vocabulary.decode(found)
            try:
                same = encode(text.decode()) == list(found)
            except UnicodeDecodeError:
                same = False
            if image:
                if found and found[0] not in bpe.vocabulary.added:
                    continue
                same = found in written
            assert walks(bpe, found) == same, (found, text)
            assert bpe.is_proper(found) == same, (found, text)
            proper += same
    return proper


#: Added tokens, special ones, and an alphabet of what they are made of.
OVERLAPPING = [
    ([raw("b" * n) for n in (1, 2, 4)], [], "ab"),  # runs of one character, with gaps
    ([raw("\n"), raw("\n\n"), raw("\t"), raw("\n\t")], [], "\n\ta"),  # runs, and across them
    ([raw("ab"), raw("bba"), raw("aba")], [], "ab"),  # inside and across each other
    ([raw("ab"), late("ba"), late("bb")], [], "ab"),  # both searches
    ([late("ab"), raw("ba"), raw(" b")], [], "ab "),
    ([raw("ba")], [raw("ab"), late("bb")], "ab"),  # the text of a special token never occurs
    ([raw("b", lstrip=True), raw("  b")], [], "ab "),
    ([raw("b", rstrip=True), raw(" b"), raw("  ")], [], "ab "),
    ([late("b", rstrip=True), raw(" b", lstrip=True)], [], "ab "),
    ([raw("b", rstrip=True), late(" b", lstrip=True)], [], "ab "),
    ([late("bb", lstrip=True, rstrip=True), raw("a ", rstrip=True)], [], "ab "),
]


@pytest.mark.parametrize(("added", "special", "alphabet"), OVERLAPPING)
def test_added_tokens_that_overlap(
    added: list[AddedToken], special: list[AddedToken], alphabet: str
) -> None:
    assert compare(byte_level(added, special), alphabet) > 15


@pytest.mark.slow
@pytest.mark.parametrize(("added", "special", "alphabet"), OVERLAPPING)
def test_longer_sequences_of_added_tokens(
    added: list[AddedToken], special: list[AddedToken], alphabet: str
) -> None:
    assert compare(byte_level(added, special), alphabet, 4) > 30


@pytest.mark.slow
def test_all_white_space_is_stripped() -> None:
    tokenizer = byte_level([raw("<", lstrip=True), raw(">", rstrip=True)])
    bpe = bpe_of(tokenizer)
    for code in (*range(0x300), *range(0x1600, 0x3100)):
        for text in (f"{chr(code)}<", f">{chr(code)}"):
            tokens = encoder(tokenizer)(text)
            assert bpe.encode(text) == tokens, hex(code)
            assert walks(bpe, tokens)
            separate = [*encoder(tokenizer)(text[0]), *encoder(tokenizer)(text[1])]
            assert walks(bpe, separate) == (chr(code) not in added_tokens.WHITE_SPACE), hex(code)


@pytest.mark.parametrize(
    "tokenizer",
    [
        byte_level([raw("b")], prefixed=True),
        byte_level([late("b"), raw("bb")], prefixed=True),
        sentencepiece([raw("b"), raw("bb")]),
        sentencepiece([raw("b"), late("bb")], metaspace="always"),
        sentencepiece([raw("b"), late("bb")], metaspace="always", split=True),
    ],
)
def test_a_prefix_after_added_tokens(tokenizer: Tokenizer) -> None:
    assert compare(tokenizer, "ab ", image=True) > 10


@pytest.mark.parametrize("scheme", ["first", "never"])
@pytest.mark.parametrize("split", [False, True])
def test_a_prefix_before_the_first_part_only(scheme: str, split: bool) -> None:
    tokenizer = sentencepiece([raw("b"), late("bb")], metaspace=scheme, split=split)
    assert compare(tokenizer, "ab ", image=True) > 10


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms(form: str) -> None:
    normaliser = getattr(normalizers, form)()
    tokenizer = byte_level([raw("<"), late("e")], normaliser=normaliser)
    bpe, encode = bpe_of(tokenizer), encoder(tokenizer)
    # marks of three classes, composites of one and two, a mark that composes with no letter, Hangul
    # with its letters, an excluded composite, a compatibility character, a singleton
    letters = "ae<é\u0323\u0301\u0334\u0345\u1ec7\uac00\u1100\u1161\u11a8\u0958ﬁ\u212b"
    texts = ["".join(t) for n in range(3) for t in product(letters, repeat=n)]
    rng = random.Random(0)
    texts += ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(1000)]
    normal = 0
    for text in texts:
        tokens = encode(text)
        assert bpe.encode(text) == tokens
        assert walks(bpe, tokens), text
        if bpe.vocabulary.decode(tokens) == text.encode():
            normal += 1
        else:
            assert not walks(bpe, unnormalised(bpe, text)), text
    assert 100 < normal < len(texts) - 100


def unnormalised(bpe: Bpe, text: str) -> list[int]:
    """The tokens of a text by merges and added tokens, without its normal form."""
    ids = bpe.vocabulary.ids_of
    found: list[int] = []
    for character in text:
        whole = ids.get(character.encode())
        if whole is not None:
            found.append(whole[-1])
        else:
            found += [ids[bytes([byte])][0] for byte in character.encode()]
    return found


def test_error_single_words() -> None:
    bpe = byte_level([raw("ab", single_word=True)])
    with pytest.raises(VocabularyError, match="'ab' is a token depends on the letters around it"):
        bpe_of(bpe)


def test_error_prefix_in_normalised_added_tokens() -> None:
    with pytest.raises(VocabularyError, match="found only after the space that it puts there"):
        bpe_of(sentencepiece([late("ab")]))


def test_error_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(added_tokens, "MAX_STATES", 5)
    entries = [Added(b"a" * n, n) for n in range(1, 10)]
    with pytest.raises(VocabularyError, match="overlap in more than 5 ways"):
        added_table(entries, entries, PrefixScope.WHOLE)


def test_thousands_of_added_tokens_are_one_small_automaton() -> None:
    """As in Gemma: numbered ones, and runs of line breaks."""
    texts = [*(f"<unused{i}>" for i in range(3000)), *("\n" * n for n in range(1, 32))]
    entries = [Added(text.encode(), i) for i, text in enumerate(texts)]
    table = added_table(entries, entries, PrefixScope.WHOLE)
    prefixes = {text[:size] for text in texts for size in range(len(text))}
    assert len(table.bytes) <= len(prefixes)
