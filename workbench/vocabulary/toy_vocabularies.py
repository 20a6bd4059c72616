"""Toy vocabularies, small enough to draw: those of the papers' figures, and those of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.base.errors import VocabularyError
from workbench.vocabulary.vocabulary import Vocabulary


def toy(words: Iterable[str | bytes], *, end: bool = True, name: str = "toy") -> Vocabulary:
    """The words as tokens, in this order, and an end token after them if ``end``."""
    tokens: list[bytes | None] = [w.encode() if isinstance(w, str) else w for w in words]
    if end:
        return Vocabulary((*tokens, None), end=len(tokens), name=name)
    return Vocabulary(tokens, name=name)


def bytes_of(text: str | bytes, *, end: bool = True) -> Vocabulary:
    """One token for each byte that occurs in a text, in byte order."""
    data = text.encode() if isinstance(text, str) else text
    return toy((bytes((b,)) for b in sorted(set(data))), end=end, name="bytes of a text")


def all_bytes(*, end: bool = True) -> Vocabulary:
    """One token for each of the 256 bytes; a token's id is its byte."""
    return toy((bytes((b,)) for b in range(256)), end=end, name="all bytes")


def words_of(text: str, *, end: bool = True) -> Vocabulary:
    """The bytes of a text and its words, each also with a space before it."""
    words = dict.fromkeys(text.split())
    data = dict.fromkeys(bytes((b,)) for b in sorted(set(text.encode())))
    both = dict.fromkeys(piece.encode() for word in words for piece in (word, f" {word}"))
    return toy((data | both), end=end, name="words of a text")


#: The toy vocabularies by name: Koo et al. 2024, Figures 4 and 7; Beurer-Kellner et al. 2024,
#: Figure 3, as far as the text of the paper describes it; and one of plain bytes.
TOYS: dict[str, Callable[[], Vocabulary]] = {
    "figure-4": lambda: toy(("f", "oo", "foo", "for", "food"), name="figure-4"),
    "figure-7": lambda: toy(("a", "b", "bb", "aaab"), name="figure-7"),
    "domino-3": lambda: toy(("0", "1", "2", "12", "(", ")", "+", "+1", ")+1"), name="domino-3"),
    "all-bytes": all_bytes,
}


def named_toy(name: str) -> Vocabulary:
    """A toy vocabulary by its name.

    Raises: VocabularyError for an unknown name.
    """
    if name not in TOYS:
        raise VocabularyError(
            f"expected a toy vocabulary, not {name!r}", f"there are {', '.join(TOYS)}"
        )
    return TOYS[name]()
