from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import WorkbenchError
from workbench.constraint.masks import TokenMask
from workbench.decoding.contenders import Contender, contenders_named
from workbench.decoding.exact_distribution import (
    Distribution,
    distance,
    exact_comparison,
    masked_distribution,
    model_distribution,
    token_tree,
)
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

# a=0 b=1 c=2 ab=3 ac=4 end=5
VOCABULARY = toy(("a", "b", "c", "ab", "ac"))
#: After "a" alone the model rarely continues with "b" or "c": it would not use the tokens a·b.
CHANCES = {
    (0,): (0.6, 0.0, 0.0, 0.3, 0.1, 0.0),
    (0, 0): (0.5, 0.01, 0.03, 0.0, 0.0, 0.46),
    (0, 0, 1): (0.0, 0.0, 0.0, 0.0, 0.5, 0.5),
    (0, 0, 2): (0.0, 0.0, 0.0, 0.0, 0.75, 0.25),
    (0, 3): (0.0, 0.0, 0.0, 0.0, 0.2, 0.8),
    (0, 4): (0.0, 0.0, 0.0, 0.0, 0.6, 0.4),
}


def logs(row: Sequence[float]) -> list[float]:
    return [math.log(p) if p else -math.inf for p in row]


@pytest.fixture
def model() -> TableModel:
    after = {ids: logs(row) for ids, row in CHANCES.items()}
    return TableModel(VOCABULARY, logs([1 / 6] * 6), after)


def two_texts() -> FiniteConstraint:
    return FiniteConstraint(VOCABULARY, (b"ab", b"ac"))


def test_the_models_conditional_counts_every_tokenization(model: TableModel) -> None:
    tree = token_tree(model, "", two_texts())
    ab, ac = 0.3 * 0.8 + 0.6 * 0.01 * 0.5, 0.1 * 0.4 + 0.6 * 0.03 * 0.25
    found = model_distribution(tree)
    assert found.probability == pytest.approx({b"ab": ab / (ab + ac), b"ac": ac / (ab + ac)})
    assert found.spellings == 4
    begun = model_distribution(tree, ended=False)
    ab, ac = 0.3 + 0.6 * 0.01, 0.1 + 0.6 * 0.03
    assert begun.probability == pytest.approx({b"ab": ab / (ab + ac), b"ac": ac / (ab + ac)})


def test_canonical_tokenizations_are_one_per_text(model: TableModel) -> None:
    tree = token_tree(model, "", two_texts())
    found = model_distribution(tree, lambda text: {b"ab": [3], b"ac": [4]}[text])
    assert found.probability == pytest.approx({b"ab": 0.24 / 0.28, b"ac": 0.04 / 0.28})
    assert found.spellings == 2


def test_masks_token_by_token_boost_what_shares_a_likely_beginning(model: TableModel) -> None:
    tree = token_tree(model, "", two_texts())
    found = masked_distribution(tree, two_texts())
    # first token: a .6, ab .3, ac .1; after a: b .01 and c .03 share everything
    assert found.probability == pytest.approx({b"ab": 0.3 + 0.6 / 4, b"ac": 0.1 + 0.6 * 3 / 4})
    assert found.lost == 0


def test_the_end_is_a_choice_if_the_text_may_continue(model: TableModel) -> None:
    both = FiniteConstraint(VOCABULARY, (b"a", b"ab"))
    found = masked_distribution(token_tree(model, "", both), both)
    goes_on = 0.01 / (0.01 + 0.46)
    a = 0.6 / 0.9
    assert found.probability == pytest.approx(
        {b"a": a * (1 - goes_on), b"ab": 1 - a * (1 - goes_on)}
    )


class Stuck(FiniteConstraint):
    """Allows "a", and nothing after it."""

    def mask(self, state: object) -> TokenMask:
        found = super().mask(state)
        return TokenMask.of([], found.size) if state == b"a" else found


def test_a_dead_end_loses_its_mass_and_counts_in_the_distance(model: TableModel) -> None:
    tree = token_tree(model, "", two_texts())
    found = masked_distribution(tree, Stuck(VOCABULARY, (b"ab", b"ac")))
    assert found.lost == pytest.approx(0.6)
    assert found.probability == pytest.approx({b"ab": 0.3, b"ac": 0.1})
    whole = Distribution({b"ab": 0.75, b"ac": 0.25})
    assert distance(whole, found).total_variation == pytest.approx(0.6)


def test_an_unsound_mask_is_no_distribution_over_the_language(model: TableModel) -> None:
    tree = token_tree(model, "", two_texts())
    with pytest.raises(WorkbenchError, match="after b'a', which no accepted text continues with"):
        masked_distribution(tree, FiniteConstraint(VOCABULARY, (b"ab", b"ac", b"aab")))


def test_distances_of_a_small_example() -> None:
    p, q = Distribution({b"x": 0.5, b"y": 0.5}), Distribution({b"x": 0.25, b"y": 0.75})
    found = distance(p, q)
    assert found.total_variation == pytest.approx(0.25)
    assert found.kl == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert found.kl_back == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert distance(p, Distribution({b"x": 1.0})).kl == math.inf
    assert distance(p, p).total_variation == distance(p, p).kl == 0


@pytest.mark.slow
def test_sampling_ends_in_the_texts_as_often_as_computed(model: TableModel) -> None:
    """The computed distribution is that of the loop itself (a fixed seed range: no chance)."""
    constraint = two_texts()
    computed = masked_distribution(token_tree(model, "", constraint), constraint).probability[b"ab"]
    runs = 2_000
    hits = 0
    for seed in range(runs):
        run = generate(model, constraint, "", Sampling(temperature=1.0, seed=seed), top=0)
        list(run)
        hits += run.trace.text == b"ab"
    assert hits / runs == pytest.approx(computed, abs=4 * math.sqrt(0.25 / runs))


def test_exact_comparison_of_contenders_without_the_unconstrained_model() -> None:
    vocabulary = toy((*"trufalse ", "true", "fal", " t", "se"))
    found = exact_comparison(
        ToyModel(vocabulary),
        "t",
        Grammar.from_regex("true|false"),
        contenders_named("unconstrained,automaton"),
    )
    assert found.texts == (b"false", b"true")
    assert found.methods.keys() == {"automaton"}
    assert math.fsum(found.own.probability.values()) == pytest.approx(1)
    assert math.fsum(found.methods["automaton"].probability.values()) == pytest.approx(1)
    record = found.as_record()
    assert [row["text"] for row in record["texts"]] == ["false", "true"]
    assert record["distances"]["automaton"]["total_variation"] > 0


def test_methods_that_do_not_apply_are_reported_and_the_others_run() -> None:
    nobody = Contender(name="unknown", title="", method="unknown", source="")
    found = exact_comparison(
        ToyModel(toy("ab")),
        "a",
        Grammar.from_regex("ab|b"),
        [nobody, *contenders_named("picard,automaton")],
    )
    assert "a method that draws from all allowed tokens" in found.failed["picard"].message
    assert "no method 'unknown'" in found.failed["unknown"].message
    assert found.methods.keys() == {"automaton"}


@pytest.mark.parametrize("pattern", ["a*", "(a|b){30}"])
def test_error_a_language_that_is_too_large(pattern: str) -> None:
    with pytest.raises(WorkbenchError) as raised:
        exact_comparison(
            ToyModel(toy("ab")),
            "a",
            Grammar.from_regex(pattern),
            contenders_named("automaton"),
            most=500,
        )
    assert str(raised.value) == (
        "expected a finite language with at most 500 prefixes in tokens\n"
        "hint: exact distributions are for languages such as ( William)|( Theodore)"
    )
