"""Vocabulary: token id → bytes, the end token, and what proper tokenization needs to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.vocabulary.disk_cache import Packed, trie_of
from workbench.vocabulary.trie import Trie

#: An index into a vocabulary.
TokenId = int


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a language model as byte strings.

    A token is None where the id is special (control tokens, ids nothing can be
    spelt with); the end token is always None here, whatever it was given as.
    Vocabularies compare by identity; what is derived from one (the trie) is kept
    with it.

    Raises: VocabularyError where there is no token, the end token or a special id is out of
            range, or a token is empty or no byte string.
    """

    tokens: Sequence[bytes | None]
    #: The id of the end token, or None where the vocabulary has none.
    end: TokenId | None = None
    #: Merge rules in rank order (byte-pair encoding), or None where unknown; text is read as UTF-8.
    #: Of two equal rules the later one counts, as in tokenizers.
    merges: Sequence[tuple[bytes, bytes]] | None = None
    #: The regex that splits text before merging, or None where there is none.
    pretokenizer: str | None = None
    #: Whether a piece that is itself a token is taken whole, merges or not.
    ignore_merges: bool = False
    #: Further ids that are never allowed.
    special: Iterable[TokenId] = ()
    #: What messages call it.
    name: str = "vocabulary"
    #: Ids of tokens that stand for one byte each through byte fallback (``<0x41>``).
    byte_fallback: Iterable[TokenId] = field(default=())
    #: Ids of tokens that are cut out of a text before anything else, wherever they occur in it.
    added: Iterable[TokenId] = field(default=())
    #: Regexes that split the pieces again, one after the other.
    cut_again: tuple[str, ...] = ()
    #: What the tokenizer puts before a whole text (SentencePiece: a space).
    prefix: bytes = b""
    #: Why nobody can say what the tokenizer would produce, where that is so.
    unpredictable: str = ""
    #: The tokenizer itself, where there is one to hold merges against.
    encoder: Callable[[str], Sequence[TokenId]] | None = field(default=None, repr=False)
    #: Where every cut of a token into two tokens is a merge rule: the rank of the rules that make
    #: each token, the lowest first and equal ones leftmost first (SentencePiece by score, tiktoken
    #: by rank); −1 for tokens that take no part. None where ``merges`` says it.
    ranks: npt.NDArray[np.int32] | None = None
    #: What special tokens are called, as far as somebody said so (``[IMG]``).
    names: Mapping[TokenId, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        special = frozenset(self.special) | ({self.end} if self.end is not None else set())
        for token_id in special:
            if not isinstance(token_id, int | np.integer) or not 0 <= token_id < len(self.tokens):
                raise VocabularyError(
                    f"special token id {token_id!r} is not below {len(self.tokens)}"
                )
        object.__setattr__(self, "tokens", _checked(self.tokens, special))
        if self.merges is not None:
            object.__setattr__(self, "merges", _in_bytes(self.merges))
        object.__setattr__(self, "special", special)
        object.__setattr__(self, "byte_fallback", frozenset(self.byte_fallback))
        object.__setattr__(self, "added", frozenset(self.added) - special)

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({self.name!r}, {len(self)} tokens)"

    @cached_property
    def trie(self) -> Trie:
        """The tokens with their prefixes merged; built once, and kept on disk where it is big."""
        return trie_of(self.tokens)

    @cached_property
    def ids_of(self) -> dict[bytes, tuple[TokenId, ...]]:
        """Every byte string that is a token, with its ids (more than one for duplicates)."""
        found: dict[bytes, list[TokenId]] = {}
        for token_id, token in enumerate(self.tokens):
            if token is not None:
                found.setdefault(token, []).append(token_id)
        return {token: tuple(ids) for token, ids in found.items()}

    @cached_property
    def single_bytes(self) -> frozenset[int]:
        """The bytes that are tokens by themselves; all 256 in byte-level vocabularies."""
        if isinstance(self.tokens, Packed):
            return frozenset(self.tokens.of_length(1)[:, 0].tolist())
        return frozenset(t[0] for t in self.tokens if t is not None and len(t) == 1)

    def ids(self, *tokens: str | bytes) -> list[TokenId]:
        """The (first) ids of tokens given by their text.

        Raises: VocabularyError for a text that is no token.
        """
        wanted = [t.encode() if isinstance(t, str) else t for t in tokens]
        missing = [t for t in wanted if t not in self.ids_of]
        if missing:
            raise VocabularyError(f"{missing[0]!r} is not a token of {self.name}")
        return [self.ids_of[t][0] for t in wanted]

    @cached_property
    def longest(self) -> int:
        """The bytes of the longest token; 0 where there is none."""
        return max(map(len, self.ids_of), default=0)

    def longest_at(self, data: bytes, place: int) -> TokenId | None:
        """The (first) id of the longest token that stands at a place of some bytes."""
        for length in range(min(self.longest, len(data) - place), 0, -1):
            if (ids := self.ids_of.get(data[place : place + length])) is not None:
                return ids[0]
        return None

    def decode(self, token_ids: Iterable[TokenId]) -> bytes:
        """The bytes a sequence of tokens spells; special tokens spell nothing."""
        return b"".join(self.tokens[i] or b"" for i in token_ids)

    @staticmethod
    def load(name: str) -> Vocabulary:
        """``builtin``, ``mistral-v1``, ``mistral-v3``, ``tekken``, a directory or a hub id.

        Raises: VocabularyError with what to install or to do where it cannot be had.
        """
        from workbench.vocabulary.load import load_vocabulary  # the libraries it needs are heavy

        return load_vocabulary(name)


def _checked(
    tokens: Sequence[bytes | None], special: frozenset[TokenId]
) -> Packed | tuple[bytes | None, ...]:
    """The tokens, None where they are special.

    Raises: VocabularyError where one is empty.
    """
    if isinstance(tokens, Packed) and not np.any(tokens.lengths[list(special)] >= 0):
        found: Packed | tuple[bytes | None, ...] = tokens
        empty = np.flatnonzero(tokens.lengths == 0).tolist()
    else:
        spelt = list(tokens)
        for token_id in special:
            spelt[token_id] = None
        found, empty = tuple(spelt), [i for i, token in enumerate(spelt) if token == b""]
        odd = [token for token in spelt if not isinstance(token, bytes | None)]
        if odd:
            raise VocabularyError(
                f"expected tokens as byte strings, not {odd[0]!r}", "encode text as UTF-8"
            )
    if not len(found):
        raise VocabularyError("expected a vocabulary with at least one token")
    if empty:
        raise VocabularyError(f"token {empty[0]} spells nothing", "list it among the special ids")
    return found


def _in_bytes(merges: Iterable[Sequence[bytes | str]]) -> list[tuple[bytes, bytes]]:
    """Merge rules as pairs of byte strings.

    Raises: VocabularyError for what is no pair of texts or byte strings.
    """
    found: list[Any] = list(merges)
    if set(map(len, found)) <= {2} and set(map(type, chain.from_iterable(found))) <= {bytes}:
        return found  # as a rule, and there may be hundreds of thousands
    for place, rule in enumerate(found):
        sides = tuple(side.encode() if isinstance(side, str) else side for side in rule)
        if len(sides) != 2 or not all(isinstance(side, bytes) for side in sides):
            raise VocabularyError(f"expected a merge rule as a pair of tokens, not {rule!r}")
        found[place] = sides
    return found
