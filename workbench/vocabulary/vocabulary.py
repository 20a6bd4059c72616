"""Vocabulary: token ids and their bytes, with its tokenizer's facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import checked
from workbench.base.cached_property import cached_property
from workbench.base.derived import Derives
from workbench.base.errors import ArgumentValueError, VocabularyError
from workbench.vocabulary.disk_cache import Packed, trie_of
from workbench.vocabulary.trie import Trie

#: An index into a vocabulary.
TokenId = int


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is cut out of a text before anything else, wherever the text contains it.

    Of several, the leftmost is cut out; of those that begin there, the longest.
    """

    #: What a text is searched for. The text of a special token is found too.
    text: bytes
    token: TokenId
    #: Whether it is searched for later: in the normalised text between the others.
    normalized: bool = False
    #: Whether the white space before it, or after it, is removed from the text.
    lstrip: bool = False
    rstrip: bool = False


class PrefixScope(Enum):
    """Which parts of a text the tokenizer's prefix is put before."""

    WHOLE = "the whole text"
    #: A Prepend normaliser.
    AFTER_RAW = "also every part after an added token that is not searched for in normalised text"
    #: A pre-tokenizer.
    AFTER_ALL = "also every part after an added token"


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """What is known about the tokenizer of a vocabulary: how it splits a text and merges pieces.

    Only methods that depend on how a text is tokenized need it; masks do not.

    Raises: VocabularyError for a merge rule that is not a pair of texts or byte strings.
    """

    #: Merge rules in rank order (byte-pair encoding), or None if unknown; text is read as UTF-8.
    #: Of two equal rules the later one is used, as in tokenizers.
    merges: Sequence[tuple[bytes, bytes]] | None = None
    #: The regexes that split a text before merging; each splits the pieces of the one before.
    patterns: tuple[str, ...] = ()
    #: Whether a piece that is itself a token is taken whole, without merging.
    ignore_merges: bool = False
    #: If every split of a token into two tokens is a merge rule: the rank of the rules that produce
    #: each token; lower ranks are merged first, equal ones leftmost first (SentencePiece by score,
    #: tiktoken by rank); −1 for tokens that are not merged. None if the rules are in ``merges``.
    ranks: npt.NDArray[np.int32] | None = None
    #: Whether merging starts from bytes, although not every byte may be a token.
    byte_level: bool = False
    #: Ids of the tokens of byte fallback, each for one byte (``<0x41>``).
    byte_fallback: Iterable[TokenId] = frozenset()
    #: Special ones too: a text with the text of one is never tokenized as anything else.
    added: Sequence[AddedToken] = ()
    #: The bytes the tokenizer adds before a whole text (SentencePiece: a space).
    prefix: bytes = b""
    prefix_scope: PrefixScope = PrefixScope.WHOLE
    #: The Unicode normal form (NFC, NFD, NFKC, NFKD) in which a text is tokenized, or empty.
    normal_form: str = ""
    #: The reason why encodings cannot be predicted from the merges, or empty.
    unpredictable: str = ""
    #: The tokenizer itself, if there is one, to check the merges against.
    encoder: Callable[[str], Sequence[TokenId]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.merges is not None:
            object.__setattr__(self, "merges", _in_bytes(self.merges))
        object.__setattr__(self, "byte_fallback", frozenset(self.byte_fallback))
        object.__setattr__(self, "added", tuple(self.added))

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[Any, ...]]:
        """The fields.

        Raises: VocabularyError if ``encoder`` has no name in a module.
        """
        if "<" in getattr(self.encoder, "__qualname__", ""):
            raise VocabularyError(
                "the encoder of this tokenizer cannot be pickled: it is defined inside a function",
                "define it in a module, or make the tokenizer without encoder",
            )
        return Tokenizer, tuple(getattr(self, each.name) for each in fields(self))


