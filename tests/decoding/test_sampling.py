"""Sampling: the order of its steps, its statistics, its seeds, its edge cases."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.decoding.sampling import Sampling, SamplingError, log_softmax, log_sum
from workbench.decoding.stages import likeliest

LOGITS = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
ALL = TokenMask.of(range(4), 4)


def drawn(sampling: Sampling, allowed: TokenMask, count: int = 4000) -> dict[int, float]:
    """How often each token is drawn."""
    counts = Counter(sampling.choose(LOGITS, allowed, sampling.rng(i)) for i in range(count))
    return {token: n / count for token, n in counts.items()}


ONE, HALF = 1.0, 0.5
AS_IS = {0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1}

#   temperature, top-k, top-p, seed, min-p  forbidden  expected shares    because
SHARES = [
    ((ONE, None, None),        (),   AS_IS,                  "as they are"),
    ((ONE, None, None),        (0,), {1: 1/2, 2: 1/3, 3: 1/6}, "mask, then renormalised"),
    ((HALF, None, None),       (),   {0: 16/30, 1: 9/30, 2: 4/30, 3: 1/30}, "squared"),
    ((ONE, 2, None),           (),   {0: 4/7, 1: 3/7},       "the two likeliest"),
    ((ONE, 2, None),           (0,), {1: 3/5, 2: 2/5},       "top-k counts the allowed"),
    ((ONE, None, 0.7),         (),   {0: 4/7, 1: 3/7},       "0.4 + 0.3 is enough"),
    ((ONE, None, 0.71),        (),   {0: 4/9, 1: 3/9, 2: 2/9}, "0.7 is not 0.71"),
    ((ONE, None, 0.01),        (),   {0: 1.0},               "one is always kept"),
    ((HALF, None, 0.8),        (),   {0: 16/25, 1: 9/25},    "temperature comes before top-p"),
    ((ONE, 2, 0.6),            (),   {0: 4/7, 1: 3/7},       "top-p of what top-k left: 4/7 < 0.6"),
    ((ONE, 9, None),           (),   AS_IS,                  "more than there are"),
    ((ONE, None, 1.0),         (),   AS_IS,                  "all of it"),
    ((ONE, None, None, 0, 0.7), (),  {0: 4/7, 1: 3/7},       "0.3 is 3/4 of 0.4, 0.2 is half"),
    ((ONE, None, None, 0, 0.6), (0,), {1: 3/5, 2: 2/5},      "min-p counts the allowed: 0.2 is 2/3"),
    ((HALF, None, None, 0, 0.7), (), {0: 1.0},               "temperature comes before min-p: 9/16"),
    ((ONE, 3, 0.7, 0, 0.6),    (),   {0: 4/7, 1: 3/7},       "what all of them keep"),
    ((ONE, None, None, 0, 0.0), (),  AS_IS,                  "at least nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "forbidden", "expected", "because"), SHARES)
def test_draws_have_the_shares_of_the_settings(
    settings: tuple[Any, ...],
    forbidden: tuple[int, ...],
    expected: dict[int, float],
    because: str,
) -> None:
    sampling = Sampling(*settings)
    allowed = TokenMask.of(set(ALL) - set(forbidden), 4)
    found = drawn(sampling, allowed)
    assert found.keys() == expected.keys(), because
    for token, share in expected.items():
        # five standard deviations of 4,000 draws; the seeds are fixed, so this cannot flicker
        assert abs(found[token] - share) < 5 * math.sqrt(share * (1 - share) / 4000) + 1e-9, because


@pytest.mark.slow
@pytest.mark.parametrize("top_p", [0.5, 0.9, 0.999])
def test_top_p_over_many_tokens_is_the_plain_definition(top_p: float) -> None:
    logits = np.random.default_rng(1).normal(0, 3, 5000).astype(np.float32)
    order = np.argsort(-logits, kind="stable")
    shares = np.exp(log_softmax(logits))[order]
    size = next(n for n in range(1, 5001) if shares[:n].sum() >= top_p)
    assert (size > 1000) is (top_p > 0.99)  # both ways of finding it
    sampling = Sampling(temperature=1.0, top_p=top_p)
    everything = TokenMask.of(range(5000), 5000)
    found = {sampling.choose(logits, everything, sampling.rng(i)) for i in range(3000)}
    assert found <= set(order[:size].tolist())
    assert np.isin(order, list(found)).nonzero()[0].max() >= 0.8 * (size - 1)


def test_greedy_takes_the_likeliest_allowed_and_the_lowest_of_equals() -> None:
    rng = Sampling().rng(0)
    assert Sampling().choose(LOGITS, ALL, rng) == 0
    assert Sampling().choose(LOGITS, TokenMask.of([2, 3], 4), rng) == 2
    assert Sampling().choose(np.array([1, 2, 2], np.float32), TokenMask.of(range(3), 3), rng) == 1


def test_greedy_if_all_allowed_tokens_have_probability_0() -> None:
    logits = np.array([0, -np.inf, -np.inf], np.float32)
    allowed = TokenMask.of([1, 2], 3)
    assert Sampling().choose(logits, allowed, Sampling().rng(0)) == 1
    warm = Sampling(temperature=1.0)
    assert {warm.choose(logits, allowed, warm.rng(i)) for i in range(30)} == {1, 2}


def test_rows_that_are_no_tokens_are_never_taken() -> None:
    padded = np.array([0, 1, 50, 60], np.float32)
    warm = Sampling(temperature=5.0)
    assert {warm.choose(padded, TokenMask.of(range(2), 2), warm.rng(i)) for i in range(50)} == {
        0,
        1,
    }


def test_the_unconstrained_draw_is_kept_where_it_is_allowed() -> None:
    warm = Sampling(temperature=1.0)
    some = TokenMask.of([0, 2], 4)
    for index in range(200):
        own = warm.choose(LOGITS, ALL, warm.rng(index))
        if own in some:
            assert warm.choose(LOGITS, some, warm.rng(index)) == own


def test_a_step_repeats_itself_and_differs_from_others() -> None:
    warm = Sampling(temperature=1.0, seed=3)
    first = [warm.choose(LOGITS, ALL, warm.rng(i)) for i in range(50)]
    assert first == [warm.choose(LOGITS, ALL, warm.rng(i)) for i in range(50)]
    other = Sampling(temperature=1.0, seed=4)
    assert first != [other.choose(LOGITS, ALL, other.rng(i)) for i in range(50)]
    assert len(set(first)) > 1


@pytest.mark.parametrize("temperature", [1e-300, 1e-9, 1e9])
def test_extreme_temperatures_do_not_overflow(temperature: float) -> None:
    sampling = Sampling(temperature=temperature)
    assert sampling.choose(LOGITS * 1000, ALL, sampling.rng(0)) in range(4)


ERRORS = [
    ({"temperature": -0.1}, "expected a temperature of 0 or more, not -0.1"),
    ({"temperature": math.nan}, "expected a temperature of 0 or more, not nan"),
    ({"temperature": math.inf}, "expected a temperature of 0 or more, not inf"),
    ({"temperature": 10**400}, "expected a temperature of 0 or more, not 1" + "0" * 400),
    ({"top_k": 0}, "expected top-k to be 1 or more, not 0"),
    ({"top_p": 0.0}, "expected top-p above 0 and up to 1, not 0.0"),
    ({"top_p": 1.1}, "expected top-p above 0 and up to 1, not 1.1"),
    ({"min_p": -0.1}, "expected min-p between 0 and 1, not -0.1"),
    ({"min_p": 1.1}, "expected min-p between 0 and 1, not 1.1"),
    ({"repetition_penalty": 0.0}, "expected a repetition penalty above 0, not 0.0"),
    ({"repetition_penalty": math.nan}, "expected a repetition penalty above 0, not nan"),
    ({"seed": -1}, "expected a seed of 0 or more, not -1"),
]


@pytest.mark.parametrize(("settings", "message"), ERRORS)
def test_error_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SamplingError) as caught:
        Sampling(**settings)  # type: ignore[arg-type]
    assert caught.value.message == message
    assert isinstance(caught.value, WorkbenchError)
    assert isinstance(caught.value, ValueError)


def test_error_nothing_allowed() -> None:
    with pytest.raises(SamplingError, match="at least one allowed token"):
        Sampling().choose(LOGITS, TokenMask.of([], 4), Sampling().rng(0))


def test_log_softmax_keeps_small_probabilities() -> None:
    logprobs = log_softmax(np.array([0.0, -60.0, -np.inf], np.float32))
    assert logprobs.dtype == np.float64
    assert logprobs[1] == pytest.approx(-60.0)
    assert logprobs[2] == -math.inf
    assert log_sum(logprobs) == pytest.approx(0.0, abs=1e-12)
    assert log_sum(logprobs[:0]) == log_sum(logprobs[2:]) == -math.inf


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.integers(0, 14))
def test_likeliest_is_a_stable_sort(scores: list[int], count: int) -> None:
    array = np.array(scores, np.float32)
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count]
    assert likeliest(array, count).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2_000), st.integers(0, 40), st.booleans())
def test_the_likeliest_of_many_are_those_of_a_sort(
    seed: int, size: int, count: int, equal: bool
) -> None:
    scores = np.random.default_rng(seed).normal(size=size).astype(np.float32)
    if equal:  # many equal scores, and most of them impossible
        scores = np.where(np.arange(size) % 7, -np.inf, np.round(scores)).astype(np.float32)
    order = sorted(range(size), key=lambda token_id: (-scores[token_id], token_id))
    assert likeliest(scores, count).tolist() == order[:count]


def test_the_streams_of_random_numbers_are_those_of_their_key() -> None:
    for key in [(0, 0), (7, 500), (2**32 - 1, 2**32 - 1), (2**32, 3), (5, 2**40), (1, 2, 1 << 32)]:
        own = Sampling(seed=key[0]).rng(*key[1:]).bit_generator.state
        assert own == np.random.PCG64(key).state
