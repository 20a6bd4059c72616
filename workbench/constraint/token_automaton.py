"""TokenAutomaton: what every finite automaton over tokens answers to whoever draws or writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import State
from workbench.limits import Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class TokenAutomaton(Protocol):
    """Numbered states, and tokens that lead from one to another; deterministic."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def initial(self) -> State: ...

    @property
    def finals(self) -> npt.NDArray[np.bool_]:
        """Which states accept, (Q,)."""
        ...

    @property
    def edge_count(self) -> int: ...

    def __len__(self) -> int:
        """The number of states."""
        ...

    def edges(self, state: State) -> Sequence[tuple[TokenId, State]]:
        """Each token that may come next, with the state it leads to."""
        ...
