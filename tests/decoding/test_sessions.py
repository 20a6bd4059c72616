from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from workbench.decoding.model import Logits, SessionPool, StatelessSession, ToyModel, common_prefix
from workbench.vocabulary.toy_vocabularies import toy


class Session:
    """A session that says which tokens it has read last."""

    def __init__(self, model: ToyModel) -> None:
        self._session = StatelessSession(model.logits)
        self.read: Sequence[int] = ()

    def score(self, token_ids: Sequence[int], last: int) -> Logits:
        self.read = list(token_ids)
        return self._session.score(token_ids, last)

    def logits(self, token_ids: Sequence[int]) -> Logits:
        rows: Logits = self.score(token_ids, 1)[0]
        return rows


class Model(ToyModel):
    def session(self) -> Session:  # type: ignore[override]
        return Session(self)


MODEL = Model(toy(["a", "b", "c"]))


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        ([], [1], 0),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 2], 2),
        ([1, 2], [1, 3], 1),
        ([], [], 0),
    ],
)
def test_common_prefix(left: list[int], right: list[int], shared: int) -> None:
    assert common_prefix(left, right) == shared


def test_a_continued_text_gets_the_same_session() -> None:
    sessions = SessionPool()
    with sessions.borrow(MODEL, [0, 1]) as first:
        first.logits([0, 1])
    with sessions.borrow(MODEL, [0, 1, 2]) as second:
        assert second is first
    with sessions.borrow(MODEL, [2, 2, 2]) as other:
        assert other is not first, "another text would crop the cache"


def test_a_session_has_one_borrower() -> None:
    sessions = SessionPool()
    with sessions.borrow(MODEL, [0, 1]) as first:
        first.logits([0, 1])
    with sessions.borrow(MODEL, [0, 1]) as second, sessions.borrow(MODEL, [0, 1]) as third:
        assert second is first
        assert third is not first


def test_the_latest_sessions_are_kept() -> None:
    sessions = SessionPool(kept=2)
    borrowed = []
    for context in ([0], [1], [2]):
        with sessions.borrow(MODEL, context) as session:
            session.logits(context)
            borrowed.append(session)
    with sessions.borrow(MODEL, [0]) as again:
        assert again not in borrowed
    with sessions.borrow(MODEL, [2]) as latest:
        assert latest is borrowed[2]


def test_a_session_without_a_cache_is_not_kept() -> None:
    sessions = SessionPool()
    model = ToyModel(MODEL.vocabulary)
    with sessions.borrow(model, [0, 1]) as first:
        first.logits([0, 1])
    with sessions.borrow(model, [0, 1]) as second:
        assert second is not first


def test_positions_are_scored_in_the_order_of_the_request() -> None:
    context = [0, 1, 2, 3]
    for row, length in zip(MODEL.session().score(context, 3), (2, 3, 4), strict=True):
        np.testing.assert_array_equal(row, MODEL.logits(context[:length]))
