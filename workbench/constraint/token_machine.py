"""``TokenMachine``: the one interface of everything that restricts a run.

``Constraint`` is the least that a run needs, and all that an author of a constraint has to write.
What is built on another constraint (a budget, a monitor, reasoning, labels, small tokens, drafts)
needs more, and so do the records and pictures of a run. ``TokenMachine`` has all of it, with an
answer for machines that have nothing special to say. What a machine cannot do at all is a
``Capability`` in ``lacks``, with the reason; ``require`` is the one check.

``machine_of`` gives any constraint this interface.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple, NoReturn, Self

from workbench.base.cached_property import cached_property
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import TokenDistances, TokenGraph, explored
from workbench.syntax.regex.extensions import Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Capability(Enum):
    """What only some machines can do."""

    #: ``step_bytes`` and ``next_bytes``: to read a text whose tokens are not known.
    BYTES = auto()
    #: ``bytes_left``: to know how near the end of an accepted text is.
    BYTES_LEFT = auto()
    #: ``token_distances``: to count the tokens to the end of an accepted text.
    TOKEN_DISTANCES = auto()


class Lack(NamedTuple):
    """Why a machine lacks a capability: the message and the hint of a refusal."""

    message: str
    hint: str


#: What to do where the bytes of ``forced`` take too long.
ASK_FOR_LESS = "the text may be very long; pass the most bytes that you need"


class BudgetLeft(NamedTuple):
    """What remains of a budget of tokens in a state; both numbers include the end token."""

    tokens: int
    #: The fewest tokens that end the text.
    fewest: int


_BY_TOKENS = Lack("this method reads whole tokens, not bytes", "choose the method 'automaton'")
_NO_BYTE_COUNT = Lack(
    "this method does not count the bytes to the end of a text", "choose the method 'automaton'"
)


class TokenMachine(ABC):
    """A constraint with all that others ask of it; the base class of those in this package.

    Its states are mostly numbered in the order of their first visit, so they belong to it and to
    this process: a copy is the machine itself, and it cannot be pickled.
    """

    vocabulary: Vocabulary
    #: Of each mask, and of what is counted.
    limits: Limits = LIMITS

    _distances: TokenDistances | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vocabulary!r})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise WorkbenchError(
            f"{type(self).__name__} cannot be pickled: its states are numbers of this process",
            "pickle the grammar and the vocabulary, and compile them in the other process",
        )

    # -- the constraint ------------------------------------------------------------------------

    @property
    @abstractmethod
    def initial(self) -> State:
        """The state before the first token."""

    @abstractmethod
    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next; cached, so a second call costs nothing."""

    @abstractmethod
    def advance(self, state: State, token_id: TokenId) -> State:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """

    @abstractmethod
    def is_final(self, state: State) -> bool:
        """Whether the text read is accepted."""

    @abstractmethod
    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        """The bytes that every accepted text continues with, at most ``most`` of them."""

    # -- capabilities --------------------------------------------------------------------------

    @property
    def lacks(self) -> Mapping[Capability, Lack]:
        """The capabilities that this machine does not have, each with the reason."""
        return {Capability.BYTES: _BY_TOKENS, Capability.BYTES_LEFT: _NO_BYTE_COUNT}

    def can(self, capability: Capability) -> bool:
        """Whether this machine has a capability."""
        return capability not in self.lacks

    def require(self, capability: Capability) -> None:
        """Refuse what this machine cannot do. Raises: WorkbenchError with the reason."""
        if not self.can(capability):
            raise self._refusal(capability)

    def _refusal(self, capability: Capability) -> WorkbenchError:
        return WorkbenchError(*self.lacks[capability])

    # -- reading bytes -------------------------------------------------------------------------

    def step_bytes(self, state: State, data: bytes) -> State | None:
        """The state after bytes, or None where no accepted text continues with them.

        Raises: WorkbenchError without ``Capability.BYTES``.
        """
        raise self._refusal(Capability.BYTES)

    def next_bytes(self, state: State) -> list[int]:
        """The bytes that may come next in an accepted text, sorted.

        Raises: WorkbenchError without ``Capability.BYTES``.
        """
        return [b for b in range(256) if self.step_bytes(state, bytes((b,))) is not None]

    def bytes_left(self, state: State) -> int:
        """The fewest bytes to the end of an accepted text.

        Raises: WorkbenchError without ``Capability.BYTES_LEFT``.
        """
        raise self._refusal(Capability.BYTES_LEFT)

    # -- distances in tokens -------------------------------------------------------------------

    def engine(self) -> TokenMachine:
        """The machine that has these masks after the same tokens, and counts fastest: often itself.

        A method of another paper whose masks are exact names one of the exact engine.
        """
        return self

    def closed_form(self, limits: Limits) -> TokenGraph | None:
        """The composed automaton over tokens with the same states; None if there is none.

        Raises: LimitError
        """
        return None

    def token_distances(self, limits: Limits = LIMITS) -> TokenDistances:
        """The fewest tokens from each state to an accepted text; computed once.

        Cost:   twice ``limits.seconds`` at most.
        Raises: WorkbenchError without ``Capability.TOKEN_DISTANCES``, and for a machine with too
                many states to explore; LimitError.
        """
        if self._distances is None:
            self.require(Capability.TOKEN_DISTANCES)
            # the distances are computed once, and spare the run all texts that are cut
            limits = replace(limits, seconds=2 * limits.seconds)
            with time_budget(limits.seconds):
                self._distances = self._count(limits)
        return self._distances

    def _count(self, limits: Limits) -> TokenDistances:
        """Compute the distances: here by visiting all states. Raises: LimitError."""
        return explored(self, limits)

    # -- how a run is read ---------------------------------------------------------------------

    def state_key(self, state: State) -> Hashable:
        """The part of a state that is likely to occur again: often itself."""
        key: Hashable = state
        return key

    def label(self, state: State, token_id: TokenId) -> Label | None:
        """The terminal label that reads a token in this state, or None."""
        return None

    def read_as(self, state: State, token_id: TokenId) -> bytes:
        """The bytes that the grammar's machine reads for a token: often its own."""
        return self.vocabulary.tokens[token_id] or b""

    def is_free(self, state: State) -> bool:
        """Whether the text is in a part that the grammar does not read, such as reasoning."""
        return False

    def answer_in(self, token_ids: Iterable[TokenId]) -> bytes:
        """The part of a text that the grammar describes: often all of it."""
        return self.vocabulary.decode(token_ids)

    def budget_left(self, state: State) -> BudgetLeft | None:
        """The tokens left and needed, where the text must end within a budget; else None."""
        return None

    def without_budget(self) -> TokenMachine:
        """The machine without its budget; often itself."""
        return self

    def why(self, text: bytes) -> str:
        """Why no accepted text begins with a text that the grammar accepts; empty if unknown."""
        return ""


