"""Sessions: conversations with one model, lent to one asker at a time; a context in, a session out.

Steps, forks and searches ask about texts that begin alike: whoever asks gets the conversation that
has read the most of it already. No two askers ever hold the same one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from workbench.decoding.model import LanguageModel, Logits, Session
from workbench.vocabulary.vocabulary import TokenId

#: Conversations kept for later; each holds a cache as long as its text.
_KEPT = 4


class PooledSession:
    """A session that remembers what it has read."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.read: list[TokenId] = []

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """As ``Session`` says."""
        found: Logits = self.judge(token_ids, 1)[0]
        return found

    def judge(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """As ``Session`` says."""
        self.read = []  # whatever is left of a failed call is not counted on
        found = self._session.judge(token_ids, last)
        self.read = list(token_ids)
        return found


class SessionPool:
    """The conversations of one model that nobody is using, the latest used last."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._idle: list[PooledSession] = []
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, model: LanguageModel, context: Sequence[TokenId]) -> Iterator[PooledSession]:
        """A session for whoever asks about ``context``; theirs alone until they are done.

        One that has read most of the text if there is any, else a new one: cropping another
        visitor's would cost them what it saves here.
        """
        session = self._taken(list(context)) or PooledSession(model.session())
        try:
            yield session
        finally:
            with self._lock:
                self._idle.append(session)
                del self._idle[: -self._kept]

    def _taken(self, context: list[TokenId]) -> PooledSession | None:
        with self._lock:
            shared = [common_prefix(session.read, context) for session in self._idle]
            best = max(range(len(shared)), key=shared.__getitem__, default=None)
            if best is None or 2 * shared[best] < len(context):
                return None
            return self._idle.pop(best)


def common_prefix(left: list[TokenId], right: list[TokenId]) -> int:
    """How many tokens two texts begin with alike."""
    if right[: len(left)] == left:  # the usual case, compared at C speed
        return len(left)
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
