"""The closed form as tensors: masks and steps of a whole batch by indexing, on any torch device.

``TensorMachine`` holds the edges of ``method="composed"`` in dense tables. A row of the batch has
the states and stacks of up to ``configurations`` configurations. ``mask`` and ``step`` are gathers
and comparisons without a loop over rows, states or tokens, so they run where the logits are, and no
mask is copied to the device. Tokens that lead to the same place from every state share a column.

Source: Koo et al. 2024, §2.4 and §3.2 (the composed machine can be executed on an accelerator).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from workbench.base.errors import LimitError, TokenNotAllowed, WorkbenchError
from workbench.constraint.engine.compose_pda import TokenPdaMove
from workbench.constraint.methods.composed import ComposedFsa, ComposedPda
from workbench.constraint.protocol import Constraint
from workbench.pushdown.textbook_pda import BOTTOM
from workbench.vocabulary.vocabulary import TokenId

#: Marks the end of a pop string, and a place below the stack; both are no stack symbols.
_ANY, _NONE = -1, -2


class TensorState(NamedTuple):
    """Configurations of B rows.

    Shape: ``states`` and ``depths`` (B, N), ``stacks`` (B, N, D), ``fresh`` (B,) bool: nothing was
           read. Unused configurations have the state Q; symbols above a stack's top are 0.
    """

    states: torch.Tensor
    stacks: torch.Tensor
    depths: torch.Tensor
    fresh: torch.Tensor


@dataclass(frozen=True, eq=False)
class TensorMachine:
    """A composed machine on a device.

    Shape: V tokens, K columns, Q states, C choices, M moves, S pop strings of at most P symbols.
           ``columns`` (V,) the column of a token; ``choices`` (Q + 1, K), 0 where no edge is;
           ``choice_moves`` (C, W), 0 for none; of the moves ``targets`` (M,), ``pops`` (M,) the
           pop string, ``pushed`` (M, U) and ``push_counts`` (M,); ``pop_strings`` (S, P), ended
           by −1, and ``pop_counts`` (S,); ``finals`` (Q + 1,) bool; ``ends`` the end tokens.
    Raises: LimitError where a step needs more configurations or a deeper stack than there is room
            for; TokenNotAllowed for a token that the mask forbids.
    """

    columns: torch.Tensor
    choices: torch.Tensor
    choice_moves: torch.Tensor
    targets: torch.Tensor
    pops: torch.Tensor
    pushed: torch.Tensor
    push_counts: torch.Tensor
    pop_strings: torch.Tensor
    pop_counts: torch.Tensor
    finals: torch.Tensor
    ends: torch.Tensor
    initial: int
    accepts_empty: bool
    configurations: int
    depth: int

    def __repr__(self) -> str:
        states, columns = len(self.choices) - 1, self.choices.shape[1]
        return f"TensorMachine({states} states, {columns} columns, {self.columns.device})"

    def start(self, rows: int) -> TensorState:
        """The initial configuration in every row."""
        shape, device = (rows, self.configurations), self.columns.device
        states = torch.full(shape, len(self.choices) - 1, device=device)
        states[:, 0] = self.initial
        stacks = torch.zeros((*shape, self.depth), dtype=torch.int64, device=device)
        stacks[:, 0, 0] = BOTTOM
        depths = torch.zeros_like(states)
        depths[:, 0] = 1
        return TensorState(
            states, stacks, depths, torch.ones(rows, dtype=torch.bool, device=device)
        )

    def is_final(self, state: TensorState) -> torch.Tensor:
        """Whether the text of each row may end, (B,) bool."""
        ended: torch.Tensor = self.finals[state.states].any(1)
        return ended | (state.fresh if self.accepts_empty else torch.zeros_like(state.fresh))

    def mask(self, state: TensorState) -> torch.Tensor:
        """The tokens allowed in each row, (B, V) bool."""
        fits = self._fitting(state)
        of_move = fits[:, :, self.pops] & (self.targets >= 0)
        of_choice = of_move[:, :, self.choice_moves].any(3)
        of_column = of_choice.gather(2, self.choices[state.states]).any(1)
        allowed: torch.Tensor = of_column[:, self.columns]
        allowed[:, self.ends] = self.is_final(state)[:, None]
        return allowed

    def step(self, state: TensorState, token_ids: torch.Tensor) -> TensorState:
        """The configurations after one token in each row; an end token changes nothing."""
        symbols = self.depth
        ending = torch.isin(token_ids, self.ends) & self.is_final(state)
        choice = self.choices[state.states, self.columns[token_ids][:, None]]
        moves = self.choice_moves[choice]
        fits = self._fitting(state).gather(2, self.pops[moves]) & (self.targets[moves] >= 0)
        rest_depths = state.depths[:, :, None] - self.pop_counts[self.pops[moves]]
        depths = rest_depths + self.push_counts[moves]
        positions = torch.arange(symbols, device=rest_depths.device)
        index = positions - rest_depths[..., None]  # in the pushed symbols
        pushed = self.pushed[moves].gather(3, index.clamp(0, self.pushed.shape[1] - 1))
        stacks = torch.where(index < 0, state.stacks[:, :, None, :], pushed)
        stacks = torch.where(positions < depths[..., None], stacks, 0)
        configurations = self.targets[moves].flatten(1), stacks.flatten(1, 2), depths.flatten(1)
        valid = fits.flatten(1)
        if bool((valid & (configurations[2] > symbols)).any()):
            raise LimitError(
                f"a stack needs more than {symbols} symbols", "depth", "give a larger depth"
            )
        kept = self._distinct(*configurations, valid)
        if bool((~valid.any(1) & ~ending).any()):
            wrong = token_ids[~valid.any(1) & ~ending].tolist()
            raise TokenNotAllowed(f"token {wrong[0]} is not allowed here")
        new = self._compact(configurations, kept)
        old = ending[:, None]
        return TensorState(
            torch.where(old, state.states, new[0]),
            torch.where(old[..., None], state.stacks, new[1]),
            torch.where(old, state.depths, new[2]),
            state.fresh & ending,
        )

    def _fitting(self, state: TensorState) -> torch.Tensor:
        """Whether each pop string is on top of each stack, (B, N, S) bool."""
        below = torch.arange(1, self.pop_strings.shape[1] + 1, device=state.depths.device)
        index = state.depths[..., None] - below
        tops = state.stacks.gather(2, index.clamp(min=0))
        tops = torch.where(index < 0, _NONE, tops)[:, :, None, :]
        return ((tops == self.pop_strings) | (self.pop_strings == _ANY)).all(3)

    @staticmethod
    def _distinct(
        states: torch.Tensor, stacks: torch.Tensor, depths: torch.Tensor, valid: torch.Tensor
    ) -> torch.Tensor:
        """``valid`` without those configurations that occur before."""
        whole = torch.cat([states[..., None], depths[..., None], stacks], 2)
        equal = (whole[:, :, None, :] == whole[:, None, :, :]).all(3)
        earlier = torch.ones_like(equal).tril(-1)
        return valid & ~(equal & earlier & valid[:, None, :]).any(2)

    def _compact(
        self, configurations: tuple[torch.Tensor, torch.Tensor, torch.Tensor], kept: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The kept configurations, in the first of N places."""
        places = self.configurations
        if bool((kept.sum(1) > places).any()):
            raise LimitError(
                f"a step needs more than {places} configurations",
                "configurations",
                "give room for more configurations",
            )
        missing = places - kept.shape[1]
        if missing > 0:
            configurations = (
                torch.nn.functional.pad(configurations[0], (0, missing)),
                torch.nn.functional.pad(configurations[1], (0, 0, 0, missing)),
                torch.nn.functional.pad(configurations[2], (0, missing)),
            )
            kept = torch.nn.functional.pad(kept, (0, missing))
        order = torch.argsort(kept.to(torch.int8), dim=1, descending=True, stable=True)[:, :places]
        used = kept.gather(1, order)
        states = torch.where(used, configurations[0].gather(1, order), len(self.choices) - 1)
        stacks = configurations[1].gather(1, order[..., None].expand(-1, -1, self.depth))
        depths = torch.where(used, configurations[2].gather(1, order), 0)
        return states, torch.where(used[..., None], stacks, 0), depths


