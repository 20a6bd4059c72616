"""Held: our encoder and the tokenizer itself come in, an error goes out where they differ."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from workbench.errors import VocabularyError
from workbench.vocabulary.exactness import SAMPLES
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: How many random texts, and how long they are at most.
_TEXTS, _LENGTH = 300, 24


def hold_against(vocabulary: Vocabulary, encode: Callable[[str], list[TokenId]]) -> None:
    """Encode samples, runs of spaces and random texts with both.

    A tokenizer that puts something before a whole text may leave it out where the text begins
    with it already.

    Raises: VocabularyError with the first text they differ on.
    """
    if vocabulary.encoder is None:
        return
    prefix = vocabulary.prefix.decode()
    for text in _texts(vocabulary):
        wanted = list(vocabulary.encoder(text))
        if wanted not in (encode(prefix + text), encode(text)):
            raise VocabularyError(
                f"what {vocabulary.name} would produce cannot be said exactly: its tokenizer and"
                f" its merges differ on {text[:40]!r}",
                "choose another vocabulary, or a method that does not need it",
            )


def _texts(vocabulary: Vocabulary) -> Iterator[str]:
    rng = random.Random(0)
    added = [(vocabulary.tokens[token] or b"").decode() for token in sorted(vocabulary.added)]
    parts: Sequence[str] = [*"".join(SAMPLES), *" \n\t", *added]
    yield from SAMPLES
    yield from (f"a{' ' * size}{after}" for size in range(1, 41) for after in ("", "b", "\n"))
    for _ in range(_TEXTS):
        script = rng.sample(parts, 8)
        yield "".join(rng.choices([*script, *" \n", *added[:3]], k=rng.randint(1, _LENGTH)))
