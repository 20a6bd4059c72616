"""A tokenizer's file comes in, why its encodings cannot be told by its merges goes out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any


def unpredictable(spec: dict[str, Any], added: Sequence[dict[str, Any]], known: bool) -> str:
    """The first reason, or nothing where byte-pair merges tell all encodings.

    ``added`` are the entries of added tokens that are not special, ``known`` whether one regex or
    none says how text is cut.
    """
    model = spec["model"]
    if "merges" not in model:
        return "its tokens are not made by merging pairs"
    if not known:
        return "its text is cut in a way that one pattern does not tell"
    if model.get("dropout"):
        return "it leaves merges out at random"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "its tokens carry signs for the inside or the end of words"
    return (
        _normalised(spec) or _fallback(model) or _added(spec, [a["content"] for a in added], added)
    )


def _normalised(spec: dict[str, Any]) -> str:
    """Only a space may change, into the sign that stands for it."""
    normaliser = spec.get("normalizer")
    parts = [normaliser] if normaliser else []
    while any(part["type"] == "Sequence" for part in parts):
        parts = [inner for part in parts for inner in part.get("normalizers", [part])]
    for part in parts:
        spaces = part["type"] == "Replace" and part["pattern"] == {"String": " "}
        if part["type"] != "Prepend" and not spaces:
            return f"it changes texts before it cuts them ({part['type']})"
    return ""


def _fallback(model: dict[str, Any]) -> str:
    """Either all bytes have a token of their own for characters that have none, or none has."""
    if model.get("byte_fallback"):
        missing = [byte for byte in range(256) if f"<0x{byte:02X}>" not in model["vocab"]]
        if missing:
            return f"it has no token for the byte 0x{missing[0]:02X}"
    return ""


def _added(spec: dict[str, Any], texts: Sequence[str], added: Sequence[dict[str, Any]]) -> str:
    """Added tokens have to be found wherever they are, and only in one way."""
    for entry in added:
        if entry.get("single_word") or entry.get("lstrip") or entry.get("rstrip"):
            return f"whether {entry['content']!r} is a token depends on what is around it"
    for one, other in product(texts, texts):
        if any(one[-n:] == other[:n] for n in range(1, min(len(one), len(other)) + (one != other))):
            return f"its added tokens {one!r} and {other!r} overlap"
        if one != other and one in other:
            return f"its added token {one!r} is in {other!r}"
    again = str(spec.get("normalizer")) + str(spec.get("pre_tokenizer"))
    if texts and ("Prepend" in again or "'add_prefix_space': True" in again or "always" in again):
        return "it puts a space before every stretch between added tokens"
    return ""
