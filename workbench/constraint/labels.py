"""Terminal labels over a vocabulary: their tokens and their masks.

A terminal label matches a whole token of a class, such as "a token with text". The grammar is
compiled with each label encoded as two reserved bytes, its *code* (``grammar.label_encoding``). The
vocabulary gets one extra token for each label, whose bytes are the code. Where that token is
allowed, the mask of the label's tokens is added: "terminal masks are applied en masse" (Koo et al.
2024, §2.5.1). Both depend on the vocabulary alone and are cached with it.

A token that the encoded constraint can read as text is read as text. Any other is read by the first
label that has it, in the order of ``LABELS``. This is Koo's heuristic. It loses one choice: where
both text and a label could read a token, the state after the label. Masks never become empty by it.
But where text reads every token of a label and returns to the state before it, as in
``[a-z]*(?P<TEXT_TOKEN>)`` over words, the label is never read and the text never ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import GraphDistances, Ints, TokenDistances
from workbench.constraint.token_machine import TokenMachine, machine_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LABEL_CODES, LEAD, RESERVED, encode_labels, labels_of
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.vocabulary.disk_cache import Packed
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_LINE_FEED = 0x0A

#: The names of special tokens for an image or a part of one: ``[IMG]``, ``<image>``,
#: ``<|image_pad|>``, ``<image_soft_token>``.
_IMAGE = re.compile(r"\W*(?:img|image)(?:[_ -]?(?:pad|patch|token|soft_token))?\W*", re.I)


@dataclass(frozen=True, eq=False)
class LabelTokens:
    """The tokens of a label in one vocabulary."""

    label: Label
    #: The id of the extra token whose bytes are the label's code.
    code_id: TokenId
    #: The tokens it matches, at least one.
    mask: TokenMask


class LabelVocabulary(Vocabulary):
    """A vocabulary with one extra token for each label that it has tokens for: the label's code.

    The ids of the other tokens do not change; tokens with reserved bytes become special.
    """

    def __init__(
        self,
        tokens: Packed,
        ends: Iterable[TokenId],
        special: Iterable[TokenId],
        name: str,
        labels: tuple[LabelTokens, ...],
    ) -> None:
        super().__init__(tokens, ends, special=special, name=name)
        #: In the order of ``LABELS``.
        self.labels = labels

    def label_of(self, token_id: TokenId) -> LabelTokens | None:
        """The label whose code a token is, or None."""
        return next((label for label in self.labels if label.code_id == token_id), None)


def first_label_id(vocabulary: Vocabulary) -> TokenId:
    """The first id that is the code of a label, or the number of tokens."""
    if isinstance(vocabulary, LabelVocabulary) and vocabulary.labels:
        return vocabulary.labels[0].code_id
    return len(vocabulary)


_CACHE: WeakKeyDictionary[Vocabulary, LabelVocabulary] = WeakKeyDictionary()


def label_vocabulary(vocabulary: Vocabulary) -> LabelVocabulary:
    """The vocabulary with label codes, cached with it.

    Cost: the first call takes 3 ms for 32k tokens, 9 ms for 131k.
    """
    cached = _CACHE.get(vocabulary)
    if cached is None:
        cached = _CACHE[vocabulary] = _build(vocabulary)
    return cached


def _build(vocabulary: Vocabulary) -> LabelVocabulary:
    packed, size = Packed.of(vocabulary.tokens), len(vocabulary)
    images = np.zeros(size, np.bool_)
    images[[i for i in vocabulary.special if _IMAGE.fullmatch(vocabulary.names.get(i, "-"))]] = True
    text = packed.lengths > 0
    masks = {
        "IMAGE": images,
        "PARAGRAPH_TOKEN": text & ~_holding(packed, packed.text == _LINE_FEED),
        "TEXT_TOKEN": text,
    }
    kept = [label for label in LABELS if masks[label.name].any()]
    labels = tuple(
        LabelTokens(label, size + number, TokenMask(pack(masks[label.name]), size))
        for number, label in enumerate(kept)
    )
    return _with_codes(vocabulary, packed, labels)


def _holding(packed: Packed, marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The tokens that contain a marked byte, (V,) bool; ``marked`` has an entry for each byte."""
    ends = np.cumsum(np.maximum(packed.lengths, 0))
    holding = np.zeros(len(packed), np.bool_)
    holding[np.searchsorted(ends, np.flatnonzero(marked), side="right")] = True
    return holding


