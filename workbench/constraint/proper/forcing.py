"""Forcing: a constraint over tokens comes in, the bytes all its texts go on with go out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.constraint.protocol import Constraint, State
from workbench.vocabulary.vocabulary import Vocabulary

#: Ways to spell what is forced that are followed side by side; more cut it short.
_WAYS = 256


def first_bytes(vocabulary: Vocabulary) -> npt.NDArray[np.int16]:
    """The first byte of each token, −1 where it spells nothing, (V,); kept with the vocabulary."""
    known = vars(vocabulary).get("_first_bytes")
    if known is None:
        firsts = [-1 if token is None else token[0] for token in vocabulary.tokens]
        known = vars(vocabulary)["_first_bytes"] = np.array(firsts, np.int16)
    return known


def forced(constraint: Constraint, state: State) -> bytes:
    """The bytes every accepted text goes on with; empty where it branches or may end.

    For constraints whose states know only whole tokens: all spellings are read side by side.
    """
    found = bytearray()
    ways: dict[tuple[bytes, State], None] = {(b"", state): None}
    while len(ways) <= _WAYS:
        opened = _opened(constraint, ways)
        if opened is None:
            break
        heads = {rest[0] for rest, _ in opened}
        if len(heads) != 1:
            break
        found.append(heads.pop())
        ways = {(rest[1:], there): None for rest, there in opened}
    return bytes(found)


def _opened(
    constraint: Constraint, ways: dict[tuple[bytes, State], None]
) -> dict[tuple[bytes, State], None] | None:
    """The ways with at least one byte to read each; None where one may end or branches."""
    tokens = constraint.vocabulary.tokens
    opened: dict[tuple[bytes, State], None] = {}
    for rest, state in ways:
        if rest:
            opened[rest, state] = None
            continue
        ids = constraint.mask(state).ids
        heads = first_bytes(constraint.vocabulary)[ids]
        if constraint.is_final(state) or (heads != heads[0]).any() or len(ids) > _WAYS:
            return None
        for token_id in ids.tolist():
            opened[tokens[token_id] or b"", constraint.advance(state, token_id)] = None
    return opened
