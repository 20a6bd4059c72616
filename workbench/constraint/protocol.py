"""The ``Constraint`` protocol and its masks (``TokenMask``); machines over tokens."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import (
    Any,
    ClassVar,
    Generic,
    NoReturn,
    Protocol,
    Self,
    TypeGuard,
    TypeVar,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State as DfaState
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.limits import Limits
from workbench.syntax.regex.extensions import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A constraint's state: an immutable value, cheap to hash; equal states allow the same
#: continuations. To rewind, keep an earlier state. Each constraint has its own type of state.
State = Any


class _HasVocabulary(Protocol):
    """What ``constraint_repr`` reads; a constraint's own attribute or property."""

    @property
    def vocabulary(self) -> Vocabulary: ...


def constraint_repr(constraint: _HasVocabulary) -> str:
    """The ``repr`` of a constraint on one line: its class and its vocabulary."""
    return f"{type(constraint).__name__}({constraint.vocabulary!r})"


@runtime_checkable
class Constraint(Protocol):
    """Which tokens may come next, and the state after each.

    All exact constraints keep this rule: a token is in the mask of a state if and only if
    some accepted text begins with the bytes read followed by the token's bytes;
    every end token is in the mask if and only if the text read is accepted. Other special
    tokens never are. (Terminal labels match whole tokens; ``labels`` has the rule for them.)
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def initial(self) -> State: ...

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next; cached, so a second call costs nothing."""
        ...

    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token.

        An end token, where the mask allows it, leads to the same state.
        Raises: TokenNotAllowed where the token is not in the mask.
        """
        ...

    def is_final(self, state: State) -> bool:
        """Whether the text read is accepted."""
        ...

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with, at most ``most`` of them.

        Empty at a branch or a final state.
        Raises: LimitError where they take longer than the constraint's limits allow.
        """
        ...


@runtime_checkable
class StepsByBytes(Protocol):
    """A constraint that can also read a text whose tokens are not known."""

    def step_bytes(self, state: State, data: bytes) -> State | None:
        """The state after bytes, or None where no accepted text continues with them."""
        ...


@runtime_checkable
class HasEngine(Protocol):
    """A constraint that may have the masks of one of the exact engine."""

    def engine(self) -> Constraint | None:
        """A constraint of the exact engine with these masks after the same tokens, or None."""
        ...


@runtime_checkable
class ReadsLabels(Protocol):
    """A constraint with terminal labels, which match whole tokens."""

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The label that matches a token in this state, or None."""
        ...

    def read_as(self, state: State, token_id: TokenId) -> bytes:
        """The bytes that the machine reads for a token: its bytes or a label's code."""
        ...


@cache
def _reads_labels(kind: type[object]) -> bool:
    return issubclass(kind, ReadsLabels)


def reads_labels(constraint: Constraint) -> TypeGuard[ReadsLabels]:
    """Whether a constraint has terminal labels; for each token (``isinstance`` takes 15 µs)."""
    return _reads_labels(type(constraint))


@runtime_checkable
class HasStateKeys(Protocol):
    """A constraint whose states seldom occur twice, but parts of them often do."""

    def state_key(self, state: State) -> Hashable:
        """The part of a state that is likely to occur again."""
        ...


def state_key(constraint: Constraint) -> Callable[[State], Hashable]:
    """The function from a state to the part of it that is likely to occur again: often itself."""
    return constraint.state_key if isinstance(constraint, HasStateKeys) else _itself


def _itself(state: Hashable) -> Hashable:
    return state


