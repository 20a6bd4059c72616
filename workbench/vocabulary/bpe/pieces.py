"""Pieces: a pre-tokenizer's patterns and a text come in, where its pieces begin goes out.

Merges stay inside a piece. Patterns are run by the library that tokenizers themselves use (Rust's
``tokenizers``, Oniguruma), so that no reading of them is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from workbench.errors import VocabularyError

#: A text → where its pieces begin, in characters; 0 first, nothing for an empty text.
Splitter = Callable[[str], list[int]]


@cache
def splitter(*patterns: str) -> Splitter:
    """How patterns cut a text: matches are pieces, and what lies between them too.

    Each cuts the pieces that the one before it made.

    Raises: VocabularyError where the library cannot read the pattern.
    """
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    try:
        parts = [Split(Regex(pattern), "isolated") for pattern in patterns]
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read the pre-tokenizer's pattern: {error}") from error
    split = parts[0] if len(parts) == 1 else Sequence(parts)
    return lambda text: [start for _, (start, _) in split.pre_tokenize_str(text)] if text else []
