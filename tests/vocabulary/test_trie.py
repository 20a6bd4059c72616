"""Trie.of, compared with a simple construction, token by token."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.vocabulary.toy_vocabularies import named_toy
from workbench.vocabulary.trie import Trie

Node = tuple[bytes, tuple[int, ...]]


def expected_nodes(tokens: list[bytes | None]) -> list[Node]:
    """Every prefix of every token in byte order, with the tokens that end there."""
    texts = [(t, i) for i, t in enumerate(tokens) if t is not None]
    prefixes = sorted({t[:n] for t, _ in texts for n in range(1, len(t) + 1)})
    return [(p, tuple(i for t, i in texts if t == p)) for p in prefixes]


def read(trie: Trie) -> list[Node]:
    """The nodes of a trie, by following its arrays."""
    path = bytearray()
    found: list[Node] = []
    for node in range(len(trie)):
        path[trie.depth[node] :] = bytes((int(trie.byte[node]),))
        ids = trie.token_ids[trie.first[node] : trie.first[node + 1]]
        found.append((bytes(path), tuple(ids.tolist())))
    return found


TOKENS = st.lists(
    st.none() | st.binary(min_size=1, max_size=4).map(lambda b: bytes(x % 3 for x in b))
)


@given(TOKENS)
def test_nodes_are_the_prefixes(tokens: list[bytes | None]) -> None:
    trie = Trie.of(tokens)
    assert read(trie) == expected_nodes(tokens)
    assert trie.height == max((len(t) for t in tokens if t is not None), default=0)


@given(TOKENS)
def test_skip_jumps_over_the_subtree(tokens: list[bytes | None]) -> None:
    trie = Trie.of(tokens)
    paths = [path for path, _ in read(trie)]
    for node, path in enumerate(paths):
        below = sum(other.startswith(path) for other in paths)
        assert trie.skip[node] == node + below


def test_figure_4() -> None:
    """Koo et al. 2024, Figure 4: f, oo, foo, for, food with their prefixes merged."""
    assert read(Trie.of(named_toy("figure-4").tokens)) == [
        (b"f", (0,)),
        (b"fo", ()),
        (b"foo", (2,)),
        (b"food", (4,)),
        (b"for", (3,)),
        (b"o", ()),
        (b"oo", (1,)),
    ]


def test_arrays_are_read_only_and_typed() -> None:
    trie = Trie.of((b"a", b"a", b"ab"))
    arrays = (trie.byte, trie.depth, trie.skip, trie.first, trie.token_ids)
    assert not any(array.flags.writeable for array in arrays)
    assert [array.dtype for array in arrays] == [np.uint8, *[np.int32] * 4]
    assert trie.token_ids.tolist() == [0, 1, 2]
