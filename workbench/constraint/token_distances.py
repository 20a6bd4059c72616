"""Token distances: the fewest tokens from a state to an accepted text, and after each next token.

The distance of a state is exact for every vocabulary: it counts tokens, and one of them may end
several rules. ``GraphDistances`` is a breadth-first search backwards over the edges of finitely
many states, and ``explored`` finds these by visiting them. For the states of a stack see
``engine.stack_distances``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits, check_time_budget
from workbench.constraint.protocol import Constraint

Ints = npt.NDArray[np.int32]

#: The distance where no tokens lead to an accepted text. Sums of it stay in the range of int32.
FAR = 1 << 28


#: The hint where the distances pass a limit.
TOO_LONG = "simplify the grammar, allow more with Limits, or generate without the budget"


class AfterTokens(NamedTuple):
    """The distance after each token that may come next."""

    #: Token ids, (n,) int32; without end tokens. A token may occur more than once.
    ids: Ints
    #: The distance after each, (n,) int32; ``FAR`` where nothing is accepted.
    distances: Ints


class TokenDistances(Protocol):
    """The fewest tokens, without the end token, from states of a constraint to an accepted text."""

    def distance(self, state: Any, /) -> int:  # noqa: ANN401
        """The distance of a state; 0 if it is final, ``FAR`` if no accepted text follows."""
        ...

    def farthest(self, state: Any, /) -> int:  # noqa: ANN401
        """An upper bound of the finite distances after the tokens that may come next."""
        ...

    def after(self, state: Any, /) -> AfterTokens:  # noqa: ANN401
        """The distance after each next token."""
        ...


class EdgeRows(Protocol):
    """The edges of an automaton over tokens, a row for each state."""

    def row(self, state: int) -> tuple[Ints, Ints]:
        """Token ids without end tokens, and the target state of each."""
        ...

    def targets(self, state: int) -> Ints:
        """The distinct targets."""
        ...


class TokenGraph(Protocol):
    """What is read of an automaton over tokens (``compose.TokenFsa``) to count tokens."""

    @property
    def finals(self) -> npt.NDArray[np.bool_]: ...

    @property
    def rows(self) -> EdgeRows: ...

    def __len__(self) -> int: ...


class GraphDistances:
    """The distances of finitely many states: breadth-first search backwards from the final ones.

    ``row``      (number of a state) → token ids without end tokens, and the number of the target
                 of each. A row may be computed again at each call.
    ``targets``  the numbers of the distinct targets of each state.
    ``numbers``  the number of each state; None where states are numbers.

    Cost: the edges between distinct pairs of states, once.
    """

    def __init__(
        self,
        finals: npt.NDArray[np.bool_],
        targets: Sequence[Ints],
        row: Callable[[int], tuple[Ints, Ints]],
        numbers: Callable[[Hashable], int] | None = None,
    ) -> None:
        self._row = row
        self._numbers = numbers
        sources: list[list[int]] = [[] for _ in targets]
        for source, row_targets in enumerate(targets):
            check_time_budget()
            for target in row_targets.tolist():
                sources[target].append(source)
        self._distance = np.full(len(finals), FAR, np.int32)
        level = np.flatnonzero(finals).tolist()
        steps = 0
        while level:
            check_time_budget()
            self._distance[level] = steps
            steps += 1
            before = dict.fromkeys(source for state in level for source in sources[state])
            level = [source for source in before if self._distance[source] == FAR]
        self._farthest = [largest_finite(self._distance[each]) for each in targets]

    @classmethod
    def of(cls, fsa: TokenGraph) -> GraphDistances:
        """The distances of a composed automaton."""
        targets = [fsa.rows.targets(state) for state in range(len(fsa))]
        return cls(fsa.finals, targets, fsa.rows.row)

    def _number(self, state: Hashable) -> int:
        return self._numbers(state) if self._numbers is not None else state  # type: ignore[return-value]

    def distance(self, state: Hashable) -> int:
        return int(self._distance[self._number(state)])

    def farthest(self, state: Hashable) -> int:
        return self._farthest[self._number(state)]

    def after(self, state: Hashable) -> AfterTokens:
        ids, targets = self._row(self._number(state))
        return AfterTokens(ids, self._distance[targets])


def largest_finite(distances: Ints) -> int:
    """The largest finite distance, or 0."""
    return max(distances[distances < FAR].tolist(), default=0)


def explored(constraint: Constraint, limits: Limits) -> GraphDistances:
    """The distances of a constraint of which only masks and steps are known.

    Raises: WorkbenchError past a limit.
    """
    clock, ends = limits.clock(), constraint.vocabulary.ends
    numbers: dict[Hashable, int] = {constraint.initial: 0}
    rows, edges, finals = list[tuple[Ints, Ints]](), 0, list[bool]()
    waiting = deque([constraint.initial])
    try:
        while waiting:
            state = waiting.popleft()
            ids = constraint.mask(state).without(ends).ids.astype(np.int32)
            edges += len(ids)
            limits.check("token_edges", edges)
            targets = []
            for token_id in ids.tolist():
                clock.check()
                target = constraint.advance(state, token_id)
                number = numbers.setdefault(target, len(numbers))
                if number == len(rows) + len(waiting) + 1:
                    limits.check("states", number)
                    waiting.append(target)
                targets.append(number)
            rows.append((ids, np.array(targets, np.int32)))
            finals.append(constraint.is_final(state))
    except LimitError:
        raise WorkbenchError(
            "this method has too many states to count the tokens to the end of a text",
            "choose the method 'automaton', or a grammar without recursion and long repetitions",
        ) from None
    distinct = [np.unique(targets) for _, targets in rows]
    return GraphDistances(
        np.array(finals, np.bool_), distinct, rows.__getitem__, numbers.__getitem__
    )
