"""Pieces: a pre-tokenizer's pattern and a text come in, where its pieces begin goes out.

Merges stay inside a piece. The pattern is run by the library that tokenizers themselves use (Rust's
``tokenizers``, Oniguruma), so that no reading of it is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from workbench.errors import VocabularyError

#: A text → where its pieces begin, in characters; 0 first, nothing for an empty text.
Splitter = Callable[[str], list[int]]


@cache
def splitter(pattern: str) -> Splitter:
    """How a pattern cuts a text: its matches are pieces, and what lies between them too.

    Raises: VocabularyError where the library cannot read the pattern.
    """
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    try:
        split = Split(Regex(pattern), "isolated")
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read the pre-tokenizer's pattern: {error}") from error
    return lambda text: [start for _, (start, _) in split.pre_tokenize_str(text)] if text else []