def _with_codes(
    vocabulary: Vocabulary, packed: Packed, labels: tuple[LabelTokens, ...]
) -> LabelVocabulary:
    """The vocabulary without tokens with reserved bytes, and with the codes of labels appended."""
    reserved = _holding(packed, packed.text >= RESERVED)
    kept = np.repeat(~reserved, np.maximum(packed.lengths, 0))
    codes = {LABEL_CODES[label_tokens.label.name]: label_tokens.code_id for label_tokens in labels}
    text = np.concatenate([packed.text[kept], np.frombuffer(b"".join(codes), np.uint8)])
    lengths = np.append(np.where(reserved, -1, packed.lengths), [len(code) for code in codes])
    left_out = np.flatnonzero(reserved).tolist()
    extended = LabelVocabulary(
        Packed(text, lengths.astype(np.int32)),
        ends=vocabulary.ends,
        special={*vocabulary.special, *left_out},
        name=vocabulary.name,
        labels=labels,
    )
    # set the cached properties that follow from those of the original vocabulary
    single = {byte for byte in vocabulary.single_bytes if byte < RESERVED}
    derived = vars(extended)
    # a code is always read whole, so its bytes count as tokens: no token ends between them
    derived["single_bytes"] = frozenset(single.union(*codes))
    if all((packed[i] or b"")[:1] >= bytes((RESERVED,)) for i in left_out):
        derived["trie"] = _trie_with_codes(vocabulary.trie, codes)
    return extended


def _trie_with_codes(trie: Trie, codes: Mapping[bytes, TokenId]) -> Trie:
    """A trie without tokens that begin with reserved bytes, and with codes: these sort last.

    Cost: a copy, 6 ms for 131k tokens; sorting all tokens again takes 300 ms.
    """
    reserved = np.flatnonzero((trie.depth == 0) & (trie.byte >= RESERVED))
    nodes = int(reserved[0]) if len(reserved) else len(trie)
    tokens, new = int(trie.first[nodes]), sorted(codes)
    ends = np.arange(nodes + 2, nodes + 2 + len(new))
    return Trie(
        byte=np.append(trie.byte[:nodes], [LEAD, *(code[1] for code in new)]).astype(np.uint8),
        depth=np.append(trie.depth[:nodes], [0] + [1] * len(new)).astype(np.int32),
        skip=np.concatenate([trie.skip[:nodes], ends[-1:], ends]).astype(np.int32),
        first=np.append(trie.first[:nodes], [tokens, *range(tokens, tokens + len(new) + 1)]).astype(
            np.int32
        ),
        token_ids=np.append(trie.token_ids[:tokens], [codes[s] for s in new]).astype(np.int32),
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
    make: Callable[[Grammar, Vocabulary], TokenMachine],
) -> Labelled:
    """The constraint of a grammar with labels, over the one that ``make`` builds for their codes.

    Raises: VocabularyError where there is no token for one of its labels; errors of ``make``.
    """
    tokens = label_vocabulary(vocabulary)
    cached = {label_tokens.label for label_tokens in tokens.labels}
    for label, _ in labels_of(grammar):
        if label not in cached:
            raise VocabularyError(
                f"{vocabulary.name} has no token for {label.name}, {label.what}",
                _HINTS.get(label.name, _HINT),
            )
    return Labelled(make(encode_labels(grammar), tokens), vocabulary, tokens.labels, limits)


def read_by(constraint: Constraint, token_ids: Iterable[TokenId]) -> Iterator[bytes]:
    """The bytes that the machine of a constraint reads for each token of a sequence.

    Raises: TokenNotAllowed.
    """
    machine = machine_of(constraint)
    state = machine.initial
    for token_id in token_ids:
        yield machine.read_as(state, token_id)
        state = machine.advance(state, token_id)


def longest_tokens(constraint: Constraint, data: bytes) -> list[TokenId] | None:
    """A tokenization of a text that the masks allow, longest tokens first, or None.

    With labels it matters how a text is tokenized; this returns one of the tokenizations.
    Cost: a mask for each position; more where a long token is a dead end.
    """
    vocabulary = constraint.vocabulary
    tokens: list[TokenId] = []
    pending = [(0, 0, constraint.initial, -1)]
    seen = set()
    while pending:
        position, depth, state, token_taken = pending.pop()
        tokens[depth - 1 :] = [token_taken] * (depth > 0)
        if position == len(data):
            return tokens
        if (position, state) in seen:
            continue
        seen.add((position, state))
        mask = constraint.mask(state)
        for length in range(1, min(vocabulary.longest, len(data) - position) + 1):
            ids = vocabulary.ids_of.get(data[position : position + length], ())
            for token_id in (i for i in ids[:1] if i in mask):
                target = constraint.advance(state, token_id)
                pending.append((position + length, depth + 1, target, token_id))
    return None


