"""The ``Constraint`` protocol, and what a constraint can do besides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from functools import cache
from typing import (
    Any,
    NoReturn,
    Protocol,
    Self,
    TypeGuard,
    runtime_checkable,
)

import numpy as np

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.masks import TokenMask, pack
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
