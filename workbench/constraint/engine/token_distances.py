"""Token distances: the fewest tokens from a state to an accepted text, and after each next token.

The distance of a state is exact for every vocabulary: it counts tokens, which may end several rules
at once. ``FsaDistances`` is a breadth-first search backwards over the composed automaton.
``StackDistances`` computes summaries of a push-down system whose edges are tokens.

A summary maps a state to *exits*: what remains of a token's move when the rule of that state has
ended, which is to pop symbols of the unknown stack below, push others and continue in a state.
The exits of a state do not depend on the stack, so a stack is evaluated symbol by symbol from the
bottom: the distance from each exit above a stack follows from those above the stack without its
top symbol, and is cached with the interned stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State
from workbench.base.limits import Limits
from workbench.constraint.engine.automaton import StackConstraint
from workbench.constraint.engine.compose import TokenFsa
from workbench.constraint.engine.compose_pda import END, Composition, Relative, RelativeMachine
from workbench.constraint.engine.trie_walk import Ints
from workbench.pushdown.buffers import PARENT, SYMBOL
from workbench.pushdown.network import Network
from workbench.pushdown.runner import EMPTY, Configuration, StackNode

#: The distance where no tokens lead to an accepted text. Sums of it stay in the range of int32.
FAR = 1 << 28


class AfterTokens(NamedTuple):
    """The distance after each token that may come next."""

    #: Token ids, (n,) int32; without end tokens. A token may occur more than once.
    ids: Ints
    #: The distance after each, (n,) int32; ``FAR`` where nothing is accepted.
    distances: Ints


class TokenDistances(Protocol):
    """The fewest tokens, without the end token, from states of a constraint to an accepted text."""

    def distance(self, state: State) -> int:
        """The distance of a state; 0 if it is final, ``FAR`` if no accepted text follows."""
        ...

    def farthest(self, state: State) -> int:
        """An upper bound of the finite distances after the tokens that may come next."""
        ...

    def after(self, state: State) -> AfterTokens:
        """The distance after each next token."""
        ...


class FsaDistances:
    """The distances of a regular language: breadth-first search from the final states.

    Cost: the edges between distinct pairs of states, once.
    """

    def __init__(self, fsa: TokenFsa) -> None:
        self._fsa = fsa
        targets = [fsa.rows.targets(state).tolist() for state in range(len(fsa))]
        sources: list[list[State]] = [[] for _ in targets]
        for source, row in enumerate(targets):
            for target in row:
                sources[target].append(source)
        self._distance = np.full(len(fsa), FAR, np.int32)
        level = np.flatnonzero(fsa.finals).tolist()
        steps = 0
        while level:
            self._distance[level] = steps
            steps += 1
            before = dict.fromkeys(source for state in level for source in sources[state])
            level = [source for source in before if self._distance[source] == FAR]
        self._farthest = [_largest(self._distance[row]) for row in targets]

    def distance(self, state: State) -> int:
        return int(self._distance[state])

    def farthest(self, state: State) -> int:
        return self._farthest[state]

    def after(self, state: State) -> AfterTokens:
        ids, targets = self._fsa.rows.row(state)
        return AfterTokens(ids, self._distance[targets])


def _largest(distances: Ints) -> int:
    """The largest finite distance, or 0."""
    return max(distances[distances < FAR].tolist(), default=0)


#: In a list of popped symbols: any number of return states that are final, as the stack has them.
_ANY_FINALS = -2

#: An exit is a relative configuration with symbols to pop; without any it is a move.
_Move = Relative

#: The exits of a move by their numbers, each with the fewest tokens to it.
_Exits = dict[int, int]

#: Exit 0, where the text may end: pop final return states to the bottom.
_TEXT_END: _Move = (END, (_ANY_FINALS, END), ())


class _Returning(RelativeMachine):
    """A relative machine whose configurations pop any number of final return states at once.

    A token that ends a rule may end any number of rules around it. The symbol ``_ANY_FINALS``
    stands for all these pops, so the machine is finite for every grammar: on a stack, each pop of a
    final return state is possible, and then a state that continues, or the bottom, is popped.
    """

    def __init__(self, network: Network, limits: Limits) -> None:
        super().__init__(network, limits)
        self._exits: dict[int, tuple[tuple[State, ...], bool]] = {}

    def _settle(
        self, state: State, popped: tuple[State, ...], pushed: tuple[State, ...]
    ) -> Iterator[Relative]:
        if self.continues[state]:
            yield state, popped, pushed
        if not self.finals[state]:
            return
        if pushed:
            yield from self._settle(pushed[-1], popped, pushed[:-1])
            return
        returns, ends_text = self._returns(int(self.network.owner[state]))
        for return_state in returns:
            yield return_state, (*popped, _ANY_FINALS, return_state), ()
        if ends_text:
            yield END, (*popped, _ANY_FINALS, END), ()

    def _returns(self, rule: int) -> tuple[tuple[State, ...], bool]:
        """The states that continue after a rule and rules around it end; whether the text may."""
        known = self._exits.get(rule)
        if known is None:
            network, ended, found = self.network, [rule], dict[State, None]()
            for one in ended:  # the list grows during the loop
                for state in network.returns[one]:
                    found[state] = None
                    owner = int(network.owner[state])
                    if self.finals[state] and owner not in ended:
                        ended.append(owner)
            continuing = tuple(state for state in found if self.continues[state])
            ends_text = not network.ends_text.isdisjoint(ended)
            known = self._exits[rule] = continuing, ends_text
        return known


class StackDistances:
    """The distances of a context-free language, for the situations of a ``StackConstraint``.

    Cost:   the closed form of the network (``compose_pda``) with fewer edges, and the summaries of
            the states that tokens reach; then a vector of exits for each stack.
    Raises: LimitError past the limits of the closed form.
    Source: summaries of weighted push-down systems (Reps, Schwoon, Jha & Melski 2005) with the
            weights (min, +), over the token edges of Koo et al. 2024, Algorithm 3.
    """

    def __init__(self, constraint: StackConstraint, limits: Limits) -> None:
        self._runner = constraint.runner
        self._network = network = constraint.runner.network
        self._limits = limits
        self._machine = _Returning(network, limits)
        self._composition = Composition(self._machine, constraint.vocabulary, limits)
        self._pops_freely = frozenset(
            state for states in network.returns for state in states if network.finals[state]
        )
        #: The exits of each move that pops nothing; those of a state are ``state, (), ()``.
        self._summaries: dict[_Move, _Exits] = {}
        self._dependents: dict[_Move, set[_Move]] = {}
        self._waiting: dict[_Move, None] = {}
        #: The numbers of the exits, and for each the symbol to pop with the move after that.
        self._numbers: dict[_Move, int] = {_TEXT_END: 0}
        self._after_pop: list[tuple[State, _Move | None]] = [(END, None)]
        self._vectors: dict[StackNode, Ints] = {}
        self._popping: dict[State, _Costs] = {}
        self._leaving: dict[State, tuple[_Costs, Ints]] = {}
        self._require(network.initial)

    # -- summaries -----------------------------------------------------------------------------

    def _require(self, state: State) -> None:
        """Compute the summary of a state, and of all that its tokens lead to."""
        if (state, (), ()) in self._summaries:
            return
        self._machine.clock = clock = self._limits.clock()
        for each in self._composition.explore(state):
            self._exits((each, (), ()))
        while self._waiting:
            clock.check("counting the tokens to the end takes too long")
            del self._waiting[move := next(iter(self._waiting))]
            if self._lower(move):
                self._waiting.update(dict.fromkeys(self._dependents.get(move, ())))
        # vectors and costs refer to the exits and summaries before
        for table in (self._vectors, self._popping, self._leaving):
            table.clear()

    def _exits(self, move: _Move, asking: _Move | None = None) -> _Exits:
        """The exits of a move as known now; ``asking`` is the move whose summary uses them."""
        target, popped, pushed = move
        if popped:
            number = self._numbers.get(move)
            if number is None:
                number = self._numbers[move] = len(self._numbers)
                after = None if popped[1] == END else (target, popped[2:], pushed)
                self._after_pop.append((popped[1], after))
                if after is not None:
                    self._exits(after)
            return {number: 0}
        if move not in self._summaries:
            ends = target != END and not pushed and self._network.finals[target]
            self._summaries[move] = {0: 0} if ends else {}
            self._waiting[move] = None
        if asking is not None:
            self._dependents.setdefault(move, set()).add(asking)
        return self._summaries[move]

    def _lower(self, move: _Move) -> bool:
        """Lower the costs in the summary of a move; whether one was lowered."""
        target, _, pushed = move
        if pushed:
            found = self._exits((target, (), ()), move)
            for symbol in reversed(pushed):
                found = self._through(found, symbol, move)
        else:
            found = {}
            for token_move in self._token_moves(target):
                _lower(found, self._exits(token_move, move), 1)
        summary = self._summaries[move]
        lower = {x: cost for x, cost in found.items() if cost < summary.get(x, FAR)}
        summary.update(lower)
        return bool(lower)

    def _token_moves(self, state: State) -> Iterable[_Move]:
        """The distinct moves of the tokens of a state."""
        sets, choices = self._machine.configurations, self._composition.visited[state]
        return dict.fromkeys(move for choice in choices for move in sets[choice])

    def _through(self, exits: _Exits, symbol: State, asking: _Move | None = None) -> _Exits:
        """The exits after a symbol below is popped: by itself, or with other final states."""
        found = dict(exits) if symbol in self._pops_freely else {}
        for number, cost in exits.items():
            wanted, after = self._after_pop[number]
            if wanted == symbol and after is not None:
                _lower(found, self._exits(after, asking), cost)
        return found

    # -- stacks --------------------------------------------------------------------------------

    def _costs(self, exits: Iterable[_Exits]) -> _Costs:
        """Rows of exits as arrays."""
        rows = list(exits)
        numbers = [number for row in rows for number in row]
        costs = [cost for row in rows for cost in row.values()]
        first = np.cumsum([0, *(len(row) for row in rows)])
        return _Costs(np.array(numbers, np.int64), np.array(costs, np.int32), first)

    def _popping_costs(self, symbol: State) -> _Costs:
        """For each exit, the exits that follow it when the symbol is popped."""
        known = self._popping.get(symbol)
        if known is None:
            rows = [self._through({number: 0}, symbol) for number in range(len(self._after_pop))]
            known = self._popping[symbol] = self._costs(rows)
        return known

    def _vector(self, node: StackNode) -> Ints:
        """The distance from each exit above a stack, (exits,) int32."""
        path = []
        while node not in self._vectors and node != EMPTY:
            path.append(node)
            node = int(self._runner.room.nodes[node, PARENT])
        if node == EMPTY and EMPTY not in self._vectors:
            self._vectors[EMPTY] = np.full(len(self._numbers), FAR, np.int32)
            self._vectors[EMPTY][0] = 0
        vector = self._vectors[node]
        for above in reversed(path):
            symbol = int(self._runner.room.nodes[above, SYMBOL])
            vector = self._vectors[above] = self._popping_costs(symbol).least(vector)
        if len(self._vectors) > self._limits.rows:
            self._vectors = {EMPTY: self._vectors[EMPTY]}
        return vector

    def _leaves(self, state: State) -> tuple[_Costs, Ints]:
        """The exits of each choice of a state, and the numbers of the choices, sorted."""
        known = self._leaving.get(state)
        if known is None:
            choices = sorted(self._composition.visited[state])
            sets = self._machine.configurations
            rows = []
            for choice in choices:
                rows.append(row := dict[int, int]())
                for move in sets[choice]:
                    _lower(row, self._exits(move), 0)
            known = self._leaving[state] = self._costs(rows), np.array(choices, np.int32)
        return known

    # -- situations ----------------------------------------------------------------------------

    def _configurations(self, state: State) -> tuple[Configuration, ...]:
        found = self._runner.configurations(state)
        for at, _ in found:
            self._require(at)
        return found

    def distance(self, state: State) -> int:
        least = FAR
        for at, node in self._configurations(state):
            least = min(
                least, int(self._costs([self._summaries[at, (), ()]]).least(self._vector(node))[0])
            )
        return least

    def farthest(self, state: State) -> int:
        return max(
            (
                _largest(self._leaves(at)[0].least(self._vector(node)))
                for at, node in self._configurations(state)
            ),
            default=0,
        )

    def after(self, state: State) -> AfterTokens:
        rows = []
        for at, node in self._configurations(state):
            costs, choices = self._leaves(at)
            distances = costs.least(self._vector(node))
            ids, targets = self._composition.row(at)
            rows.append((ids, distances[np.searchsorted(choices, targets)]))
        ids, distances = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return AfterTokens(ids, distances)


def _lower(found: _Exits, exits: _Exits, more: int) -> None:
    """Lower the costs of exits to those of a summary with a cost to add."""
    for number, cost in exits.items():
        if cost + more < found.get(number, FAR):
            found[number] = cost + more


class _Costs(NamedTuple):
    """Rows of exits with costs: row r is the slice ``first[r]:first[r + 1]``."""

    exits: npt.NDArray[np.int64]
    costs: Ints
    first: npt.NDArray[np.int64]

    def least(self, vector: Ints) -> Ints:
        """For each row the least sum of a cost and the distance from its exit, (rows,) int32."""
        sums = np.append(np.minimum(vector[self.exits] + self.costs, FAR), FAR)
        found = np.minimum.reduceat(sums, self.first[:-1]).astype(np.int32)
        found[self.first[1:] == self.first[:-1]] = FAR
        return found
