"""``TokenAutomaton``: the interface of deterministic automata over tokens, for their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State as DfaState
from workbench.base.limits import Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class TokenAutomaton(Protocol):
    """A deterministic automaton over tokens, with numbered states."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def initial(self) -> DfaState: ...

    @property
    def finals(self) -> npt.NDArray[np.bool_]:
        """Which states accept, (Q,)."""
        ...

    @property
    def edge_count(self) -> int: ...

    def __len__(self) -> int:
        """The number of states."""
        ...

    def edges(self, state: DfaState) -> Sequence[tuple[TokenId, DfaState]]:
        """Each token that may come next, with its target state."""
        ...
