"""Byte-pair encoding: which tokens the tokenizer would write, decided pair by pair.

``tables_of`` returns the tables of a vocabulary::

    Tokenizer.merges or .ranks
      → rules_of    all rules by token id                       (merge_rules)
      → normalise   one live split for each token               (merge_rules)
      → forest      the tokens in preorder of their left sides  (merge_rules)
      → exceptions  pairs for which the pair test is wrong      (pair_test)

``strictly_ordered`` removes ties. The pair test and the rows need no order among rules of equal
rank, but algorithms that apply one rule after the other do: in Mistral's first vocabulary fifteen
pieces of spaces have the same score, and their order decides the encoding of a run of spaces
(reference, section 4).

A token sequence is *proper* (canonical) if encoding its text gives the same sequence (Tran-Thien
2024). With merges alone, it is proper exactly if all its tokens are canonical and all adjacent
pairs pass the pair test (``pair_test``). The pre-tokenizer, byte fallback and tokens that are taken
whole are described by a further automaton (``guide``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.derived import Derives
from workbench.base.errors import VocabularyError
from workbench.base.kernels import njit
from workbench.base.limits import Limits
from workbench.base.locks import WorkLock
from workbench.vocabulary.disk_cache import Arrays, Packed, cached_arrays
from workbench.vocabulary.tokenization import pair_test
from workbench.vocabulary.tokenization.encode import (
    AddedSearch,
    Alphabet,
    alphabet,
    check_encoder,
    merged,
)
from workbench.vocabulary.tokenization.guide import SPACE_SIGN, Guide, guide_of
from workbench.vocabulary.tokenization.merge_kernels import (
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Ints,
    RuleTable,
    Tables,
    Words,
    rule_table,
)
from workbench.vocabulary.tokenization.merge_rules import (
    Rules,
    forest,
    ids_by_spelling,
    normalise,
    over_characters,
    rules_of,
    spellings,
)
from workbench.vocabulary.tokenization.pair_test import forbid, pair_exceptions, row_buffer
from workbench.vocabulary.tokenization.pretokenizer import Pretokens, pretokens, splitter
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Tables of fewer tokens are built faster than read from disk.
_MIN_CACHED_TOKENS = 8_000


def tables_of(vocabulary: Vocabulary, limits: Limits | None = None) -> Tables:
    """The normalised tables of a vocabulary.

    ``limits`` as in ``build_tables``.

    Cost:   0.4 s for 131k tokens, a few milliseconds if they are on disk.
    Raises: VocabularyError if it has no rules, or too many exceptions to the pair test; LimitError.
    """
    if len(vocabulary) < _MIN_CACHED_TOKENS:
        return read_only(build_tables(rules_of(vocabulary), limits))

    def make() -> Arrays:
        tables = build_tables(rules_of(vocabulary), limits)
        hashed = {f"rules_{name}": array for name, array in tables.rules._asdict().items()}
        return {n: a for n, a in tables._asdict().items() if n != "rules"} | hashed

    key = _key(vocabulary)
    return read_only(
        cached_arrays("merges", key, make, lambda arrays: _read(arrays, len(vocabulary)))
    )


def build_tables(rules: Rules, limits: Limits | None = None) -> Tables:
    """Normalise the rules, number the left forest, and find the exceptions to the pair test.

    The seconds of ``limits`` end the search for exceptions; without limits only a ``time_budget``
    does.

    Raises: VocabularyError if there are too many exceptions; LimitError.
    """
    splits = normalise(rules)
    live = np.flatnonzero(splits.left >= 0).astype(np.int32)
    table = rule_table(splits.left[live], splits.right[live], live, splits.rank[live])
    lengths = np.diff(rules.symbols_from)
    left_forest = forest(splits.left, splits.rank, lengths)
    none = np.zeros(0, np.int32), np.zeros(len(splits.rank) + 1, np.int32)
    tables = Tables(splits.left, splits.right, splits.rank, table, *left_forest, *none)
    if splits.offending.any():
        exceptions, exceptions_from = pair_exceptions(tables, splits, rules, limits)
        tables = tables._replace(exceptions=exceptions, exceptions_from=exceptions_from)
    return tables


def read_only(tables: Tables) -> Tables:
    """Make the arrays read-only: kernels would be compiled again for writable arrays."""
    for array in (*tables.rules, *tables):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return tables


def _key(vocabulary: Vocabulary) -> str:
    """A hash of everything the tables depend on."""
    packed = Packed.of(vocabulary.tokens)
    digest = hashlib.sha256(packed.lengths.tobytes() + packed.text.tobytes())
    digest.update(bytes([over_characters(vocabulary), vocabulary.tokenizer.ranks is not None]))
    for ids in (vocabulary.tokenizer.byte_fallback, vocabulary.added):
        digest.update(np.array(sorted(ids), np.int64).tobytes() + b"|")
    for entry in vocabulary.tokenizer.added:
        digest.update(len(entry.text).to_bytes(4) + entry.text)
    if vocabulary.tokenizer.ranks is not None:
        digest.update(vocabulary.tokenizer.ranks.tobytes())
    elif vocabulary.tokenizer.merges is not None:
        sides = [side for pair in vocabulary.tokenizer.merges for side in pair]
        lengths = np.array([len(side) for side in sides], np.int32)
        digest.update(lengths.tobytes() + b"".join(sides))
    return digest.hexdigest()


def _read(arrays: Arrays, tokens: int) -> Tables:
    """Tables from the arrays of a cached file.

    Raises: KeyError, ValueError if the arrays are inconsistent: kernels do not check indices.
    """
    keys = arrays["rules_keys"].astype(np.int64, copy=False)
    rules = RuleTable(keys, _ints(arrays, "rules_results"), _ints(arrays, "rules_ranks"))
    rest = {name: _ints(arrays, name) for name in Tables._fields if name != "rules"}
    tables = Tables(rules=rules, **rest)
    size, nodes, produced = len(keys), len(tables.order), len(tables.children)
    whole = (
        size & (size - 1) == 0
        and bool((keys == -1).any())
        and len(rules.results) == len(rules.ranks) == size
        and all(len(a) == tokens for a in (*tables[:3], tables.before, tables.after))
        and all(len(a) == tokens + 1 for a in (tables.first_child, tables.exceptions_from))
        and all(
            _within(a, tokens) for a in (*tables[:2], tables.order, tables.children, rules.results)
        )
        and _within(np.maximum(tables.exceptions, -1 - tables.exceptions), tokens)
        and _within(tables.before, nodes)
        and _within(tables.after, nodes + 1)
        and _within(tables.first_child, produced + 1)
        and _within(tables.exceptions_from, len(tables.exceptions) + 1)
        and nodes == int((tables.rank != NOT_PRODUCED).sum())
    )
    if not whole:
        raise ValueError("the arrays of a merge table do not fit together")
    return tables


def _ints(arrays: Arrays, name: str) -> Ints:
    return arrays[name].astype(np.int32, copy=False)


def _within(array: npt.NDArray[np.int32], end: int) -> bool:
    return not len(array) or (int(array.min()) >= -1 and int(array.max()) < end)


def is_monotone(tables: Tables) -> bool:
    """Whether every rule comes after the rules that produce its two sides."""
    is_produced = tables.left >= 0
    sides = np.maximum(tables.rank[tables.left], tables.rank[tables.right])
    return not bool(np.any(is_produced & (tables.rank < sides)))


def strictly_ordered(rules: Callable[[], Rules], tables: Tables) -> Tables:
    """Equivalent tables with a strict monotone order of ranks.

    Rules that come too early are moved behind the rules of their sides. Two orders are tried: all
    rules, with ties broken by the id of the token they produce; and the live rules alone, with
    ties broken by its length. By the pairwise theorem an order gives the same encodings if it has
    the same canonical tokens and the same rows.

    Cost:   none for a table that is in order, else the rows of the vocabulary, twice.
    Raises: VocabularyError if neither order gives the same encodings.
    """
    ranks = tables.rank[tables.rank > SYMBOL]
    if is_monotone(tables) and len(np.unique(ranks)) == len(ranks):
        return tables
    given = rules()
    lifted = _lift(given, tables)
    for tried in (_by_result(given, lifted), _live(given, tables, lifted)):
        ordered = read_only(build_tables(tried))
        if is_monotone(ordered) and _encode_alike(tables, ordered):
            return ordered
    raise VocabularyError(
        "these merge rules have no order that gives the same encodings when each rule is applied"
        " to the whole text",
        "use pairs or rows, which need no order",
    )


def _by_result(rules: Rules, lifted: Ints) -> Rules:
    """All rules, ordered by the rank of the token they produce, ties by its id."""
    order = np.lexsort((rules.result, lifted[rules.result]))
    ranks = np.zeros(len(order), np.int32)
    ranks[order[1:]] = np.cumsum(np.diff(rules.result[order]) != 0)
    return rules._replace(rank=ranks)


def _live(rules: Rules, tables: Tables, lifted: Ints) -> Rules:
    """The live rules alone, ties ordered by the length of the token they produce."""
    produced = np.flatnonzero(tables.left >= 0)
    lengths = np.diff(rules.symbols_from)[produced]
    order = produced[np.lexsort((produced, lengths, lifted[produced]))].astype(np.int32)
    rank = np.arange(len(order), dtype=np.int32)
    sides = tables.left[order], tables.right[order]
    return Rules(*sides, order, rank, rules.symbols, rules.symbols_from)


def _lift(rules: Rules, tables: Tables) -> Ints:
    """The ranks of tokens, raised to at least the ranks of their sides."""
    produced = np.flatnonzero(tables.left >= 0)
    lengths = np.diff(rules.symbols_from)[produced]
    lifted = tables.rank.copy()
    for token in produced[np.argsort(lengths, kind="stable")].tolist():
        sides = lifted[tables.left[token]], lifted[tables.right[token]]
        lifted[token] = max(lifted[token], *sides)
    return lifted


def _encode_alike(first: Tables, other: Tables) -> bool:
    """Whether two tables have the same canonical tokens and the same rows."""
    if not np.array_equal(first.rank == NOT_PRODUCED, other.rank == NOT_PRODUCED):
        return False
    bits = np.empty((2, (len(first.rank) + 31) // 32), np.uint32)
    return bool(_same_rows(first, other, row_buffer(first), row_buffer(other), bits))


@njit(_nrt=False)
def _same_rows(first: Tables, other: Tables, room: Ints, other_room: Ints, bits: Words) -> bool:
    """Whether both tables forbid the same next tokens after each token."""
    for token in range(len(first.rank)):
        if first.before[token] < 0:
            continue
        bits[:] = 0xFFFFFFFF
        forbid(first, token, room, bits[0])
        forbid(other, token, other_room, bits[1])
        for word in range(bits.shape[1]):
            if bits[0, word] != bits[1, word]:
                return False
    return True


class Feature(StrEnum):
    """What a tokenizer does besides merging pairs, in the words of messages."""

    PATTERNS = "cuts text before merging"
    WORDS = "takes some words whole"
    ADDED_TOKENS = "cuts added tokens out of a text"
    SPECIAL_TEXTS = "never writes the text of a special token"
    NORMAL_FORM = "normalises text"
    BYTE_FALLBACK = "encodes unknown characters byte by byte"


_making = WorkLock()


class _Cached:
    """The merges of a vocabulary, or why there are none; None before they are built."""

    def __init__(self, _: Vocabulary) -> None:
        self.bpe: Bpe | VocabularyError | None = None


@dataclass(frozen=True, eq=False)
class Bpe(Derives):
    """The normalised merges of a vocabulary; built by ``Bpe.of``, once for each vocabulary."""

    vocabulary: Vocabulary
    #: The arrays for kernels such as ``pair_test.may_follow`` and ``pair_test.forbid``.
    tables: Tables

    @staticmethod
    def of(vocabulary: Vocabulary, limits: Limits | None = None) -> Bpe:
        """The merges of a vocabulary, built at the first call and cached with it.

        ``limits`` as in ``build_tables``. After a LimitError, the next call begins again.

        Raises: VocabularyError with the reason if proper tokenization cannot be computed exactly;
                LimitError.
        """
        with _making:
            cached = vocabulary.derived(_Cached)
            if cached.bpe is None:
                try:
                    cached.bpe = _make(vocabulary, limits and limits.begun())
                except VocabularyError as error:  # cached: this is called for every tested text
                    cached.bpe = error
        if isinstance(cached.bpe, VocabularyError):
            raise VocabularyError(cached.bpe.message, cached.bpe.hint)
        return cached.bpe

    @cached_property
    def alphabet(self) -> Alphabet:
        """The symbols merging starts from."""
        return alphabet(self.vocabulary, self.tables)

    def is_canonical(self, token: TokenId) -> bool:
        """Whether a token occurs in some encoding; special tokens never do.

        For a byte of byte fallback: whether it occurs in a character that is not a token.
        """
        return bool(self.canonical[token])

    @cached_property
    def canonical(self) -> Bools:
        """Which tokens occur in some encoding, (V,), read-only."""
        is_canonical: Bools = self.tables.rank != NOT_PRODUCED
        is_canonical[[*self.words.values(), *self.vocabulary.added]] = True
        is_canonical.setflags(write=False)
        return is_canonical

    def pair_ok(self, first: TokenId, second: TokenId) -> bool:
        """Whether two tokens may be adjacent inside one piece of the text, by merges alone.

        At the boundary of two pieces every pair is allowed. Which bytes of byte fallback may follow
        each other is decided by the ``guide``.
        """
        return bool(pair_test.which_follow(self.tables, first, np.array([second], np.int32))[0])

    def row(self, token: TokenId) -> Ints:
        """The tokens that may not follow a token inside a piece, as intervals of ``tables.order``.

        Shape: (n, 2), disjoint and sorted; ``order[row[i, 0]:row[i, 1]]`` are token ids. Tokens
               that merging does not produce are in no row; their own row contains all others.
        Raises: VocabularyError if the table is not monotone: its rows are not intervals.
        """
        if len(self.tables.exceptions):
            raise VocabularyError(
                f"the merge rules of {self.vocabulary.name} are not monotone, so its rows are not"
                " intervals",
                "use 'row_mask' instead",
            )
        room = self.row_buffer()
        intervals = room[: pair_test.row_intervals(self.tables, token, room)]
        return pair_test.merged_intervals(intervals)

    def row_mask(self, token: TokenId) -> Words:
        """The tokens that may not follow a token inside a piece, as bits by token id.

        Shape: (ceil(V / 32),) uint32, as in ``TokenMask``; a new array.
        """
        bits = np.full((len(self.vocabulary) + 31) // 32, 0xFFFFFFFF, np.uint32)
        pair_test.forbid(self.tables, token, self.row_buffer(), bits)
        return ~bits

    @cached_property
    def monotone(self) -> bool:
        """Whether every rule comes after the rules that produce its two sides."""
        return is_monotone(self.tables)

    def row_buffer(self) -> Ints:
        """A new buffer for the intervals of any row, as ``pair_test.row_buffer``."""
        return np.empty((self._max_intervals, 2), np.int32)

    @cached_property
    def _max_intervals(self) -> int:
        return len(pair_test.row_buffer(self.tables))

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The live rules as texts, in a strict monotone order that gives the same encodings.

        Algorithms that apply the rules one after the other must use this order.

        Raises: VocabularyError if there is no such order.
        """
        tables = strictly_ordered(lambda: rules_of(self.vocabulary), self.tables)
        produced = np.flatnonzero(tables.rank > SYMBOL)
        tokens = self.vocabulary.tokens
        ranked = produced[np.argsort(tables.rank[produced], kind="stable")]
        sides = zip(tables.left[ranked].tolist(), tables.right[ranked].tolist(), strict=True)
        return [(tokens[left] or b"", tokens[right] or b"") for left, right in sides]

    @cached_property
    def words(self) -> dict[str, TokenId]:
        """The tokens that are taken whole although merges do not produce them, by their text.

        Only if the tokenizer ignores merges for a piece that is a token (tiktoken, Llama 3).
        """
        has_text = Packed.of(self.vocabulary.tokens).lengths >= 0
        if not self.vocabulary.tokenizer.ignore_merges or not np.any(
            has_text & (self.tables.rank == NOT_PRODUCED)
        ):
            return {}
        ids = ids_by_spelling(spellings(self.vocabulary))
        return {text: t for text, t in ids.items() if self.tables.rank[t] == NOT_PRODUCED}

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """What the tokenizer does besides merging; empty exactly if there is no guide."""
        tokenizer, added = self.vocabulary.tokenizer, self.vocabulary.added
        present: dict[Feature, object] = {
            Feature.PATTERNS: tokenizer.patterns,
            Feature.WORDS: self.words,
            Feature.ADDED_TOKENS: added,
            Feature.SPECIAL_TEXTS: [e for e in tokenizer.added if e.token not in added],
            Feature.NORMAL_FORM: tokenizer.normal_form,
            Feature.BYTE_FALLBACK: tokenizer.byte_fallback,
        }
        return tuple(feature for feature, given in present.items() if given)

    @cached_property
    def pretokens(self) -> Pretokens | None:
        """The automaton K of the pre-tokenizer, or None if the tokenizer has none.

        Raises: VocabularyError if there is no small automaton.
        """
        return pretokens(*self._patterns) if self._patterns else None

    @cached_property
    def guide(self) -> Guide | None:
        """Everything in the tokenizer except merges, as one automaton; None if there is nothing.

        Cost:   about half a second for a new pre-tokenizer pattern, which is then cached on disk.
        Raises: VocabularyError if it cannot be computed exactly.
        """
        if not self.features:
            return None
        words = {token: self._merged_word(token) for token in sorted(self.words.values())}
        return guide_of(self.vocabulary, self.tables, self.pretokens, words)

    def _merged_word(self, token: TokenId) -> list[TokenId]:
        """What merges make of the text of a word; nothing if one of its symbols has no token."""
        text = self.vocabulary.tokens[token] or b""
        symbols = self.alphabet.read(text.decode() if self.alphabet.characters else text)
        encoded = merged(self.tables, symbols, [0, len(symbols)])
        try:
            return [id_ for part in encoded.tolist() for id_ in self._with_fallback(part)]
        except VocabularyError:
            return []

    def encode(self, text: bytes | str) -> list[TokenId]:
        """The tokens of a text, without anything the tokenizer adds before or after it.

        Cost:   0.3 µs for each symbol of a long text, 10 to 20 µs for a line.
        Raises: VocabularyError if a byte or character of the text has no token.
        """
        try:
            read = text.decode() if isinstance(text, bytes) else text
            read.encode()
        except UnicodeError:
            raise VocabularyError("expected a text in UTF-8") from None
        ids: list[TokenId] = []
        for part in self.added.parts(read):
            ids.extend(self._encode(part) if isinstance(part, str) else [part.token])
        return ids

    def is_proper(self, tokens: Sequence[TokenId]) -> bool:
        """Whether the tokenizer writes these tokens for some text.

        So encoding their text gives the same tokens, and where the tokenizer puts a prefix before
        the parts of a text, the parts after added tokens begin with it.
        """
        if any(self.vocabulary.tokens[token] is None for token in tokens):
            return False
        try:
            text = self.vocabulary.decode(tokens).decode()
            return self.encode(text) == list(tokens) and self.added.has_prefixes(text)
        except (UnicodeError, VocabularyError):
            return False

    def _encode(self, text: str) -> list[TokenId]:
        """The tokens of a text without added tokens."""
        if not text:
            return []
        if self.vocabulary.tokenizer.byte_fallback:
            text = text.replace(SPACE_SIGN, " ")  # as the tokenizer does
        symbols = self.alphabet.read(text)
        cuts = self._cuts(text, len(symbols))
        if self.words:
            symbols, cuts = self._with_words(text, symbols, cuts)
        encoded = merged(self.tables, symbols, cuts)
        return [id_ for token in encoded.tolist() for id_ in self._with_fallback(token)]

    def _with_words(self, text: str, symbols: Ints, cuts: list[int]) -> tuple[Ints, list[int]]:
        """The symbols and cuts, with every piece that is a word replaced by its token."""
        by_symbol = text if self.alphabet.characters else text.encode().decode("latin-1")
        parts, ends = [], [0]
        for begin, end in pairwise(cuts):
            word = self.words.get(by_symbol[begin:end])
            parts.append(symbols[begin:end] if word is None else np.array([word], np.int32))
            ends.append(ends[-1] + len(parts[-1]))
        return np.concatenate(parts), ends

    def _cuts(self, text: str, symbols: int) -> list[int]:
        """The symbol index at which each piece begins, and that at which the last one ends."""
        if not self._patterns:
            return [0, symbols]
        starts = splitter(*self._patterns)(text)
        if not self.alphabet.characters and not text.isascii():
            sizes = [len(text[i:j].encode()) for i, j in pairwise(starts)]
            starts = np.cumsum([0, *sizes]).tolist()
        return [*starts, symbols]

    def _with_fallback(self, token: int) -> tuple[TokenId, ...]:
        """A token, or the byte fallback tokens of a symbol that is not a token (−1 − code)."""
        if token >= 0:
            return (token,)
        code = -1 - token
        data = chr(code).encode() if self.alphabet.characters else bytes([code])
        ids = tuple(self._fallback.get(byte, -1) for byte in data)
        if min(ids) < 0:
            symbol = chr(code) if self.alphabet.characters else data
            raise VocabularyError(f"{self.vocabulary.name} has no token for {symbol!r}")
        return ids

    @cached_property
    def _patterns(self) -> tuple[str, ...]:
        return self.vocabulary.tokenizer.patterns

    @cached_property
    def _fallback(self) -> dict[int, TokenId]:
        tokens = self.vocabulary.tokens
        return {(tokens[t] or b"\0")[0]: t for t in self.vocabulary.tokenizer.byte_fallback}

    @cached_property
    def added(self) -> AddedSearch:
        """The search for added tokens in a text."""
        return AddedSearch(self.vocabulary.tokenizer)


def _make(vocabulary: Vocabulary, limits: Limits | None) -> Bpe:
    """The merges of a vocabulary, checked against its tokenizer if there is one.

    Raises: VocabularyError if proper tokenization cannot be computed exactly; LimitError.
    """
    if vocabulary.tokenizer.unpredictable:
        raise VocabularyError(
            f"the encodings of {vocabulary.name} cannot be predicted exactly:"
            f" {vocabulary.tokenizer.unpredictable}",
            "choose another vocabulary, or a method that does not need it",
        )
    bpe = Bpe(vocabulary, tables_of(vocabulary, limits))
    check_encoder(vocabulary, bpe.encode, bpe.added)
    return bpe
