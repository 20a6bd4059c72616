"""Real tokenizers, compared with the libraries that run them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers

from tests.vocabulary.tokenization.slow_bpe import rows_of, sequences, walks
from workbench.vocabulary import mistral
from workbench.vocabulary.load import load_tokenizer, load_vocabulary
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenizer import vocabulary_of
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Encode = Callable[[str], list[TokenId]]

SCRIPTS = (
    "etaoin shrdlu THE and of to in ' . , : ; ! ? - _ ( ) [ ] { } < > / \\ | = + * # @ $ % & ~ ^ `",
    "0 1 2 3 4 5 6 7 8 9 10 42 1999 3.14 1e-9 0xFF",
    "straße café naïve Łódź ßſ İı ﬁ e\u0301 ¿qué? «été» – — … “x” ‘s",
    "你好 世界 日本語 ひらがな カタカナ 안녕하세요 ภาษาไทย हिन्दी עברית العربية",
    "здравствуй мир Ελληνικά ქართული አማርኛ",
    "😀 👨‍👩‍👧 🏳️‍🌈 𝔘𝔫𝔦 𐍈 ½ ² Ⅷ ① ﷽ \u00a0 \u2009 \u3000 \u200b \ufeff \u0378",
    "\t \n \r\n \n\n \x0b \x0c \x00 \x7f \x85 \u2028",
    "'s 't 're 've 'm 'll 'd 'S 'LL 'ſ isn't I'll she'd",
    'def f(x):\n    return {"a": [1, 2]}\n\n\n#include <x.h>\n\tint i = 0;//\r\n',
)


def random_text(rng: random.Random) -> str:
    """Words and single characters of a few scripts, with runs of spaces and line feeds."""
    script = rng.sample(SCRIPTS, rng.randint(1, 3))
    parts = []
    for _ in range(rng.randint(1, 12)):
        chosen = rng.choice(script)
        kind = rng.random()
        if kind < 0.5:
            parts.append(rng.choice(chosen.split(" ") or [" "]))
        elif kind < 0.8:
            parts.append("".join(rng.choices(chosen, k=rng.randint(1, 5))))
        else:
            parts.append(rng.choice(" \n\t") * rng.randint(1, 12))
        parts.append(rng.choice(["", "", " "]))
    return "".join(parts)


def texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    runs = [
        a + " " * n + b for n in range(41) for a in ("", "a") for b in ("", "b", "\n", " equal")
    ]
    lines = ["a" + "\n" * n + b for n in range(41) for b in ("", "x", " x")]
    return [*runs, *lines, *(random_text(rng) for _ in range(count))]


@cache
def sentencepiece_encoder(name: str) -> Encode:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = mistral._data_folder(name) / mistral.MISTRAL[name]
    encode: Encode = sentencepiece.SentencePieceProcessor(model_file=str(path)).encode
    return encode


def tiktoken_encoder() -> Encode:
    tiktoken = pytest.importorskip("tiktoken")
    vocabulary = load_vocabulary("tekken")
    ranks = {t: i - 1000 for i, t in enumerate(vocabulary.tokens) if t is not None}
    made = tiktoken.Encoding(
        "tekken",
        pat_str=vocabulary.tokenizer.patterns[0],
        mergeable_ranks=ranks,
        special_tokens={},
    )
    return lambda text: [rank + 1000 for rank in made.encode_ordinary(text)]


def builtin_encoder() -> Encode:
    tokenizer = load_tokenizer("builtin")
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def compare(bpe: Bpe, encode: Encode, found: list[str]) -> None:
    """Each text has the same encoding, and the walk accepts it."""
    prefix = bpe.vocabulary.tokenizer.prefix.decode()
    for text in filter(None, found):
        tokens = list(encode(text))
        assert bpe.encode(prefix + text) == tokens, text
        assert walks(bpe, tokens), text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_sentencepiece_encodes_the_same(name: str) -> None:
    compare(Bpe.of(load_vocabulary(name)), sentencepiece_encoder(name), texts(1, 1500))


@pytest.mark.slow
def test_tekken_encodes_the_same() -> None:
    compare(Bpe.of(load_vocabulary("tekken")), tiktoken_encoder(), texts(2, 1500))


@pytest.mark.slow
def test_the_embedded_tokenizer_encodes_the_same() -> None:
    compare(Bpe.of(load_vocabulary("builtin")), builtin_encoder(), texts(3, 1500))


ENCODERS: dict[str, Callable[[], Encode]] = {
    "mistral-v1": lambda: sentencepiece_encoder("mistral-v1"),
    "mistral-v3": lambda: sentencepiece_encoder("mistral-v3"),
    "tekken": tiktoken_encoder,
    "builtin": builtin_encoder,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_other_sequences_are_improper(name: str) -> None:
    """Random tokenizations of short texts are accepted exactly if the library writes them."""
    vocabulary = load_vocabulary(name)
    bpe, encode = Bpe.of(vocabulary), ENCODERS[name]()
    rng = random.Random(4)
    proper = 0
    for text in filter(None, texts(5, 250)):
        prefixed = vocabulary.tokenizer.prefix + text[:12].encode()
        tokens = random_tokens(vocabulary, prefixed, rng)
        is_proper = tokens == list(encode(text[:12]))
        assert walks(bpe, tokens) == is_proper, (text, tokens)
        proper += is_proper
    assert proper > 20


def random_tokens(vocabulary: Vocabulary, text: bytes, rng: random.Random) -> list[TokenId]:
    """Random tokens of a text, mostly long ones."""
    found: list[TokenId] = []
    while text:
        lengths = [n for n in range(1, min(len(text), 16) + 1) if text[:n] in vocabulary.ids_of]
        size = lengths[-1] if rng.random() < 0.7 else rng.choice(lengths)
        found.append(rng.choice(vocabulary.ids_of[text[:size]]))
        text = text[size:]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "canonical", "live", "states", "free"),
    [
        # 118 bytes of byte fallback can occur in a text, and 31,741 pieces
        ("mistral-v1", 31_741 + 118, 28_446, 9_364, 4_136 + 118),
        ("tekken", 130_072, 129_816, 39_422, 6_385),
    ],
)
def test_numbers_of_the_reference(
    name: str, canonical: int, live: int, states: int, free: int
) -> None:
    bpe = Bpe.of(load_vocabulary(name))
    tables = bpe.tables
    assert len(tables.order) == canonical
    assert int((tables.left >= 0).sum()) == live == len(tables.children)
    assert len(rows_of(bpe)) == states
    assert sum(not len(bpe.row(token)) for token in tables.order.tolist()) == free


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_ordered_rules_give_the_same_encodings_of_spaces(name: str) -> None:
    """Eight spaces become one token in any correct order (reference, section 4)."""
    bpe = Bpe.of(load_vocabulary(name))
    assert len(bpe.merges) == 28_446
    spaces = [pair for pair in bpe.merges if not (pair[0] + pair[1]).strip(b" ")]
    for run in range(1, 60):
        found = [b" "] * run
        for left, right in spaces:
            place = 0
            while place < len(found) - 1:
                if (found[place], found[place + 1]) == (left, right):
                    found[place : place + 2] = [left + right]
                place += 1
        assert [bpe.vocabulary.tokens[t] for t in bpe.encode(b" " * run)] == found


def in_the_order_of_transformers(v1: Vocabulary) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The pieces of Mistral v1, and its rules ordered by score and by the lengths of their sides."""
    assert v1.tokenizer.ranks is not None
    taking_part = np.flatnonzero(v1.tokenizer.ranks >= 0).tolist()
    pieces = {(v1.tokens[i] or b"").decode().replace(" ", "▁"): i for i in taking_part}
    ranks = v1.tokenizer.ranks.tolist()
    cuts = ((text[:n], text[n:]) for text in pieces for n in range(1, len(text)))
    known = [(a, b) for a, b in cuts if a in pieces and b in pieces]
    known.sort(key=lambda pair: (ranks[pieces["".join(pair)]], -len(pair[0]), -len(pair[1])))
    return pieces, known


