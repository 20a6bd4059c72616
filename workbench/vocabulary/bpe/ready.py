"""Ready: has the kernels of merges compiled, before a clock runs that would count it in."""

from __future__ import annotations

from functools import cache

from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.bpe.merging import SHORT
from workbench.vocabulary.vocabulary import Vocabulary


@cache
def ready() -> None:
    """Ask for everything once; some milliseconds when the compiled kernels are on disk."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"ab", b"aba")
    merges = ((b"a", b"b"), (b"ab", b"a"))
    bpe = Bpe.of(Vocabulary(tokens, merges=merges, pretokenizer=r"\s+|\S+"))
    bpe.encode("ab" * SHORT)
    bpe.encode("ab")
    bpe.pair_ok(97, 98)
    bpe.row_mask(97)
    bpe.row(97)
    if (guide := bpe.guide) is not None:
        guide.take(guide.start, 97, marked=True)
        guide.may_end(guide.start)
        guide.row(guide.start, marked=True)
