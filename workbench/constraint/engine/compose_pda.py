"""The closed form of Algorithm 3: a network composed with a vocabulary, all edges.

``RelativeMachine`` makes the network deterministic over bytes, on demand: each of its states is a
set of configurations relative to an unknown stack (state, symbols popped, symbols pushed). A token
leads to one such set, whose members are the edges of Algorithm 3. So the rows are walked and stored
like those of a DFA (``compose``), and ``compose_pda`` turns them into a ``TokenPda`` whose edges
read a token, pop and push.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, State, table_rows, used_bytes
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose import LoopingStates, RowWriter, is_looping
from workbench.constraint.engine.compose_edges import EdgeRows
from workbench.constraint.engine.compose_kernel import Steps
from workbench.constraint.engine.trie_walk import Ints
from workbench.pushdown.network import CALLS, Move, Network
from workbench.pushdown.textbook_pda import BOTTOM, dotted
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The most symbols that one token may pop.
_MAX_POPS = 32

#: The state after the end of the text, and the initial stack symbol, before they are numbered.
END = -1

#: A configuration relative to an unknown stack: state, popped symbols (in the order of the pops),
#: pushed symbols (the top last).
Relative = tuple[State, tuple[State, ...], tuple[State, ...]]


class RelativeMachine:
    """A deterministic machine whose states are sets of relative configurations, in order of visit.

    Shape: ``table`` (capacity, C) int32, ``UNKNOWN`` where no step has been computed.
    Raises: LimitError past ``limits.seconds``, ``limits.states`` and ``limits.configurations``,
            and where one token can pop an unlimited number of symbols.
    """

    def __init__(self, network: Network, limits: Limits, shown_pops: int | None = None) -> None:
        #: If tokens can pop without end: the most pops of the edges shown. None: raise instead.
        self._shown_pops = shown_pops
        self.network = network
        self._limits = limits
        self.clock = limits.clock()
        self._numbers: dict[tuple[Relative, ...], int] = {}
        self._rows = table_rows(network.table)
        self._columns = [int(network.classes[members[0]]) for members in network.class_bytes]
        self.continues: list[bool] = network.goes_on.tolist()
        self.finals: list[bool] = network.finals.tolist()
        self.configurations: list[tuple[Relative, ...]] = []
        self.classes = network.byte_classes[:]
        self.classes.flags.writeable = False
        self._set_table(np.full((256, len(self._columns)), UNKNOWN, np.int32))

    def _set_table(self, table: Ints) -> None:
        self.table, flat = table, table.reshape(-1)
        flat.flags.writeable = False
        #: The current machine, as the kernel reads it.
        self.steps = Steps(flat, table.shape[1], self.classes)

    def at(self, state: State) -> int:
        """The set of one configuration: a state of the network, nothing popped or pushed."""
        return self._number(((state, (), ()),))

    def grow(self, source: int, byte_class: int) -> int:
        """The target of a byte class, computed if it is ``UNKNOWN``."""
        existing = int(self.table[source, byte_class])
        if existing != UNKNOWN:
            return existing
        self.clock.check()
        targets: set[Relative] = set()
        ended: dict[Relative, None] = {}
        for state, popped, pushed in self.configurations[source]:
            for target, entered in self._moves(state, byte_class):
                after = target, popped, (*pushed, *entered)
                if self.finals[target]:
                    ended[after] = None
                else:
                    targets.add(after)
        if ended:
            self._settle(ended, targets)
        self._limits.check("configurations", len(targets))
        target = self._number(tuple(sorted(targets))) if targets else DEAD
        self.table[source, byte_class] = target
        return target

    def _number(self, targets: tuple[Relative, ...]) -> int:
        existing = self._numbers.setdefault(targets, len(self._numbers))
        if existing == len(self.configurations):
            self._limits.check("states", existing)
            self.configurations.append(targets)
            if existing == len(self.table):
                self._set_table(np.concatenate([self.table, np.full_like(self.table, UNKNOWN)]))
        return existing

    def _moves(self, state: State, byte_class: int) -> Iterator[Move]:
        """The targets of a byte class from a state of the network, with the symbols pushed."""
        if state == END:
            return
        column = self._columns[byte_class]
        for inner, pushed in self.network.openings(state):
            target = self._rows[inner][column]
            if target != DEAD:
                yield target, pushed

    def _settle(self, ended: dict[Relative, None], targets: set[Relative]) -> None:
        """Add configurations in final states, and all they reach by returning from rules."""
        waiting = list(ended)
        while waiting:
            after = state, popped, pushed = waiting.pop()
            if self.continues[state]:
                targets.add(after)
            if not self.finals[state]:
                continue
            self.clock.check()
            self._limits.check("configurations", len(targets))
            if pushed:
                returned = [(pushed[-1], popped, pushed[:-1])]
            else:
                returned = self._popping(int(self.network.owner[state]), popped, targets)
            waiting += [relative for relative in returned if relative not in ended]
            ended.update(dict.fromkeys(returned))

    def _popping(
        self, rule: int, popped: tuple[State, ...], targets: set[Relative]
    ) -> list[Relative]:
        """The configurations after a rule that pops a return state; adds those settled already."""
        if len(popped) == self._shown_pops:
            return []
        if len(popped) == _MAX_POPS:
            raise LimitError(
                "one token may end any number of rules here, so the closed form has no end",
                "token_edges",
                "the engine itself decodes this grammar; only its written-out machine is infinite",
            )
        results: list[Relative] = [
            (state, (*popped, state), ()) for state in self.network.returns[rule]
        ]
        if rule in self.network.ends_text:
            targets.add((END, (*popped, END), ()))
        return results


class TokenPdaMove(NamedTuple):
    """The target of a token: the state, and the symbols popped and pushed."""

    target: State
    #: Stack symbols popped, in order (the top first).
    pops: tuple[int, ...]
    #: Stack symbols pushed, in order (the new top last).
    pushes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenPdaEdge:
    """One edge of a token PDA: the token read, the symbols popped and pushed."""

    source: State
    token_id: TokenId
    target: State
    #: Stack symbols popped, in order (the top first).
    pops: tuple[int, ...]
    #: Stack symbols pushed, in order (the new top last).
    pushes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TokenPda:
    """A push-down automaton over tokens, 𝒫 ∘ T_V.

    It has its own numbers for states and stack symbols; ``symbols[0]`` is the initial stack
    symbol. ``network_states`` and ``network_symbols`` map them to states of the network
    (−1: the final state, the symbol S).

    A choice is the set of moves of a token, of which the stack permits some. Tokens with the
    same moves share one of the ``choices``. ``starts[q]`` is the row of state q in ``rows``,
    whose targets are numbers of choices.

    Source: Koo et al. 2024, Algorithm 3 and Figure 7.
    """

    vocabulary: Vocabulary
    states: int
    initial: State
    finals: frozenset[State]
    network: Network
    network_states: tuple[State, ...]
    network_symbols: tuple[State, ...]
    rows: EdgeRows
    starts: tuple[int, ...]
    choices: dict[int, tuple[TokenPdaMove, ...]]
    limits: Limits = LIMITS

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The label of each stack symbol: a rule with a dot at the position of return."""
        return ("S", *(dotted(self.network, state) for state in self.network_symbols[1:]))

    @cached_property
    def state_labels(self) -> tuple[str, ...]:
        """The label of each state: its rule and its state of the network."""
        names, owner = self.network.names, self.network.owner
        return tuple("end" if s == END else f"{names[owner[s]]} · {s}" for s in self.network_states)

    def row(self, state: State) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The tokens that some stack allows in a state, sorted, and the choice of each."""
        if state in self.finals:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        return self.rows.row(self.starts[state])

    def targets(self, state: State) -> list[int]:
        """The choices of the tokens of a state, in the order of their first token in the trie."""
        if state in self.finals:
            return []
        return [int(choice) for choice in self.rows.targets(self.starts[state])]

    def moves(self, state: State, token_id: TokenId) -> tuple[TokenPdaMove, ...]:
        """The moves that read a token in a state, for any stack."""
        if state in self.finals:
            return ()
        choice = self.rows.step(self.starts[state], token_id)
        return () if choice == DEAD else self.choices[choice]

    @cached_property
    def edge_count(self) -> int:
        """The number of edges."""
        sizes = np.zeros(len(self.rows), np.int64)
        for choice, moves in self.choices.items():
            sizes[choice] = len(moves)
        return sum(int(sizes[self.rows.row(start)[1]].sum()) for start in self.starts)

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, without the arrays that belong to the vocabulary."""
        return self.rows.nbytes

    @cached_property
    def edges(self) -> tuple[TokenPdaEdge, ...]:
        """All edges, by source, then in the order of the trie.

        Raises: LimitError past ``limits.token_edges``.
        """
        self.limits.check("token_edges", self.edge_count, "draw a smaller vocabulary")
        trie = self.vocabulary.trie
        trie_order = np.zeros(len(self.vocabulary), np.int32)
        trie_order[trie.token_ids] = np.arange(len(trie.token_ids), dtype=np.int32)
        edges = []
        for state, start in enumerate(self.starts):
            ids, choices = self.rows.row(start)
            order = np.argsort(trie_order[ids])
            for token_id, choice in zip(ids[order].tolist(), choices[order].tolist(), strict=True):
                edges += [TokenPdaEdge(state, token_id, *move) for move in self.choices[choice]]
        return tuple(edges)


