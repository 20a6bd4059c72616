"""Reads a tokenizer of the tokenizers library (tokenizer.json) as a ``Vocabulary``.

``vocabulary_of`` finds the exact bytes of every token, and what the encoder needs: merge rules,
patterns, added tokens. ``unpredictable_reason`` decides whether encodings follow from these.
``check_exact`` compares the bytes with the tokenizer itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from workbench.base.errors import VocabularyError
from workbench.vocabulary.vocabulary import (
    AddedToken,
    PrefixScope,
    TokenId,
    Tokenizer,
    Vocabulary,
)

_SPACE = {"String": " "}
#: The normalisers that produce a Unicode normal form.
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def unpredictable_reason(spec: dict[str, Any], added: Sequence[AddedToken], is_known: bool) -> str:
    """The first reason why merges do not determine all encodings; empty if they do.

    ``added`` are the added tokens that have a text; ``is_known``: whether the pre-tokenizer is a
    sequence of regexes.
    """
    model = spec["model"]
    if "merges" not in model:
        return "its tokens are not produced by merging pairs"
    if not is_known:
        return "its pre-tokenizer is not a sequence of patterns"
    if model.get("dropout"):
        return "it leaves merges out at random"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "its tokens mark the inside or the end of words"
    return _normalizer_reason(spec) or _added_token_reason(spec, added)


def _normalizer_reason(spec: dict[str, Any]) -> str:
    """Normalisers may replace spaces, add a prefix, or produce one Unicode normal form."""
    normal_forms = 0
    for part in parts({"normalizer": spec.get("normalizer")}):
        spaces = part["type"] == "Replace" and part["pattern"] == _SPACE
        normal_forms += part["type"] in FORMS
        allowed = spaces or part["type"] == "Prepend" or part["type"] in FORMS
        if not allowed or normal_forms > 1:
            return f"it normalises texts before splitting them ({part['type']})"
    return ""


def _added_token_reason(spec: dict[str, Any], added: Sequence[AddedToken]) -> str:
    """Whether an added token is found must not depend on letters, or on a prefix, around it."""
    for entry in spec.get("added_tokens") or ():
        if entry.get("single_word"):
            return f"whether {entry['content']!r} is a token depends on the letters around it"
    if any(part["type"] == "Prepend" for part in parts(spec)):
        for token in added:
            if token.normalized:
                return f"{token.text.decode()!r} is found only after the space that it puts there"
    return ""


def parts(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The normalisers and pre-tokenizers of a file, with sequences flattened."""
    waiting = [part for part in (spec.get("normalizer"), spec.get("pre_tokenizer")) if part]
    flat = []
    while waiting:
        part = waiting.pop(0)
        if part["type"] == "Sequence":
            waiting[:0] = part.get("normalizers") or part.get("pretokenizers") or []
        else:
            flat.append(part)
    return flat


#: A token as written in the tokenizer's file → its bytes.
PieceReader = Callable[[str], bytes]
#: The content of a tokenizer's file (tokenizer.json).
Spec = dict[str, Any]

