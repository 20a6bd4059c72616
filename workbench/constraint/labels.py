"""Labels: a vocabulary in; out come the tokens each label reads, and the vocabulary with signs.

Both belong to the vocabulary alone and are remembered with it: a label's tokens are a mask that is
laid over another as it is ("terminal masks are applied en masse", Koo et al. 2024, §2.5.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.constraint.mask import TokenMask, pack
from workbench.signs import LEAD, RESERVED, SIGNS
from workbench.syntax.regex.labels import LABELS, Label
from workbench.vocabulary.packed import Packed
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_LINE_FEED = 0x0A

#: What a special token is called that stands for an image or a part of one: ``[IMG]``,
#: ``<image>``, ``<|image_pad|>``, ``<image_soft_token>``.
_IMAGE = re.compile(r"\W*(?:img|image)(?:[_ -]?(?:pad|patch|token|soft_token))?\W*", re.I)


@dataclass(frozen=True, eq=False)
class LabelTokens:
    """What a label is in one vocabulary."""

    label: Label
    #: The id of its sign.
    sign: TokenId
    #: The tokens it reads, some.
    mask: TokenMask


@dataclass(frozen=True, eq=False)
class SignedVocabulary(Vocabulary):
    """A vocabulary with a token more for each label it has tokens for: the label's sign.

    Ids below stay what they are; tokens with bytes no text has are special.
    """

    #: In the order of ``LABELS``.
    labels: tuple[LabelTokens, ...] = ()

    def label_of(self, token_id: TokenId) -> LabelTokens | None:
        """The label a token is the sign of, or None."""
        return next((one for one in self.labels if one.sign == token_id), None)


def first_sign(vocabulary: Vocabulary) -> TokenId:
    """The first id that is the sign of a label; behind the last where none is."""
    if isinstance(vocabulary, SignedVocabulary) and vocabulary.labels:
        return vocabulary.labels[0].sign
    return len(vocabulary)


_KNOWN: WeakKeyDictionary[Vocabulary, SignedVocabulary] = WeakKeyDictionary()


def signed_vocabulary(vocabulary: Vocabulary) -> SignedVocabulary:
    """The vocabulary with signs, remembered with it.

    Cost: once 3 ms for 32k tokens, 9 ms for 131k.
    """
    known = _KNOWN.get(vocabulary)
    if known is None:
        known = _KNOWN[vocabulary] = _made(vocabulary)
    return known


def _made(vocabulary: Vocabulary) -> SignedVocabulary:
    packed, size = Packed.of(vocabulary.tokens), len(vocabulary)
    images = np.zeros(size, np.bool_)
    images[[i for i in vocabulary.special if _IMAGE.fullmatch(vocabulary.names.get(i, "-"))]] = True
    text = packed.lengths > 0
    found = {
        "IMAGE": images,
        "PARAGRAPH_TOKEN": text & ~_holding(packed, packed.text == _LINE_FEED),
        "TEXT_TOKEN": text,
    }
    kept = [label for label in LABELS if found[label.name].any()]
    labels = tuple(
        LabelTokens(label, size + number, TokenMask(pack(found[label.name]), size))
        for number, label in enumerate(kept)
    )
    return _signed(vocabulary, packed, labels)


def _holding(packed: Packed, marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The tokens that hold a byte which is marked, (V,)."""
    ends = np.cumsum(np.maximum(packed.lengths, 0))
    holding = np.zeros(len(packed), np.bool_)
    holding[np.searchsorted(ends, np.flatnonzero(marked), side="right")] = True
    return holding


def _signed(
    vocabulary: Vocabulary, packed: Packed, labels: tuple[LabelTokens, ...]
) -> SignedVocabulary:
    """The vocabulary without tokens no text has, and with the signs of some labels behind."""
    odd = _holding(packed, packed.text >= RESERVED)
    kept = np.repeat(~odd, np.maximum(packed.lengths, 0))
    signs = {SIGNS[one.label.name]: one.sign for one in labels}
    text = np.concatenate([packed.text[kept], np.frombuffer(b"".join(signs), np.uint8)])
    lengths = np.append(np.where(odd, -1, packed.lengths), [len(sign) for sign in signs])
    left_out = np.flatnonzero(odd).tolist()
    made = SignedVocabulary(
        Packed(text, lengths.astype(np.int32)),
        end=vocabulary.end,
        special={*vocabulary.special, *left_out},
        name=vocabulary.name,
        labels=labels,
    )
    # what a vocabulary derives from its tokens, where that is known already
    single = {byte for byte in vocabulary.single_bytes if byte < RESERVED}
    derived = vars(made)
    # a sign is read whole, so nothing ever ends between its bytes: they count as tokens
    derived["single_bytes"] = frozenset(single.union(*signs))
    if all(packed[i][:1] >= bytes((RESERVED,)) for i in left_out):
        derived["trie"] = _with_signs(vocabulary.trie, signs)
    return made


def _with_signs(trie: Trie, signs: Mapping[bytes, TokenId]) -> Trie:
    """A trie without tokens that begin with bytes no text has, and with signs: these sort last.

    Cost: a copy, 6 ms for 131k tokens; to sort all anew takes 300.
    """
    odd = np.flatnonzero((trie.depth == 0) & (trie.byte >= RESERVED))
    nodes = int(odd[0]) if len(odd) else len(trie)
    tokens, new = int(trie.first[nodes]), sorted(signs)
    ends = np.arange(nodes + 2, nodes + 2 + len(new))
    return Trie(
        byte=np.append(trie.byte[:nodes], [LEAD, *(sign[1] for sign in new)]).astype(np.uint8),
        depth=np.append(trie.depth[:nodes], [0] + [1] * len(new)).astype(np.int32),
        skip=np.concatenate([trie.skip[:nodes], ends[-1:], ends]).astype(np.int32),
        first=np.append(trie.first[:nodes], [tokens, *range(tokens, tokens + len(new) + 1)]).astype(
            np.int32
        ),
        token_ids=np.append(trie.token_ids[:tokens], [signs[s] for s in new]).astype(np.int32),
        height=max(2, 1 + int(trie.depth[:nodes].max(initial=-1))),
    )
