"""A tokenizer of the tokenizers library comes in, a Vocabulary with exact bytes goes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workbench.errors import VocabularyError
from workbench.vocabulary.unpredictable import parts, unpredictable
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One token of the model as its file writes it → what it spells.
Speller = Callable[[str], bytes]
#: A tokenizer's file (tokenizer.json) as read.
Spec = dict[str, Any]

#: The pattern a byte-level pre-tokenizer cuts with when it uses its own (GPT-2's).
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_SPACE = {"String": " "}
_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def vocabulary_of(
    spec: Spec,
    *,
    name: str,
    end: TokenId | None,
    encoder: Callable[[str], Sequence[TokenId]] | None = None,
) -> Vocabulary:
    """What every token spells in the middle of a text.

    Byte-level byte-pair encodings and SentencePiece models with byte fallback are
    exact; everything else is refused. A SentencePiece tokenizer may put a space
    before a whole text or leave out the first one when it decodes: that belongs to
    the text's beginning and not to a token, so it is not done here.

    Raises: VocabularyError where tokens cannot be mapped to bytes, with the reason.
    """
    model = spec["model"]
    pieces = _pieces(model, name)
    speller, byte_level = _speller(spec, name)
    added = {entry["id"]: entry for entry in spec.get("added_tokens") or ()}
    special = {i for i, a in added.items() if a.get("special")} | _unknown(model, pieces)
    read = {i: speller(piece) for piece, i in pieces.items() if i not in added and i not in special}
    for token_id in added.keys() - special:
        # written as text; only SentencePiece's own space sign means something else in it
        text = added[token_id]["content"]
        read[token_id] = text.encode() if byte_level else speller(text)
    tokens = [read.get(i) or None for i in range(1 + max((*pieces.values(), *added), default=-1))]
    plain = [
        entry
        for token_id, entry in added.items()
        if token_id not in special and (byte_level or not _looks_for_sign(entry))
    ]
    patterns = _patterns(spec)
    return Vocabulary(
        tokens,
        end=end,
        merges=None if patterns is None else _merges(model, speller),
        pretokenizer=patterns[0] if patterns else None,
        cut_again=patterns[1:] if patterns else (),
        ignore_merges=bool(model.get("ignore_merges")),
        special={i for i, token in enumerate(tokens) if token is None},
        name=name,
        byte_fallback=() if byte_level else _fallbacks(pieces),
        added=[entry["id"] for entry in plain],
        prefix=b" " if _is_prefixed(spec) else b"",
        unpredictable=unpredictable(spec, plain, patterns is not None),
        encoder=encoder,
        names={i: added[i]["content"] for i in special if i in added},
    )


def _looks_for_sign(entry: dict[str, Any]) -> bool:
    """Whether an added token is cut out only where a text has SentencePiece's sign itself.

    Gemma lists runs of spaces so. A text has spaces, of which merges make the same tokens.
    """
    return "▁" in entry["content"] and not entry.get("normalized")


def _pieces(model: dict[str, Any], name: str) -> dict[str, TokenId]:
    """The model's own tokens by their text."""
    kind = model.get("type")
    if kind == "Unigram":
        return {piece: i for i, (piece, _) in enumerate(model["vocab"])}
    if kind == "BPE" or (kind is None and "merges" in model):
        return dict(model["vocab"])
    raise VocabularyError(
        f"{name} is a {kind} tokenizer, whose tokens do not spell bytes exactly",
        "choose a model with a byte-level BPE or a byte-fallback SentencePiece tokenizer",
    )


def _speller(spec: Spec, name: str) -> tuple[Speller, bool]:
    """How a token's text is read, and whether it is byte-level."""
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
        told = sorted(unknown)[0] if unknown else "no decoder"
        raise VocabularyError(f"{name} decodes with {told}, which is not exact in bytes")
    return _byte_fallback(decoders), False


