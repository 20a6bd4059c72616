"""Masks of a peer and ours → how many tokens it drops or adds, with examples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.bench.records import CheckRecord
from workbench.vocabulary.vocabulary import Vocabulary

#: How many disagreements of each kind are shown.
_EXAMPLES = 3

Masks = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.intp]


def compared(
    name: tuple[str, str],
    case: str,
    vocabulary: Vocabulary,
    walk: list[int],
    ours: Masks,
    theirs: Masks,
) -> CheckRecord:
    """Hold the masks of one walk against each other.

    Special tokens are left out, the end token too: engines agree on no rule for them.
    """
    text = np.array([token is not None for token in vocabulary.tokens])
    count = min(len(ours), len(theirs))
    left, right = (_bools(masks[:count], len(text)) & text for masks in (ours, theirs))
    dropped, added = np.argwhere(left & ~right), np.argwhere(right & ~left)
    return CheckRecord(
        engine=name[0],
        version=name[1],
        vocabulary=vocabulary.name,
        case=case,
        masks=count,
        expected=len(walk) + 1,
        dropped=len(dropped),
        added=len(added),
        dropped_examples=_shown(dropped, vocabulary, walk),
        added_examples=_shown(added, vocabulary, walk),
    )


def _bools(masks: Masks, size: int) -> npt.NDArray[np.bool_]:
    """Packed rows as booleans, (masks, V)."""
    packed = np.ascontiguousarray(masks).view(np.uint8)
    return np.unpackbits(packed, axis=1, bitorder="little")[:, :size].astype(np.bool_)


def _shown(pairs: Pairs, vocabulary: Vocabulary, walk: list[int]) -> tuple[tuple[str, str], ...]:
    """The text so far and the token of a few pairs, each from another mask where there are."""
    _, firsts = np.unique(pairs[:, 0], return_index=True)
    chosen = [*firsts, *(i for i in range(len(pairs)) if i not in set(firsts.tolist()))]
    return tuple(
        (_text(vocabulary.decode(walk[:step])), _text(vocabulary.tokens[token] or b""))
        for step, token in (pairs[i] for i in chosen[:_EXAMPLES])
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