def tensor_machine(
    constraint: Constraint,
    device: torch.device | str = "cpu",
    configurations: int = 8,
    depth: int = 64,
) -> TensorMachine:
    """The tensors of a constraint of ``compile(…, "composed")``.

    Cost:   (Q + 1)·K numbers, and time linear in the edges.
    Raises: WorkbenchError for another constraint, and for a stack machine over a vocabulary that
            lacks bytes: its masks depend on the whole stack.
    """
    if isinstance(constraint, ComposedFsa):
        fsa = constraint.fsa
        rows = [fsa.rows.row(state) for state in range(len(fsa))]
        moves: dict[int, tuple[TokenPdaMove, ...]] = {
            state: (TokenPdaMove(state, (), ()),) for state in range(len(fsa))
        }
        accepts_empty = constraint.is_final(constraint.initial)
        initial, finals = fsa.initial, np.flatnonzero(fsa.finals).tolist()
        room = (1, 1)
    elif isinstance(constraint, ComposedPda) and constraint.is_complete:
        pda = constraint.pda
        rows = [pda.row(state) for state in range(pda.states)]
        accepts_empty = constraint.is_final(constraint.initial)
        moves, initial, finals = pda.choices, pda.initial, sorted(pda.finals)
        room = (configurations, depth)
    else:
        raise WorkbenchError(
            "expected a constraint of method 'composed' whose vocabulary has all bytes it uses",
            "compile the grammar with method='composed', over a vocabulary with single bytes",
        )
    numbers = {choice: number for number, choice in enumerate(moves, start=1)}
    edges = [(ids, _number(choices, numbers)) for ids, choices in rows]
    arrays = _arrays(edges, len(constraint.vocabulary), list(moves.values()))
    last = np.zeros(len(rows) + 1, np.bool_)
    last[finals] = True
    arrays |= {"finals": last, "ends": np.array(sorted(constraint.vocabulary.ends), np.int64)}
    tensors = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    return TensorMachine(
        **tensors,
        initial=initial,
        accepts_empty=accepts_empty,
        configurations=room[0],
        depth=room[1],
    )


