"""Languages as predicates on byte strings, and every text over an alphabet.

Python's ``re`` decides each text, every substring is tried, and every string is enumerated. Use
them only in tests.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import workbench as wb
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

#: Whether a text is in a language.
Language = Callable[[bytes], bool]


def texts(alphabet: str, most: int) -> Iterator[str]:
    """Every text over an alphabet of at most ``most`` characters, shortest first."""
    for length in range(most + 1):
        for letters in itertools.product(alphabet, repeat=length):
            yield "".join(letters)


def byte_texts(alphabet: bytes, most: int) -> Iterator[bytes]:
    """Every byte string over some bytes of at most ``most`` bytes, shortest first."""
    for length in range(most + 1):
        for letters in itertools.product(alphabet, repeat=length):
            yield bytes(letters)


def matches(pattern: str, text: str) -> bool:
    """Whether Python's ``re`` matches the whole text."""
    return re.fullmatch(pattern, text) is not None


def is_first_match(language: Language, text: bytes) -> bool:
    """Whether a text is accepted, is not empty, and no shorter nonempty prefix is."""
    beginnings = (text[:end] for end in range(1, len(text)))
    return bool(text) and language(text) and not any(map(language, beginnings))


def is_without_match(language: Language, text: bytes) -> bool:
    """Whether a text is not empty and no piece of it is accepted, the empty piece included."""
    return bool(text) and not any(map(language, pieces(text)))


def pieces(text: bytes) -> set[bytes]:
    """All substrings of a byte string, the empty one included."""
    ends = range(len(text) + 1)
    return {text[start:end] for start in ends for end in ends if start <= end}


def is_viable(language: Language, text: bytes, alphabet: bytes, most: int) -> bool:
    """Whether some continuation of at most ``most`` bytes of an alphabet makes a text accepted."""
    return any(language(text + more) for more in byte_texts(alphabet, most))


def check_masks(grammar: Grammar, texts: Sequence[bytes], tokens: Sequence[bytes]) -> None:
    """Compare the masks along every text of a finite grammar with the texts that continue there.

    ``tokens`` are multibyte ones; each byte of the texts is a token too.
    """
    tokens = [*(bytes([byte]) for byte in sorted({b for text in texts for b in text})), *tokens]
    constraint = wb.compile(grammar, Vocabulary(tokens))
    for text in texts:
        state = constraint.initial
        for end in range(len(text)):
            beginnings = [text[:end] + token for token in tokens]
            expected = {
                number
                for number, beginning in enumerate(beginnings)
                if any(other.startswith(beginning) for other in texts)
            }
            assert set(constraint.mask(state)) == expected, text[:end]
            state = constraint.advance(state, tokens.index(text[end : end + 1]))
        assert constraint.is_final(state)
