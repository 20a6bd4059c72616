"""Token distances over a stack: the fewest tokens from a configuration to an accepted text.

``StackDistances`` computes summaries of a push-down system whose edges are tokens. A summary maps a
state to *exits*: what remains of a token's move when the rule of that state has ended, which is to
pop symbols of the unknown stack below, push others and continue in a state. The exits of a state do
not depend on the stack, so a stack is evaluated symbol by symbol from the bottom: the distance from
each exit above a stack follows from those above the stack without its top symbol, and is cached
with the interned stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.locks import WorkLock
from workbench.constraint.engine.compose_pda import END, Composition, Relative, RelativeMachine
from workbench.constraint.engine.trie_walk import Ints
from workbench.constraint.token_distances import FAR, TOO_LONG, AfterTokens, largest_finite
from workbench.pushdown.machine_arrays import PARENT, SYMBOL
from workbench.pushdown.network import Network
from workbench.pushdown.runner import EMPTY, Configuration, Runner, StackNode
from workbench.vocabulary.vocabulary import Vocabulary

#: In a list of popped symbols: any number of return states that are final, as the stack has them.
_ANY_FINALS = -2

#: An exit is a relative configuration with symbols to pop; without any it is a move.
_Move = Relative

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

    def _popping(
        self, rule: int, popped: tuple[State, ...], targets: set[Relative]
    ) -> list[Relative]:
        returns, ends_text = self._returns(rule)
        targets.update((state, (*popped, _ANY_FINALS, state), ()) for state in returns)
        if ends_text:
            targets.add((END, (*popped, _ANY_FINALS, END), ()))
        return []

    def _returns(self, rule: int) -> tuple[tuple[State, ...], bool]:
        """The states that continue after a rule and rules around it end; whether the text may."""
        cached = self._exits.get(rule)
        if cached is None:
            network, ended, states = self.network, [rule], dict[State, None]()
            for inner_rule in ended:  # the list grows during the loop
                for state in network.returns[inner_rule]:
                    states[state] = None
                    owner = int(network.owner[state])
                    if self.finals[state] and owner not in ended:
                        ended.append(owner)
            continuing = tuple(state for state in states if self.continues[state])
            ends_text = not network.ends_text.isdisjoint(ended)
            cached = self._exits[rule] = continuing, ends_text
        return cached


class _Exits:
    """The numbers of moves and exits, and which exits pop a symbol.

    An exit pops one symbol (and final return states above it). What it does then is a move, whose
    row of the table of summaries has the exits after it, or another exit.
    """

    def __init__(self) -> None:
        self.moves: dict[_Move, int] = {}
        self.exits: dict[_Move, int] = {_TEXT_END: 0}
        self._popping: dict[State, tuple[list[int], list[int], list[int], list[int]]] = {}
        self._arrays: dict[State, _Popping] = {}

    def add(self, move: _Move) -> None:
        """Number a move or an exit, and what follows the exit."""
        target, popped, pushed = move
        if not popped:
            self.moves.setdefault(move, len(self.moves))
            return
        if move in self.exits:
            return
        number = self.exits[move] = len(self.exits)
        if popped[1] == END:
            return
        self._arrays.pop(popped[1], None)
        after = target, popped[2:], pushed
        self.add(after)
        first, moves, second, exits = self._popping.setdefault(popped[1], ([], [], [], []))
        if popped[2:]:
            second.append(number)
            exits.append(self.exits[after])
        else:
            first.append(number)
            moves.append(self.moves[after])

    def popping(self, symbol: State) -> _Popping:
        """The exits that pop a symbol."""
        cached = self._arrays.get(symbol)
        if cached is None:
            lists = self._popping.get(symbol, ([], [], [], []))
            cached = _Popping(*(np.array(each, np.int32) for each in lists))
            self._arrays[symbol] = cached
        return cached


class _Popping(NamedTuple):
    """The exits that pop one symbol: those with a move after it, and those with another exit."""

    to_moves: Ints
    moves: Ints
    to_exits: Ints
    exits: Ints


class StackDistances:
    """The distances of a context-free language, for the situations of a ``StackConstraint``.

    ``configurations``  (situation) → its configurations, and the runner that knows their stacks.

    Safe to share between threads.

    Cost:   the closed form of the network (``compose_pda``) with fewer edges, and the summaries of
            the states that tokens reach, a table of (moves, exits); then a vector of exits for each
            stack. With dictionaries instead of rows of a table, DOMINO's C took four times as long.
    Raises: LimitError past the limits of the closed form, and for a larger table.
    Source: summaries of weighted push-down systems (Reps, Schwoon, Jha & Melski 2005) with the
            weights (min, +), over the token edges of Koo et al. 2024, Algorithm 3.
    """

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        configurations: Callable[[State], tuple[Runner, tuple[Configuration, ...]]],
        limits: Limits,
    ) -> None:
        self._configurations_of = configurations
        self._network = network
        self._limits = limits
        self._machine = _Returning(network, limits)
        self._composition = Composition(self._machine, vocabulary, limits)
        self._pops_freely = frozenset(
            state for state in network.return_states if network.finals[state]
        )
        self._numbers = _Exits()
        #: The fewest tokens from each move to each of its exits, (moves, exits).
        self._table = np.zeros((0, 0), np.int32)
        #: The distances from the exits above each stack of ``_runner``.
        self._vectors: dict[StackNode, Ints] = {}
        self._runner: Runner | None = None
        self._leaving: dict[State, _Leaving] = {}
        #: The moves and exits of the tokens of a state, while summaries are computed.
        self._leading: dict[State, tuple[Ints, Ints]] = {}
        self._lock = WorkLock()
        #: The error that stopped a computation of summaries: those known then may be too high.
        self._error: WorkbenchError | None = None
        self._require(network.initial)

    # -- summaries -----------------------------------------------------------------------------

    def _require(self, state: State) -> None:
        """Compute the summary of a state, and of all that its tokens lead to."""
        if self._error is not None:
            raise self._error
        if (state, (), ()) in self._numbers.moves:
            return
        try:
            self._summarize(state)
        except WorkbenchError as error:
            self._error = error
            raise

    def _summarize(self, state: State) -> None:
        """Number the moves from a state, and lower their rows until none changes."""
        self._machine.clock = clock = self._limits.clock()
        moves, before = self._numbers.moves, len(self._numbers.moves)
        for each in self._composition.explore(state):
            self._numbers.add((each, (), ()))
        dependents: dict[int, set[int]] = {}
        waiting = dict.fromkeys(self._list_followers(before, dependents))
        self._enlarge(before)
        listed = list(moves)
        while waiting:
            clock.check(TOO_LONG)
            del waiting[number := next(iter(waiting))]
            lower = self._lower(listed[number])
            row = self._table[number]
            if (lower < row).any():
                np.minimum(row, lower, out=row)
                waiting.update(dict.fromkeys(dependents.get(number, ())))
        # these refer to the moves and exits before
        self._vectors.clear()
        self._leaving.clear()
        self._leading.clear()

    def _list_followers(self, before: int, dependents: dict[int, set[int]]) -> Iterator[int]:
        """Number what follows the moves from number ``before`` on, and yield their numbers.

        ``dependents`` gets, for each move, the moves whose exits depend on its exits.
        """
        moves, listed, pushing = self._numbers.moves, list(self._numbers.moves), list[_Move]()
        index = before
        while index < len(listed):
            target, _, pushed = listed[index]
            needed: Iterable[_Move] = [(target, (), ())] if pushed else self._token_moves(target)
            for move in needed:
                self._numbers.add(move)
                if move in moves:
                    dependents.setdefault(moves[move], set()).add(index)
            if pushed:
                pushing.append(listed[index])
            else:
                self._leading[target] = self._number_moves(needed)
            listed += itertools.islice(moves, len(listed), None)
            yield index
            index += 1
        for move in pushing:
            for symbol in move[2]:
                for needed_move in self._numbers.popping(symbol).moves.tolist():
                    dependents.setdefault(needed_move, set()).add(moves[move])

    def _enlarge(self, before: int) -> None:
        """Give the table rows and columns for new moves and exits."""
        rows, columns = len(self._numbers.moves), len(self._numbers.exits)
        self._limits.check("megabytes", rows * columns * 4 // 1_000_000, TOO_LONG)
        table = np.full((rows, columns), FAR, np.int32)
        table[: self._table.shape[0], : self._table.shape[1]] = self._table
        for target, _, pushed in itertools.islice(self._numbers.moves, before, None):
            if target != END and not pushed and self._network.finals[target]:
                table[self._numbers.moves[target, (), ()], 0] = 0
        self._table = table

    def _lower(self, move: _Move) -> Ints:
        """The exits of a move by its last tokens, as known now."""
        target, _, pushed = move
        if pushed:
            distances: Ints = self._table[self._numbers.moves[target, (), ()]]
            for symbol in reversed(pushed):
                distances = self._through(distances, symbol)
            return distances
        distances = np.full(self._table.shape[1], FAR, np.int32)
        moves, exits = self._leading[target]
        if len(moves):
            np.minimum(self._table[moves].min(axis=0) + 1, FAR, out=distances)
        distances[exits] = 1
        return distances

    def _number_moves(self, leading: Iterable[_Move]) -> tuple[Ints, Ints]:
        """The numbers of moves, and those of exits."""
        numbers, listed = self._numbers, list(leading)
        moves = [numbers.moves[each] for each in listed if not each[1]]
        exits = [numbers.exits[each] for each in listed if each[1]]
        return np.array(moves, np.int32), np.array(exits, np.int32)

    def _token_moves(self, state: State) -> Iterable[_Move]:
        """The distinct moves of the tokens of a state."""
        sets, choices = self._machine.configurations, self._composition.visited[state]
        return dict.fromkeys(move for choice in choices for move in sets[choice])

    def _through(self, row: Ints, symbol: State) -> Ints:
        """The exits after a symbol below is popped: by itself, or with other final states."""
        popping = self._numbers.popping(symbol)
        result = row.copy() if symbol in self._pops_freely else np.full_like(row, FAR)
        costs = row[popping.to_moves]
        near = costs < FAR
        if near.any():
            sums = self._table[popping.moves[near]] + costs[near, np.newaxis]
            np.minimum(result, sums.min(axis=0), out=result)
        np.minimum.at(result, popping.exits, row[popping.to_exits])
        return result

    # -- stacks --------------------------------------------------------------------------------

    def _vector(self, node: StackNode) -> Ints:
        """The distance from each exit above a stack, (exits,) int32."""
        if len(self._vectors) > self._limits.rows:
            self._vectors.clear()
        assert self._runner is not None, "the stacks are those of a runner"
        nodes, path = self._runner.arrays.nodes, []
        while node not in self._vectors and node != EMPTY:
            path.append(node)
            node = int(nodes[node, PARENT])
        if node == EMPTY and EMPTY not in self._vectors:
            self._vectors[EMPTY] = np.full(self._table.shape[1], FAR, np.int32)
            self._vectors[EMPTY][0] = 0
        vector = self._vectors[node]
        for above in reversed(path):
            symbol = int(nodes[above, SYMBOL])
            vector = self._vectors[above] = self._above(symbol, vector)
        return vector

    def _above(self, symbol: State, vector: Ints) -> Ints:
        """The distance from each exit above a symbol, from those above the stack below it."""
        popping = self._numbers.popping(symbol)
        result = vector.copy() if symbol in self._pops_freely else np.full_like(vector, FAR)
        for exits, distances in (
            (popping.to_moves, self._nearest(popping.moves, vector)),
            (popping.to_exits, vector[popping.exits]),
        ):
            result[exits] = np.minimum(result[exits], distances)
        return result

    def _nearest(self, moves: Ints, vector: Ints) -> Ints:
        """The distance from each move, from those of the exits."""
        distances: Ints = np.minimum((self._table[moves] + vector).min(axis=1), FAR)
        return distances

    def _leaves(self, state: State) -> _Leaving:
        """What the choices of a state lead to."""
        cached = self._leaving.get(state)
        if cached is None:
            choices = sorted(self._composition.visited[state])
            sets, numbers = self._machine.configurations, self._numbers
            leading = dict.fromkeys(m for choice in choices for m in sets[choice] if not m[1])
            number_of = {move: len(numbers.exits) + i for i, move in enumerate(leading)}
            ends = [
                [numbers.exits[move] if move[1] else number_of[move] for move in sets[choice]]
                for choice in choices
            ]
            cached = self._leaving[state] = _Leaving(
                np.array(choices, np.int32),
                np.array([numbers.moves[move] for move in leading], np.int32),
                np.array([end for each in ends for end in each], np.int64),
                np.cumsum([0, *(len(each) for each in ends)])[:-1],
            )
        return cached

    def _after_choices(self, state: State, node: StackNode) -> tuple[Ints, Ints]:
        """The choices of a state, sorted, and the distance after each above a stack."""
        leaves, vector = self._leaves(state), self._vector(node)
        distances = np.concatenate([vector, self._nearest(leaves.moves, vector)])
        if not len(leaves.choices):
            return leaves.choices, leaves.choices
        return leaves.choices, np.minimum.reduceat(distances[leaves.ends], leaves.first)

    # -- situations ----------------------------------------------------------------------------

    def _configurations(self, state: State) -> tuple[Configuration, ...]:
        runner, configurations = self._configurations_of(state)
        if runner is not self._runner:
            self._runner = runner
            self._vectors.clear()
        for inner, _ in configurations:
            self._require(inner)
        return configurations

    def distance(self, state: State) -> int:
        with self._lock:
            configurations = self._configurations(state)
            rows = ((self._numbers.moves[inner, (), ()], node) for inner, node in configurations)
            sums = (int((self._table[row] + self._vector(node)).min()) for row, node in rows)
            return min(FAR, *sums)

    def farthest(self, state: State) -> int:
        with self._lock:
            configurations = self._configurations(state)
            return max(
                (largest_finite(self._after_choices(*each)[1]) for each in configurations),
                default=0,
            )

    def after(self, state: State) -> AfterTokens:
        rows = []
        with self._lock:
            for inner, node in self._configurations(state):
                choices, distances = self._after_choices(inner, node)
                ids, targets = self._composition.row(inner)
                rows.append((ids, distances[np.searchsorted(choices, targets)]))
        ids, distances = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return AfterTokens(ids, distances)


class _Leaving(NamedTuple):
    """The choices of a state, and the ends of each: exits, then the moves of ``moves``."""

    #: Sorted.
    choices: Ints
    moves: Ints
    #: The ends of choice c are the slice ``first[c]:first[c + 1]``.
    ends: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
