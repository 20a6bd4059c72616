"""Search in a vocabulary: a typed text comes in, the tokens it may mean go out, best first."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: What can be typed for bytes that have no key.
_ESCAPES = re.compile(rb"\\(n|t|r|\\|x[0-9A-Fa-f]{2})|<0x([0-9A-Fa-f]{2})>")
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}

#: How well a token fits: the very text, one that begins with it, one that holds it, one it begins
#: with (the tokens somebody could write that text with).
_SAME, _BEGINS, _HOLDS, _WITHIN = range(4)


def find(
    vocabulary: Vocabulary, query: str, scores: npt.NDArray[np.float64], most: int
) -> tuple[list[TokenId], int]:
    """The best tokens for a text, and how many more there are.

    Better fits first, likelier ones first among them. ``\\n``, ``\\t``, ``\\x41`` and ``<0x41>``
    are bytes; ``end`` also means the end token and ``#12`` the token of that id.

    Shape: ``scores`` (V,), higher is better.
    Cost:  one look at every token; some 30 ms for 131k.
    """
    wanted = typed_bytes(query)
    if not wanted:
        return [], 0
    fits: dict[TokenId, int] = {}
    if (named := _named(vocabulary, query)) is not None:
        fits[named] = _SAME
    for token_id, token in enumerate(vocabulary.tokens):
        if token is not None and (wanted in token or wanted.startswith(token)):
            fits.setdefault(token_id, _fit(wanted, token))
    ordered = sorted(fits, key=lambda i: _order(fits[i], vocabulary.tokens[i], float(scores[i])))
    return ordered[:most], max(0, len(ordered) - most)


def typed_bytes(query: str) -> bytes:
    """The bytes a search means."""

    def byte(match: re.Match[bytes]) -> bytes:
        name = match[1] or b""
        digits = match[2] or (name[1:] if name.startswith(b"x") else b"")
        return bytes([int(digits, 16)]) if digits else _PLAIN[name]

    return _ESCAPES.sub(byte, query.encode())


def _named(vocabulary: Vocabulary, query: str) -> TokenId | None:
    """The token that is meant by its name or number, if any."""
    if query == "end":
        return vocabulary.end
    number = query.removeprefix("#")
    if number == query or not (number.isascii() and number.isdigit()) or len(number) > 9:
        return None
    return int(number) if int(number) < len(vocabulary) else None


def _fit(wanted: bytes, token: bytes) -> int:
    if token == wanted:
        return _SAME
    if token.startswith(wanted):
        return _BEGINS
    return _HOLDS if wanted in token else _WITHIN


def _order(fit: int, token: bytes | None, score: float) -> tuple[int, int, float]:
    # of the tokens a text begins with the longest ones say most of it
    length = -len(token or b"") if fit == _WITHIN else 0
    return fit, length, -score