#: The default pattern of a byte-level pre-tokenizer (GPT-2's).
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def vocabulary_of(
    spec: Spec,
    *,
    name: str,
    end: TokenId | Iterable[TokenId] | None,
    encoder: Callable[[str], Sequence[TokenId]] | None = None,
) -> Vocabulary:
    """The vocabulary of a tokenizer, with the bytes of every token in the middle of a text.

    Byte-level byte-pair encodings and SentencePiece models with byte fallback are exact;
    everything else is refused. A SentencePiece tokenizer may add a space before a whole text, or
    remove the first one when it decodes; this does not belong to any token and is not done here.

    Raises: VocabularyError with the reason if tokens cannot be mapped to bytes.
    """
    model = spec["model"]
    pieces = _pieces(model, name)
    reader, byte_level = _piece_reader(spec, name)
    added = {entry["id"]: entry for entry in spec.get("added_tokens") or ()}
    special = {i for i, a in added.items() if a.get("special")} | _unknown(model, pieces)
    texts = {p: reader(p) for p, i in pieces.items() if i not in added and i not in special}
    read = {pieces[piece]: text for piece, text in texts.items()}
    for token_id in added.keys() - special:
        # written as text; only SentencePiece's character for a space is replaced
        text = added[token_id]["content"]
        read[token_id] = text.encode() if byte_level else reader(text)
    tokens = [read.get(i) or None for i in range(1 + max((*pieces.values(), *added), default=-1))]
    form = next((part["type"] for part in parts(spec) if part["type"] in FORMS), "")
    searched = [
        _added_token(spec, entry, form, str.encode if byte_level else reader)
        for entry in added.values()
        if byte_level or not _matches_space_sign(entry)
    ]
    plain = [entry for entry in searched if tokens[entry.token] is not None]
    patterns = _patterns(spec)
    tokenizer = Tokenizer(
        merges=None if patterns is None else _merges(model, texts, reader),
        patterns=patterns or (),
        ignore_merges=bool(model.get("ignore_merges")),
        byte_level=byte_level,
        byte_fallback=() if byte_level else _fallbacks(pieces),
        added=searched,
        prefix=b" " if _is_prefixed(spec) else b"",
        prefix_scope=_prefix_scope(spec),
        normal_form=form,
        unpredictable=unpredictable_reason(spec, plain, patterns is not None),
        encoder=encoder,
    )
    return Vocabulary(
        tokens,
        end=end,
        special={i for i, token in enumerate(tokens) if token is None},
        name=name,
        names={i: added[i]["content"] for i in special if i in added},
        tokenizer=tokenizer,
    )


def normalizer(form: str) -> Callable[[str], str]:
    """The function that normalises texts, of the library that tokenizers use."""
    from tokenizers import normalizers

    instance: Any = getattr(normalizers, form)()
    normalize: Callable[[str], str] = instance.normalize_str
    return normalize


def _added_token(spec: Spec, entry: dict[str, Any], form: str, reader: PieceReader) -> AddedToken:
    """An added token, with the text that is searched for: normalised if the searched text is."""
    text, late = entry["content"], bool(entry.get("normalized"))
    if late:
        before = [p["prepend"] for p in parts(spec) if p["type"] == "Prepend"]
        text = "".join([*before, normalizer(form)(text) if form else text])
    return AddedToken(
        reader(text) if late else text.encode(),
        entry["id"],
        late,
        bool(entry.get("lstrip")),
        bool(entry.get("rstrip")),
    )


def _matches_space_sign(entry: dict[str, Any]) -> bool:
    """Whether an added token is only found where a text contains the character ▁ itself.

    Gemma lists runs of spaces in this form. In a text with spaces, merges produce the same tokens.
    """
    return "▁" in entry["content"] and not entry.get("normalized")


def _pieces(model: dict[str, Any], name: str) -> dict[str, TokenId]:
    """The tokens of the model (without added ones) by their text in the file."""
    kind = model.get("type")
    if kind == "Unigram":
        return {piece: i for i, (piece, _) in enumerate(model["vocab"])}
    if kind == "BPE" or (kind is None and "merges" in model):
        return dict(model["vocab"])
    raise VocabularyError(
        f"{name} is a {kind} tokenizer, whose tokens cannot be mapped to bytes exactly",
        "choose a model with a byte-level BPE or a byte-fallback SentencePiece tokenizer",
    )


def _piece_reader(spec: Spec, name: str) -> tuple[PieceReader, bool]:
    """The function from a token in the file to its bytes, and whether it is byte-level."""
    decoders = _sequence(spec.get("decoder"), "decoders")
    kinds = [d["type"] for d in decoders]
    if "ByteLevel" in kinds:
        return _byte_level(name), True
    if not spec["model"].get("byte_fallback"):
        raise VocabularyError(
            f"{name} has neither byte-level tokens nor byte fallback, so some bytes have no token",
            "choose a model with a byte-level BPE or a byte-fallback SentencePiece tokenizer",
        )
    unknown = set(kinds) - {"Replace", "Metaspace", "ByteFallback", "Fuse", "Strip"}
    if unknown or not kinds:
        decoder = sorted(unknown)[0] if unknown else "no decoder"
        raise VocabularyError(f"{name} decodes with {decoder}, which is not exact in bytes")
    return _byte_fallback(decoders), False


