"""Opportunistic masking: no mask if the model's draw is allowed, and the same numbers."""

from __future__ import annotations

import math

import pytest

from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.model import LanguageModel
from workbench.decoding.opportunistic_masking import LazyMask, OpportunisticMasking
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason, Trace
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId

LETTERS = toy("abcd")  # end is 4
USUAL = [math.log(p) for p in (0.1, 0.2, 0.3, 0.25, 0.15)]
FREE = FiniteConstraint(LETTERS, [b"abcd", b"abdd", b"bbdc", b"ccccc"])


def ran(
    model: LanguageModel, constraint: Constraint, sampling: Sampling, strategy: OpportunisticMasking
) -> Trace:
    run = generate(model, constraint, [0], sampling, strategy=strategy)
    for _ in run:
        pass
    return run.trace


def test_opportunistic_computes_a_mask_only_if_the_draw_is_forbidden() -> None:
    asked: list[object] = []

    class Watched(FiniteConstraint):
        def mask(self, state: object) -> TokenMask:
            asked.append(state)
            return super().mask(state)

        def allows(self, state: object, token_id: TokenId) -> bool:
            return token_id in super().mask(state)

        def advance(self, state: object, token_id: TokenId) -> bytes:
            assert isinstance(state, bytes)
            return state + (self.vocabulary.tokens[token_id] or b"")

    constraint = Watched(LETTERS, [b"cab", b"cbd"])
    steps = []
    for step in generate(
        TableModel(LETTERS, USUAL), constraint, [0], strategy=OpportunisticMasking()
    ):
        steps.append((step.token, list(asked)))
    # c was drawn and allowed; c is refused after it, and after cb; the end is looked at whole
    assert steps == [
        (b"c", []), (b"b", [b"c"]), (b"d", [b"c", b"cb"]), (b"", [b"c", b"cb", b"cbd"]),
    ]  # fmt: skip


def test_a_lazy_mask_equals_the_mask() -> None:
    late, mask = LazyMask(FREE, b"ab"), FREE.mask(b"ab")
    assert [i in late for i in range(5)] == [i in mask for i in range(5)]
    assert not late.is_computed
    assert late == mask
    assert late.is_computed
    assert list(late) == [2, 3]
    with pytest.raises(AttributeError):
        late.bytes  # noqa: B018


def test_opportunistic_without_an_end_token_and_in_a_dead_end() -> None:
    endless = toy("ab", end=False)
    complete = ran(
        TableModel(endless, [0.0, 0.0]), FiniteConstraint(endless, [b"ab"]), Sampling(), OpportunisticMasking()
    )  # fmt: skip
    assert (complete.text, complete.stop) == (b"ab", StopReason.FORCED_END)
    stuck = ran(
        TableModel(LETTERS, USUAL),
        FiniteConstraint(LETTERS, []),
        Sampling(),
        OpportunisticMasking(),
    )
    assert (stuck.text, stuck.stop) == (b"", StopReason.DEAD_END)


def test_a_constraint_without_allows_is_tested_by_advancing() -> None:
    late = LazyMask(FREE, b"ab")  # it has no ``allows``
    assert 2 in late
    assert 0 not in late
    assert not late.is_computed
    assert late.ms > 0


def test_measures_of_the_mask_are_computed_on_access() -> None:
    step = next(
        iter(generate(TableModel(LETTERS, USUAL), FREE, [0], strategy=OpportunisticMasking()))
    )
    mask = step.mask
    assert isinstance(mask, LazyMask)
    assert step.logprob == pytest.approx(math.log(0.3))
    assert (step.rank, step.favourite_id) == (1, 2)
    assert not mask.is_computed
    assert step.kept == pytest.approx(0.6)
    assert mask.is_computed
    assert [c.token_id for c in step.allowed] == [2, 1, 0]
    with pytest.raises(AttributeError):
        step.nothing  # noqa: B018
