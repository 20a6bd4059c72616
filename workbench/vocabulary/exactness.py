"""A tokenizer and its Vocabulary come in, an error goes out where the bytes are not exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.errors import VocabularyError
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Every kind of byte a text can hold: ASCII with control characters, spaces in rows and at the
#: ends, two-, three- and four-byte characters, joined emoji, and JSON. All are in Unicode's
#: composed form (NFC), which many tokenizers normalise to.
SAMPLES: tuple[str, ...] = (
    "The quick brown fox, 12345 + 67.89 = ?!",
    '{"name": "Ann", "tags": ["a", "b"], "n": -1.5e3}\n',
    "  two spaces,\ttabs\t\tand\n\n\nlines  ",
    "caf\u00e9 na\u00efve Stra\u00dfe \u0141\u00f3d\u017a \u00bfqu\u00e9?",
    "\u4f60\u597d\uff0c\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155",
    "\u0437\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439 \u0645\u0631\u062d\u0628\u0627",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U00010348",
    "".join(map(chr, range(1, 128))),
    "".join(map(chr, range(0xA1, 0x250))),
)

Encode = Callable[[str], Sequence[TokenId]]


def check_exact(vocabulary: Vocabulary, encode: Encode) -> None:
    """Hold a vocabulary's bytes against its own tokenizer.

    The tokens of each sample must spell the sample, with at most the one space in
    front which SentencePiece tokenizers add to a whole text.

    Raises: VocabularyError with the first example that fails.
    """
    for sample in SAMPLES:
        ids = list(encode(sample))
        unspelt = [i for i in ids if i >= len(vocabulary) or vocabulary.tokens[i] is None]
        spelt = vocabulary.decode(i for i in ids if i < len(vocabulary))
        if not unspelt and spelt in (sample.encode(), b" " + sample.encode()):
            continue
        reason = (
            f"token {unspelt[0]} of it spells nothing"
            if unspelt
            else f"its tokens spell {_excerpt(spelt, sample.encode())}"
        )
        raise VocabularyError(
            f"{vocabulary.name} does not encode text byte by byte: for {sample[:40]!r} {reason}",
            "choose a model with a byte-level BPE or a byte-fallback SentencePiece tokenizer",
        )


def _excerpt(spelt: bytes, wanted: bytes) -> str:
    """The place where two byte strings part."""
    pairs = zip(spelt, wanted, strict=False)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(spelt), len(wanted)))
    start = max(0, place - 8)
    return f"{spelt[start : place + 8]!r} where the text has {wanted[start : place + 8]!r}"