_Array = npt.NDArray[np.int64]


def _number(choices: npt.NDArray[np.int32], numbers: dict[int, int]) -> _Array:
    return np.array([numbers[choice] for choice in choices.tolist()], np.int64)


def _arrays(
    rows: list[tuple[npt.NDArray[np.int32], _Array]],
    size: int,
    moves: list[tuple[TokenPdaMove, ...]],
) -> dict[str, npt.NDArray[np.int64] | npt.NDArray[np.bool_]]:
    """The tables of ``TensorMachine`` from the edges of each state; choice 0 has no move."""
    columns, first = _columns(rows, size, len(moves) + 1)
    table = np.zeros((len(rows) + 1, len(first)), np.int64)
    for state, (ids, choices) in enumerate(rows):
        table[state, columns[ids]] = choices
    pop_strings: dict[tuple[int, ...], int] = {(): 0}
    every = [move for choice in moves for move in choice]
    pops = [0, *(pop_strings.setdefault(move.pops, len(pop_strings)) for move in every)]
    width = max((len(choice) for choice in moves), default=1)
    counter = iter(range(1, len(every) + 1))
    of_choice = [[0] * width] + [
        _pad([next(counter) for _ in choice], width, 0) for choice in moves
    ]
    most_pops = max(1, *map(len, pop_strings))
    most_pushes = max(1, *(len(move.pushes) for move in every))
    return {
        "columns": columns,
        "choices": table,
        "choice_moves": np.array(of_choice, np.int64),
        "targets": np.array([-1, *(move.target for move in every)], np.int64),
        "pops": np.array(pops, np.int64),
        "pushed": np.array(
            [_pad(pushes, most_pushes, 0) for pushes in ((), *(m.pushes for m in every))],
            np.int64,
        ),
        "push_counts": np.array([0, *(len(move.pushes) for move in every)], np.int64),
        "pop_strings": np.array(
            [_pad(string, most_pops, _ANY) for string in pop_strings], np.int64
        ),
        "pop_counts": np.array([len(string) for string in pop_strings], np.int64),
    }


def _columns(
    rows: list[tuple[npt.NDArray[np.int32], _Array]], size: int, choices: int
) -> tuple[_Array, _Array]:
    """The column of each token, and the first token of each column.

    Tokens share a column if every state has the same choice for them: each row splits the columns
    of its tokens (partition refinement).
    """
    columns, used = np.zeros(size, np.int64), 1
    for ids, row in rows:
        _, parts = np.unique(columns[ids] * choices + row, return_inverse=True)
        columns[ids] = used + parts
        used += int(parts.max(initial=-1)) + 1
    _, first, columns = np.unique(columns, return_index=True, return_inverse=True)
    return columns.astype(np.int64), first


def _pad(values: Iterable[int], width: int, filler: TokenId) -> list[int]:
    row = list(values)
    return row + [filler] * (width - len(row))