class ProcessLocal:
    """A constraint whose states are numbered in the order of their first visit.

    A copy is the constraint itself, with which its states can be used.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise WorkbenchError(
            f"{type(self).__name__} cannot be pickled: its states are numbers of this process",
            "pickle the grammar and the vocabulary, and compile them in the other process",
        )


class Unconstrained:
    """Allows every token that has bytes, and the end tokens at any time."""

    __repr__ = constraint_repr

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        allowed = np.array([token is not None for token in vocabulary.tokens], np.bool_)
        allowed[list(vocabulary.ends)] = True
        self._mask = TokenMask(pack(allowed), len(vocabulary))

    @property
    def initial(self) -> State:
        return 0

    def mask(self, state: State) -> TokenMask:
        return self._mask

    def advance(self, state: State, token_id: TokenId) -> State:
        if token_id not in self._mask:
            raise TokenNotAllowed(f"token {token_id} is special or not in the vocabulary")
        return state

    def is_final(self, state: State) -> bool:
        return True

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return b""


# -- masks ----------------------------------------------------------------------------------------
# ``TokenMask``: the set of tokens that may come next, one bit for each token, read-only.


#: The most bytes of the cached ids of masks with many ids.
_MAX_RECENT_BYTES = 1 << 24


class TokenMask:
    """Which of V tokens may come next.

    The layout is that of vLLM, xgrammar and llguidance, so a mask can be passed to any of
    their samplers: token i is bit ``i % 32`` of word ``i // 32``.

    Constraints cache thousands of masks, so a mask stores its bits, and its ids only if these
    take fewer bytes. Of the masks with many ids, the ids requested last are cached: those of the
    runs of a batch.

    Shape: ``bits`` (ceil(V / 32),) uint32, read-only; ``ids`` int32, sorted.
    """

    #: The ids of a mask that allows few tokens, after the first request.
    _ids: npt.NDArray[np.int32] | None = None
    #: Masks with many ids whose ids were requested last, and these ids, by the mask's ``id``.
    _recent: ClassVar[dict[int, tuple[TokenMask, npt.NDArray[np.int32]]]] = {}

    def __init__(self, bits: npt.NDArray[np.uint32], size: int) -> None:
        if len(bits) != (size + 31) // 32:
            raise ValueError(f"{size} tokens need {(size + 31) // 32} words, not {len(bits)}")
        bits.setflags(write=False)
        self.bits = bits
        #: V, the vocabulary's size (``len`` is the number of allowed tokens).
        self.size = size

    @staticmethod
    def of(ids: Iterable[int], size: int) -> TokenMask:
        """The mask that allows exactly these tokens of a vocabulary of ``size``."""
        allowed = np.zeros(size, np.bool_)
        allowed[np.fromiter(ids, np.int64)] = True
        return TokenMask(pack(allowed), size)

    def __contains__(self, token_id: int) -> bool:
        return 0 <= token_id < self.size and bool(self.bits[token_id >> 5] >> (token_id & 31) & 1)

    def __len__(self) -> int:
        return int(np.bitwise_count(self.bits).sum())

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenMask):
            return NotImplemented
        return self.size == other.size and bool(np.array_equal(self.bits, other.bits))

    __hash__ = None  # type: ignore[assignment]  # masks hold arrays

    def __repr__(self) -> str:
        return f"TokenMask({len(self)} of {self.size})"

    def without(self, ids: Iterable[int]) -> TokenMask:
        """The mask without some tokens; itself if it has none of them."""
        present = [i for i in ids if i in self]
        if not present:
            return self
        bits = self.bits.copy()
        set_bits(bits, present, allowed=False)
        return TokenMask(bits, self.size)

    @property
    def bools(self) -> npt.NDArray[np.bool_]:
        """The mask as V booleans, read-only; a new array."""
        unpacked = np.unpackbits(self.bits.view(np.uint8), bitorder="little")[: self.size]
        allowed = unpacked.view(np.bool_)
        allowed.setflags(write=False)
        return allowed

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """The allowed token ids, sorted, read-only."""
        if self._ids is not None:
            return self._ids
        known = TokenMask._recent.get(id(self))
        if known is not None:
            return known[1]
        ids = np.flatnonzero(self.bools).astype(np.int32)
        ids.setflags(write=False)
        if ids.nbytes <= self.bits.nbytes:
            self._ids = ids
        else:
            if (len(TokenMask._recent) + 1) * ids.nbytes > _MAX_RECENT_BYTES:
                TokenMask._recent = {}
            TokenMask._recent[id(self)] = self, ids
        return ids


def set_bits(bits: npt.NDArray[np.uint32], ids: Iterable[int], *, allowed: bool) -> None:
    """Allow or forbid some tokens in packed bits, in place."""
    for token_id in ids:
        if allowed:
            bits[token_id >> 5] |= 1 << (token_id & 31)
        else:
            bits[token_id >> 5] &= 0xFFFFFFFF ^ (1 << (token_id & 31))


def pack(allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    """Pack V booleans into ceil(V / 32) words; the padding bits are 0."""
    words = np.zeros((len(allowed) + 31) // 32 * 4, np.uint8)
    packed = np.packbits(allowed, bitorder="little")
    words[: len(packed)] = packed
    return words.view(np.uint32)


# -- machines over tokens -------------------------------------------------------------------------
# Machines over tokens: their interface, and the base of constraints that step token by token.


class TokenAutomaton(Protocol):
    """A deterministic automaton over tokens, with numbered states."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def initial(self) -> DfaState: ...

    @property
    def finals(self) -> npt.NDArray[np.bool_]:
        """Which states accept, (Q,)."""
        ...

    @property
    def edge_count(self) -> int: ...

    def __len__(self) -> int:
        """The number of states."""
        ...

    def edges(self, state: DfaState) -> Sequence[tuple[TokenId, DfaState]]:
        """Each token that may come next, with its target state."""
        ...


@dataclass(frozen=True, slots=True)
class Precomputed:
    """The tables that a method computes before the first mask: their entries, and their size."""

    entries: int
    bytes: int


#: The states of a constraint.
S = TypeVar("S")

#: What to do where the bytes of ``forced`` take too long.
ASK_FOR_LESS = "the text may be very long; pass the most bytes that you need"


class TokenByToken(ProcessLocal, ABC, Generic[S]):
    """Base of constraints that can step by one token without computing a mask."""

    __repr__ = constraint_repr

    vocabulary: Vocabulary

    @abstractmethod
    def is_final(self, state: S) -> bool:
        """Whether the text read is accepted."""

    @abstractmethod
    def target(self, state: S, token_id: TokenId) -> S | None:
        """The state after a token other than an end token; None if it is not allowed."""

    def allows(self, state: S, token_id: TokenId) -> bool:
        """Whether one token is in the mask of a state, without computing the mask."""
        if token_id in self.vocabulary.ends:
            return self.is_final(state)
        return self.target(state, token_id) is not None

    def advance(self, state: S, token_id: TokenId) -> S:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        there = self.target(state, token_id)
        if there is None:
            raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return there

    def bytes_of(self, token_id: TokenId) -> bytes | None:
        """The bytes of a token; None for a special token and for an invalid id."""
        is_valid = 0 <= token_id < len(self.vocabulary)
        return self.vocabulary.tokens[token_id] if is_valid else None