class Vocabulary(Derives):
    """The tokens of a language model as byte strings.

    A token is None if its id is special (control tokens, ids without a text); end tokens are
    always None here, even if they were given with a text. So are empty tokens, because a token that
    adds no text must never be allowed. Vocabularies compare by identity; what is
    derived from one (the trie) is cached with it.
    """

    @checked
    def __init__(
        self,
        tokens: Sequence[bytes | None],
        end: TokenId | Iterable[TokenId] | None = None,
        merges: Iterable[Sequence[Any]] | None = None,
        pretokenizer: str | None = None,
        ignore_merges: bool = False,
        special: Iterable[TokenId] | Mapping[TokenId, str] = (),
        name: str = "vocabulary",
        names: Mapping[TokenId, str] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """A vocabulary, with its end token, or several of them, and further special ids.

        ``merges``, ``pretokenizer`` (a regex) and ``ignore_merges`` are those of ``Tokenizer``;
        give them, or a whole ``tokenizer``.

        Raises: VocabularyError if there is no token, if the end token or a special id is out of
                range, if a token is not a byte string, or a merge rule is not a pair.
        """
        given = end if isinstance(end, Iterable) else () if end is None else (end,)
        #: The ids of the tokens that end a text, without duplicates; empty if none is known.
        self.ends: Final = tuple(dict.fromkeys(given))
        #: The first of them, for a place that needs one token; None if none is known.
        self.end: Final = self.ends[0] if self.ends else None
        marked = frozenset(special).union(self.ends, _empty(tokens))
        for token_id in marked:
            if not isinstance(token_id, int | np.integer) or not 0 <= token_id < len(tokens):
                raise VocabularyError(f"special token id {token_id!r} is not below {len(tokens)}")
        if tokenizer is None:
            patterns = () if pretokenizer is None else (pretokenizer,)
            pairs = None if merges is None else _in_bytes(merges)
            tokenizer = Tokenizer(pairs, patterns, ignore_merges)
        elif merges is not None or pretokenizer is not None or ignore_merges:
            raise VocabularyError("expected merges or a tokenizer, not both")
        self.tokens: Final = _check(tokens, marked)
        #: All ids without a text, the end tokens' included; only end tokens are ever allowed.
        self.special: Final = marked
        #: The name used in messages.
        self.name: Final = name
        #: The names of special tokens, as far as they are known (``[IMG]``).
        self.names: Final[Mapping[TokenId, str]] = names or {}
        #: What is known about how the tokenizer writes a text.
        self.tokenizer: Final = tokenizer

    def check_ids(self, token_ids: Iterable[TokenId], name: str) -> None:
        """Raise ArgumentValueError if an id of the parameter ``name`` is not that of a token."""
        for token_id in token_ids:
            if not 0 <= token_id < len(self):
                raise ArgumentValueError(
                    f"expected token ids from 0 to {len(self) - 1} as {name!r}, not {token_id}"
                )

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({self.name!r}, {len(self)} tokens)"

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, _: object) -> Vocabulary:
        return self

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[Any, ...]]:
        """The arguments, without what is computed from them later."""
        merges, pretokenizer, ignore_merges = None, None, False  # the tokenizer has them
        names, tokenizer = dict(self.names), self.tokenizer
        arguments = (self.tokens, self.ends, merges, pretokenizer, ignore_merges)
        return Vocabulary, (*arguments, self.special, self.name, names, tokenizer)

    @cached_property
    def trie(self) -> Trie:
        """The trie of all tokens; built once, and cached on disk if it is large."""
        return trie_of(self.tokens)

    @cached_property
    def ids_of(self) -> dict[bytes, tuple[TokenId, ...]]:
        """The ids of every byte string that is a token (more than one for duplicates)."""
        ids_by_token: dict[bytes, list[TokenId]] = {}
        for token_id, token in enumerate(self.tokens):
            if token is not None:
                ids_by_token.setdefault(token, []).append(token_id)
        return {token: tuple(ids) for token, ids in ids_by_token.items()}

    @cached_property
    def added(self) -> frozenset[TokenId]:
        """The added tokens that have a text."""
        ids = (entry.token for entry in self.tokenizer.added)
        return frozenset(i for i in ids if self.tokens[i] is not None)

    @cached_property
    def single_bytes(self) -> frozenset[int]:
        """The bytes that are tokens by themselves; all 256 in byte-level vocabularies."""
        if isinstance(self.tokens, Packed):
            return frozenset(self.tokens.of_length(1)[:, 0].tolist())
        return frozenset(t[0] for t in self.tokens if t is not None and len(t) == 1)

    @cached_property
    def alphabet(self) -> frozenset[int]:
        """The bytes that some token contains; no text with another byte can be generated."""
        if isinstance(self.tokens, Packed):
            text = self.tokens.text
        else:
            text = np.frombuffer(b"".join(filter(None, self.tokens)), np.uint8)
        return frozenset(np.flatnonzero(np.bincount(text)).tolist())

    def writable(self, text: str) -> str:
        """The text without the characters that have a byte outside ``single_bytes``."""
        return "".join(c for c in text if self.single_bytes.issuperset(c.encode()))

    def ids(self, *tokens: str | bytes) -> list[TokenId]:
        """The (first) ids of tokens given by their text.

        Raises: VocabularyError for a text that is not a token.
        """
        wanted = [t.encode() if isinstance(t, str) else t for t in tokens]
        missing = [t for t in wanted if t not in self.ids_of]
        if missing:
            raise VocabularyError(f"{missing[0]!r} is not a token of {self.name}")
        return [self.ids_of[t][0] for t in wanted]

    @cached_property
    def longest(self) -> int:
        """The length of the longest token in bytes, or 0."""
        return max(map(len, self.ids_of), default=0)

    def longest_at(self, data: bytes, start: int) -> TokenId | None:
        """The (first) id of the longest token that is a prefix of ``data[start:]``."""
        for length in range(min(self.longest, len(data) - start), 0, -1):
            if (ids := self.ids_of.get(data[start : start + length])) is not None:
                return ids[0]
        return None

    def decode(self, token_ids: Iterable[TokenId]) -> bytes:
        """The bytes of a sequence of tokens; special tokens have none."""
        return b"".join(self.tokens[i] or b"" for i in token_ids)

    @staticmethod
    def load(name: str | os.PathLike[str]) -> Vocabulary:
        """``builtin``, ``mistral-v1``, ``mistral-v3``, ``tekken``, or a model (``wb.load_model``).

        Raises: VocabularyError with a hint what to install or to do if it cannot be loaded;
                ModelError for a GGUF file that cannot be read.
        """
        from workbench.vocabulary.load import load_vocabulary  # the libraries it needs are heavy

        return load_vocabulary(os.fspath(name))


