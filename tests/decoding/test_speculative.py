"""Draft and target: the target's distribution, exactly and by counting; shared masks; rewinding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import workbench as wb
from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import VocabularyError, WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.decoding.generate import GREEDY, Generation, generate
from workbench.decoding.model import LanguageModel, ToyModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import (
    Acceptance,
    CountProposer,
    CoupledSpeculation,
    DraftSpeculation,
    Probabilities,
)
from workbench.decoding.strategy import PLAIN
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId

WORDS = toy(["a", "b", "ab", "c"])
TEXTS = [b"a", b"ab", b"abc", b"bc", b"ba"]
LANGUAGE = FiniteConstraint(WORDS, TEXTS)
TARGET, DRAFT = ToyModel(WORDS, seed=1), ToyModel(WORDS, seed=8)
WARM = Sampling(temperature=0.3)


def chances(model: LanguageModel, sampling: Sampling) -> dict[tuple[TokenId, ...], float]:
    """The probability of every token sequence under masks, by the definition."""
    session, found = model.session(), dict[tuple[TokenId, ...], float]()
    waiting: list[tuple[tuple[TokenId, ...], bytes, float]] = [((), b"", 1.0)]
    while waiting:
        taken, state, chance = waiting.pop()
        ids = LANGUAGE.mask(state).ids
        logits = sampling.penalized(session.logits([0, *taken]), [0, *taken])
        shares = sampling.shares(logits[ids])
        for token_id, share in zip(ids.tolist(), shares.tolist(), strict=True):
            longer = (*taken, token_id)
            if token_id == WORDS.end:
                found[longer] = chance * share
            elif share:
                waiting.append((longer, LANGUAGE.advance(state, token_id), chance * share))
    return found


@dataclass
class Scripted:
    """Decides by a script, then takes the first option; ``options`` lists what was possible."""

    script: list[int]
    chance: float = 1.0
    options: list[list[int]] = field(default_factory=list)

    def draw(self, probabilities: Probabilities) -> int:
        shares = probabilities / probabilities.sum()
        return self._decide({i: float(share) for i, share in enumerate(shares) if share > 0})

    def accepts(self, chance: float) -> bool:
        return bool(self._decide({1: chance, 0: 1 - chance} if chance > 0 else {0: 1.0}))

    def _decide(self, shares: dict[int, float]) -> int:
        number = len(self.options)
        self.options.append(list(shares))
        chosen = self.script[number] if number < len(self.script) else next(iter(shares))
        self.chance *= shares[chosen]
        return chosen


def every_outcome(
    sampling: Sampling,
    tokens: int,
    counts: CountProposer | None = None,
    draft: LanguageModel = DRAFT,
) -> Iterator[tuple[tuple[TokenId, ...], float]]:
    """The tokens taken for every sequence of random decisions, with its probability."""
    waiting: list[list[int]] = [[]]
    while waiting:
        script = waiting.pop()
        source = Scripted(script)
        drafting = DraftSpeculation(
            draft,
            tokens,
            counts,
            random=lambda _, source=source: source,  # type: ignore[misc]
        )
        run = generate(TARGET, LANGUAGE, [0], sampling, strategy=drafting)
        yield tuple(step.token_id for step in run), source.chance
        decided = [*script, *(options[0] for options in source.options[len(script) :])]
        for number in range(len(script), len(source.options)):
            waiting.extend([*decided[:number], option] for option in source.options[number][1:])


SETTINGS = [
    WARM, Sampling(temperature=0.1), Sampling(temperature=0.3, top_k=2),
    Sampling(temperature=0.5, top_p=0.8), Sampling(),
    Sampling(temperature=0.6, min_p=0.3, repetition_penalty=1.5),
]  # fmt: skip


@pytest.mark.parametrize("sampling", SETTINGS)
@pytest.mark.parametrize("tokens", [0, 1, 3])
def test_the_distribution_is_the_targets_exactly(sampling: Sampling, tokens: int) -> None:
    found: Counter[tuple[TokenId, ...]] = Counter()
    for taken, chance in every_outcome(sampling, tokens):
        found[taken] += chance  # type: ignore[assignment]
    expected = chances(TARGET, sampling)
    assert {t: p for t, p in found.items() if p > 1e-12} == pytest.approx(
        {t: p for t, p in expected.items() if p > 1e-12}, abs=1e-9
    )
    if tokens and sampling.temperature:
        other = chances(DRAFT, sampling)
        assert any(abs(other.get(t, 0) - p) > 0.05 for t, p in expected.items())


def test_the_draft_may_have_other_end_tokens() -> None:
    """The target's end token is text to the draft, and its "c" ends the draft's texts."""
    tokens = [token or b"<end>" for token in WORDS.tokens]
    own = wb.Vocabulary(tokens, end=WORDS.ids("c")[0])
    for sampling in SETTINGS:
        outcomes = every_outcome(sampling, 3, draft=ToyModel(own, seed=8))
        assert sorted(outcomes) == sorted(every_outcome(sampling, 3))


@pytest.mark.exhaustive
def test_the_distribution_is_the_targets_by_counting() -> None:
    """Pearson's statistic over 1,500 runs with fixed seeds stays below its 0.999 quantile."""
    runs, expected = 1500, chances(TARGET, WARM)
    counts: Counter[tuple[TokenId, ...]] = Counter()
    for seed in range(runs):
        sampling = Sampling(WARM.temperature, seed=seed)
        counts[tuple(s.token_id for s in drafted(TARGET, DRAFT, LANGUAGE, [0], sampling)[0])] += 1
    assert statistic(counts, expected, runs) < QUANTILE[len(expected) - 1]
    assert statistic(counts, chances(DRAFT, WARM), runs) > 100, "the test can tell them apart"


