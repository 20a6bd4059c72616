"""The closed form of Algorithm 3: a network composed with a vocabulary.

In comes a ``Network``; out comes a deterministic machine over bytes, grown as it is walked: each of
its states is a set of configurations relative to a stack nobody knows. A token leads to one such
set, and the edges of Algorithm 3 are its members; so rows are walked as those of a DFA are.

In come a ``Network`` and a ``Vocabulary``; out comes a ``TokenPda`` whose edges read a token, pop
and push. Its rows are stored as those of Algorithm 2 are: tokens, and where each leads, which here
is a set of states with what is popped and pushed on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose import RowWriter, ready
from workbench.constraint.engine.compose_edges import EdgeRows
from workbench.constraint.engine.compose_kernel import Ints, Steps
from workbench.constraint.engine.compose_loops import LoopingStates, is_looping
from workbench.constraint.engine.mask_rows import used_bytes
from workbench.pushdown.network import CALLS, Move, Network
from workbench.pushdown.pda import BOTTOM, dotted
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The longest run of pops one token may make.
_POPS = 32

#: The state after the end, and the initial stack symbol, before numbering.
END = -1

#: A configuration relative to an unknown stack: state, popped (first first), pushed (top last).
Relative = tuple[State, tuple[State, ...], tuple[State, ...]]


class RelativeMachine:
    """Sets of relative configurations, numbered as they are met.

    Shape: ``table`` (capacity, C) int32, ``UNKNOWN`` where no step has been computed.
    Raises: LimitError past ``limits.seconds``, ``limits.states`` and ``limits.configurations``,
            and where one token can pop without end.
    """

    def __init__(self, network: Network, limits: Limits, shown_pops: int | None = None) -> None:
        #: Where tokens can pop without end, so many pops are still told; None tells of no machine.
        self._shown_pops = shown_pops
        self._network = network
        self._limits = limits
        self._clock = limits.clock()
        self._numbers: dict[tuple[Relative, ...], int] = {}
        #: What is asked of the network for every step, as lists: a number of an array takes long.
        self._rows: list[list[State]] = network.table.tolist()
        self._columns = [int(network.classes[its[0]]) for its in network.class_bytes]
        self._goes_on: list[bool] = network.goes_on.tolist()
        self._finals: list[bool] = network.finals.tolist()
        self.configurations: list[tuple[Relative, ...]] = []
        self.classes = network.byte_classes[:]
        self.classes.flags.writeable = False
        self._hold(np.full((256, len(self._columns)), UNKNOWN, np.int32))

    def _hold(self, table: Ints) -> None:
        self.table, flat = table, table.reshape(-1)
        flat.flags.writeable = False
        #: The machine so far, as kernels read it.
        self.steps = Steps(flat, table.shape[1], self.classes)

    def at(self, state: State) -> int:
        """The set that is a state of the network and nothing popped or pushed."""
        return self._number(((state, (), ()),))

    def grow(self, source: int, byte_class: int) -> int:
        """Where a byte of a class leads, computed if it is not known yet."""
        known = int(self.table[source, byte_class])
        if known != UNKNOWN:
            return known
        self._clock.check()
        here: set[Relative] = set()
        for at, popped, pushed in self.configurations[source]:
            for target, opened in self._moves(at, byte_class):
                if self._finals[target]:
                    here.update(self._settle(target, popped, (*pushed, *opened)))
                else:
                    here.add((target, popped, (*pushed, *opened)))
        self._limits.check("configurations", len(here))
        target = self._number(tuple(sorted(here))) if here else DEAD
        self.table[source, byte_class] = target
        return target

    def _number(self, here: tuple[Relative, ...]) -> int:
        known = self._numbers.setdefault(here, len(self._numbers))
        if known == len(self.configurations):
            self._limits.check("states", known)
            self.configurations.append(here)
            if known == len(self.table):
                self._hold(np.concatenate([self.table, np.full_like(self.table, UNKNOWN)]))
        return known

    def _moves(self, state: State, byte_class: int) -> Iterator[Move]:
        """Where a byte of a class leads from a state, with what is pushed on the way."""
        if state == END:
            return
        column = self._columns[byte_class]
        for inner, pushed in self._network.openings(state):
            target = self._rows[inner][column]
            if target != DEAD:
                yield target, pushed

    def _settle(
        self, state: State, popped: tuple[State, ...], pushed: tuple[State, ...]
    ) -> Iterator[Relative]:
        """A configuration after a byte, and all it can return to without reading more."""
        network = self._network
        if self._goes_on[state]:
            yield state, popped, pushed
        if not self._finals[state]:
            return
        if pushed:
            yield from self._settle(pushed[-1], popped, pushed[:-1])
            return
        if len(popped) == self._shown_pops:
            return
        if len(popped) == _POPS:
            raise LimitError(
                "one token may end any number of rules here, so the closed form has no end",
                "token_edges",
                "the engine itself decodes this grammar; only its written-out machine is infinite",
            )
        for waiting in network.returns[network.owner[state]]:
            yield from self._settle(waiting, (*popped, waiting), ())
        if network.owner[state] in network.ends_text:
            yield END, (*popped, END), ()


class TokenPdaMove(NamedTuple):
    """Where a token leads: the state, and what is done to the stack on the way."""

    target: State
    #: Stack symbols taken off, in the order they are popped (the top first).
    pops: tuple[int, ...]
    #: Stack symbols put on, in the order they are pushed (the new top last).
    pushes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenPdaEdge:
    """One edge of a token PDA: the token read, what it takes off the stack and puts on it."""

    source: State
    token_id: TokenId
    target: State
    #: Stack symbols taken off, in the order they are popped (the top first).
    pops: tuple[int, ...]
    #: Stack symbols put on, in the order they are pushed (the new top last).
    pushes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TokenPda:
    """A push-down automaton over tokens, 𝒫 ∘ T_V.

    States and symbols are numbered as its own; ``symbols[0]`` is the initial stack
    symbol, on the stack at the beginning. ``network_states`` and ``network_symbols`` say
    which state of the network each stands for (−1: the final state, the symbol S).

    Tokens that do the same to a state and a stack share one of the ``choices``: the moves
    among which the stack decides. ``starts[q]`` is the row of state q in ``rows``, which
    lead to numbers of choices.

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
        """What each stack symbol stands for: a rule and how far it has been read."""
        return ("S", *(dotted(self.network, state) for state in self.network_symbols[1:]))

    @cached_property
    def state_labels(self) -> tuple[str, ...]:
        """What each state stands for: the rule and its state of the network."""
        names, owner = self.network.names, self.network.owner
        return tuple("end" if s == END else f"{names[owner[s]]} · {s}" for s in self.network_states)

    def row(self, state: State) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The tokens some stack allows in a state, sorted, and the choice each leads to."""
        if state in self.finals:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        return self.rows.row(self.starts[state])

    def targets(self, state: State) -> list[int]:
        """The choices the tokens of a state lead to."""
        if state in self.finals:
            return []
        return [int(choice) for choice in self.rows.targets(self.starts[state])]

    def moves(self, state: State, token_id: TokenId) -> tuple[TokenPdaMove, ...]:
        """The ways to read a token in a state, whatever the stack."""
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
        """The bytes of the rows, the vocabulary's own aside."""
        return self.rows.nbytes

    @cached_property
    def edges(self) -> tuple[TokenPdaEdge, ...]:
        """Every edge written out, by source, then in the order of the trie.

        Raises: LimitError past ``limits.token_edges``.
        """
        self.limits.check("token_edges", self.edge_count, "draw a smaller vocabulary")
        trie = self.vocabulary.trie
        place = np.zeros(len(self.vocabulary), np.int32)
        place[trie.token_ids] = np.arange(len(trie.token_ids), dtype=np.int32)
        edges = []
        for state, start in enumerate(self.starts):
            ids, choices = self.rows.row(start)
            order = np.argsort(place[ids])
            for token_id, choice in zip(ids[order].tolist(), choices[order].tolist(), strict=True):
                edges += [TokenPdaEdge(state, token_id, *move) for move in self.choices[choice]]
        return tuple(edges)