def _empty(tokens: Sequence[bytes | None]) -> list[TokenId]:
    """The ids of the empty tokens."""
    if isinstance(tokens, Packed):
        ids: list[TokenId] = np.flatnonzero(tokens.lengths == 0).tolist()
        return ids
    return [token_id for token_id, token in enumerate(tokens) if token == b""]


def _check(
    tokens: Sequence[bytes | None], special: frozenset[TokenId]
) -> Packed | tuple[bytes | None, ...]:
    """The tokens, with None for special ones.

    Raises: VocabularyError if there is no token, or if one is not a byte string.
    """
    if isinstance(tokens, Packed) and not np.any(tokens.lengths[list(special)] >= 0):
        packed: Packed | tuple[bytes | None, ...] = tokens
    else:
        listed = list(tokens)
        for token_id in special:
            listed[token_id] = None
        packed = tuple(listed)
        odd = [token for token in listed if not isinstance(token, bytes | None)]
        if odd:
            raise VocabularyError(
                f"expected tokens as byte strings, not {odd[0]!r}", "encode text as UTF-8"
            )
    if not len(packed):
        raise VocabularyError("expected a vocabulary with at least one token")
    return packed


def _in_bytes(merges: Iterable[Sequence[bytes | str]]) -> list[tuple[bytes, bytes]]:
    """Merge rules as pairs of byte strings.

    Raises: VocabularyError for a rule that is not a pair of texts or byte strings.
    """
    rules: list[Any] = list(merges)
    if set(map(len, rules)) <= {2} and set(map(type, chain.from_iterable(rules))) <= {bytes}:
        return rules  # the usual case, checked quickly: there may be hundreds of thousands
    for index, rule in enumerate(rules):
        sides = tuple(side.encode() if isinstance(side, str) else side for side in rule)
        if len(sides) != 2 or not all(isinstance(side, bytes) for side in sides):
            raise VocabularyError(f"expected a merge rule as a pair of tokens, not {rule!r}")
        rules[index] = sides
    return rules
