"""Masks of ``proper`` and the encodings of a finite language, for every feature of tokenizers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import product
from random import Random

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from tests.vocabulary.tokenization.test_added_tokens import byte_level, late, raw, sentencepiece
from workbench.base.errors import VocabularyError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.live_edges import live_edges
from workbench.constraint.methods.proper.proper import (
    Finder,
    ProperConstraint,
    ProperState,
)
from workbench.constraint.methods.proper.vegas_regions import RegionCache
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenizer import vocabulary_of
from workbench.vocabulary.vocabulary import Vocabulary

#: Texts whose tokens depend on each other: added tokens, runs, marks, spaces.
TEXTS = (
    "ab abb\n\n\nab",
    "a\n\n\n\n\nb",
    "b\n\t\nab  abb",
    "<x>ab<xa",
    "a <x> b",
    " <x>",
    "e\u0301a",
    "\u00e9a",
    "\u1eb9\u0301 e\u0323\u0301",
    "e\u0301\u0323",
    "\u0323ab",
    "<\u0338x>",
    "<x>\u0338",
    "<x>\u0323\u0334a",
    "\uac00\u11a8",
    "\u65e5\u672c\n",
    "</s> ab",
    "  ab",
)

#: Encodes a text, after the prefix that the tokenizer puts before a text is removed from it.
Encode = Callable[[str], Sequence[int]]


def check_masks(
    vocabulary: Vocabulary,
    encode: Encode,
    texts: Sequence[str],
    prompt: Sequence[int] = (),
    find: Finder = live_edges,
) -> int:
    """Follow all masks: they allow the proper sequences of the texts, and nothing else.

    ``texts`` begin with the prompt's text, if there is a prompt. Returns the number of sequences.
    """
    before = vocabulary.decode(prompt).decode()
    wanted = set()
    for text in texts:
        found = tuple(encode(before + text))
        if vocabulary.decode(found) == (before + text).encode() and found[: len(prompt)] == (
            *prompt,
        ):
            wanted.add(found[len(prompt) :])
    grammar = Grammar.from_kbnf(
        "start ::= " + " | ".join(json.dumps(t, ensure_ascii=False) for t in texts) + ";"
    )
    try:
        constraint = ProperConstraint(
            grammar.machine, vocabulary, Limits(seconds=60), joined=prompt or None, find=find
        )
    except VocabularyError:
        assert not wanted
        return 0
    count = 0
    waiting: list[tuple[tuple[int, ...], ProperState]] = [((), constraint.initial)]
    for tokens, state in waiting:
        allowed = set(constraint.mask(state).ids.tolist()) - {vocabulary.end}
        size = len(tokens)
        assert allowed == {s[size] for s in wanted if s[:size] == tokens and len(s) > size}, tokens
        assert constraint.is_final(state) == (tokens in wanted), tokens
        count += tokens in wanted
        waiting += [((*tokens, t), constraint.advance(state, t)) for t in sorted(allowed)]
    assert count == len(wanted)
    return count


RUNS = [raw("\n" * size) for size in (1, 2, 3, 5)] + [raw("\n\t"), raw("<x>"), late("ab ")]
BYTE_LEVEL = {
    "runs": lambda: byte_level(RUNS),
    "special": lambda: byte_level([late("<x>")], [raw("</s>"), raw("\n\n")]),
    "stripped": lambda: byte_level([raw("<x>", lstrip=True), late("ab", rstrip=True)]),
    "NFC": lambda: byte_level(RUNS, normaliser=normalizers.NFC()),
    "NFC late": lambda: byte_level([late("<x>"), late("\u00e9")], normaliser=normalizers.NFC()),
    "NFKD": lambda: byte_level([late("<x>")], normaliser=normalizers.NFKD()),
}
SENTENCEPIECE = {
    "Prepend": lambda: sentencepiece(RUNS[:-1]),
    "Metaspace first": lambda: sentencepiece(RUNS, metaspace="first"),
    "Metaspace never": lambda: sentencepiece(RUNS, metaspace="never", split=True),
}


def vocabulary_and_encoder(tokenizer: Tokenizer) -> tuple[Vocabulary, Encode]:
    vocabulary = vocabulary_of(json.loads(tokenizer.to_str()), name="made", end=None)
    return vocabulary, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.slow
@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_masks_are_the_encodings_of_the_texts(name: str) -> None:
    vocabulary, encode = vocabulary_and_encoder(BYTE_LEVEL[name]())
    assert check_masks(vocabulary, encode, TEXTS) > 5


def without_prefixes(name: str, encode: Encode) -> Encode:
    """The encoder of the texts from which the tokenizer's own spaces are removed.

    With Prepend they are also before the parts after added tokens. Metaspace puts none before a
    text that begins with one.
    """
    cut = "|".join(re.escape(token.content) for token in sorted(RUNS[:-1], key=_length))
    after = re.compile(f"({cut}) " if name == "Prepend" else "(?!)()")
    first = re.compile("^ " if name == "Prepend" else "^ (?! )")
    return lambda text: encode(after.sub(r"\1", first.sub("", text)))


def _length(token: AddedToken) -> int:
    return -len(token.content)


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_masks_of_texts_after_a_dummy_prefix(name: str) -> None:
    """The grammar has the space that the tokenizer puts before a text."""
    vocabulary, encode = vocabulary_and_encoder(SENTENCEPIECE[name]())
    prefix = vocabulary.tokenizer.prefix.decode()
    texts = [prefix + text for text in TEXTS if not text.startswith(("<x>", "ab "))]
    wanted = without_prefixes(name, encode) if prefix else encode
    assert check_masks(vocabulary, wanted, texts) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BYTE_LEVEL, *SENTENCEPIECE])
@pytest.mark.parametrize("prompt", ["x: ", "<", "e", "b<x>"])
def test_masks_after_a_prompt(name: str, prompt: str) -> None:
    """Nothing is put before a continuation: prompt and text together are one encoding."""
    vocabulary, encode = vocabulary_and_encoder((BYTE_LEVEL | SENTENCEPIECE)[name]())
    prefix = vocabulary.tokenizer.prefix.decode()
    tokens = encode(prompt)
    assert vocabulary.decode(tokens) == (prefix + prompt).encode()
    wanted = without_prefixes(name, encode) if prefix else encode
    check_masks(vocabulary, wanted, TEXTS, tokens)


def test_tokens_of_a_prompt_that_is_not_normalised_are_refused() -> None:
    vocabulary, _ = vocabulary_and_encoder(byte_level([], normaliser=normalizers.NFC()))
    ids = vocabulary.ids("e", b"\xcc", b"\x81")
    machine = Grammar.from_regex("a").machine
    with pytest.raises(VocabularyError, match="would not spell the prompt so"):
        ProperConstraint(machine, vocabulary, joined=ids)


def test_regions_are_not_cut_inside_the_text_of_a_special_token() -> None:
    tokenizer = sentencepiece([], [raw("</s>"), raw("日<")], metaspace="first")
    vocabulary, encode = vocabulary_and_encoder(tokenizer)
    texts = [" a</s>", " a</s", " </sab", " b日a", " b日<", " 日", " a日日< b"]
    found = RegionCache.find
    assert check_masks(vocabulary, lambda t: encode(t.removeprefix(" ")), texts, find=found) == 4


def test_added_tokens_may_be_flagged() -> None:
    tokenizer = byte_level([AddedToken("<x>", lstrip=True, rstrip=True)])
    vocabulary, encode = vocabulary_and_encoder(tokenizer)
    assert check_masks(vocabulary, encode, ["a <x>", "a<x> b", "a<x>b", "<x>\u3000", "<x><x>"]) == 2


#: Characters of the random texts: what the patterns of tokenizers treat differently.
ALPHABETS = ("ab \n", "aA '", "12 a", "a/\n ", "a\u00a0 \u3000", "\u65e5a ", "as' ")
PATTERNS = (
    r"\p{L}+|\s+|.",
    r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def random_tokenizer(rng: Random) -> tuple[Tokenizer, str]:
    """Byte-level merges, in any order, with words, a pattern, added tokens; its alphabet."""
    letters = rng.choice(ALPHABETS)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    read = dict(level.pre_tokenize_str(letters))
    symbols = [*"".join(read)]
    pieces, rules = symbols.copy(), []
    for _ in range(rng.choice([3, 8, 16])):
        rule = rng.choice(pieces), rng.choice(pieces)
        if rule not in rules and len("".join(rule)) < 6:
            rules.append(rule)
            pieces.append("".join(rule))
    rng.shuffle(rules) if rng.random() < 0.3 else None
    words = ["".join(rng.choices(symbols, k=3)) for _ in range(2)]
    known = dict.fromkeys([*sorted(pre_tokenizers.ByteLevel.alphabet()), *pieces, *words])
    numbered = {piece: i for i, piece in enumerate(known)}
    tokenizer = Tokenizer(models.BPE(numbered, rules, ignore_merges=rng.random() < 0.4))
    split = [pre_tokenizers.Split(Regex(rng.choice(PATTERNS)), "isolated")] * rng.choice([0, 1, 1])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, level])
    tokenizer.decoder = decoders.ByteLevel()
    for _ in range(rng.choice([0, 0, 1, 2])):
        flags = {flag: rng.random() < 0.2 for flag in ("lstrip", "rstrip", "normalized")}
        tokenizer.add_tokens([AddedToken("".join(rng.choices(letters, k=2)), **flags)])
    return tokenizer, letters


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_masks_of_random_tokenizers(seed: int) -> None:
    rng = Random(seed)
    tokenizer, letters = random_tokenizer(rng)
    vocabulary, encode = vocabulary_and_encoder(tokenizer)
    every = ["".join(text) for size in range(4) for text in product(letters, repeat=size)]
    texts = [*rng.sample(every, len(every) // rng.choice([1, 2, 8])), letters]
    check_masks(vocabulary, encode, texts)
    prompt = encode("".join(rng.choices(letters, k=3)))
    check_masks(vocabulary, encode, texts, prompt)
