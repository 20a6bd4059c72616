"""The exact engine: the mask of a state from one walk of the trie, cached.

In come a byte machine and a ``Vocabulary``; out comes a ``Constraint`` that keeps the exact rule of
``protocol``. ``DfaConstraint`` runs a plain DFA; ``stack.StackConstraint`` runs a grammar network.

In come a ``Network`` and a ``Vocabulary``. A row is one walk of the trie from a situation; the walk
notes the lowest place of the stack it looked at, and the row is remembered under the states and
exactly those symbols. So one row serves every depth of nesting. This is Koo's composed machine
𝒫 ∘ T_V one row at a time: a row is the set of its edges whose pop string is that piece of stack
(Koo et al. 2024, Algorithm 3).
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from functools import cache

import numpy as np
import numpy.typing as npt

from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import TokenNotAllowed
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.coaccessible import Spelling
from workbench.constraint.engine.compose import cannot_spell, compose
from workbench.constraint.engine.mask_rows import Marker, Tabled, used_bytes
from workbench.constraint.mask import TokenMask
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import Runner
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class AutomatonConstraint(ABC):
    """What both exact engines share: remembered masks, steps by token, forced text.

    States are small integers. A mask is computed when its state is first asked for,
    kept up to ``limits.rows`` of them, and returned as it is. Safe to share between
    threads.
    """

    def __init__(self, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        self.vocabulary = vocabulary
        self.limits = limits
        self._size = len(vocabulary)
        self._most = limits.rows_of(4 * ((self._size + 31) // 32))
        end = vocabulary.end
        self._end_word = 0 if end is None else end >> 5
        self._end_bit = np.uint32(0 if end is None else 1 << (end & 31))
        #: Masks by the number of their row, times 2, plus 1 with the end token.
        self._shared: dict[int, TokenMask] = {}
        self._masks: dict[State, TokenMask] = {}
        self._steps: dict[tuple[State, TokenId], State] = {}
        self._growing = threading.RLock()

    @property
    @abstractmethod
    def initial(self) -> State: ...

    @abstractmethod
    def is_final(self, state: State) -> bool:
        """Whether the text read so far is accepted."""

    @abstractmethod
    def step(self, state: State, byte: int) -> State:
        """The state after a byte, or ``DEAD``."""

    @abstractmethod
    def _computed(self, state: State) -> TokenMask:
        """The mask of a state that is not remembered."""

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next."""
        known = self._masks.get(state)
        return known if known is not None else self._make_mask(state)

    def _make_mask(self, state: State) -> TokenMask:
        with self._growing:
            while len(self._masks) >= self._most:
                del self._masks[next(iter(self._masks))]
            made = self._masks[state] = self._computed(state)
        return made

    def _of_row(self, marker: Marker, state: State) -> TokenMask:
        """The mask of a state by its row, which it may share with others."""
        if len(self._shared) >= self._most:
            self._shared.clear()  # very ambiguous grammars need a new row at every step
            marker.clear()
        number, bits = marker.row(state)
        key = 2 * number + self.is_final(state)
        known = self._shared.get(key)
        if known is None:
            if bits is None:  # made for a state where the text may end, or where it may not
                bits = self._shared[key ^ 1].bits.copy()
            known = self._shared[key] = self._mask_of(bits, ends=bool(key & 1))
        return known

    def _mask_of(self, bits: npt.NDArray[np.uint32], *, ends: bool) -> TokenMask:
        """The mask of a row, the end token in it where the text may end; takes the array."""
        if self._end_bit:
            if ends:
                bits[self._end_word] |= self._end_bit
            else:
                bits[self._end_word] &= ~self._end_bit
        return TokenMask(bits, self._size)

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        key = (state, token_id)
        known = self._steps.get(key)
        if known is None:
            known = self._advance(state, token_id)
            if len(self._steps) > 16 * self.limits.rows:
                self._steps.clear()
            self._steps[key] = known
        return known

    def _advance(self, state: State, token_id: TokenId) -> State:
        if not 0 <= token_id < len(self.vocabulary):
            raise TokenNotAllowed(
                f"token {token_id} is not in a vocabulary of {len(self.vocabulary)}"
            )
        token = self.vocabulary.tokens[token_id]
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        there = None if token is None else self.step_bytes(state, token)
        if there is None or not self.leads_on(there):
            raise TokenNotAllowed(f"token {token_id} ({token!r}) is not allowed here")
        return there

    def leads_on(self, state: State) -> bool:
        """Whether whole tokens lead from a state to an accepted text."""
        return True

    def step_bytes(self, state: State, data: bytes) -> State | None:
        """The state after raw bytes, or None where they cannot be read."""
        with self._growing:
            for byte in data:
                if (state := self.step(state, byte)) == DEAD:
                    return None
        return state

    def next_bytes(self, state: State) -> list[int]:
        """The bytes some accepted text goes on with, sorted."""
        with self._growing:
            return [byte for byte in range(256) if self.step(state, byte) != DEAD]

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end.

        No more than ``most``: each costs some 50 µs.
        """
        found = bytearray()
        while len(found) < most and not self.is_final(state):
            following = self.next_bytes(state)
            if len(following) != 1:
                break
            found.append(following[0])
            state = self.step(state, following[0])
        return bytes(found)


class DfaConstraint(AutomatonConstraint):
    """A regular language over tokens; its states are the DFA's.

    Raises: VocabularyError where the vocabulary spells no accepted text.
    Source: Koo et al. 2024, Algorithm 2, the rows made when they are first asked for.
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(vocabulary, limits)
        self.dfa = dfa
        self._marker = Marker(Tabled(dfa), vocabulary, limits)
        used = used_bytes(dfa.table, dfa.classes)
        if dfa.is_empty:
            raise cannot_spell(vocabulary)
        #: The explicit machine, made only where single bytes are missing and dead ends threaten.
        self._trimmed = (
            None if used <= vocabulary.single_bytes else compose(dfa, vocabulary, limits)
        )

    @property
    def initial(self) -> State:
        return self.dfa.initial

    def is_final(self, state: State) -> bool:
        return bool(self.dfa.finals[state])

    def step(self, state: State, byte: int) -> State:
        return self.dfa.step(state, byte)

    def leads_on(self, state: State) -> bool:
        trimmed = self._trimmed
        return trimmed is None or bool(trimmed.finals[state]) or len(trimmed.row(state)) > 0

    def _computed(self, state: State) -> TokenMask:
        if self._trimmed is None:
            return self._of_row(self._marker, state)
        bits = TokenMask.of(self._trimmed.row(state), len(self.vocabulary)).bits.copy()
        return self._mask_of(bits, ends=self.is_final(state))