def _sequence(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """A part of the file as a list: empty, one item, or the members of a sequence."""
    if part is None:
        return []
    if part["type"] == "Sequence":
        return [inner for member in part[key] for inner in _sequence(member, key)]
    return [part]


def _byte_level(name: str) -> PieceReader:
    """GPT-2's alphabet: a printable character for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    table = {b: b for b in printable} | {256 + n: b for n, b in enumerate(others)}
    readable = set(table)

    def read(piece: str) -> bytes:
        if not readable.issuperset(map(ord, piece)):
            raise VocabularyError(
                f"{name} has the token {piece!r}, which is not in the byte-level alphabet"
            )
        return piece.translate(table).encode("latin-1")

    return read


def _byte_fallback(decoders: list[dict[str, Any]]) -> PieceReader:
    """``<0x41>`` is a byte, ▁ (or what the decoder replaces) a space, the rest UTF-8."""
    replaced: list[tuple[str, str]] = []
    for decoder in decoders:
        if decoder["type"] == "Metaspace":
            replaced.append((decoder["replacement"], " "))
        elif decoder["type"] == "Replace" and "String" in decoder["pattern"]:
            replaced.append((decoder["pattern"]["String"], decoder["content"]))

    def read(piece: str) -> bytes:
        if byte := _FALLBACK.fullmatch(piece):
            return bytes((int(byte[1], 16),))
        for old, new in replaced:
            piece = piece.replace(old, new)
        return piece.encode()

    return read


def _fallbacks(pieces: dict[str, TokenId]) -> Iterable[TokenId]:
    return [i for piece, i in pieces.items() if _FALLBACK.fullmatch(piece)]


def _unknown(model: dict[str, Any], pieces: dict[str, TokenId]) -> set[TokenId]:
    """The token for unknown text, which has no bytes."""
    if isinstance(model.get("unk_id"), int):
        return {model["unk_id"]}
    unknown_id = pieces.get(model.get("unk_token") or "")
    return set() if unknown_id is None else {unknown_id}


def _merges(
    model: dict[str, Any], texts: dict[str, bytes], reader: PieceReader
) -> list[tuple[bytes, bytes]] | None:
    """The merge rules in rank order; older files write them as ``left right``.

    ``texts``: the bytes of all pieces, which are read once: there may be half a million rules.
    """
    if "merges" not in model:
        return None
    pairs = (m.split(" ", 1) if isinstance(m, str) else m for m in model["merges"])
    return [
        (texts.get(left) or reader(left), texts.get(right) or reader(right))
        for left, right in pairs
    ]


def _is_prefixed(spec: Spec) -> bool:
    """Whether the tokenizer adds a space before a whole text."""
    return any(
        part["type"] == "Prepend"
        or part.get("add_prefix_space") is True
        or (part["type"] == "Metaspace" and part.get("prepend_scheme", "always") != "never")
        for part in parts(spec)
    )


def _prefix_scope(spec: Spec) -> PrefixScope:
    """Whether the tokenizer adds the space again, after added tokens."""
    for part in parts(spec):
        if part.get("add_prefix_space") is True:
            return PrefixScope.AFTER_ALL
        if part["type"] == "Metaspace" and part.get("prepend_scheme", "always") == "always":
            return PrefixScope.AFTER_ALL
    if any(part["type"] == "Prepend" for part in parts(spec)):
        return PrefixScope.AFTER_RAW
    return PrefixScope.WHOLE


def _patterns(spec: Spec) -> tuple[str, ...] | None:
    """The regexes that split text before merging, in order; None if it is split in another way."""
    patterns: list[str] = []
    seen: list[str] = []
    spaceless = any(
        part["type"] == "Replace" and part["pattern"] == _SPACE
        for part in _sequence(spec.get("normalizer"), "normalizers")
    )
    for part in _sequence(spec.get("pre_tokenizer"), "pretokenizers"):
        if spaceless and part["type"] == "Split" and part["pattern"] == _SPACE:
            continue  # Gemma's: all spaces are replaced before
        if "ByteLevel" in seen:  # later parts would read bytes, not characters
            return None
        seen.append(part["type"])
        if part["type"] == "ByteLevel":
            patterns.extend([GPT2_PATTERN] if part.get("use_regex", True) else [])
        elif part["type"] == "Digits":
            patterns.append(r"\p{N}" if part.get("individual_digits") else r"\p{N}+")
        elif part["type"] == "Split" and "Regex" in part["pattern"]:
            pattern = part["pattern"]["Regex"]
            isolated = part["behavior"] == "Isolated" and not part.get("invert")
            matches = part["behavior"] == "Removed" and part.get("invert")
            if not isolated and not (matches and _matches_all(pattern)):
                return None
            patterns.append(pattern)
        elif part["type"] != "Metaspace":
            return None
        elif part.get("split", True):
            patterns.append(" [^ ]*")
    return tuple(patterns)


def _matches_all(pattern: str) -> bool:
    """Whether a pattern matches the whole text of all characters: nothing is left over."""
    from tokenizers import Regex
    from tokenizers.normalizers import Replace

    remove = Replace(Regex(pattern), "")
    codes = (code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000)
    while text := "".join(map(chr, islice(codes, 0x10000))):
        if remove.normalize_str(text):
            return False
    return True


#: Texts with all kinds of bytes: ASCII with control characters, runs of spaces and spaces at both
#: ends, characters of two, three and four bytes, joined emoji, and JSON. All are in Unicode's
#: composed form (NFC), to which many tokenizers normalise.
SAMPLES: tuple[str, ...] = (
    "The quick brown fox, 12345 + 67.89 = ?!",
    '{"name": "Ann", "tags": ["a", "b"], "n": -1.5e3}\n',
    "  two spaces,\ttabs\t\tand\n\n\nlines  ",
    "caf\u00e9 na\u00efve Stra\u00dfe \u0141\u00f3d\u017a \u00bfqu\u00e9?",
    "\u4f60\u597d\uff0c\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155",
    "\u0437\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439 \u0645\u0631\u062d\u0628\u0627",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U00010348",
    "".join(map(chr, range(1, 128))),
    "".join(map(chr, range(0xA1, 0x250))),
)


Encode = Callable[[str], Sequence[TokenId]]


def check_exact(vocabulary: Vocabulary, encode: Encode) -> None:
    """Check a vocabulary's bytes against its tokenizer.

    The tokens of each sample must decode to the sample, possibly with the space in front that
    SentencePiece tokenizers add to a whole text. Characters with a byte that is not a token are
    left out of the samples: tokenizers leave them out, or replace them.

    Raises: VocabularyError with the first sample that fails.
    """
    for sample in map(vocabulary.writable, SAMPLES):
        ids = list(encode(sample))
        special = [i for i in ids if i >= len(vocabulary) or vocabulary.tokens[i] is None]
        decoded = vocabulary.decode(i for i in ids if i < len(vocabulary))
        if not special and decoded in (sample.encode(), b" " + sample.encode()):
            continue
        reason = (
            f"its token {special[0]} has no bytes"
            if special
            else f"its tokens decode to {_excerpt(decoded, sample.encode())}"
        )
        raise VocabularyError(
            f"{vocabulary.name} does not encode text byte by byte: for {sample[:40]!r} {reason}",
            "choose a model with a byte-level BPE or a byte-fallback SentencePiece tokenizer",
        )


def _excerpt(decoded: bytes, wanted: bytes) -> str:
    """The first difference of two byte strings, in words."""
    pairs = zip(decoded, wanted, strict=False)
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(decoded), len(wanted)))
    start = max(0, position - 8)
    return f"{decoded[start : position + 8]!r} where the text has {wanted[start : position + 8]!r}"