class Labelled(TokenMachine):
    """The constraint of a grammar with terminal labels, over any method's for the encoded grammar.

    Cost:   a mask of the encoded constraint, and a copy with the labels' tokens; cached.
    Source: Koo et al. 2024, §2.5.1.
    """

    def __init__(
        self,
        encoded: TokenMachine,
        vocabulary: Vocabulary,
        labels: tuple[LabelTokens, ...],
        limits: Limits = LIMITS,
    ) -> None:
        #: The constraint over a ``LabelVocabulary``, in which a label is a token of two bytes.
        self.encoded = encoded
        self.vocabulary = vocabulary
        self.labels, self.limits = labels, limits
        self._max_masks = limits.rows_of(8 * ((len(vocabulary) + 31) // 32))  # two masks a row
        #: By the identity of the encoded constraint's mask, which is kept so that its id stays
        #: unique.
        self._masks: dict[int, tuple[TokenMask, TokenMask]] = {}

    @property
    def initial(self) -> State:
        return self.encoded.initial

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next, as text or by a label."""
        encoded = self.encoded.mask(state)
        cached = self._masks.get(id(encoded))
        if cached is None:
            while len(self._masks) >= self._max_masks:
                self._masks.pop(next(iter(self._masks)), None)  # another thread may be faster
            cached = self._masks[id(encoded)] = encoded, self._with_label_tokens(encoded)
        return cached[1]

    def _with_label_tokens(self, encoded: TokenMask) -> TokenMask:
        size = len(self.vocabulary)
        bits = encoded.bits[: (size + 31) // 32].copy()
        if size % 32:
            bits[-1] &= np.uint32((1 << size % 32) - 1)
        for label_tokens in self.labels:
            if label_tokens.code_id in encoded:
                bits |= label_tokens.mask.bits
        return TokenMask(bits, size)

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The label that reads a token; None where it is read as text, or not at all."""
        label_tokens = self._label_tokens_of(state, token_id)
        return None if label_tokens is None else label_tokens.label

    def _label_tokens_of(self, state: State, token_id: TokenId) -> LabelTokens | None:
        encoded = self.encoded.mask(state)
        if token_id not in encoded:
            for label_tokens in self.labels:
                if label_tokens.code_id in encoded and token_id in label_tokens.mask:
                    return label_tokens
        return None

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        try:  # without a mask, because some strategies never compute one
            return self.encoded.advance(state, token_id)
        except TokenNotAllowed:
            for label_tokens in self.labels:
                if token_id in label_tokens.mask:
                    with suppress(TokenNotAllowed):
                        return self.encoded.advance(state, label_tokens.code_id)
            raise

    def read_as(self, state: State, token_id: TokenId) -> bytes:
        """The bytes that the encoded constraint reads for a token: its bytes or a label's code."""
        label_tokens = self._label_tokens_of(state, token_id)
        if label_tokens is not None:
            return LABEL_CODES[label_tokens.label.name]
        return self.vocabulary.tokens[token_id] or b""

    def is_final(self, state: State) -> bool:
        return self.encoded.is_final(state)

    def state_key(self, state: State) -> Hashable:
        return self.encoded.state_key(state)

    def _count(self, limits: Limits) -> TokenDistances:
        """The distances: a label reads the tokens that are not read as text."""
        fsa = self.encoded.closed_form(limits)
        if fsa is None:
            return super()._count(limits)

        def row(state: int) -> tuple[Ints, Ints]:
            ids, targets = fsa.rows.row(state)
            target_of = np.full(len(self.vocabulary), -1, np.int32)
            is_text = ids < len(target_of)
            target_of[ids[is_text]] = targets[is_text]
            by_code = dict(zip(ids[~is_text].tolist(), targets[~is_text].tolist(), strict=True))
            for label in self.labels:
                if label.code_id in by_code:
                    target_of[label.mask.bools & (target_of < 0)] = by_code[label.code_id]
            read = np.flatnonzero(target_of >= 0)
            return read.astype(np.int32), target_of[read]

        distinct = [np.unique(row(state)[1]) for state in range(len(fsa))]
        return GraphDistances(fsa.finals, distinct, row)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with, up to a label; at most ``most``."""
        return self.encoded.forced(state, most).split(bytes((LEAD,)))[0]
