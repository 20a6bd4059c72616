"""ASAp and CARS: bounds, convergence to the model's own distribution, exactness of CARS."""

from __future__ import annotations

from collections import Counter

import pytest

import workbench as wb
from tests.decoding.conditional_world import (
    TEXTS,
    VOCABULARY,
    HashedModel,
    conditional,
    constraint,
    sequences,
    total_variation,
)
from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.decoding.adaptive_sampling import Asap, Cars
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling, SamplingError
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.decoding.trace import StopReason
from workbench.vocabulary.vocabulary import TokenId

Ids = tuple[TokenId, ...]


def drawn(
    model: HashedModel,
    rules: Constraint,
    strategy: Strategy,
    seeds: range,
    temperature: float = 1.0,
) -> tuple[dict[Ids, float], int]:
    """The shares of the drawn token sequences, and the forward passes."""
    counts: Counter[Ids] = Counter()
    passes = 0
    for seed in seeds:
        run = generate(model, rules, "", Sampling(temperature, seed=seed), strategy=strategy, top=0)
        steps = list(run)
        assert run.trace.accepted
        counts[tuple(step.token_id for step in steps if not step.is_end)] += 1
        passes += run.trace.forward_passes
    return {ids: count / len(seeds) for ids, count in counts.items()}, passes


def bound_of_the_empty_prefix(strategy: Asap | Cars) -> float:
    (first,) = strategy._prefixes._first.values()
    return first.bound


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_falls_to_the_probability_of_a_valid_text(seed: int) -> None:
    model, rules, asap = HashedModel(seed), constraint(), Asap()
    valid, before = sum(sequences(model).values()), 1.0
    for number in range(200):
        list(generate(model, rules, "", Sampling(1.0, seed=number), strategy=asap, top=0))
        bound = bound_of_the_empty_prefix(asap)
        assert valid - 1e-9 <= bound <= before + 1e-12
        before = bound
    assert before == pytest.approx(valid, abs=0.02)


@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.7])
def test_asap_converges_to_the_models_own_distribution(temperature: float) -> None:
    model, rules, asap = HashedModel(1), constraint(), Asap()
    own = conditional(model, temperature)
    drawn(model, rules, asap, range(2_000, 2_200), temperature)
    learnt, _ = drawn(model, rules, asap, range(1_000), temperature)
    plain, _ = drawn(model, rules, PLAIN, range(1_000), temperature)
    assert total_variation(learnt, own) < 0.06
    assert total_variation(plain, own) > 0.2, "a world in which masks change the distribution"


@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.7])
def test_cars_draws_from_the_models_own_distribution(temperature: float) -> None:
    model, rules, cars = HashedModel(1), constraint(), Cars()
    own = conditional(model, temperature)
    found, _ = drawn(model, rules, cars, range(1_000), temperature)
    assert total_variation(found, own) < 0.06


def test_the_first_texts_of_cars_are_exact_too() -> None:
    model, rules = HashedModel(1), constraint()
    counts: Counter[Ids] = Counter()
    for seed in range(1_000):  # each with an instance that has learnt nothing
        run = generate(model, rules, "", Sampling(1.0, seed=seed), strategy=Cars(), top=0)
        counts[tuple(step.token_id for step in run if not step.is_end)] += 1
    found = {ids: count / 1_000 for ids, count in counts.items()}
    assert total_variation(found, conditional(model)) < 0.06


def test_cars_rejects_fewer_texts_the_more_it_has_drawn() -> None:
    model, rules, cars = HashedModel(1), constraint(), Cars()
    unlearnt = sum(drawn(model, rules, Cars(), range(n, n + 1))[1] for n in range(30))
    drawn(model, rules, cars, range(100, 300))
    _, later = drawn(model, rules, cars, range(30))
    assert later < 0.5 * unlearnt


def test_discarded_passes_are_all_passes_without_a_step() -> None:
    asked: list[int] = []

    class Counting(HashedModel):
        def logits(self, token_ids):  # type: ignore[no-untyped-def]
            asked.append(len(token_ids))
            return super().logits(token_ids)

    model, rules = Counting(3), constraint()
    for seed in range(20):
        asked.clear()
        run = generate(model, rules, "", Sampling(1.0, seed=seed), strategy=Cars(), top=0)
        steps = list(run)
        assert run.trace.forward_passes == len(asked) == len(steps) + run.trace.discarded_passes