def compose_pda(
    network: Network,
    vocabulary: Vocabulary,
    limits: Limits = LIMITS,
    shown_pops: int | None = None,
) -> TokenPda:
    """Compose a network with a vocabulary: all edges from every state that whole tokens reach.

    With ``shown_pops``, edges that pop more symbols are left out. This is for pictures of
    grammars with infinitely many edges, never for masks.

    Raises: LimitError past ``limits.token_edges`` stored edges, the limits of a
            ``RelativeMachine``, and where one token can pop an unlimited number of symbols (a
            rule that may end wherever its caller may): such a grammar has infinitely many edges.
    Source: Koo et al. 2024, Algorithm 3, §3.2.
    """
    machine = RelativeMachine(network, limits, shown_pops)
    composition = Composition(machine, vocabulary, limits)
    composition.explore(network.initial)
    return _number_pda(network, vocabulary, composition, limits)


class Composition:
    """Writes the rows of a relative machine; each row uses the looping states found before it."""

    def __init__(self, machine: RelativeMachine, vocabulary: Vocabulary, limits: Limits) -> None:
        self.machine = machine
        #: The states of the network whose rows are written, with the choices of their tokens in the
        #: order of the trie, and ``END`` where tokens lead to it.
        self.visited: dict[State, list[int]] = {}
        #: The sets of configurations that tokens lead to.
        self.choices: dict[int, None] = {}
        self._looping = LoopingStates(vocabulary.trie)
        self._writer = RowWriter(vocabulary.trie, len(self.machine.table), limits)
        self._arrays = self._looping.arrays(len(self.machine.table))
        network = machine.network
        used = used_bytes(network.table, network.classes[:CALLS])
        self._complete = used <= vocabulary.single_bytes

    def explore(self, first: State) -> list[State]:
        """Write the rows of all states that whole tokens reach; returns those written now."""
        if first in self.visited:
            return []
        self.visited[first] = []
        queue = [first]
        for state in queue:  # the list grows during the loop
            self.visited[state] = self.write(state)
            for choice in self.visited[state]:
                if choice not in self.choices:
                    self.choices[choice] = None
                    ends = [end for end, _, _ in self.machine.configurations[choice]]
                    fresh = [end for end in dict.fromkeys(ends) if end not in self.visited]
                    queue += [end for end in fresh if end != END]
                    self.visited.update((end, []) for end in fresh)
        return queue

    def write(self, state: State) -> list[int]:
        """Write the row of a state of the network; its targets, in the order of the trie."""
        start = self.machine.at(state)
        self._add_if_looping(start)
        starts = np.array([start], np.int32)
        self._fit_buffers()
        machine = self.machine
        while not self._writer.write(machine.steps, self._arrays, starts):
            machine.grow(*self._writer.missing(machine.steps))
            self._fit_buffers()
        return [int(c) for c in self._writer.edge_rows_so_far(self._arrays).targets(start)]

    def row(self, state: State) -> tuple[Ints, Ints]:
        """The tokens of a state whose row is written, sorted, and the choice of each."""
        return self._writer.edge_rows_so_far(self._arrays).row(self.machine.at(state))

    def _add_if_looping(self, start: int) -> None:
        """Add a looping state; only if all bytes used are tokens, so that every step is needed."""
        machine = self.machine
        if not self._complete:
            return
        for byte_class in range(machine.table.shape[1]):
            machine.grow(start, byte_class)
        if not is_looping(machine.steps, start):
            return
        while (needed := self._looping.add(machine.steps, start)) is not None:
            machine.grow(*needed)
        self._arrays = self._looping.arrays(len(machine.table))

    def _fit_buffers(self) -> None:
        """Enlarge the arrays with an entry for each state to the machine's current size."""
        states = len(self.machine.table)
        if len(self._arrays.loop_of) < states:
            self._arrays = self._looping.arrays(states)
        self._writer.grow(states)

    def edge_rows(self) -> EdgeRows:
        """All rows, after the last ``write``."""
        return self._writer.edge_rows(self._arrays)