def compose_pda(
    network: Network,
    vocabulary: Vocabulary,
    limits: Limits = LIMITS,
    shown_pops: int | None = None,
) -> TokenPda:
    """Every edge of the composed machine, from every state whole tokens reach.

    With ``shown_pops`` edges that pop more often are left out: for pictures of grammars that
    have infinitely many, never for masks.

    Raises: LimitError past ``limits.token_edges`` edges stored, the limits of a
            ``RelativeMachine``, and where one token can pop without end (a rule that may
            end wherever its caller may): such a grammar has no finite closed form in this
            shape.
    Source: Koo et al. 2024, Algorithm 3, §3.2.
    """
    ready()
    closing = _Closing(network, vocabulary, limits, shown_pops)
    found = {network.initial: None}
    waiting = [network.initial]
    met: dict[int, None] = {}
    for state in waiting:  # grows while it is read
        for choice in closing.write(state):
            if choice not in met:
                met[choice] = None
                ends = [end for end, _, _ in closing.machine.configurations[choice]]
                waiting += [end for end in dict.fromkeys(ends) if end not in found and end != END]
                found.update(dict.fromkeys(ends))
    return _numbered(network, vocabulary, closing, list(found), list(met), limits)


class _Closing:
    """Rows of a relative machine, each with the wide states met before it."""

    def __init__(
        self, network: Network, vocabulary: Vocabulary, limits: Limits, shown_pops: int | None
    ) -> None:
        self.machine = RelativeMachine(network, limits, shown_pops)
        self._wide = LoopingStates(vocabulary.trie)
        self._writer = RowWriter(vocabulary.trie, len(self.machine.table), limits)
        self._arrays = self._wide.arrays(len(self.machine.table))
        used = used_bytes(network.table, network.classes[:CALLS])
        self._complete = used <= vocabulary.single_bytes

    def write(self, state: State) -> list[int]:
        """Write the row of a state of the network; where it leads, in the order of the trie."""
        machine = self.machine
        start = machine.at(state)
        self._look_around(start)
        starts = np.array([start], np.int32)
        self._keep_up()
        while not self._writer.write(machine.steps, self._arrays, starts):
            machine.grow(*self._writer.missing(machine.steps))
            self._keep_up()
        return [int(c) for c in self._writer.closed_so_far(self._arrays).targets(start)]

    def _look_around(self, start: int) -> None:
        """Take a state in that is wide; only where every byte is a token, so no step is wasted."""
        machine = self.machine
        if not self._complete:
            return
        for byte_class in range(machine.table.shape[1]):
            machine.grow(start, byte_class)
        if not is_looping(machine.steps, start):
            return
        while (needed := self._wide.add(machine.steps, start)) is not None:
            machine.grow(*needed)
        self._arrays = self._wide.arrays(len(machine.table))

    def _keep_up(self) -> None:
        """Give what has a place for every state room for new ones."""
        states = len(self.machine.table)
        if len(self._arrays.held) < states:
            self._arrays = self._wide.arrays(states)
        self._writer.grow(states)

    def closed(self) -> EdgeRows:
        """The rows, once all are written."""
        return self._writer.closed(self._arrays)


def _numbered(
    network: Network,
    vocabulary: Vocabulary,
    closing: _Closing,
    found: list[State],
    met: list[int],
    limits: Limits,
) -> TokenPda:
    """The machine with states and symbols numbered as its own."""
    relatives = closing.machine.configurations
    states = [state for state in found if state != END] + [END]
    number = {state: i for i, state in enumerate(states)}
    used = {s for c in met for _, popped, pushed in relatives[c] for s in (*popped, *pushed)}
    symbols = [END, *sorted(used - {END})]
    symbol = {state: i for i, state in enumerate(symbols, start=BOTTOM)}
    choices = {
        choice: tuple(
            TokenPdaMove(
                number[target],
                tuple(symbol[s] for s in popped),
                tuple(symbol[s] for s in pushed),
            )
            for target, popped, pushed in relatives[choice]
        )
        for choice in met
    }
    return TokenPda(
        vocabulary=vocabulary,
        states=len(states),
        initial=number[network.initial],
        finals=frozenset({number[END]}),
        network=network,
        network_states=tuple(states),
        network_symbols=tuple(symbols),
        rows=closing.closed(),
        starts=tuple(closing.machine.at(state) for state in states[:-1]),
        choices=choices,
        limits=limits,
    )
