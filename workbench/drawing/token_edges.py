"""Groups the tokens of a machine's rows: one edge for each pair of states.

A row may have thousands of tokens; an edge has their number, a list, and a few readable examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import Dfa
from workbench.base.visible_text import columns, fitted, visible
from workbench.constraint.engine.compose import TokenFsa
from workbench.constraint.labels import LabelTokens, LabelVocabulary, first_label_id
from workbench.constraint.masks import TokenMask
from workbench.drawing.graph import Edge, budgeted
from workbench.vocabulary.vocabulary import Vocabulary

#: Up to this many tokens between two states are all drawn; of more, a few and their number.
MAX_WRITTEN_OUT = 3

#: The same limit for small vocabularies, and the most tokens of a small vocabulary.
MAX_WRITTEN_OUT_TOY = 8
MAX_TOY_TOKENS = 40

#: The most tokens listed in the side panel, and the most tokens searched for examples.
_MAX_LISTED = 60
MAX_SEARCHED = 400

#: The most examples in the label of a group, and the most letters they have together.
MAX_EXAMPLES, _MAX_EXAMPLES_WIDTH = 8, 11


_first = itemgetter(0)


class TokenRows(NamedTuple):
    """The token edges of some states of a machine: source, token and target of each, (E,)."""

    vocabulary: Vocabulary
    sources: npt.NDArray[np.int64]
    token_ids: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]

    def allowed(self, mask: TokenMask | None, state: int) -> TokenRows:
        """The rows with the tokens of one state that a mask allows; labels stay."""
        if mask is None:
            return self
        ids = self.token_ids
        kept = (self.sources != state) | (ids >= first_label_id(self.vocabulary))
        kept |= np.isin(ids, mask.ids)
        return TokenRows(self.vocabulary, self.sources[kept], ids[kept], self.targets[kept])

    @staticmethod
    def of(fsa: TokenFsa, states: Iterable[int] | None = None) -> TokenRows:
        """The edges of some states, or of all."""
        if states is None:
            sources = np.repeat(np.arange(len(fsa), dtype=np.int64), np.diff(fsa.first))
            return TokenRows(fsa.vocabulary, sources, fsa.token_ids, fsa.targets)
        rows = [(state, *fsa.rows.row(state)) for state in states]
        return TokenRows.joined(fsa.vocabulary, rows)

    @staticmethod
    def joined(
        vocabulary: Vocabulary,
        rows: Iterable[tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32]]],
    ) -> TokenRows:
        """Rows of single states, one after the other."""
        listed = list(rows)
        none = np.empty(0, np.int32)
        return TokenRows(
            vocabulary,
            np.repeat(np.array([row[0] for row in listed], np.int64), [len(r[1]) for r in listed]),
            np.concatenate([none, *(row[1] for row in listed)]),
            np.concatenate([none, *(row[2] for row in listed)]),
        )


def token_edges(
    rows: TokenRows, dfa: Dfa | LazyDfa, whole: npt.NDArray[np.bool_]
) -> tuple[Edge, ...]:
    """The edges between character states; ``whole`` marks the character states, (Q,)."""
    skips = passing_over(rows, dfa, whole)
    plain: list[Edge] = []
    pieces: list[Edge] = []
    for group in budgeted(_groups(rows, skips)):
        source, target = int(rows.sources[group[0]]), int(rows.targets[group[0]])
        edge = _token_edge(rows, source, target, bool(skips[group[0]]), group)
        (plain if whole[source] and whole[target] else pieces).append(edge)
    return (*plain, *_through(pieces, {str(s) for s in np.flatnonzero(whole)}))


def plain_edges(rows: TokenRows) -> tuple[Edge, ...]:
    """An edge for every two states of a machine without character states."""
    none = np.zeros(len(rows.sources), np.bool_)
    return tuple(
        _token_edge(rows, int(rows.sources[group[0]]), int(rows.targets[group[0]]), False, group)
        for group in budgeted(_groups(rows, none))
    )


def _groups(rows: TokenRows, skips: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.int64]]:
    """The indices of edges with equal source, target and skipping; labels are separate."""
    sources, targets = rows.sources, rows.targets
    if not len(sources):
        return
    is_label = rows.token_ids >= first_label_id(rows.vocabulary)
    order = np.lexsort((is_label, skips, targets, sources))
    keys = np.stack((sources[order], targets[order], skips[order], is_label[order]))
    cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    yield from np.split(order, cuts)


def _through(pieces: list[Edge], whole: set[str]) -> Iterator[Edge]:
    """For every two character states one edge for all tokens that end inside a character."""
    onward: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in pieces:
        onward[edge.source].append(edge)
    for source in (state for state in list(onward) if state in whole):
        passed = dict.fromkeys(edge.target for edge in onward[source])
        ends: dict[str, None] = {}
        waiting = list(passed)
        for inside in budgeted(waiting):
            for edge in onward[inside]:
                if edge.target in whole:
                    ends[edge.target] = None
                elif edge.target not in passed:
                    passed[edge.target] = None
                    waiting.append(edge.target)
        count = sum(edge.count for edge in onward[source])
        listed = "\n".join(edge.detail for edge in onward[source])
        for end in ends:
            label = f"{count:,} pieces of characters"
            title = f"{_count_text(count)} that begin a character and do not end it"
            yield Edge(source, end, (label,), ("bytes",), count, (), title, listed, (), (*passed,))


def _count_text(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _token_edge(
    rows: TokenRows, source: int, target: int, skips: bool, group: npt.NDArray[np.int64]
) -> Edge:
    tokens = rows.vocabulary.tokens
    if read := labels_among(rows.vocabulary, rows.token_ids[group]):
        return terminal_edge(str(source), str(target), read)
    few = MAX_WRITTEN_OUT_TOY if len(rows.vocabulary) <= MAX_TOY_TOKENS else MAX_WRITTEN_OUT
    looked = [tokens[i] or b"" for i in rows.token_ids[group[:MAX_SEARCHED]].tolist()]
    edge = counted_edge(str(source), str(target), looked, len(group), few)
    return replace(edge, kinds=("skip",)) if skips else edge


def counted_edge(source: str, target: str, tokens: list[bytes], count: int, few: int) -> Edge:
    """The edge of ``count`` tokens, of which some are given.

    Up to ``few`` are drawn; of more the label has their number and the most readable ones.
    """
    seen = [look(token) for token in tokens]
    # some vocabularies have two tokens with the same bytes, which are shown once
    listed = list(dict.fromkeys(text for _, text in seen))
    telling = [text for _, text in sorted(dict.fromkeys(seen), key=_first)]
    labels = tuple(listed)
    if len(listed) > few or count > len(tokens):
        labels = (f"{_count_text(count)}: {fitting(telling)}",)
    more = f"\nand {count - _MAX_LISTED:,} more" if count > _MAX_LISTED else ""
    return Edge(
        source,
        target,
        labels,
        (),
        count,
        tuple(telling[:MAX_EXAMPLES]),
        title=f"{_count_text(count)}: {'  '.join(listed[:12])}",
        detail="\n".join(listed[:_MAX_LISTED]) + more,
    )


def fitting(texts: Sequence[str]) -> str:
    """The first texts that fit into one label, with ``…`` for the others."""
    shown = ""
    for i, text in enumerate(texts):
        longer = f"{shown}  {text}" if shown else text
        if columns(longer) > _MAX_EXAMPLES_WIDTH:
            return f"{shown} …" if shown else f"{fitted(text, _MAX_EXAMPLES_WIDTH)} …"
        shown = longer
        if i == MAX_EXAMPLES - 1 and i < len(texts) - 1:
            return f"{shown} …"
    return shown


def labels_among(
    vocabulary: Vocabulary, token_ids: npt.NDArray[np.int32]
) -> tuple[LabelTokens, ...]:
    """The labels whose encodings are among some tokens."""
    if not isinstance(vocabulary, LabelVocabulary):
        return ()
    return tuple(label for label in vocabulary.labels if label.code_id in token_ids)


def terminal_edge(source: str, target: str, labels: Sequence[LabelTokens]) -> Edge:
    """The single edge of some labels, whatever the number of tokens they read."""
    counts = [(label.label, _count_text(len(label.mask))) for label in labels]
    return Edge(
        source,
        target,
        tuple(f"{label.name}\n{count}" for label, count in counts),
        ("terminal",),
        sum(len(label.mask) for label in labels),
        title="\n".join(f"{label.name}, {label.what}: {count}" for label, count in counts),
    )


@lru_cache(maxsize=1 << 18)
def look(token: bytes) -> tuple[tuple[bool, bool, bool], str]:
    """A token as text, with a sort key that puts readable tokens first.

    Cached, since the same tokens are on most edges: without it 26,000 edges took nine seconds.
    """
    text = visible(token)
    return ("<" in text, not any(map(str.isalnum, text)), not 2 <= len(text) <= 8), text


def passing_over(
    rows: TokenRows, dfa: Dfa | LazyDfa, whole: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """For each token edge whether it passes a character state that is neither of its ends, (E,).

    Cost: all edges in parallel, one step for each byte of the longest token.
    """
    token_bytes, lengths = padded(rows.vocabulary)
    skips = np.zeros(len(rows.sources), np.bool_)
    alive = np.arange(len(rows.sources))
    state = rows.sources.copy()
    for position in budgeted(range(token_bytes.shape[1])):
        # the state after a token's last byte is its target, so the last step is skipped
        on = lengths[rows.token_ids[alive]] > position + 1
        alive, state = alive[on], state[on]
        if not len(alive):
            break
        state = dfa.table[state, dfa.classes[token_bytes[rows.token_ids[alive], position]]].astype(
            np.int64
        )
        other = (state != rows.sources[alive]) & (state != rows.targets[alive])
        skips[alive] |= other & whole[state]
    return skips


@lru_cache(maxsize=8)
def padded(
    vocabulary: Vocabulary,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """All tokens as one array of bytes, (V, longest), and their lengths, (V,)."""
    tokens = [token or b"" for token in vocabulary.tokens]
    lengths = np.array([len(token) for token in tokens], np.int64)
    longest = int(lengths.max(initial=1))
    joined = b"".join(token.ljust(longest, b"\0") for token in tokens)
    return np.frombuffer(joined, np.uint8).reshape(len(tokens), longest), lengths
