"""A tokenizer's file comes in, why its encodings cannot be told by its merges goes out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any


def unpredictable(spec: dict[str, Any], added: Sequence[dict[str, Any]], known: bool) -> str:
    """The first reason, or nothing where byte-pair merges tell all encodings.

    ``added`` are the entries of added tokens that are not special, ``known`` whether regexes
    say how text is cut.
    """
    model = spec["model"]
    if "merges" not in model:
        return "its tokens are not made by merging pairs"
    if not known:
        return "its text is cut in a way that patterns do not describe"
    if model.get("dropout"):
        return "it leaves merges out at random"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "its tokens carry signs for the inside or the end of words"
    return _normalised(spec) or _fallback(model) or _added(spec, added)


def _normalised(spec: dict[str, Any]) -> str:
    """Only a space may change, into the sign that stands for it."""
    for part in parts({"normalizer": spec.get("normalizer")}):
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


def _added(spec: dict[str, Any], added: Sequence[dict[str, Any]]) -> str:
    """Added tokens have to be found wherever they are, by one look through the text."""
    for entry in added:
        if entry.get("single_word") or entry.get("lstrip") or entry.get("rstrip"):
            return f"whether {entry['content']!r} is a token depends on what is around it"
    first, second = (
        [entry["content"] for entry in added if bool(entry.get("normalized")) == late]
        for late in (False, True)
    )
    for one, other in product(first, second):
        if one in other or other in one or _meet(one, other) or _meet(other, one):
            return f"its added tokens {one!r} and {other!r} overlap"
    if added and any(_puts_spaces(part) for part in parts(spec)):
        return "it puts a space before every stretch between added tokens"
    return ""


def _meet(one: str, other: str) -> bool:
    """Whether a text ends as another begins."""
    return any(one.endswith(other[:size]) for size in range(1, len(other)))


def _puts_spaces(part: dict[str, Any]) -> bool:
    scheme = part.get("prepend_scheme", "always" if part["type"] == "Metaspace" else "never")
    return part["type"] == "Prepend" or bool(part.get("add_prefix_space")) or scheme == "always"


def parts(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The normalisers and pre-tokenizers of a file, those of sequences one by one."""
    waiting = [part for part in (spec.get("normalizer"), spec.get("pre_tokenizer")) if part]
    found = []
    while waiting:
        part = waiting.pop(0)
        if part["type"] == "Sequence":
            waiting[:0] = part.get("normalizers") or part.get("pretokenizers") or []
        else:
            found.append(part)
    return found