@pytest.mark.slow
def test_rules_in_the_order_of_transformers() -> None:
    """There, the rules of the longest runs of spaces precede those of their sides."""
    v1 = load_vocabulary("mistral-v1")
    pieces, merges = in_the_order_of_transformers(v1)
    fallback = {f"<0x{(v1.tokens[i] or b'')[0]:02X}>": i for i in v1.tokenizer.byte_fallback}
    tokenizer = Tokenizer(
        models.BPE(pieces | fallback | {"<unk>": 0}, merges, unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    bpe = Bpe.of(vocabulary_of(json.loads(tokenizer.to_str()), name="listed", end=None))
    tables = bpe.tables
    sides = np.maximum(tables.rank[tables.left], tables.rank[tables.right])
    assert int(((tables.left >= 0) & (tables.rank < sides)).sum()) == 13
    assert not bpe.monotone
    compare(bpe, lambda text: tokenizer.encode(text).ids, texts(6, 300))
    spaces = [i for text, i in pieces.items() if not text.strip("▁")]
    others = np.random.default_rng(0).choice(list(pieces.values()), 150).tolist()
    for first in spaces:
        for second in (*spaces, *others):
            for pair in ([first, second], [second, first]):
                found = tokenizer.encode(bpe.vocabulary.decode(pair).decode()).ids
                assert bpe.pair_ok(*pair) == (found == pair), pair
    assert [bpe.vocabulary.tokens[t] for t in bpe.encode("    ")] == [b"    "]


@pytest.mark.exhaustive
def test_every_sequence_of_tekken_over_six_characters() -> None:
    """All 24,032 token sequences of up to five characters, as the reference counts them."""
    vocabulary = load_vocabulary("tekken")
    bpe, encode = Bpe.of(vocabulary), tiktoken_encoder()
    alphabet = set(b"aA1 \n.")
    few = Vocabulary([t if t and set(t) <= alphabet else None for t in vocabulary.tokens])
    found = 0
    for tokens in sequences(few, 5):
        text = vocabulary.decode(tokens).decode()
        assert walks(bpe, tokens) == (list(tokens) == encode(text)), tokens
        found += 1
    assert found == 24_032 + 1  # and the empty one
