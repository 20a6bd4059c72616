"""PICARD's check of the likeliest tokens: what it takes, what it never computes, when it ends."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import WorkbenchError
from workbench.constraint.compile import compile
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.opportunistic_masking import Picard, allowed_of_likeliest
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason
from workbench.vocabulary.toy_vocabularies import toy

VOCABULARY = toy(["a", "b", "c", "d"])
#: d is wanted most, then c, b, a, the end.
LOGITS = np.array([1.0, 2.0, 3.0, 4.0, 0.0], np.float32)

#   k   allowed         because
CHECKED = [
    (1, [],             "d alone, and it is forbidden"),
    (2, [],             "d and c"),
    (3, [1],            "b is the third"),
    (4, [0, 1],         "a is the fourth"),
    (5, [0, 1],         "the end token is not allowed yet"),
    (9, [0, 1],         "more than there are"),
]  # fmt: skip


@pytest.mark.parametrize(("k", "allowed", "because"), CHECKED, ids=[row[2] for row in CHECKED])
def test_only_the_likeliest_tokens_are_checked(k: int, allowed: list[int], because: str) -> None:
    constraint = FiniteConstraint(VOCABULARY, [b"ad", b"b"])
    mask = allowed_of_likeliest(constraint, constraint.initial, LOGITS, k)
    assert mask.ids.tolist() == allowed, because
    padded = np.append(LOGITS, [99.0, 99.0]).astype(np.float32)
    assert allowed_of_likeliest(constraint, constraint.initial, padded, k) == mask, "no tokens"


def test_the_end_token_is_checked_like_any_other() -> None:
    constraint = FiniteConstraint(VOCABULARY, [b"a"])
    ending = np.array([0.0, 0.0, 0.0, 0.0, 1.0], np.float32)
    assert allowed_of_likeliest(constraint, b"a", ending, 1).ids.tolist() == [4]
    assert allowed_of_likeliest(constraint, b"", ending, 1).ids.tolist() == []


class Asked(FiniteConstraint):
    """A constraint that notes which tokens it is asked about, and refuses to make masks."""

    asked: list[int]

    def allows(self, state: object, token_id: int) -> bool:
        self.asked.append(token_id)
        return token_id in super().mask(state)


def test_the_mask_is_never_computed() -> None:
    constraint = Asked(VOCABULARY, [b"b"])
    constraint.asked = []
    allowed_of_likeliest(constraint, b"", LOGITS, 3)
    assert constraint.asked == [3, 2, 1]


def test_a_run_ends_if_no_checked_token_is_allowed() -> None:
    model = TableModel(VOCABULARY, LOGITS.tolist())
    constraint = FiniteConstraint(VOCABULARY, [b"ad", b"b"])
    run = generate(model, constraint, "a", strategy=Picard(k=2))
    assert list(run) == []
    assert run.stop is StopReason.DEAD_END
    run = generate(model, constraint, "a", strategy=Picard(k=3))
    assert b"".join(step.token for step in run) == b"b"
    assert run.stop is StopReason.FORCED_END, "the text is whole, and the end token unlikely"


def test_with_all_tokens_it_is_the_plain_loop() -> None:
    model = ToyModel(VOCABULARY, seed=3)
    constraint = compile(wb.Grammar.from_regex("(ab?|cd){2,6}"), VOCABULARY)
    for seed in range(8):
        sampling = Sampling(temperature=1.5, seed=seed)
        plain = generate(model, constraint, "a", sampling)
        checked = generate(model, constraint, "a", sampling, strategy=Picard(k=5))
        assert [s.token_id for s in checked] == [s.token_id for s in plain]
        assert checked.stop is plain.stop


def test_its_steps_have_the_kept_probability() -> None:
    model = TableModel(VOCABULARY, LOGITS.tolist())
    constraint = FiniteConstraint(VOCABULARY, [b"bb", b"ab"])
    step = next(generate(model, constraint, "a", strategy=Picard(k=3)))
    weights = np.exp(LOGITS)
    assert step.kept == pytest.approx(weights[1] / weights.sum()), "a is allowed, but not checked"
    assert step.forward
    assert step.rank == 3


@pytest.mark.parametrize("k", [0, -1, True, "8", 1.5])
def test_error_invalid_number_of_checked_tokens(k: object) -> None:
    with pytest.raises(WorkbenchError, match=f"at least one token, not {k!r}"):
        Picard(k=k)  # type: ignore[arg-type]
