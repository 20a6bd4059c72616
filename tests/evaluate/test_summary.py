"""Summaries of a comparison: ratios agree with the shown rates, sentences with the results."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from workbench.base.errors import WorkbenchError
from workbench.decoding.compare import RunFailed, alike, compare, table, verdict
from workbench.decoding.contenders import all_contenders, contenders_named
from workbench.decoding.model import ToyModel
from workbench.decoding.run_summaries import MAX_SPREAD, Run, RunEnded, rate, summaries
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import words_of

SAMPLE = "ab ba ab ba"
MODEL = ToyModel(words_of(SAMPLE), SAMPLE)
GRAMMAR = Grammar.from_regex("(ab|ba)( (ab|ba)){0,3}")


@pytest.fixture(scope="module")
def one() -> RunEnded:
    """A run to make others of."""
    events = compare(
        MODEL, GRAMMAR, [""], contenders_named("automaton"), [0], Sampling(), max_tokens=6
    )
    return next(event for event in events if isinstance(event, RunEnded))


def made(
    one: RunEnded,
    method: str,
    seed: int,
    per_second: float,
    *,
    valid: bool = True,
    passes: int = 10,
    ids: tuple[int, ...] = (0,),
    tokens: int = 10,
) -> RunEnded:
    """A run with such measures."""
    measures = replace(
        one.measures,
        tokens=tokens,
        seconds=tokens / per_second,
        valid=valid,
        forward_passes=passes,
    )
    taken = [replace(one.trace.steps[0], token_id=token_id) for token_id in ids]
    trace = replace(one.trace, steps=tuple(taken))
    return RunEnded(Run(all_contenders()[method], "", seed), measures, trace)


def test_the_ratio_is_that_of_the_shown_rates(one: RunEnded) -> None:
    long = partial(made, one, tokens=100)
    runs = [long("unconstrained", seed, per) for seed, per in enumerate((91.4, 100, 80))]
    runs += [long("skipping", seed, per) for seed, per in enumerate((186.4, 50, 400))]
    alone, skipping = summaries(runs)
    assert (alone.tokens_per_second, skipping.tokens_per_second) == (91.4, 186), "medians"
    assert skipping.relative == 186 / 91.4
    assert alone.relative == 1
    rows = [line.split() for line in table([alone, skipping]).splitlines()]
    at = rows[0].index("tokens/s")  # the head of the names is empty, "mask bits" is two words
    assert rows[2][at:][:2] == ["186", "2.04×"]


@pytest.mark.parametrize(
    ("rates", "steady", "why"),
    [
        ((100, 101, 99), True, "they agree"),
        ((100, 100 * MAX_SPREAD), True, "as far apart as they may be"),
        ((100, 101 * MAX_SPREAD), False, "too far apart"),
        ((100,), False, "one run has no spread"),
    ],
)
def test_there_is_a_ratio_if_the_unconstrained_model_is_steady(
    one: RunEnded, rates: tuple[float, ...], steady: bool, why: str
) -> None:
    long = partial(made, one, tokens=100)
    runs = [long("unconstrained", seed, per) for seed, per in enumerate(rates)]
    runs += [long("automaton", seed, 50) for seed in range(len(rates))]
    assert {each.relative is not None for each in summaries(runs)} == {steady}, why
    assert ("Fastest against unconstrained: automaton" in verdict(runs)[1]) is steady


@pytest.mark.parametrize(
    ("tokens", "per_second", "passes", "ratio", "why"),
    [
        (100, 50, 100, 0.5, "slower than the model alone"),
        (100, 200, 60, 2, "faster, with fewer passes of the model"),
        (100, 200, 100, None, "a pass for every token cannot be faster"),
        (10, 50, 10, None, "thirty tokens are too few"),
    ],
)
def test_noise_is_no_ratio(
    one: RunEnded, tokens: int, per_second: float, passes: int, ratio: float | None, why: str
) -> None:
    alone = [made(one, "unconstrained", seed, 100, tokens=tokens) for seed in range(3)]
    runs = [
        made(one, "skipping", seed, per_second, tokens=tokens, passes=passes) for seed in range(3)
    ]
    _, skipping = summaries([*alone, *runs])
    assert skipping.relative == ratio, why
    sentence = verdict([*alone, *runs])[1]
    assert ("Fastest against unconstrained" in sentence) is (ratio is not None)
    assert ("30 tokens of unconstrained are too few" in sentence) is (tokens == 10)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.5, "0.5"), (99.96, "100"), (113.4, "113"), (1234.0, "1,230")]
)
def test_rates_have_three_digits(value: float, shown: str) -> None:
    assert rate(value) == shown


def test_perplexities_above_a_million_are_not_written_out(one: RunEnded) -> None:
    high = replace(one.measures.free, nats=40.0, tokens=2)
    measures = replace(one.measures, free=high, forced=replace(high, nats=0.0, tokens=0))
    assert "> 10⁶" in table(summaries([RunEnded(one.run, measures, one.trace)]))


NAMES = ("unconstrained", "automaton", "skipping", "domino", "proper", "lalr")


@pytest.mark.parametrize("number", range(40))
def test_the_sentences_say_what_the_runs_show(one: RunEnded, number: int) -> None:
    drawn = random.Random(number)
    names = drawn.sample(NAMES, drawn.randint(1, len(NAMES)))
    lost = drawn.choice([None, None, "lalr"])
    seeds = range(drawn.randint(1, 3))
    runs = [
        made(
            one,
            name,
            seed,
            drawn.choice((90, 100, 200)),
            valid=drawn.random() < 0.7,
            passes=drawn.choice((4, 10)),
            ids=drawn.choice(((0,), (1,))),
        )
        for seed in seeds
        for name in names
        if name != lost
    ]
    failed = (
        [
            RunFailed(Run(all_contenders()[lost], "", 0), WorkbenchError("no"))
            for _ in range(lost is not None)
        ]
        if lost in names
        else []
    )
    texts, cost = verdict(runs, failed)
    ended = [name for name in names if name != lost]
    if not ended:
        assert (texts, cost) == ("", "")
        return
    valid = partial(all_valid, runs)
    good = [name for name in ended if valid(name)]
    if len(good) == len(ended):
        assert re.search(r"^(It|Both methods|All \d methods) wrote valid text", texts)
    elif good:
        assert texts.startswith(f"{len(good)} of {len(ended)} methods wrote valid text")
        bad = [name for name in ended if name not in good]
        assert bad[0] in texts
    else:
        assert texts.startswith(("No method wrote valid text", "It wrote no valid text"))
    groups = alike(runs)
    assert sorted(name for group in groups for name in group) == sorted(ended)
    written = {
        name: [tuple(r.trace.token_ids) for r in runs if r.run.contender.name == name]
        for name in ended
    }
    assert all(written[name] == written[group[0]] for group in groups for name in group)
    assert ("All wrote the same tokens" in texts) == (len(groups) == 1 < len(ended))
    assert ("No two wrote the same" in texts) == (1 < len(ended) == len(groups))
    assert ("lalr could not run" in texts) == bool(failed)
    passes = {each.contender.name: f"{each.passes_per_token:.2f}" for each in summaries(runs)}
    assert min(passes.values()) in cost
    assert max(passes.values()) in cost
    if min(passes.values()) != max(passes.values()):
        fewest = [name for name in ended if passes[name] == min(passes.values())]
        said = cost.split(";")[0]
        assert all(name in said for name in fewest) or f"and {len(fewest) - 1} others" in said


def all_valid(runs: list[RunEnded], name: str) -> bool:
    return all(run.measures.valid for run in runs if run.run.contender.name == name)