def _number_pda(
    network: Network,
    vocabulary: Vocabulary,
    composition: Composition,
    limits: Limits,
) -> TokenPda:
    """The token PDA, with states and stack symbols numbered."""
    relatives = composition.machine.configurations
    states = [state for state in composition.visited if state != END] + [END]
    numbers = {state: i for i, state in enumerate(states)}
    used = {
        s
        for c in composition.choices
        for _, popped, pushed in relatives[c]
        for s in (*popped, *pushed)
    }
    symbols = [END, *sorted(used - {END})]
    symbol = {state: i for i, state in enumerate(symbols, start=BOTTOM)}
    choices = {
        choice: tuple(
            TokenPdaMove(
                numbers[target],
                tuple(symbol[s] for s in popped),
                tuple(symbol[s] for s in pushed),
            )
            for target, popped, pushed in relatives[choice]
        )
        for choice in composition.choices
    }
    return TokenPda(
        vocabulary=vocabulary,
        states=len(states),
        initial=numbers[network.initial],
        finals=frozenset({numbers[END]}),
        network=network,
        network_states=tuple(states),
        network_symbols=tuple(symbols),
        rows=composition.edge_rows(),
        starts=tuple(composition.machine.at(state) for state in states[:-1]),
        choices=choices,
        limits=limits,
    )
