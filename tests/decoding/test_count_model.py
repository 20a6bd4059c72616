"""CountModel: token frequencies after a context, interpolated with those after shorter ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import ModelError
from workbench.decoding.generate import generate
from workbench.decoding.model import CountModel, LanguageModel, ToyModel
from workbench.decoding.speculative import DraftSpeculation
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy("abc")
TOY = ToyModel(WORDS)


def shares(model: CountModel, *token_ids: int) -> list[float]:
    found: list[float] = np.exp(model.logits(token_ids)).tolist()
    return found


def test_probabilities_of_a_small_example() -> None:
    model = CountModel.learnt(TOY, [[0, 1, 0, 1], [0, 2]], memory=1)
    # alone: a 3, b 2, c 1 of 6 in 3 kinds; half of the rest, 3/9, is even
    alone = [3 / 9 + 1 / 12, 2 / 9 + 1 / 12, 1 / 9 + 1 / 12, 1 / 12]
    assert shares(model, 3) == pytest.approx(alone), "the end token was never met before another"
    # after a: b 2, c 1 in 2 kinds, so 2/5 of the shares alone are added
    after_a = [0.4 * alone[0], 2 / 5 + 0.4 * alone[1], 1 / 5 + 0.4 * alone[2], 0.4 * alone[3]]
    assert shares(model, 2, 0) == pytest.approx(after_a)


def test_an_empty_model_is_uniform() -> None:
    assert shares(CountModel.learnt(TOY, []), 0, 1) == pytest.approx([0.25] * 4)


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5), st.integers(0, 3), st.data())
def test_probabilities_sum_to_1(texts: list[list[int]], memory: int, data: st.DataObject) -> None:
    model = CountModel.learnt(TOY, texts, memory)
    context = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    found = shares(model, *context)
    assert sum(found) == pytest.approx(1)
    assert min(found) > 0, "nothing is impossible: a draft must be able to propose it"
    rows = model.session().score(context, len(context))
    for row, length in zip(rows, range(1, len(context) + 1), strict=True):
        np.testing.assert_array_equal(row, model.logits(context[:length]))


def test_it_drafts_for_the_model_it_learnt_from() -> None:
    constraint = FiniteConstraint(WORDS, [b"abcabc", b"aaaa"])
    model = CountModel.learnt(TOY, [[0, 1, 2, 0, 1, 2, 3]])
    assert isinstance(model, LanguageModel)
    assert model.encode("ab") == TOY.encode("ab")
    run = generate(
        ToyModel(WORDS, sample="xabcabc"), constraint, [0], strategy=DraftSpeculation(model)
    )
    assert b"".join(step.token for step in run) in constraint.texts
    with pytest.raises(ModelError):
        model.session().logits([])
