"""The constraints of the exact engine, with cached masks.

They keep the exact rule of ``protocol.Constraint``. ``DfaConstraint`` runs a DFA,
``LazyConstraint`` a DFA that is determinized on demand, ``StackConstraint`` a grammar network. A
mask is one mask row (``mask_rows``), which equal states share, with the bits of the end tokens.

This is the composed machine of Koo et al. 2024 one row at a time: A ∘ T_V (Algorithm 2) for a DFA,
𝒫 ∘ T_V (Algorithm 3) for a network. A row of the latter is the set of edges whose pop string is the
part of the stack that the walk read, so one row serves every depth of nesting (``row_cache``).
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sized
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata import minimize
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State, used_bytes
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.locks import WorkLock
from workbench.constraint.engine.coaccessibility import Coaccessibility
from workbench.constraint.engine.compose import TokenFsa, cannot_spell, compose
from workbench.constraint.engine.mask_rows import MaskRows
from workbench.constraint.masks import TokenMask, set_bits
from workbench.constraint.token_distances import TOO_LONG, GraphDistances, TokenDistances
from workbench.constraint.token_machine import ASK_FOR_LESS, Capability, Lack, TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.pushdown.machine_arrays import Growth, MachineArrays
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import Configuration, RenewingRunner, Runner, Situation
from workbench.pushdown.shortest_texts import distances_to_end
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

T = TypeVar("T")


class AutomatonConstraint(TokenMachine):
    """Base of the constraints that run a byte machine: cached masks, steps by token, forced text.

    States are small integers. A mask is computed when it is first requested; at most
    ``limits.rows_of`` masks are cached. Safe to share between threads.
    """

    def __init__(self, machine: Sized, vocabulary: Vocabulary, limits: Limits) -> None:
        #: Its length is the number of states, those computed until now if they are made on demand.
        self._states = machine
        self.vocabulary = vocabulary
        self.limits = limits
        self._size = len(vocabulary)
        self._max_masks = limits.rows_of(4 * ((self._size + 31) // 32))
        #: Masks by 2 · (number of the row) + (1 with the end tokens).
        self._row_masks: dict[int, TokenMask] = {}
        self._masks: dict[State, TokenMask] = {}
        self._steps: dict[tuple[State, TokenId], State] = {}
        self._lock = WorkLock()

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        return {}

    @abstractmethod
    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""

    @abstractmethod
    def _computed(self, state: State) -> TokenMask:
        """Compute the mask of a state."""

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next."""
        cached = self._masks.get(state)
        return cached if cached is not None else self._compute_mask(state)

    def _compute_mask(self, state: State) -> TokenMask:
        self._check(state)
        with self._lock:
            while len(self._masks) >= self._max_masks:
                del self._masks[next(iter(self._masks))]
            computed = self._masks[state] = self._computed(state)
        return computed

    def _mask_of_row(self, rows: MaskRows, state: State, is_final: bool) -> TokenMask:
        """The mask of a machine's state from its row; states with equal rows share the mask."""
        if len(self._row_masks) >= self._max_masks:
            self._row_masks.clear()  # very ambiguous grammars need a new row at every step
            rows.clear()
        number, bits = rows.row(state)
        key = 2 * number + is_final
        cached = self._row_masks.get(key)
        if cached is None:
            if bits is None:  # the row was computed for a state of the other finality
                bits = self._row_masks[key ^ 1].bits.copy()
            cached = self._row_masks[key] = self._with_ends(bits, allowed=bool(key & 1))
        return cached

    def _with_ends(self, bits: npt.NDArray[np.uint32], *, allowed: bool) -> TokenMask:
        """The mask of a row, the end tokens included if ``allowed``; takes over the array."""
        set_bits(bits, self.vocabulary.ends, allowed=allowed)
        return TokenMask(bits, self._size)

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        key = (state, token_id)
        cached = self._steps.get(key)
        if cached is None:
            cached = self._advance(state, token_id)
            if len(self._steps) > 16 * self.limits.rows:
                self._steps.clear()
            self._steps[key] = cached
        return cached

    def _is_state(self, number: int) -> bool:
        return 0 <= number < len(self._states)

    def _check(self, state: State) -> None:
        """Raise WorkbenchError for what is no state: compiled code reads the tables unchecked."""
        if not isinstance(state, int | np.integer) or not self._is_state(int(state)):
            raise WorkbenchError(
                f"{state!r} is not a state of this constraint",
                "use the states that its own initial and advance give",
            )

    def _advance(self, state: State, token_id: TokenId) -> State:
        self._check(state)
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        token = self.vocabulary.tokens[token_id]
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        target = None if token is None else self.step_bytes(state, token)
        if target is None or not self.is_coaccessible(target):
            raise TokenNotAllowed(f"token {token_id} ({token!r}) is not allowed here")
        return target

    def is_coaccessible(self, state: State) -> bool:
        """Whether a state is co-accessible over tokens: whole tokens lead to an accepted text."""
        return True

    def step_bytes(self, state: State, data: bytes) -> State | None:
        """The state after bytes, or None where they cannot be read."""
        with self._lock:
            for byte in data:
                if (state := self.step(state, byte)) == DEAD:
                    return None
        return state

    def next_bytes(self, state: State) -> list[int]:
        """The bytes that may come next in an accepted text, sorted."""
        with self._lock:
            return [byte for byte in range(256) if self.step(state, byte) != DEAD]

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with; empty at a branch or a final state.

        At most ``most`` bytes: each costs about 50 µs.
        Raises: LimitError past ``limits.seconds``.
        """
        text, clock = bytearray(), self.limits.clock()
        while len(text) < most and not self.is_final(state):
            clock.check(ASK_FOR_LESS)
            next_bytes = self.next_bytes(state)
            if len(next_bytes) != 1:
                break
            text.append(next_bytes[0])
            state = self.step(state, next_bytes[0])
        return bytes(text)


def _can_spell(
    table: npt.NDArray[np.int32], classes: npt.NDArray[np.uint16], vocabulary: Vocabulary
) -> bool:
    """Whether each byte that a machine reads is a token."""
    single = vocabulary.single_bytes
    return len(single) == 256 or used_bytes(table, classes) <= single


class TableMachine:
    """A machine without a stack: a Dfa, or a LazyDfa that grows."""

    network = None

    def __init__(self, dfa: Dfa | LazyDfa) -> None:
        self._dfa = dfa
        self.classes = dfa.classes
        self.states = len(dfa) if isinstance(dfa, Dfa) else 0
        self._hold()

    def _hold(self) -> None:
        self.growth = Growth.of(subsets=None if isinstance(self._dfa, Dfa) else self._dfa.subsets)
        self.arrays = MachineArrays.of_table(self._dfa.table)

    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""
        return self._dfa.step(state, byte)

    def resolve(self, status: int, clock: Clock) -> None:
        """Make room for more sets of NFA states.

        Raises: LimitError
        """
        assert isinstance(self._dfa, LazyDfa), f"unexpected status {status} of a complete DFA"
        clock.check()
        if len(self._dfa.table) * self.arrays.groups.shape[1] == len(self.arrays.table):
            self._dfa.grow()
        self._hold()


class DfaConstraint(AutomatonConstraint):
    """A regular language over tokens; its states are the DFA's.

    Raises: VocabularyError where no accepted text can be tokenized with the vocabulary.
    Source: Koo et al. 2024, Algorithm 2, each row computed when it is first requested.
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(dfa, vocabulary, limits)
        self.dfa = dfa
        self._rows = MaskRows(TableMachine(dfa), vocabulary, limits)
        if dfa.is_empty:
            raise cannot_spell(vocabulary)
        #: The closed form, built only if the vocabulary lacks single-byte tokens: then dead ends
        #: are possible, and it has none.
        complete = _can_spell(dfa.table, dfa.classes, vocabulary)
        self._trimmed = None if complete else compose(dfa, vocabulary, limits)

    @property
    def initial(self) -> State:
        return self.dfa.initial

    def is_final(self, state: State) -> bool:
        return bool(self.dfa.finals[state])

    def step(self, state: State, byte: int) -> State:
        return self.dfa.step(state, byte)

    def bytes_left(self, state: State) -> int:
        """The fewest bytes to the end of an accepted text."""
        return self._to_end[state]

    @cached_property
    def _to_end(self) -> list[int]:
        before = minimize.predecessors(self.dfa)
        distances: list[int] = (minimize.distances_to_end(self.dfa, before) - 1).tolist()
        return distances

    def closed_form(self, limits: Limits) -> TokenFsa:
        """All rows of the composed automaton. Raises: LimitError."""
        return compose(self.dfa, self.vocabulary, limits)

    def _count(self, limits: Limits) -> GraphDistances:
        return GraphDistances.of(self.closed_form(limits))

    def is_coaccessible(self, state: State) -> bool:
        trimmed = self._trimmed
        return trimmed is None or bool(trimmed.finals[state]) or len(trimmed.row(state)) > 0

    def _computed(self, state: State) -> TokenMask:
        if self._trimmed is None:
            return self._mask_of_row(self._rows, state, self.is_final(state))
        bits = TokenMask.of(self._trimmed.row(state), len(self.vocabulary)).bits.copy()
        return self._with_ends(bits, allowed=self.is_final(state))


