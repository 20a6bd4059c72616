"""Terminal labels over a vocabulary: their tokens and their masks.

Both belong to the vocabulary alone and are remembered with it: a label's tokens are a mask that is
laid over another as it is ("terminal masks are applied en masse", Koo et al. 2024, §2.5.1).

A token that the signed constraint reads as text goes its way; any other goes the way of the first
label that has it (``LABELS`` is the order). That is Koo's heuristic, and no choice is lost by it
but one: where text and label could both read a token, what the label would have led to. A mask is
never empty for it; but where text reads every token of a label and leads back before it, as
``[a-z]*(?P<TEXT_TOKEN>)`` does over words, the label is never read and the text never ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LABEL_CODES, LEAD, RESERVED, encode_labels, labels_of
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.vocabulary.disk_cache import Packed
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
    signs = {LABEL_CODES[one.label.name]: one.sign for one in labels}
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


_HINTS = {
    "IMAGE": "take the vocabulary of a model that reads images: one with a special token such as "
    "[IMG] or <image> among its names",
}
_HINT = "take a vocabulary with such tokens, or leave the label out"


def labelled(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    make: Callable[[Grammar, Vocabulary], Constraint],
) -> Labelled:
    """The constraint of a grammar with labels, over the one that ``make`` makes for its signs.

    Raises: VocabularyError where there is no token for one of its labels; what ``make`` raises.
    """
    tokens = signed_vocabulary(vocabulary)
    known = {one.label for one in tokens.labels}
    for label, _ in labels_of(grammar):
        if label not in known:
            raise VocabularyError(
                f"{vocabulary.name} has no token for {label.name}, {label.what}",
                _HINTS.get(label.name, _HINT),
            )
    return Labelled(make(encode_labels(grammar), tokens), vocabulary, tokens.labels, limits)


def read_by(constraint: Constraint, token_ids: Iterable[TokenId]) -> Iterator[bytes]:
    """What the machine of a constraint reads for tokens taken one after the other.

    Raises: TokenNotAllowed.
    """
    state = constraint.initial
    for token_id in token_ids:
        yield read_as(constraint, state, token_id)
        if isinstance(constraint, Labelled):
            state = constraint.advance(state, token_id)


def read_as(constraint: Constraint, state: State, token_id: TokenId) -> bytes:
    """What the machine of a constraint reads where a token is taken."""
    if isinstance(constraint, Labelled):
        return constraint.read_as(state, token_id)
    return constraint.vocabulary.tokens[token_id] or b""


def longest_tokens(constraint: Constraint, data: bytes) -> list[TokenId] | None:
    """Tokens that spell a text as the masks allow, the longest first; None where none do.

    With labels it counts how a text is cut: this is one way of it.
    Cost: a mask for each place; more where a long token leads nowhere and shorter ones are tried.
    """
    vocabulary = constraint.vocabulary
    found: list[TokenId] = []
    waiting = [(0, 0, constraint.initial, -1)]
    seen = set()
    while waiting:
        place, depth, state, taken = waiting.pop()
        found[depth - 1 :] = [taken] * (depth > 0)
        if place == len(data):
            return found
        if (place, state) in seen:
            continue
        seen.add((place, state))
        mask = constraint.mask(state)
        for length in range(1, min(vocabulary.longest, len(data) - place) + 1):
            ids = vocabulary.ids_of.get(data[place : place + length], ())
            for token_id in (i for i in ids[:1] if i in mask):
                there = constraint.advance(state, token_id)
                waiting.append((place + length, depth + 1, there, token_id))
    return None


class Labelled:
    """The constraint of a grammar with terminal labels, over any method's for its signs.

    Cost:   a mask costs the other's and a copy of it with the labels' laid over; it is remembered.
    Source: Koo et al. 2024, §2.5.1.
    """

    def __init__(
        self,
        signed: Constraint,
        vocabulary: Vocabulary,
        labels: tuple[LabelTokens, ...],
        limits: Limits = LIMITS,
    ) -> None:
        #: The same constraint, in which a label is a token of two bytes.
        self.signed = signed
        self.vocabulary = vocabulary
        self._labels = labels
        self._most = limits.rows_of(8 * ((len(vocabulary) + 31) // 32))  # two masks a row
        #: By the identity of the other's mask, which is kept so that no other takes its place.
        self._masks: dict[int, tuple[TokenMask, TokenMask]] = {}

    @property
    def initial(self) -> State:
        return self.signed.initial

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next, as text or through a label."""
        signed = self.signed.mask(state)
        known = self._masks.get(id(signed))
        if known is None:
            while len(self._masks) >= self._most:
                self._masks.pop(next(iter(self._masks)), None)  # another thread may be faster
            known = self._masks[id(signed)] = signed, self._laid_over(signed)
        return known[1]

    def _laid_over(self, signed: TokenMask) -> TokenMask:
        size = len(self.vocabulary)
        bits = signed.bits[: (size + 31) // 32].copy()
        if size % 32:
            bits[-1] &= np.uint32((1 << size % 32) - 1)
        for one in self._labels:
            if one.sign in signed:
                bits |= one.mask.bits
        return TokenMask(bits, size)

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The label that reads a token; None where it is read as text, or not at all."""
        found = self._read_by(state, token_id)
        return None if found is None else found.label

    def _read_by(self, state: State, token_id: TokenId) -> LabelTokens | None:
        signed = self.signed.mask(state)
        if token_id not in signed:
            for one in self._labels:
                if one.sign in signed and token_id in one.mask:
                    return one
        return None

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        try:  # no mask is asked for: some strategies make none
            return self.signed.advance(state, token_id)
        except TokenNotAllowed:
            for one in self._labels:
                if token_id in one.mask:
                    with suppress(TokenNotAllowed):
                        return self.signed.advance(state, one.sign)
            raise

    def read_as(self, state: State, token_id: TokenId) -> bytes:
        """What the signed machine reads where a token is taken: its bytes, or a label's sign."""
        found = self._read_by(state, token_id)
        if found is not None:
            return LABEL_CODES[found.label.name]
        return self.vocabulary.tokens[token_id] or b""

    def is_final(self, state: State) -> bool:
        return self.signed.is_final(state)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes every accepted text goes on with, up to a label; no more than ``most``."""
        if isinstance(self.signed, AutomatonConstraint):  # it makes no more than are asked for
            forced = self.signed.forced(state, most)
        else:
            forced = self.signed.forced(state)[:most]
        return forced.split(bytes((LEAD,)))[0]
