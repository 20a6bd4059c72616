"""A pool of model sessions, so that requests reuse cached prefixes.

Steps, forks and searches score texts with common prefixes. A request borrows the idle session whose
cache shares the longest prefix with its context; a session has one borrower at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from workbench.decoding.model import LanguageModel, Logits, Session
from workbench.vocabulary.vocabulary import TokenId

#: The most idle sessions; each holds a cache as long as its text.
_MAX_IDLE = 4


class PooledSession:
    """A session that records the tokens it has read."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.read: list[TokenId] = []

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """Implements ``Session``."""
        found: Logits = self.score(token_ids, 1)[0]
        return found

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """Implements ``Session``."""
        self.read = []  # after a failed call the cache is unknown
        found = self._session.score(token_ids, last)
        self.read = list(token_ids)
        return found


class SessionPool:
    """The idle sessions of one model, the most recently used last."""

    def __init__(self, kept: int = _MAX_IDLE) -> None:
        self._kept = kept
        self._idle: list[PooledSession] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, model: LanguageModel, context: Sequence[TokenId]) -> Iterator[PooledSession]:
        """Borrow a session for ``context``; no other caller gets it until the block ends.

        It is an idle one that has read most of the text, if any, else a new one: cropping the cache
        of another user's session would cost them what it saves here.
        """
        session = self._pop_best(list(context)) or PooledSession(model.session())
        try:
            yield session
        finally:
            with self._lock:
                self._idle.append(session)
                del self._idle[: -self._kept]

    def _pop_best(self, context: list[TokenId]) -> PooledSession | None:
        with self._lock:
            shared = [common_prefix(session.read, context) for session in self._idle]
            best = max(range(len(shared)), key=shared.__getitem__, default=None)
            if best is None or 2 * shared[best] < len(context):
                return None
            return self._idle.pop(best)


def common_prefix(left: list[TokenId], right: list[TokenId]) -> int:
    """The length of the common prefix of two token sequences."""
    if right[: len(left)] == left:  # the usual case, at C speed
        return len(left)
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