def _sequence(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """A part of the file as a list: none, one, or the members of a sequence."""
    if part is None:
        return []
    if part["type"] == "Sequence":
        return [inner for member in part[key] for inner in _sequence(member, key)]
    return [part]


def _byte_level(name: str) -> Speller:
    """GPT-2's alphabet: a printable character for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    table = {b: b for b in printable} | {256 + n: b for n, b in enumerate(others)}
    readable = set(table)

    def spell(piece: str) -> bytes:
        if not readable.issuperset(map(ord, piece)):
            raise VocabularyError(
                f"{name} has the token {piece!r}, which is not in the byte-level alphabet"
            )
        return piece.translate(table).encode("latin-1")

    return spell


def _byte_fallback(decoders: list[dict[str, Any]]) -> Speller:
    """``<0x41>`` is a byte, ▁ (or whatever the decoder replaces) a space, the rest UTF-8."""
    replaced: list[tuple[str, str]] = []
    for decoder in decoders:
        if decoder["type"] == "Metaspace":
            replaced.append((decoder["replacement"], " "))
        elif decoder["type"] == "Replace" and "String" in decoder["pattern"]:
            replaced.append((decoder["pattern"]["String"], decoder["content"]))

    def spell(piece: str) -> bytes:
        if byte := _FALLBACK.fullmatch(piece):
            return bytes((int(byte[1], 16),))
        for sign, text in replaced:
            piece = piece.replace(sign, text)
        return piece.encode()

    return spell


def _fallbacks(pieces: dict[str, TokenId]) -> Iterable[TokenId]:
    return [i for piece, i in pieces.items() if _FALLBACK.fullmatch(piece)]


def _unknown(model: dict[str, Any], pieces: dict[str, TokenId]) -> set[TokenId]:
    """The token that stands for anything unknown spells nothing."""
    if isinstance(model.get("unk_id"), int):
        return {model["unk_id"]}
    found = pieces.get(model.get("unk_token") or "")
    return set() if found is None else {found}


def _merges(model: dict[str, Any], speller: Speller) -> list[tuple[bytes, bytes]] | None:
    """The merge rules in rank order; older files write them as ``left right``."""
    if "merges" not in model:
        return None
    pairs = (m.split(" ", 1) if isinstance(m, str) else m for m in model["merges"])
    return [(speller(left), speller(right)) for left, right in pairs]


def _is_prefixed(spec: Spec) -> bool:
    """Whether the tokenizer puts a space before a whole text."""
    return any(
        part["type"] == "Prepend"
        or part.get("add_prefix_space") is True
        or (part["type"] == "Metaspace" and part.get("prepend_scheme", "always") != "never")
        for part in parts(spec)
    )


def _patterns(spec: Spec) -> tuple[str, ...] | None:
    """The regexes that say how text is cut before merging, in their order, or None if none do."""
    found: list[str] = []
    seen: list[str] = []
    spaceless = any(
        part["type"] == "Replace" and part["pattern"] == _SPACE
        for part in _sequence(spec.get("normalizer"), "normalizers")
    )
    for part in _sequence(spec.get("pre_tokenizer"), "pretokenizers"):
        if spaceless and part["type"] == "Split" and part["pattern"] == _SPACE:
            continue  # Gemma's; there is none left
        if "ByteLevel" in seen:  # what comes after it sees bytes, not characters
            return None
        seen.append(part["type"])
        if part["type"] == "ByteLevel":
            found.extend([GPT2_PATTERN] if part.get("use_regex", True) else [])
        elif part["type"] == "Digits":
            found.append(r"\p{N}" if part.get("individual_digits") else r"\p{N}+")
        elif part["type"] == "Split" and "Regex" in part["pattern"]:
            if part["behavior"] != "Isolated" or part.get("invert"):
                return None
            found.append(part["pattern"]["Regex"])
        elif part["type"] != "Metaspace" or part.get("split", True):
            return None
    return tuple(found)
