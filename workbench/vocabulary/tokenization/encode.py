"""The byte-pair encoder, and its check against the tokenizer itself.

Bytes or characters become the token ids of symbols by one look-up in an array. If all pieces are
short, one kernel call merges them; longer pieces are merged with a heap.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.base.limits import check_time_budget
from workbench.vocabulary.tokenization.added_tokens import WHITE_SPACE
from workbench.vocabulary.tokenization.merge_kernels import (
    MAX_SHORT,
    SYMBOL,
    Ints,
    Tables,
    merge_long,
    merge_pieces,
)
from workbench.vocabulary.tokenization.merge_rules import over_characters
from workbench.vocabulary.tokenizer import SAMPLES, normalizer
from workbench.vocabulary.vocabulary import (
    AddedToken,
    PrefixScope,
    TokenId,
    Tokenizer,
    Vocabulary,
)


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """The symbols of a table that are tokens.

    Shape: ``codes`` (S,) sorted, code points or bytes; ``tokens`` (S,), the token of each.
    """

    characters: bool
    codes: Ints
    tokens: Ints

    def read(self, text: str | bytes) -> Ints:
        """A text's symbols as token ids; −1 − code for a symbol that is not a token.

        Bytes are read by tables over bytes alone.
        """
        if isinstance(text, str) and self.characters:
            numbers = np.frombuffer(text.encode("utf-32-le"), np.int32)
        else:
            data = text.encode() if isinstance(text, str) else text
            numbers = np.frombuffer(data, np.uint8).astype(np.int32)
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


class AddedSearch:
    """The search for a tokenizer's added tokens: raw ones, then in normalised text the others."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._raw, self._late = (
            _finder([e for e in tokenizer.added if e.normalized == late]) for late in (False, True)
        )
        #: The added tokens after which the tokenizer puts its prefix before the next part.
        self.before_prefix = [
            entry
            for entry in tokenizer.added
            if tokenizer.prefix_scope is PrefixScope.AFTER_ALL
            or (tokenizer.prefix_scope is PrefixScope.AFTER_RAW and not entry.normalized)
        ]

    def parts(self, text: str) -> Iterator[str | AddedToken]:
        """The added tokens of a text, and the normalised parts between them."""
        form = self._tokenizer.normal_form
        for part in self._raw(text):
            if isinstance(part, str):
                yield from self._late(normalizer(form)(part) if form else part)
            else:
                yield part

    def has_prefixes(self, text: str) -> bool:
        """Whether the parts after added tokens begin with the prefix, where the tokenizer adds it.

        A normaliser adds it to parts that are not empty, so more than the prefix must follow.
        """
        prefix, scope = self._tokenizer.prefix.decode(), self._tokenizer.prefix_scope
        before: str | AddedToken = ""
        for part in self.parts(text):
            if isinstance(part, str) and before in self.before_prefix:
                too_short = scope is PrefixScope.AFTER_RAW and part == prefix
                if too_short or not part.startswith(prefix):
                    return False
            before = part
        return True

    def with_prefixes(self, text: str) -> Iterator[str]:
        """The text with the prefix that the tokenizer puts before its parts; two ways.

        A part that begins with the prefix gets another one, or none: tokenizers do either.
        """
        prefix = self._tokenizer.prefix.decode()
        for again in (True, False):
            pieces: list[str] = []
            needed = True
            for part in self.parts(text):
                if isinstance(part, str):
                    add = needed and (again or not part.startswith(prefix))
                    pieces += [prefix, part] if add else [part]
                    needed = False
                else:
                    pieces.append(part.text.decode())
                    needed = part in self.before_prefix
            yield "".join(pieces)


#: Splits a text into added tokens and the parts between them.
_Finder = Callable[[str], Iterator[str | AddedToken]]


def _finder(entries: Sequence[AddedToken]) -> _Finder:
    """The search for some added tokens, as in tokenizers: leftmost first, then longest.

    White space that a token removes before or after itself is left out.
    """
    if not entries:
        return lambda text: iter([text] if text else [])
    by_text = {entry.text.decode(): entry for entry in entries}
    longest_first = sorted(by_text, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))

    def find(text: str) -> Iterator[str | AddedToken]:
        end = 0
        for match in pattern.finditer(text):
            entry, start, stop = by_text[match[0]], *match.span()
            if entry.lstrip:
                start = max(end, len(text[:start].rstrip(WHITE_SPACE)))
            if entry.rstrip:
                stop = len(text) - len(text[stop:].lstrip(WHITE_SPACE))
            if end < start:
                yield text[end:start]
            yield entry
            end = stop
        if end < len(text):
            yield text[end:]

    return find


def merged(tables: Tables, symbols: Ints, cuts: Sequence[int]) -> Ints:
    """The encoding of the pieces ``symbols[cuts[i]:cuts[i + 1]]``; symbols below 0 are kept.

    Shape: ``cuts`` from 0 to the number of symbols.
    """
    lengths = np.diff(cuts)
    if lengths.max(initial=0) <= MAX_SHORT:
        work = symbols.copy()
        pending = np.empty(MAX_SHORT + 1, np.int32)
        return work[: merge_pieces(tables.rules, work, np.asarray(cuts, np.int32), pending)]
    encodings = [_merge(tables, symbols[i:j]) for i, j in pairwise(cuts)]
    return np.concatenate(encodings)


def _merge(tables: Tables, symbols: Ints) -> Ints:
    work, size = symbols.copy(), len(symbols)
    room = np.empty((3, size), np.int32)
    count = merge_long(tables.rules, work, room[0], room[1], room[2], np.empty(3 * size, np.int64))
    return work[:count]


#: The number of random texts, and their maximum length.
_RANDOM_TEXTS, _MAX_LENGTH = 300, 24


def check_encoder(
    vocabulary: Vocabulary, encode: Callable[[str], list[TokenId]], added: AddedSearch
) -> None:
    """Compare our encoder with the tokenizer on samples, runs of spaces and random texts.

    Raises: VocabularyError with the first text on which they differ.
    """
    if vocabulary.tokenizer.encoder is None:
        return
    for text in _texts(vocabulary):
        check_time_budget()
        wanted = list(vocabulary.tokenizer.encoder(text))
        try:
            same = any(wanted == encode(prefixed) for prefixed in added.with_prefixes(text))
        except VocabularyError:  # one added token left a part of another, which is not written
            same = vocabulary.decode(wanted) != text.encode()
        if not same:
            raise VocabularyError(
                f"the encodings of {vocabulary.name} cannot be predicted exactly: its tokenizer and"
                f" its merges differ on {text[:40]!r}",
                "choose another vocabulary, or a method that does not need it",
            )


def _texts(vocabulary: Vocabulary) -> Iterator[str]:
    """Texts of characters that can be written, and added tokens."""
    rng, writable = random.Random(0), vocabulary.writable
    added = [(vocabulary.tokens[token] or b"").decode() for token in sorted(vocabulary.added)]
    samples = [*map(writable, SAMPLES)]
    parts = [*"".join(samples), *writable(" \n\t"), *added] or [""]
    yield from samples
    for size, after in product(range(1, 41), ("", "b", "\n")):
        yield writable(f"a{' ' * size}{after}")
    for _ in range(_RANDOM_TEXTS):
        script = [*rng.sample(parts, min(8, len(parts))), *writable(" \n"), *added[:3]]
        yield "".join(rng.choices(script, k=rng.randint(1, _MAX_LENGTH)))