def drafted(
    model: LanguageModel,
    draft: LanguageModel,
    constraint: wb.Constraint,
    prompt: Sequence[TokenId],
    sampling: Sampling = GREEDY,
    *,
    tokens: int = 4,
    max_tokens: int = 256,
) -> tuple[Generation, Acceptance]:
    strategy = DraftSpeculation(draft, tokens)
    run = generate(model, constraint, prompt, sampling, max_tokens=max_tokens, strategy=strategy)
    return run, strategy.acceptance


#: The 0.999 quantile of the chi-square distribution, by its degrees of freedom.
QUANTILE = {5: 20.5, 6: 22.5, 7: 24.3, 8: 26.1, 9: 27.9}


def statistic(
    counts: Counter[tuple[TokenId, ...]], shares: dict[tuple[TokenId, ...], float], runs: int
) -> float:
    return sum((counts[t] - runs * share) ** 2 / (runs * share) for t, share in shares.items())


def test_masks_are_shared_and_computed_once_per_position() -> None:
    asked: Counter[object] = Counter()

    class Watched(FiniteConstraint):
        def mask(self, state: object) -> TokenMask:
            asked[state] += 1
            return super().mask(state)

        def advance(self, state: object, token_id: TokenId) -> bytes:
            assert isinstance(state, bytes)
            return state + (self.vocabulary.tokens[token_id] or b"")

    constraint = Watched(WORDS, [b"abcabc"])
    letters = TableModel(WORDS, [1, 1, 0, 1, 5])
    run, acceptance = drafted(letters, letters, constraint, [0], tokens=2)
    assert run.trace.stop is None
    assert b"".join(step.token for step in run) == b"abcabc"
    # the first place of a pass is looked at before there are proposals for it
    assert [asked[b"abcabc"[:n]] for n in range(7)] == [2, 1, 1, 2, 1, 1, 2]
    assert acceptance == Acceptance(5, 5, 5), "the end among them"
    assert run.trace.forward_passes == 3


def test_a_draft_that_is_the_target_is_always_accepted() -> None:
    for seed in range(20):
        run, acceptance = drafted(TARGET, TARGET, LANGUAGE, [0], Sampling(1.0, seed=seed), tokens=3)
        steps = list(run)
        assert acceptance.accepted == acceptance.compared
        assert run.trace.forward_passes == math.ceil(len(steps) / 4)


def test_counts_propose_before_the_draft_and_keep_the_distribution() -> None:
    seen = [generate(TARGET, LANGUAGE, [0], Sampling(1.0, seed=seed)) for seed in (1, 2)]
    assert all(list(run) for run in seen)
    counts = CountProposer.learnt(LANGUAGE, [run.trace for run in seen], memory=0)
    assert any(share >= 0.7 for _, share in counts.likeliest.values()), "some are certain"
    found: Counter[tuple[TokenId, ...]] = Counter()
    for taken, chance in every_outcome(Sampling(1.0), 2, counts):
        found[taken] += chance  # type: ignore[assignment]
    expected = chances(TARGET, Sampling(1.0))
    assert {t: p for t, p in found.items() if p > 1e-12} == pytest.approx(expected, abs=1e-9)


def test_refused_tokens_leave_no_trace() -> None:
    likes_a, likes_b = TableModel(WORDS, [9, 0, 0, 0, 0]), TableModel(WORDS, [0, 9, 0, 0, 0])
    constraint = wb.compile(wb.Grammar.from_regex("(a|b)*"), WORDS)
    run, acceptance = drafted(likes_b, likes_a, constraint, [3], tokens=3, max_tokens=6)
    assert [step.token for step in run] == [b"b"] * 6
    assert (acceptance.accepted, acceptance.compared) == (0, 5)
    assert math.isnan(Acceptance().rate)
    # after a refusal both read what was taken, nothing else
    assert likes_a.asked[3] == [3, 1]
    assert likes_b.asked[-1] == [3, 1, 1, 1, 1, 1]