class CachedMasks(TokenMachine):
    """A machine whose masks are computed by ``_mask``, and as many of them cached as limits allow.

    A state is hashable, and equal states have one mask.
    """

    @abstractmethod
    def _mask(self, state: State) -> TokenMask:
        """Compute the mask of a state."""

    @cached_property
    def _cached_mask(self) -> Callable[[State], TokenMask]:
        return lru_cache(maxsize=self.limits.rows_of(len(self.vocabulary) // 8 + 1))(self._mask)

    def mask(self, state: State) -> TokenMask:
        """The tokens that may come next; cached."""
        return self._cached_mask(state)


def machine_of(constraint: Constraint) -> TokenMachine:
    """Any constraint as a token machine: itself, or one that answers for it."""
    return constraint if isinstance(constraint, TokenMachine) else _Plain(constraint)


class _Plain(TokenMachine):
    """A constraint of which masks and steps alone are known."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self.vocabulary = constraint.vocabulary

    @property
    def initial(self) -> State:
        return self._constraint.initial

    def mask(self, state: State) -> TokenMask:
        return self._constraint.mask(state)

    def advance(self, state: State, token_id: TokenId) -> State:
        return self._constraint.advance(state, token_id)

    def is_final(self, state: State) -> bool:
        return self._constraint.is_final(state)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        return self._constraint.forced(state, most)
