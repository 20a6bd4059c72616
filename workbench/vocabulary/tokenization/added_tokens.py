"""The automaton of a tokenizer's added tokens.

The tokenizers library cuts added tokens out of a text in two searches: first the raw ones, then in
each part between them, after it was normalised, the others. Each search takes the leftmost match,
of several that begin there the longest (Aho & Corasick 1975, as leftmost-longest). So no added text
may begin outside the added tokens of a sequence, wherever it ends, and no longer added text may
begin with one of them; shorter ones inside them do not matter.

A state is the set of what has begun, as nodes of three kinds of tries, each for one search:

* texts: prefixes of added texts; the sequence is refused where one is complete;
* white space, if some token removes it before itself (``lstrip``): such a token may not follow;
* white space after a token that removes it there (``rstrip``): refused where it is complete.

The node ``_SPACE_FOLLOWS`` requires a space next: the tokenizer puts its prefix before every part;
``_MORE_FOLLOWS`` another byte after it: a normaliser puts none before an empty part.
Raw tokens end what the second search has begun. Tokens of the second search are plain text for the
first. For the added texts ``\\n`` and ``\\n\\n``::

    read            state
    \\n as bytes     refused: the tokenizer would write the added token
    added \\n        {\\n}    a second \\n would be a longer added text
    added \\n\\n      {}
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.merge_kernels import Bools, Ints, RuleTable, rule_table
from workbench.vocabulary.vocabulary import AddedToken, PrefixScope

#: What has begun: nodes of tries.
_State = frozenset[int]

#: The most states, and the most pairs of a state and an added token that differs there.
MAX_STATES, MAX_EXCEPTIONS = 30_000, 500_000

#: The characters that ``lstrip`` and ``rstrip`` remove (Unicode's White_Space).
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

#: Nodes without edges: a space, or any byte, must come next outside added tokens.
_SPACE_FOLLOWS, _MORE_FOLLOWS = 0, 1
_REQUIRE = frozenset((_SPACE_FOLLOWS, _MORE_FOLLOWS))
_RAW, _NORMALIZED = 0, 1
#: Instead of a state of ``AddedTable.factors``.
COMPLETE = -2


class AddedTable(NamedTuple):
    """The automaton; state 0 is initial.

    Shape: ``bytes`` (S, 256) int16, the state after a byte outside added tokens; ``after`` (A,),
           the state after each added token, from the states that are not in ``exceptions``: (state,
           token) → state. −1 where the tokenizer would cut the text differently. ``ends`` (S,):
           whether the text, or the part before an added token, may end. ``is_prefix`` (S,): whether
           a state is a set of prefixes, so that it matters only to texts that continue one.
           ``factors`` (F, 256) int16, an automaton that tells which do: −1 after a byte with which
           a text ceases to continue any, ``COMPLETE`` after one that completes one.
    """

    bytes: npt.NDArray[np.int16]
    after: Ints
    exceptions: RuleTable
    ends: Bools
    is_prefix: Bools
    factors: npt.NDArray[np.int16]


class _Tries:
    """The tries of both searches, in one numbering of nodes."""

    def __init__(self, entries: Iterable[AddedToken], lstrip: bool, rstrip: bool) -> None:
        self.edges: list[dict[int, int]] = [{}, {}]
        self.refused = [False, False]
        #: Whether the prefix is put before parts that are not empty alone.
        self.prefix_needs_more = False
        #: The search of each node.
        self.search = [_RAW, _RAW]
        self.texts = [self._root(search) for search in (_RAW, _NORMALIZED)]
        for entry in entries:
            self.refused[self._insert(self.texts[entry.normalized], entry.text)] = True
        #: Smaller nodes are prefixes of added texts, except the first two.
        self.first_other = len(self.edges)
        #: Ends of white space characters; roots that are followed at every byte outside tokens.
        self.blanks: list[set[int]] = [set(), set()]
        self.roots = [[root] for root in self.texts]
        self.strips = [self._root(search) for search in (_RAW, _NORMALIZED)]
        for search in (_RAW, _NORMALIZED):
            blank = self._root(search)
            self.roots[search].append(blank)
            for character in WHITE_SPACE:
                if lstrip:
                    self.blanks[search].add(self._insert(blank, character.encode()))
                if rstrip:
                    self.refused[self._insert(self.strips[search], character.encode())] = True

    def _root(self, search: int) -> int:
        self.edges.append({})
        self.refused.append(False)
        self.search.append(search)
        return len(self.edges) - 1

    def _insert(self, node: int, text: bytes) -> int:
        for byte in text:
            if byte not in self.edges[node]:
                self.edges[node][byte] = self._root(self.search[node])
            node = self.edges[node][byte]
        return node

    def outside(self, begun: Iterable[int], byte: int, searches: Sequence[int]) -> _State | None:
        """What has begun after a byte outside the tokens of some searches; None if refused."""
        nodes: set[int] = set()
        for node in (*begun, *(root for search in searches for root in self.roots[search])):
            if node == _SPACE_FOLLOWS:
                if byte != ord(" "):
                    return None
                if self.prefix_needs_more:
                    nodes.add(_MORE_FOLLOWS)
            after = self.edges[node].get(byte)
            if after is not None:
                if self.refused[after]:
                    return None
                nodes.add(after)
        return frozenset(nodes)

    def inside(self, begun: Iterable[int], text: bytes) -> _State | None:
        """What continues through the text of an added token; None if an added text is complete."""
        nodes = set()
        for begin in begun:
            node: int | None = begin
            for byte in text:
                node = self.edges[node].get(byte) if node is not None else None
                if node is not None and self.refused[node]:
                    return None
            if node is not None:
                nodes.add(node)
        return frozenset(nodes)

    def node_of(self, entry: AddedToken) -> int:
        """The node at which an added text ends."""
        node = self.texts[entry.normalized]
        for byte in entry.text:
            node = self.edges[node][byte]
        return node


def added_table(
    entries: Sequence[AddedToken], tokens: Sequence[AddedToken], scope: PrefixScope
) -> AddedTable:
    """The automaton of some added texts.

    ``tokens`` are those entries that occur in sequences; the texts of the others never occur.
    ``scope``: before which parts of a text the tokenizer puts a space.

    Raises: VocabularyError if the automaton is too large.
    """
    automaton = _AddedAutomaton(entries, tokens, scope)
    automaton.build()
    rows = np.array(automaton.exceptions, np.int32).reshape(-1, 3)
    columns = [rows[:, i].copy() for i in range(3)]
    return AddedTable(
        np.array(automaton.rows, np.int16),
        np.array(automaton.defaults, np.int32),
        rule_table(columns[0], columns[1], columns[2], np.zeros(len(rows), np.int32)),
        np.array([_MORE_FOLLOWS not in begun for begun in automaton.waiting], np.bool_),
        np.array([begun.isdisjoint(_REQUIRE) for begun in automaton.waiting], np.bool_),
        _factors(automaton.tries),
    )


def _factors(tries: _Tries) -> npt.NDArray[np.int16]:
    """The automaton of the texts that continue what has begun, by subsets of the nodes.

    Raises: VocabularyError if it is too large.
    """
    roots = {root for search in (_RAW, _NORMALIZED) for root in tries.roots[search]}
    inner = frozenset(n for n, edges in enumerate(tries.edges) if edges and n not in roots)
    numbers, queue, rows = {inner: 0}, deque([inner]), []
    while queue:
        nodes = queue.popleft()
        targets: dict[int, set[int]] = defaultdict(set)
        for node in nodes:
            for byte, after in tries.edges[node].items():
                targets[byte].add(after)
        row = np.full(256, -1, np.int16)
        for byte, targets_of in targets.items():
            key = frozenset(targets_of)
            if any(tries.refused[node] for node in key):
                row[byte] = COMPLETE
                continue
            if key not in numbers:
                if len(numbers) == MAX_STATES:
                    raise _too_large()
                numbers[key] = len(numbers)
                queue.append(key)
            row[byte] = numbers[key]
        rows.append(row)
    return np.array(rows, np.int16)


class _AddedAutomaton:
    """Numbers the states breadth first."""

    def __init__(
        self, entries: Sequence[AddedToken], tokens: Sequence[AddedToken], scope: PrefixScope
    ) -> None:
        strips = any(entry.lstrip for entry in tokens), any(entry.rstrip for entry in tokens)
        self.tries = _Tries(entries, *strips)
        self.tries.prefix_needs_more = scope is PrefixScope.AFTER_RAW
        self.tokens, self.scope = tokens, scope
        self.numbers: dict[_State, int] = {frozenset(): 0}
        self.waiting: list[_State] = [frozenset()]
        self.rows: list[npt.NDArray[np.int16]] = []
        self.exceptions: list[tuple[int, int, int]] = []
        self.by_first_byte: dict[int, list[int]] = defaultdict(list)
        for index, entry in enumerate(tokens):
            self.by_first_byte[entry.text[0]].append(index)
        self.stripping = [index for index, entry in enumerate(tokens) if entry.lstrip]
        self.ends = [self.tries.node_of(entry) for entry in tokens]
        self.defaults = [self._number(self._after(frozenset(), i)) for i in range(len(tokens))]

    def build(self) -> None:
        """All rows. Raises: VocabularyError if there are too many states."""
        both = (_RAW, _NORMALIZED)
        roots = [root for search in both for root in self.tries.roots[search]]
        firsts = {byte for root in roots for byte in self.tries.edges[root]}
        plain = np.zeros(256, np.int16)
        for byte in firsts:
            plain[byte] = self._number(self.tries.outside((), byte, both))
        while len(self.rows) < len(self.waiting):
            begun = self.waiting[len(self.rows)]
            row = plain.copy()
            next_bytes = {byte for node in begun for byte in self.tries.edges[node]}
            if _SPACE_FOLLOWS in begun:
                next_bytes |= set(range(256))
            for byte in next_bytes:
                row[byte] = self._number(self.tries.outside(begun, byte, both))
            self.rows.append(row)
            self._add_exceptions(begun, next_bytes)

    def _add_exceptions(self, begun: _State, next_bytes: Iterable[int]) -> None:
        """The added tokens after which the state depends on what has begun."""
        affected = {i for byte in next_bytes for i in self.by_first_byte.get(byte, ())}
        if any(not begun.isdisjoint(blanks) for blanks in self.tries.blanks):
            affected.update(self.stripping)
        for index in sorted(affected):
            after = self._number(self._after(begun, index))
            if after != self.defaults[index]:
                self.exceptions.append((self.numbers[begun], index, after))
        if len(self.exceptions) > MAX_EXCEPTIONS:
            raise _too_large()

    def _number(self, begun: _State | None) -> int:
        if begun is None:
            return -1
        if begun not in self.numbers:
            if len(self.numbers) == MAX_STATES:
                raise _too_large()
            self.numbers[begun] = len(self.numbers)
            self.waiting.append(begun)
        return self.numbers[begun]

    def _after(self, begun: _State, index: int) -> _State | None:
        """The state after an added token; None if the tokenizer would not cut it out there."""
        tries, entry, end = self.tries, self.tokens[index], self.ends[index]
        search = int(entry.normalized)
        if entry.lstrip and not begun.isdisjoint(tries.blanks[search]):
            return None
        texts = (n for n in begun if 1 < n < tries.first_other and tries.search[n] == search)
        continued = tries.inside(texts, entry.text)
        if continued is None:
            return None
        nodes = set(continued)
        if search == _NORMALIZED:
            raw: _State | None = frozenset(n for n in begun if n > 1 and tries.search[n] == _RAW)
            for byte in entry.text:
                raw = None if raw is None else tries.outside(raw, byte, (_RAW,))
            if raw is None:
                return None
            nodes |= raw
        if tries.edges[end]:
            nodes.add(end)
        if entry.rstrip:
            nodes.add(tries.strips[search])
        if self.scope is PrefixScope.AFTER_ALL or (
            self.scope is PrefixScope.AFTER_RAW and search == _RAW
        ):
            nodes.add(_SPACE_FOLLOWS)
        return frozenset(nodes)


def _too_large() -> VocabularyError:
    return VocabularyError(
        f"the added tokens overlap in more than {MAX_STATES:,} ways",
        "choose another vocabulary, or a method that does not need canonical tokens",
    )