#: What is not known of an automaton that is never complete.
_LAZILY_UNKNOWN = {
    Capability.BYTES_LEFT: Lack(
        "the automaton of this regex is too large to count the bytes to its end",
        "bound its repetitions",
    ),
    Capability.TOKEN_DISTANCES: Lack(
        "the automaton of this regex is too large to count the tokens to its end",
        f"bound its repetitions, or {TOO_LONG}",
    ),
}


class LazyConstraint(AutomatonConstraint):
    """A regular language whose automaton is determinized on demand.

    Only for vocabularies with single-byte tokens for all bytes of the language: there no token
    leads to a dead end.
    Raises: VocabularyError where nothing is accepted; LimitError where too many states were made.
    """

    def __init__(self, machine: LazyDfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        # a copy: walks add states to it under this constraint's lock
        self.machine = machine = machine.private_copy()
        super().__init__(machine, vocabulary, limits)
        self._rows = MaskRows(TableMachine(machine), vocabulary, limits)
        if machine.is_empty:
            raise cannot_spell(vocabulary)

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        return _LAZILY_UNKNOWN

    @property
    def initial(self) -> State:
        return self.machine.initial

    def is_final(self, state: State) -> bool:
        return self.machine.is_final(state)

    def step(self, state: State, byte: int) -> State:
        return self.machine.step(state, byte)

    def _computed(self, state: State) -> TokenMask:
        return self._mask_of_row(self._rows, state, self.is_final(state))


#: What is not known of elements in any order: it depends on those that were written.
_UNCOUNTED = {
    Capability.BYTES_LEFT: Lack(
        "the bytes to the end of a text are not counted where elements are in any order",
        "choose the declared order",
    ),
    Capability.TOKEN_DISTANCES: Lack(
        "the tokens to the end of a text are not counted where elements are in any order",
        "choose the declared order",
    ),
}


class StackConstraint(AutomatonConstraint):
    """A context-free language over tokens; its states are those of a ``RenewingRunner``.

    ``without_phrases``  the network without permutation phrases, if ``network`` has them.

    Raises: VocabularyError where no accepted text can be tokenized with the vocabulary.
    """

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        without_phrases: Callable[[], Network] | None = None,
    ) -> None:
        assert not network.phrases or without_phrases, "its tokens are counted without phrases"
        self.network = network
        self._without_phrases = without_phrases
        self._counting: StackConstraint | None = None
        self._runner = RenewingRunner(network, limits, self._begin_anew)
        super().__init__(self._runner.runner, vocabulary, limits)
        self._begin_anew()
        complete = _can_spell(network.table, network.classes[:CALLS], vocabulary)
        self._coaccessibility = None if complete else Coaccessibility(network, vocabulary, limits)
        if not self.is_coaccessible(self.initial):
            raise cannot_spell(vocabulary)

    def _begin_anew(self) -> None:
        """Drop what refers to the situations of an earlier runner."""
        self._states = runner = self._runner.runner
        self._rows = MaskRows(runner, self.vocabulary, self.limits)
        self._row_masks.clear()
        self._steps.clear()

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        return _UNCOUNTED if self.network.phrases else {}

    def engine(self) -> TokenMachine:
        """Itself; with permutation phrases one without them, which counts tokens.

        Raises: LimitError if its rules are too many.
        """
        if not self.network.phrases:
            return self
        if self._counting is None:
            assert self._without_phrases is not None, "it has phrases"
            network = self._without_phrases()
            self._counting = StackConstraint(network, self.vocabulary, self.limits)
        return self._counting

    @property
    def initial(self) -> State:
        return self._runner.initial

    def _is_state(self, number: int) -> bool:
        return number in self._runner

    def _read(self, state: State, reading: Callable[[Runner, Situation], T]) -> T:
        with self._lock:
            return self._runner.read(state, reading)

    def is_final(self, state: State) -> bool:
        return self._read(state, Runner.is_final)

    def step(self, state: State, byte: int) -> State:
        return self._runner.run(bytes((byte,)), state)

    def step_bytes(self, state: State, data: bytes) -> State | None:
        with self._lock:
            target = self._runner.run(data, state)
        return None if target == DEAD else target

    def next_bytes(self, state: State) -> list[int]:
        def reading(runner: Runner, situation: Situation) -> list[int]:
            return [byte for byte in range(256) if runner.step(situation, byte) != DEAD]

        return self._read(state, reading)

    def bytes_left(self, state: State) -> int:
        """The fewest bytes to the end of an accepted text."""
        return self._read(state, self._bytes_left)

    def _bytes_left(self, runner: Runner, situation: Situation) -> int:
        return min(
            sum(self._to_end[each] for each in (state, *runner.unstack(node)))
            for state, node in runner.configurations(situation)
        )

    def _count(self, limits: Limits) -> TokenDistances:
        # lazy: with a budget alone
        from workbench.constraint.engine.stack_distances import StackDistances

        return StackDistances(self.network, self.vocabulary, self.configurations, limits)

    @cached_property
    def _to_end(self) -> list[int]:
        """For each state of the network the fewest bytes to the end of its rule."""
        return distances_to_end(self.network, self.limits)

    def configurations(self, state: State) -> tuple[Runner, tuple[Configuration, ...]]:
        """All configurations of a state, and the runner that knows their stacks."""
        return self._read(state, lambda runner, there: (runner, runner.configurations(there)))

    def state_key(self, state: State) -> Hashable:
        """The states of the automata and the top return states of the stacks: α and β of DOMINO.

        With whole stacks every depth of nesting would have to be learnt separately.
        """
        runner, configurations = self.configurations(state)
        return frozenset(
            (inner, next(runner.unstack(node), None)) for inner, node in configurations
        )

    def is_coaccessible(self, state: State) -> bool:
        return self._coaccessibility is None or self._read(state, self._leads_on)

    def _leads_on(self, runner: Runner, situation: Situation) -> bool:
        assert self._coaccessibility is not None, "dead ends are possible"
        return any(
            self._coaccessibility.is_coaccessible(inner, runner.unstack(node))
            for inner, node in runner.configurations(situation)
        )

    def _computed(self, state: State) -> TokenMask:
        return self._runner.read(state, self._mask_of)

    def _mask_of(self, runner: Runner, situation: Situation) -> TokenMask:
        is_final = runner.is_final(situation)
        mask = self._mask_of_row(self._rows, situation, is_final)
        if self._coaccessibility is None:
            return mask
        # whether a token leads to a dead end depends on the whole stack: do not share the mask
        leading_on = [i for i in mask if self._reaches(runner, situation, i)]
        bits = TokenMask.of(leading_on, len(self.vocabulary)).bits.copy()
        return self._with_ends(bits, allowed=is_final)

    def _reaches(self, runner: Runner, situation: Situation, token_id: int) -> bool:
        token = self.vocabulary.tokens[token_id]
        target = DEAD if token is None else runner.run(token, situation)
        return target != DEAD and self._leads_on(runner, target)


def automaton(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> AutomatonConstraint:
    """The exact engine with rows on demand: the constraint that fits the grammar's machine."""
    match grammar.reader:
        case Dfa() as dfa:
            return DfaConstraint(dfa, vocabulary, limits)
        case LazyDfa() as lazy if lazy.used_bytes <= vocabulary.single_bytes:
            return LazyConstraint(lazy, vocabulary, limits)
        case Network() as network:
            if network.phrases and not _can_spell(
                network.table, network.classes[:CALLS], vocabulary
            ):
                return automaton(grammar.without_phrases, vocabulary, limits)
            return StackConstraint(
                network, vocabulary, limits, lambda: grammar.without_phrases.network
            )
    # dead ends are possible; finding them needs the complete DFA
    whole = grammar.dfa
    assert whole is not None, "a grammar without a stack has a DFA"
    return DfaConstraint(whole, vocabulary, limits)