class LazyConstraint(AutomatonConstraint):
    """A regular language whose automaton is made as it is walked.

    For vocabularies that spell every byte the language needs: no token leads to a dead end.
    Raises: VocabularyError where nothing is accepted; LimitError where too much has been met.
    """

    def __init__(self, machine: LazyDfa, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(vocabulary, limits)
        self.machine = machine = (
            machine.private_copy()
        )  # walks add to it under this constraint's lock
        self._marker = Marker(Tabled(machine), vocabulary, limits)
        if machine.is_empty:
            raise cannot_spell(vocabulary)

    @property
    def initial(self) -> State:
        return self.machine.initial

    def is_final(self, state: State) -> bool:
        return self.machine.is_final(state)

    def step(self, state: State, byte: int) -> State:
        return self.machine.step(state, byte)

    def _computed(self, state: State) -> TokenMask:
        return self._of_row(self._marker, state)


class StackConstraint(AutomatonConstraint):
    """A context-free language over tokens; its states are situations of a ``Runner``.

    Raises: VocabularyError where the vocabulary spells no accepted text.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(vocabulary, limits)
        self.runner = Runner(network, limits)
        self._marker = Marker(self.runner, vocabulary, limits)
        used = used_bytes(network.table, network.classes[:CALLS])
        complete = used <= vocabulary.single_bytes
        self._spelling = None if complete else Spelling(network, vocabulary, limits)
        if not self.leads_on(self.initial):
            raise cannot_spell(vocabulary)

    @property
    def initial(self) -> State:
        return self.runner.initial

    def is_final(self, state: State) -> bool:
        return self.runner.is_final(state)

    def step(self, state: State, byte: int) -> State:
        return self.runner.step(state, byte)

    def leads_on(self, state: State) -> bool:
        return self._spelling is None or any(
            self._spelling.finishes(at, self.runner.unstack(node))
            for at, node in self.runner.configurations(state)
        )

    def _computed(self, state: State) -> TokenMask:
        mask = self._of_row(self._marker, state)
        if self._spelling is None:
            return mask
        # dead ends depend on the whole stack, so these masks are not shared
        leading_on = [i for i in mask if self._reaches(state, i)]
        bits = TokenMask.of(leading_on, len(self.vocabulary)).bits.copy()
        return self._mask_of(bits, ends=self.is_final(state))

    def _reaches(self, state: State, token_id: int) -> bool:
        token = self.vocabulary.tokens[token_id]
        there = self.step_bytes(state, token) if token is not None else None
        return there is not None and self.leads_on(there)


def automaton(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> AutomatonConstraint:
    """The exact engine, rows on demand."""
    ready()
    match grammar.reader:
        case Dfa() as dfa:
            return DfaConstraint(dfa, vocabulary, limits)
        case LazyDfa() as lazy if lazy.used_bytes <= vocabulary.single_bytes:
            return LazyConstraint(lazy, vocabulary, limits)
        case Network() as network:
            return StackConstraint(network, vocabulary, limits)
    # dead ends are possible, and are found on the whole machine
    whole = grammar.dfa
    assert whole is not None, "a grammar without a stack has one"
    return DfaConstraint(whole, vocabulary, limits)


@cache
def ready() -> None:
    """Ask for every kind of row once; some milliseconds when the compiled kernels are on disk."""
    vocabulary = Vocabulary((*(bytes([byte]) for byte in range(256)), b"ab", b"a'"))
    pattern = Grammar.from_regex("a[ab]*'|b", limits=_PATIENT)
    nesting = Grammar.from_kbnf("start ::= 'b' start 'b' | #'[0-9]*';", limits=_PATIENT).network
    assert pattern.dfa is not None
    assert pattern.regex is not None
    for constraint in (
        DfaConstraint(pattern.dfa, vocabulary, _PATIENT),
        LazyConstraint(LazyDfa(thompson(pattern.regex), _PATIENT), vocabulary, _PATIENT),
        StackConstraint(nesting, vocabulary, _PATIENT),
    ):
        state = constraint.initial
        for byte in b"ab":
            constraint.mask(state)
            state = constraint.step_bytes(state, bytes([byte])) or state


#: A new installation compiles for seconds; that is nobody's grammar's doing.
_PATIENT = Limits(seconds=600.0)
