"""Small tokenizers of every kind of the tokenizers library, for tests."""

from __future__ import annotations

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

TEXT = ["the quick brown fox, 12345 ?! {}: café 你好 😀", '{"name": "Ann", "age": 31}\n'] * 3
LLAMA_3 = r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"


def byte_level(
    pre_tokenizer: pre_tokenizers.PreTokenizer | None = None, *, alphabet: bool = True
) -> Tokenizer:
    """As GPT-2: byte-pair encoding over an alphabet of 256 printable characters."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def split_byte_level() -> Tokenizer:
    """As Llama 3: a Split regex, then bytes."""
    split = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return byte_level(pre_tokenizers.Sequence([split, level]))


FALLBACK = [f"<0x{b:02X}>" for b in range(256)]


def _sentencepiece_parts(tokenizer: Tokenizer, *, old: bool) -> Tokenizer:
    """The parts transformers adds to a SentencePiece model, before and after Metaspace was fixed."""
    if old:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        first = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        tokenizer.decoder = decoders.Sequence([*first, decoders.Strip(" ", 1, 0)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
            replacement="▁", prepend_scheme="first", split=False
        )
        tokenizer.decoder = decoders.Sequence(
            [decoders.ByteFallback(), decoders.Metaspace("▁", "first", split=False)]
        )
    return tokenizer


def fallback_bpe(*, old: bool = True) -> Tokenizer:
    """As Llama 2: byte-pair encoding over characters, with byte fallback."""
    pieces = ["<unk>", "<s>", "</s>", *FALLBACK, *"▁thequickbrownfx{}:", "▁▁", "th", "▁th", "▁the"]
    merges = [("▁", "▁"), ("t", "h"), ("▁", "th"), ("▁th", "e")]
    tokenizer = Tokenizer(
        models.BPE(
            {p: i for i, p in enumerate(dict.fromkeys(pieces))},
            merges,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return _sentencepiece_parts(tokenizer, old=old)


def unigram(*, byte_fallback: bool) -> Tokenizer:
    """SentencePiece's unigram model, with or without byte fallback."""
    words = ["▁", "▁the", "the", "▁quick", "n", "a", "m", "e"]
    pieces = [("<unk>", 0.0), ("</s>", 0.0)]
    pieces += [(w, -float(n)) for n, w in enumerate(words, 1)]
    pieces += [(b, -50.0) for b in FALLBACK] if byte_fallback else []
    tokenizer = Tokenizer(models.Unigram(pieces, 0, byte_fallback))
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    return _sentencepiece_parts(tokenizer, old=False)


def word_piece() -> Tokenizer:
    """As BERT."""
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def with_added_tokens() -> Tokenizer:
    """Added tokens: special ones, and ones that are text."""
    tokenizer = byte_level()
    tokenizer.add_special_tokens([AddedToken("<tool>", special=True)])
    tokenizer.add_tokens([AddedToken("  →é", normalized=False), AddedToken("<think>")])
    return tokenizer
