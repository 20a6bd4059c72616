"""AWRS draws the plain loop's tokens; weights of AWRS and of particles are unbiased."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from tests.decoding.conditional_world import (
    VOCABULARY,
    HashedModel,
    conditional,
    constraint,
    sequences,
    total_variation,
)
from workbench.base.errors import WorkbenchError
from workbench.decoding.generate import generate
from workbench.decoding.particles import Awrs, Particles, Population
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason
from workbench.vocabulary.vocabulary import TokenId

Ids = tuple[TokenId, ...]


def ids_of(population: Population) -> list[Ids]:
    return [
        tuple(step.token_id for step in one.steps if not step.is_end)
        for one in population.particles
    ]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_awrs_takes_the_plain_loops_tokens(temperature: float) -> None:
    model, rules = HashedModel(1), constraint()
    for seed in range(100):
        sampling = Sampling(temperature, seed=seed)
        plain = generate(model, rules, "", sampling)
        tested = generate(model, rules, "", sampling, strategy=Awrs())
        for one, other in zip(plain, tested, strict=True):
            assert one.token_id == other.token_id
            assert one.kept == pytest.approx(other.kept)
        assert plain.stop is tested.stop


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_a_weight_of_awrs_is_unbiased_for_each_token(trials: int) -> None:
    rows = np.array([0.0, 1.0, -0.5, 2.0, 0.3, -1.0], np.float32)
    shares = np.exp(rows) / np.exp(rows).sum()
    allowed = {1, 2, 4}
    draws, sums = 8_000, defaultdict[int | None, float](float)
    for seed in range(draws):
        sampling = Sampling(1.0, seed=seed)
        rngs = sampling.rng(0), sampling.rng(0, 1)
        drawn = Awrs(trials).draw(rows, allowed.__contains__, 1.0, rngs)
        sums[drawn.token_id] += drawn.weight / draws
    assert set(sums) == allowed
    for token_id in allowed:
        assert sums[token_id] == pytest.approx(shares[token_id], abs=4 / math.sqrt(draws))


def test_awrs_without_an_allowed_token() -> None:
    rngs = Sampling(1.0).rng(0), Sampling(1.0).rng(1)
    drawn = Awrs().draw(np.zeros(5, np.float32), set[int]().__contains__, 1.0, rngs)
    assert (drawn.token_id, drawn.weight, drawn.tests) == (None, 0.0, 5)


def test_one_particle_is_the_plain_loop_and_its_weight_is_what_masks_kept() -> None:
    model, rules = HashedModel(1), constraint()
    exact = sequences(model)
    for seed in range(50):
        sampling = Sampling(1.0, seed=seed)
        plain = list(generate(model, rules, "", sampling))
        found = Particles(1).population(model, rules, "", sampling)
        (one,), (ids,) = found.particles, ids_of(found)
        assert [step.token_id for step in one.steps] == [step.token_id for step in plain]
        under_masks = math.exp(math.fsum(step.masked_logprob for step in plain))
        assert under_masks * math.exp(one.log_weight) == pytest.approx(exact[ids], rel=1e-4)


@pytest.mark.parametrize(
    ("particles", "temperature"),
    [(Particles(3, 0.8), 0.7), (Particles(4, 1.0), 1.0), (Particles(3, 0.8, Awrs()), 1.0)],
)
def test_weights_of_particles_are_unbiased(particles: Particles, temperature: float) -> None:
    model, rules = HashedModel(1), constraint()
    populations, sums = 1_200, defaultdict[Ids, float](float)
    resampled = 0
    for seed in range(populations):
        found = particles.population(model, rules, "", Sampling(temperature, seed=seed))
        resampled += found.resampled
        for ids, weight in zip(ids_of(found), found.weights, strict=True):
            if weight:
                sums[ids] += math.exp(found.log_evidence) * weight / populations
    exact = sequences(model, temperature)
    assert set(sums) <= set(exact)
    assert resampled > populations / 10
    for ids, p in exact.items():
        assert sums[ids] == pytest.approx(
            p, abs=3.5 / math.sqrt(populations) * max(p, 0.02) + 0.004
        )


@pytest.mark.slow
def test_more_particles_come_closer_to_the_models_own_distribution() -> None:
    model, rules = HashedModel(1), constraint()
    own, far = conditional(model), []
    for count in (1, 4, 32):
        counts: Counter[Ids] = Counter()
        for seed in range(300):
            sampling = Sampling(1.0, seed=seed)
            run = generate(model, rules, "", sampling, strategy=Particles(count), top=0)
            counts[tuple(step.token_id for step in run if not step.is_end)] += 1
            assert run.trace.forward_passes >= len(run.trace.steps)
        far.append(total_variation({ids: n / 300 for ids, n in counts.items()}, own))
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.1


def test_a_text_that_is_cut_has_no_weight() -> None:
    model, rules = HashedModel(1), constraint()
    for seed in range(40):
        found = Particles(6).population(model, rules, "", Sampling(1.0, seed=seed), max_tokens=2)
        cut = [one.loop.stop is StopReason.TOKEN_BUDGET for one in found.particles]
        for is_cut, weight in zip(cut, found.weights, strict=True):
            assert all(cut) or not is_cut or weight == 0
        if not all(cut) and found.weights.any():
            assert set(found.texts) <= rules.texts


@pytest.mark.parametrize("count", [1, 4])
def test_a_run_is_completed_where_all_estimated_weights_are_zero(count: int) -> None:
    model, rules = HashedModel(3), constraint()
    for seed in range(60):
        particles = Particles(count, awrs=Awrs(1))
        run = generate(model, rules, "", Sampling(1.0, seed=seed), strategy=particles)
        list(run)
        assert run.stop is not None
        assert run.trace.text in rules.texts


def test_the_repr_is_one_line() -> None:
    found = Particles(4).population(HashedModel(1), constraint(), "", Sampling(1.0))
    assert "\n" not in repr(found)
    assert len(VOCABULARY.ends) == 2


@pytest.mark.parametrize(
    "make",
    [lambda: Particles(0), lambda: Particles(True), lambda: Particles(2, 1.5), lambda: Awrs(0)],
)
def test_error_for_numbers_out_of_range(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(WorkbenchError, match="expected"):
        make()
