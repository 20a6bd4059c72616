"""The byte-pair encoder, and its check against the tokenizer itself.

Bytes or characters become the token ids of symbols by one look-up in an array. If all pieces are
short, one kernel call merges them; longer pieces are merged with a heap.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.merge_kernels import (
    MAX_SHORT,
    SYMBOL,
    Ints,
    Tables,
    merge_long,
    merge_pieces,
)
from workbench.vocabulary.tokenization.merge_rules import over_characters
from workbench.vocabulary.tokenizer import SAMPLES
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """The symbols of a table that are tokens.

    Shape: ``codes`` (S,) sorted, code points or bytes; ``tokens`` (S,), the token of each.
    """

    characters: bool
    codes: Ints
    tokens: Ints

    def read(self, text: str) -> Ints:
        """A text's symbols as token ids; −1 − code for a symbol that is not a token."""
        if self.characters:
            numbers = np.frombuffer(text.encode("utf-32-le"), np.int32)
        else:
            numbers = np.frombuffer(text.encode(), np.uint8).astype(np.int32)
        if not len(self.codes):
            return -1 - numbers
        indices = np.minimum(np.searchsorted(self.codes, numbers), len(self.codes) - 1)
        is_token = self.codes[indices] == numbers
        return np.where(is_token, self.tokens[indices], -1 - numbers).astype(np.int32)


def alphabet(vocabulary: Vocabulary, tables: Tables) -> Alphabet:
    """The symbols of a vocabulary that are tokens."""
    symbols = set(np.flatnonzero(tables.rank == SYMBOL).tolist()) - set(
        vocabulary.tokenizer.byte_fallback
    )
    coding = "utf-8" if over_characters(vocabulary) else "latin-1"
    codes = sorted((ord((vocabulary.tokens[t] or b"").decode(coding)), t) for t in symbols)
    columns = np.array(codes, np.int32).reshape(-1, 2)
    return Alphabet(coding == "utf-8", columns[:, 0].copy(), columns[:, 1].copy())


def merged(tables: Tables, symbols: Ints, cuts: Sequence[int]) -> Ints:
    """The encoding of the pieces ``symbols[cuts[i]:cuts[i + 1]]``; symbols below 0 are kept.

    Shape: ``cuts`` from 0 to the number of symbols.
    """
    lengths = np.diff(cuts)
    if lengths.max(initial=0) <= MAX_SHORT:
        work = symbols.copy()
        pending = np.empty(MAX_SHORT + 1, np.int32)
        return work[: merge_pieces(tables.rules, work, np.asarray(cuts, np.int32), pending)]
    found = [_merged(tables, symbols[i:j]) for i, j in pairwise(cuts)]
    return np.concatenate(found)


def _merged(tables: Tables, symbols: Ints) -> Ints:
    work, size = symbols.copy(), len(symbols)
    room = np.empty((3, size), np.int32)
    left = merge_long(tables.rules, work, room[0], room[1], room[2], np.empty(3 * size, np.int64))
    return work[:left]


#: The number of random texts, and their maximum length.
_RANDOM_TEXTS, _MAX_LENGTH = 300, 24


def check_encoder(vocabulary: Vocabulary, encode: Callable[[str], list[TokenId]]) -> None:
    """Compare our encoder with the tokenizer on samples, runs of spaces and random texts.

    A tokenizer that adds a prefix to a whole text may omit it if the text begins with it already,
    so both results are accepted.

    Raises: VocabularyError with the first text on which they differ.
    """
    if vocabulary.tokenizer.encoder is None:
        return
    prefix = vocabulary.tokenizer.prefix.decode()
    for text in _texts(vocabulary):
        wanted = list(vocabulary.tokenizer.encoder(text))
        if wanted not in (encode(prefix + text), encode(text)):
            raise VocabularyError(
                f"the encodings of {vocabulary.name} cannot be predicted exactly: its tokenizer and"
                f" its merges differ on {text[:40]!r}",
                "choose another vocabulary, or a method that does not need it",
            )


def _texts(vocabulary: Vocabulary) -> Iterator[str]:
    rng = random.Random(0)
    added = [
        (vocabulary.tokens[token] or b"").decode() for token in sorted(vocabulary.tokenizer.added)
    ]
    samples = [*map(vocabulary.writable, SAMPLES)]
    parts: Sequence[str] = [*"".join(samples), *" \n\t", *added]
    yield from samples
    yield from (f"a{' ' * size}{after}" for size in range(1, 41) for after in ("", "b", "\n"))
    for _ in range(_RANDOM_TEXTS):
        script = rng.sample(parts, 8)
        yield "".join(rng.choices([*script, *" \n", *added[:3]], k=rng.randint(1, _MAX_LENGTH)))
