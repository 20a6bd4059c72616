"""vocabulary_of(): what every token spells, for every kind of tokenizer; reasoned refusals."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

from tests.vocabulary import small_tokenizers as made
from workbench.base.errors import VocabularyError
from workbench.constraint.compile import compile
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import GPT2_PATTERN, SAMPLES, check_exact, vocabulary_of
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def read(tokenizer: Tokenizer, end: int | None = None) -> Vocabulary:
    return vocabulary_of(json.loads(tokenizer.to_str()), name="tested", end=end)


def encoder(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def checked(tokenizer: Tokenizer) -> Vocabulary:
    vocabulary = read(tokenizer)
    check_exact(vocabulary, encoder(tokenizer))
    return vocabulary


def spelt(tokenizer: Tokenizer, token: str) -> bytes | None:
    """What the token that the tokenizer writes so spells."""
    token_id = tokenizer.token_to_id(token)
    assert token_id is not None
    return read(tokenizer).tokens[token_id]


EXACT = [
    (made.byte_level(), "GPT-2: byte-level"),
    (made.split_byte_level(), "Llama 3: a split, then byte-level"),
    (made.fallback_bpe(old=True), "Llama 2: byte fallback, the space prepended by a normalizer"),
    (made.fallback_bpe(old=False), "Llama 2: byte fallback, the space prepended by Metaspace"),
    (made.unigram(byte_fallback=True), "a unigram model with byte fallback"),
    (made.with_added_tokens(), "added tokens"),
]


@pytest.mark.parametrize(("tokenizer", "because"), EXACT, ids=[b for _, b in EXACT])
def test_every_byte_is_a_token_of_an_exact_vocabulary(tokenizer: Tokenizer, because: str) -> None:
    vocabulary = checked(tokenizer)
    assert vocabulary.single_bytes == frozenset(range(256)), because
    assert len(vocabulary) == tokenizer.get_vocab_size()


@pytest.mark.parametrize("tokenizer", [t for t, _ in EXACT], ids=[b for _, b in EXACT])
@given(text=st.text(st.characters(codec="utf-8"), max_size=30))
def test_any_text_is_spelt_by_its_own_tokens(tokenizer: Tokenizer, text: str) -> None:
    found = read(tokenizer).decode(tokenizer.encode(text, add_special_tokens=False).ids)
    assert found in (text.encode(), b" " + text.encode())


def test_byte_level_tokens() -> None:
    tokenizer = made.byte_level()
    vocabulary = read(tokenizer, end=tokenizer.token_to_id("<end>"))
    assert vocabulary.end == 0
    assert vocabulary.tokens[0] is None
    assert spelt(tokenizer, "Ġ") == b" "
    assert spelt(tokenizer, "Ċ") == b"\n"
    assert spelt(tokenizer, "Ã") == b"\xc3"
    assert vocabulary.tokenizer.merges is not None
    assert all(left + right in vocabulary.ids_of for left, right in vocabulary.tokenizer.merges)
    assert not vocabulary.tokenizer.byte_fallback
    assert vocabulary.tokenizer.patterns == (GPT2_PATTERN,)


def test_byte_fallback_tokens() -> None:
    tokenizer = made.fallback_bpe()
    vocabulary = read(tokenizer)
    assert spelt(tokenizer, "▁the") == b" the"
    assert spelt(tokenizer, "<0xE2>") == b"\xe2"
    assert spelt(tokenizer, "<unk>") is None
    assert vocabulary.tokenizer.byte_fallback == frozenset(range(3, 259))
    assert vocabulary.tokenizer.merges == [
        (b" ", b" "),
        (b"t", b"h"),
        (b" ", b"th"),
        (b" th", b"e"),
    ]
    assert vocabulary.tokenizer.patterns == ()
    # the character and its byte are two tokens
    assert len(vocabulary.ids_of[b"t"]) == 2


def test_added_tokens() -> None:
    tokenizer = made.with_added_tokens()
    assert spelt(tokenizer, "<tool>") is None
    assert spelt(tokenizer, "<think>") == b"<think>"
    assert spelt(tokenizer, "  →é") == "  →é".encode()


LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
DIGITS = pre_tokenizers.Digits(individual_digits=True)
SPLIT = pre_tokenizers.Split(Regex(r"\d|\D+"), "isolated")
OTHER = pre_tokenizers.Split(Regex(r"\s"), "isolated")
REMOVED = pre_tokenizers.Split(Regex(r"\s"), "merged_with_previous")

#   pre-tokenizers     merges known  patterns       because
PATTERNS = [
    ([LEVEL],            True,         (),            "bytes alone cut nothing"),
    ([SPLIT, LEVEL],     True,         (r"\d|\D+",),  "one Split regex"),
    ([SPLIT, OTHER, LEVEL], True,      (r"\d|\D+", r"\s"), "two splits, one after the other"),
    ([DIGITS, LEVEL],    True,         (r"\p{N}",),   "the same as a regex"),
    ([LEVEL, SPLIT],     False,        (),            "a regex over bytes"),
    ([REMOVED, LEVEL],   False,        (),            "pieces are not the matches"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "known", "patterns", "because"), PATTERNS)
def test_known_pretokenizers_keep_merges_and_patterns(
    parts: list[pre_tokenizers.PreTokenizer], known: bool, patterns: tuple[str, ...], because: str
) -> None:
    vocabulary = checked(made.byte_level(pre_tokenizers.Sequence(parts)))
    assert (vocabulary.tokenizer.merges is not None) is known, because
    assert vocabulary.tokenizer.patterns == patterns, because


def test_older_files_write_merges_as_text() -> None:
    tokenizer = made.byte_level()
    spec = json.loads(tokenizer.to_str())
    spec["model"]["merges"] = [" ".join(pair) for pair in spec["model"]["merges"]]
    assert (
        vocabulary_of(spec, name="old", end=None).tokenizer.merges
        == read(tokenizer).tokenizer.merges
    )


def test_ids_with_gaps_spell_nothing() -> None:
    spec = json.loads(made.byte_level().to_str())
    spec["added_tokens"].append({"id": 305, "content": "<late>", "special": True})
    vocabulary = vocabulary_of(spec, name="gaps", end=None)
    assert len(vocabulary) == 306
    assert set(vocabulary.special) >= {300, 304, 305}
    # what special tokens are called is kept: labels for images go by it
    assert vocabulary.names[305] == "<late>"
    assert 304 not in vocabulary.names


def test_error_word_piece() -> None:
    with pytest.raises(VocabularyError) as caught:
        read(made.word_piece())
    assert str(caught.value) == (
        "tested is a WordPiece tokenizer, whose tokens cannot be mapped to bytes exactly\nhint: choose a"
        " model with a byte-level BPE or a byte-fallback SentencePiece tokenizer"
    )


def test_error_unigram_without_byte_fallback() -> None:
    with pytest.raises(VocabularyError, match="neither byte-level tokens nor byte fallback"):
        read(made.unigram(byte_fallback=False))


def test_error_no_decoder() -> None:
    tokenizer = made.fallback_bpe()
    spec = json.loads(tokenizer.to_str()) | {"decoder": None}
    with pytest.raises(VocabularyError, match="decodes with no decoder"):
        vocabulary_of(spec, name="tested", end=None)


def test_error_a_normalizer_that_changes_text() -> None:
    tokenizer = made.byte_level()
    tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(VocabularyError) as caught:
        checked(tokenizer)
    assert caught.value.message == (
        "tested does not encode text byte by byte: for 'The quick brown fox, 12345 + 67.89 = ?!'"
        " its tokens decode to b'the quic' where the text has b'The quic'"
    )


def test_missing_bytes() -> None:
    """As SmolLM2: the alphabet lacks bytes; texts without them are exact in every way."""
    tokenizer = made.byte_level(alphabet=False)
    vocabulary = checked(tokenizer)
    assert 20 < len(vocabulary.alphabet) == len(vocabulary.single_bytes) < 100
    assert vocabulary.writable("the Quick è😀\x00") == "the uick 😀"
    bpe = Bpe.of(vocabulary)
    for text in ("the quick brown fox", "café 好", '{"name": 31}\n', "  xx  "):
        assert vocabulary.writable(text) == text
        assert bpe.encode(text) == encoder(tokenizer)(text)
    anything = compile(Grammar.from_regex("(?s:.){1,3}"), vocabulary)
    own = compile(Grammar.from_regex("(?s:.){1,3}"), vocabulary, "proper")
    for text in ("é x", "the", "好"):
        assert accepts(anything, bpe.encode(text))
        assert accepts(own, bpe.encode(text))
    letters = vocabulary.ids(*"the")
    assert accepts(anything, letters)
    assert not accepts(own, letters), "the tokenizer merges them"


def accepts(constraint: Constraint, tokens: Sequence[TokenId]) -> bool:
    state = constraint.initial
    for token_id in tokens:
        if token_id not in constraint.mask(state):
            return False
        state = constraint.advance(state, token_id)
    return constraint.is_final(state)


def test_error_unknown_tokens_in_a_sample() -> None:
    vocabulary = Vocabulary((b"a", None), special=[1])
    with pytest.raises(VocabularyError, match="its token 1 has no bytes"):
        check_exact(vocabulary, lambda text: [1])


def test_samples_stay_as_they_are_under_nfc() -> None:
    """Some tokenizers compose characters first (Qwen), and are exact on composed text."""
    assert all(unicodedata.is_normalized("NFC", sample) for sample in SAMPLES)
    tokenizer = made.byte_level()
    tokenizer.normalizer = normalizers.NFC()
    checked(tokenizer)


def test_samples_hold_every_byte_utf_8_can_hold() -> None:
    seen = set("".join(SAMPLES).encode())
    never = {0xC0, 0xC1, *range(0xF5, 0x100)}
    rare = set(range(256)) - seen - never
    # lead bytes of scripts the samples leave out, and NUL, which some tokenizers drop
    assert rare <= {0, *range(0xCA, 0xD0), *range(0xD2, 0xF5)}, sorted(map(hex, rare))