def test_what_is_learnt_for_one_prompt_is_not_used_for_another() -> None:
    model, rules, asap = HashedModel(1), constraint(), Asap()
    list(generate(model, rules, [0], Sampling(1.0), strategy=asap))
    list(generate(model, rules, [1], Sampling(1.0), strategy=asap))
    list(generate(model, rules, [1], Sampling(0.5), strategy=asap))
    assert len(asap._prefixes._first) == 3


@pytest.mark.parametrize("strategy", [Asap(), Cars()])
def test_texts_within_a_budget_are_learnt_together(strategy: Asap | Cars) -> None:
    rules = wb.compile(wb.Grammar.from_regex("(ab|b|c){1,6}"), VOCABULARY)
    for seed in range(20):
        run = generate(
            HashedModel(1),
            rules,
            "",
            Sampling(1.0, seed=seed),
            strategy=strategy,
            max_tokens=4,
            finish=True,
        )
        list(run)
        assert run.trace.accepted
    assert len(strategy._prefixes._first) == 1


@pytest.mark.parametrize("strategy", [Asap(), Cars()])
def test_a_cut_text_ends_with_its_budget(strategy: Strategy) -> None:
    model, rules = HashedModel(1), constraint()
    for seed in range(30):
        run = generate(
            model, rules, "", Sampling(1.0, seed=seed), strategy=strategy, max_tokens=1, top=0
        )
        assert len(list(run)) == 1
        assert run.stop in (StopReason.TOKEN_BUDGET, StopReason.ACCEPTED)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sharpness", [12.0, 25.0])
def test_where_the_model_hardly_writes_a_valid_text(seed: int, sharpness: float) -> None:
    model, rules, asap = HashedModel(seed, sharpness), constraint(), Asap()
    exact, own = sum(sequences(model).values()), conditional(model)
    likeliest = max(own, key=own.__getitem__)
    ids: Ids = ()
    for number in range(60):
        run = generate(model, rules, "", Sampling(1.0, seed=number), strategy=asap, top=0)
        ids = tuple(step.token_id for step in run if not step.is_end)
        assert run.trace.accepted
    assert bound_of_the_empty_prefix(asap) == pytest.approx(exact, rel=0.01)
    if own[likeliest] > 0.999:
        assert ids == likeliest
    drawn(model, rules, Cars(), range(20))  # each is accepted


class DeadEnds(FiniteConstraint):
    """Allows a first token that no text continues, as methods with an unsound mask do."""

    def mask(self, state: object) -> TokenMask:
        return TokenMask.of([], len(VOCABULARY)) if state == b"c" else super().mask(state)


@pytest.mark.parametrize("strategy", [Asap(), Cars()])
def test_a_dead_end_is_not_drawn_twice(strategy: Asap | Cars) -> None:
    model, rules = HashedModel(5), DeadEnds(VOCABULARY, TEXTS)
    ends = []
    for seed in range(200):
        run = generate(model, rules, "", Sampling(1.0, seed=seed), strategy=strategy, top=0)
        list(run)
        ends.append(run.stop)
    assert ends.count(StopReason.DEAD_END) == (1 if isinstance(strategy, Asap) else 0)


@pytest.mark.parametrize("strategy", [Asap(), Cars()])
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(1.0, top_k=3),
        Sampling(1.0, top_p=0.9),
        Sampling(1.0, min_p=0.1),
        Sampling(1.0, repetition_penalty=1.1),
    ],
)
def test_error_without_a_distribution(strategy: Strategy, sampling: Sampling) -> None:
    run = generate(HashedModel(), constraint(), "", sampling, strategy=strategy)
    with pytest.raises(SamplingError, match="expected a temperature above 0"):
        next(run)


def test_error_where_the_model_writes_no_valid_text() -> None:
    model = HashedModel(4, sharpness=40.0)
    run = generate(model, constraint(), "", Sampling(1.0), strategy=Cars(attempts=1))
    with pytest.raises(WorkbenchError, match="no valid text in 1 attempt"):
        for _ in run:
            pass


def test_error_for_no_attempt() -> None:
    with pytest.raises(WorkbenchError, match="of at least 1 as 'attempts', not 0"):
        Cars(0)