def test_the_budget_and_a_draft_that_cannot_read_on() -> None:
    class Short(ToyModel):
        def logits(self, token_ids: Sequence[TokenId]) -> np.ndarray:
            if len(token_ids) > 3:
                raise wb.ModelError("too long")
            return super().logits(token_ids)

    constraint = wb.compile(wb.Grammar.from_regex("(a|b|c)*"), WORDS)
    for budget in range(6):
        run, acceptance = drafted(
            TARGET, Short(WORDS), constraint, [0], Sampling(0.2), max_tokens=budget, tokens=9
        )
        assert len(list(run)) <= budget
        assert acceptance.proposed <= max(0, min(budget - 1, 3))


# -- the same random numbers -----------------------------------------------------------------------

#: A language with forced tokens, a nested one, and one that is never ended by force.
COUPLED = {
    name: wb.compile(grammar, WORDS)
    for name, grammar in {
        "forced": wb.Grammar.from_regex("(abc)?(a|b)c(b|abab)"),
        "nested": wb.Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';"),
        "free": wb.Grammar.from_regex("[abc]*"),
    }.items()
}


@pytest.mark.parametrize("name", COUPLED)
@pytest.mark.parametrize("tokens", [0, 1, 4])
@pytest.mark.parametrize("sampling", SETTINGS)
def test_coupled_steps_are_the_plain_loops(sampling: Sampling, tokens: int, name: str) -> None:
    taken = differing = 0
    for seed in range(12):
        sampling = replace(sampling, seed=seed)
        for budget in (0, 1, 2, 7):
            runs = [
                generate(TARGET, COUPLED[name], [0], sampling, max_tokens=budget, strategy=strategy)
                for strategy in (PLAIN, CoupledSpeculation(DRAFT, tokens))
            ]
            plain, coupled = map(list, runs)
            assert [s.token_id for s in coupled] == [s.token_id for s in plain]
            assert [s.logprob for s in coupled] == [s.logprob for s in plain], "all are scored"
            assert [s.allowed for s in coupled] == [s.allowed for s in plain]
            assert runs[1].stop is runs[0].stop
            assert runs[1].trace.forward_passes <= runs[0].trace.forward_passes
            taken += runs[1].trace.drafts_taken
            differing += runs[1].trace.drafted - runs[1].trace.drafts_taken
    if tokens and sampling.temperature:  # the greedy draws of the two never agree
        assert taken
        assert differing


def test_coupled_draws_of_equal_models_are_equal() -> None:
    for seed in range(20):
        strategy = CoupledSpeculation(TARGET, tokens=3)
        run = generate(TARGET, LANGUAGE, [0], Sampling(1.0, seed=seed), strategy=strategy)
        steps = list(run)
        assert all(step.draft_id in (step.token_id, None) for step in steps)
        assert run.trace.drafts_taken == run.trace.drafted
        assert len(steps) == 1 or run.trace.forward_passes < len(steps)


def test_coupled_draws_are_equal_as_often_as_the_source_says() -> None:
    """At least (1 − d) / (1 + d), at most 1 − d, with 4,000 draws of fixed seeds."""
    rng, sampling = np.random.default_rng(5), Sampling(1.0, seed=3)
    everything = TokenMask.of(range(6), 6)
    for _ in range(4):
        p, q = (np.log(rng.dirichlet(np.ones(6))) for _ in range(2))
        distance = float(np.abs(np.exp(p) - np.exp(q)).sum() / 2)
        equal = [
            sampling.choose(p, everything, sampling.rng(index))
            == sampling.choose(q, everything, sampling.rng(index))
            for index in range(4_000)
        ]
        slack = 4 * math.sqrt(0.25 / 4_000)  # four standard deviations
        assert (1 - distance) / (1 + distance) - slack < np.mean(equal) < 1 - distance + slack


def test_error_for_other_tokens_or_a_negative_count() -> None:
    for other in (toy("ab"), toy(["a", "b", "ab", "d"])):
        with pytest.raises(VocabularyError, match="their tokens differ"):
            list(drafted(TARGET, ToyModel(other), LANGUAGE, [0])[0])
        with pytest.raises(VocabularyError, match="their tokens differ"):
            list(generate(TARGET, LANGUAGE, [0], strategy=CoupledSpeculation(ToyModel(other))))
    for strategy in (DraftSpeculation, CoupledSpeculation):
        with pytest.raises(WorkbenchError, match="of at least 0 as 'tokens', not -1"):
            strategy(DRAFT, tokens=-1)
