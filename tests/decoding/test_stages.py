"""The stages of sampling are those of transformers, in its order; every stage is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.constraint.masks import TokenMask
from workbench.decoding.candidates import TokenDistribution
from workbench.decoding.sampling import Sampling
from workbench.decoding.stages import MinP, Stage, Temperature, TopK, TopP
from workbench.vocabulary.vocabulary import Vocabulary

torch = pytest.importorskip("torch")
warpers = pytest.importorskip("transformers.generation.logits_process")

SIZE = 40
VOCABULARY = Vocabulary([bytes([97 + i % 26]) * (1 + i // 26) for i in range(SIZE)])

#: Logits, many of them equal: multiples of a half.
LOGITS = st.lists(st.integers(-8, 8), min_size=SIZE, max_size=SIZE).map(
    lambda halves: np.array(halves, np.float32) / 2
)
MASKS = st.sets(st.integers(0, SIZE - 1), min_size=1)
#: Thresholds between the sums of such probabilities.
SHARES = st.floats(0.03, 0.97)


def theirs(processor: Any, logits: npt.NDArray[np.float32], read: list[int] | None = None) -> Any:
    """What a processor of transformers makes of logits."""
    ids = torch.tensor([read or [0]])
    return processor(ids, torch.tensor(logits)[None].clone())[0].numpy()


def probabilities(weights: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    shares: npt.NDArray[np.float64] = np.exp(weights.astype(np.float64) - weights.max())
    total: np.float64 = shares.sum()
    return np.asarray(shares / total)


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.integers(1, SIZE + 3), SHARES, st.floats(0.1, 3))
def test_each_stage_is_that_of_transformers(
    logits: npt.NDArray[np.float32], k: int, p: float, temperature: float
) -> None:
    weights = logits.astype(np.float64)
    # transformers adds float32: a threshold on a sum or on a ratio is not what is compared
    shares = np.sort(probabilities(weights))
    assume(np.abs(np.cumsum(shares) - (1 - p)).min() > 1e-5)
    assume(np.abs(shares / shares.max() - p).min() > 1e-5)
    pairs: list[tuple[Stage, Any]] = [
        (TopK(k), warpers.TopKLogitsWarper(k)),
        (MinP(p), warpers.MinPLogitsWarper(p)),
    ]
    for stage, processor in pairs:
        assert np.array_equal(stage(weights), theirs(processor, logits)), stage.name
    expected = theirs(warpers.TemperatureLogitsWarper(temperature), logits)
    assert np.allclose(probabilities(Temperature(temperature)(weights)), probabilities(expected))
    # of equally likely tokens at the end of the nucleus, any may be in it
    nucleus = TopP(p)(weights)
    expected = theirs(warpers.TopPLogitsWarper(p), logits)
    assert np.array_equal(np.sort(nucleus), np.sort(expected).astype(np.float64))
    assert set(nucleus[nucleus > -np.inf]) <= set(weights)


@settings(max_examples=60, deadline=None)
@given(LOGITS, st.lists(st.integers(0, SIZE - 1), max_size=30), st.floats(0.5, 2))
def test_the_repetition_penalty_is_that_of_transformers(
    logits: npt.NDArray[np.float32], read: list[int], penalty: float
) -> None:
    processor = warpers.RepetitionPenaltyLogitsProcessor(penalty)
    expected = theirs(processor, logits, read) if read else logits
    before = logits.copy()
    found = Sampling(repetition_penalty=penalty).penalized(logits, read)
    assert np.array_equal(found, expected)
    assert np.array_equal(logits, before)


def distribution(logits: npt.NDArray[np.float32], allowed: set[int]) -> TokenDistribution:
    mask = TokenMask.of(allowed, SIZE)
    return TokenDistribution.of(VOCABULARY, b"", (mask, 0.0), logits, 0.0)


@settings(max_examples=60, deadline=None)
@given(
    LOGITS,
    MASKS,
    st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=30),
    st.tuples(st.floats(0.3, 0.9), st.integers(1, 20), SHARES, SHARES, st.floats(1.1, 2)),
)
def test_all_stages_in_their_order_are_those_of_transformers(
    logits: npt.NDArray[np.float32],
    allowed: set[int],
    read: list[int],
    chosen: tuple[float, int, float, float, float],
) -> None:
    temperature, k, top_p, min_p, penalty = chosen
    # no two equal logits: of equal ones, transformers' nucleus may have another
    logits = logits + (np.arange(SIZE) / 64).astype(np.float32)
    sampling = Sampling(temperature, k, top_p, 0, min_p, penalty)
    scored = distribution(logits, allowed)
    stages = scored.stages(sampling, read)
    assert [name for name, _ in stages] == [
        "model", "repetition penalty", "mask", "temperature", "top-k", "top-p", "min-p"
    ]  # fmt: skip
    forbidden = np.array([i not in allowed for i in range(SIZE)])
    steps = [
        None,
        warpers.RepetitionPenaltyLogitsProcessor(penalty),
        lambda _, scores: scores.masked_fill(torch.tensor(forbidden)[None], -torch.inf),
        warpers.TemperatureLogitsWarper(temperature),
        warpers.TopKLogitsWarper(k),
        warpers.TopPLogitsWarper(top_p),
        warpers.MinPLogitsWarper(min_p),
    ]
    expected = logits
    everything = np.arange(SIZE)
    for step, (name, of) in zip(steps, stages, strict=True):
        shares = np.sort(probabilities(expected))
        if name == "top-p":
            assume(np.abs(np.cumsum(shares) - (1 - top_p)).min() > 1e-5)
        if name == "min-p":
            assume(np.abs(shares / shares.max() - min_p).min() > 1e-5)
        expected = expected if step is None else theirs(step, expected, read)
        assert np.allclose(of(everything), probabilities(expected), atol=1e-6), name
    ids = np.array(sorted(allowed))
    assert np.allclose(scored.shares(sampling, read), stages[-1][1](ids), atol=1e-12)
    drawn = {scored.drawn(sampling, index, read) for index in range(30)}
    assert drawn <= set(ids[scored.shares(sampling, read) > 0].tolist())


def test_the_mask_comes_first_so_that_a_forbidden_nucleus_forbids_nothing_else() -> None:
    logits = np.log(np.array([0.9, 0.06, 0.03, 0.01] + [1e-30] * (SIZE - 4), np.float32))
    scored = distribution(logits, {1, 2, 3})
    for sampling in (
        Sampling(1.0, top_k=1),
        Sampling(1.0, top_p=0.5),
        Sampling(1.0, min_p=0.9),
    ):
        assert [scored.drawn(sampling, index, []) for index in range(20)] == [1] * 20, sampling


def test_greedy_is_a_stage_that_leaves_one_token() -> None:
    logits = np.zeros(SIZE, np.float32)
    scored = distribution(logits, {3, 5})
    stages = dict(scored.stages(Sampling(), []))
    assert [*stages] == ["model", "mask", "temperature"]
    assert stages["temperature"](np.array([0, 3, 5])).tolist() == [0.0, 1.0, 0.0]


def test_all_end_tokens_are_one_read_token() -> None:
    vocabulary = Vocabulary([b"a", b"b", None, None], end=[2, 3])
    logits = np.array([1.0, 0.0, 2.0, 1.0], np.float32)
    mask = TokenMask.of(range(4), 4)
    scored = TokenDistribution.of(vocabulary, b"", (mask, 0.0), logits, 0.0)
    sampling = Sampling(1.0, repetition_penalty=2.0)
    both = float(np.logaddexp(2.0, 1.0))
    for read in ([2], [3], [3, 2, 3]):
        assert scored.penalized(sampling, read)[2] == pytest.approx(both / 2), read
    assert scored.penalized(sampling, [0])[2] == pytest.approx(both)
