"""Scanner: terminals in; out comes one automaton that knows which of them it reads.

Lemma 3.1: ``R = r+``, ``r = r_1 | … | r_n``, matches all sequences of terminals, so L_G ⊆ L_R. The
scanner is the automaton of R with the sub-automaton of every terminal kept apart (§3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import DEAD, State
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.constraint.domino.terminals import Terminal

#: The scanner's state between two terminals: q_0 and q_a of the paper, which ε-edges make one.
BETWEEN: State = 0


@dataclass(frozen=True, eq=False)
class Scanner:
    """The sub-automata of all terminals, side by side, under one numbering of states.

    The sub-automata are deterministic where the paper's are Thompson's: fewer states are active
    at once, and what each reads is the same. That several terminals may be read at once stays:
    a state of the scanner is one place in one terminal, and a text leads to a set of them.

    Shape: T terminals, Q states, C classes of bytes. ``classes`` (256,) uint16; ``table`` (Q, C)
           int32, ``DEAD`` where a byte cannot be read, row 0 (``BETWEEN``) all so; ``owner`` (Q,)
           int32, the terminal of a state, −1 for ``BETWEEN``; ``initials`` (T,) int32;
           ``accepting`` and ``goes_on`` (Q,) bool.
    """

    terminals: tuple[Terminal, ...]
    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    initials: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.bool_]
    goes_on: npt.NDArray[np.bool_]

    @staticmethod
    def of(terminals: tuple[Terminal, ...]) -> Scanner:
        """The scanner of some terminals.

        Cost: Q · C numbers, a few array operations a terminal.
        """
        every = np.zeros((256, 1), np.uint16)
        for terminal in terminals:
            every = np.column_stack([every, terminal.dfa.classes])
        columns, classes = np.unique(every, axis=0, return_inverse=True)
        tables = [np.full((1, len(columns)), DEAD, np.int32)]
        initials, size = [], 1
        for number, terminal in enumerate(terminals):
            own = terminal.dfa.table[:, columns[:, number + 1]]
            tables.append(np.where(own == DEAD, DEAD, own + size).astype(np.int32))
            initials.append(terminal.dfa.initial + size)
            size += len(own)
        table = np.ascontiguousarray(np.concatenate(tables))
        sizes = [1, *(len(terminal.dfa) for terminal in terminals)]
        return Scanner(
            terminals,
            classes.reshape(-1).astype(np.uint16),
            table,
            np.repeat(np.arange(-1, len(terminals), dtype=np.int32), sizes),
            np.array(initials, np.int32),
            np.concatenate([[False], *(terminal.dfa.finals for terminal in terminals)]),
            (table != DEAD).any(axis=1),
        )

    def __len__(self) -> int:
        """The number of states."""
        return len(self.owner)

    @cached_property
    def inside(self) -> tuple[State, ...]:
        """The states within a terminal: some of it has been read, and more of it can be."""
        reached = np.zeros(len(self), np.bool_)
        reached[self.table[self.table != DEAD]] = True
        return tuple(np.flatnonzero(reached & self.goes_on).tolist())

    @cached_property
    def starting(self) -> tuple[tuple[tuple[int, State], ...], ...]:
        """For each class of bytes the terminals that begin so, with the state after it."""
        first = self.table[self.initials]
        return tuple(
            tuple((int(t), int(first[t, c])) for t in np.flatnonzero(first[:, c] != DEAD))
            for c in range(self.table.shape[1])
        )

    @cached_property
    def nfa(self) -> Nfa:
        """Figure 3(b): q_0, ε-edges to every sub-automaton, from its ends to q_a, and back to q_0.

        Accepts R, so all texts of the grammar but the empty one.
        """
        builder = NfaBuilder()
        begin, end = builder.new_state(), builder.new_state()
        for terminal in self.terminals:
            builder.embed(terminal.dfa, begin, end)
        builder.epsilon(end, begin)
        return builder.build(begin, {end})
