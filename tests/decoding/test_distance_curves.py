"""Curves of distances: the tree as a world, and what each strategy comes to."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.decoding.conditional_world import TEXTS, HashedModel, constraint
from workbench.base.errors import VocabularyError
from workbench.constraint.protocol import Constraint
from workbench.decoding.adaptive_sampling import Asap, Cars
from workbench.decoding.distance_curves import TreeWorld, distance_curves
from workbench.decoding.exact_distribution import (
    TokenTree,
    distance,
    masked_distribution,
    model_distribution,
    token_tree,
)
from workbench.decoding.model import LanguageModel
from workbench.decoding.particles import Particles
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.vocabulary.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def model() -> HashedModel:
    return HashedModel(1)


@pytest.fixture(scope="module")
def tree(model: HashedModel) -> TokenTree:
    return token_tree(model, "", constraint())


def test_the_world_of_a_tree_has_its_texts_and_probabilities(
    model: HashedModel, tree: TokenTree
) -> None:
    world = TreeWorld(tree, model.vocabulary)
    assert isinstance(world, Constraint)
    assert isinstance(world, LanguageModel)
    again = token_tree(world, "", world)
    assert again.texts == tree.texts == tuple(sorted(TEXTS))
    own, own_again = model_distribution(tree), model_distribution(again)
    for text in TEXTS:
        assert own_again.probability[text] == pytest.approx(own.probability[text], rel=1e-4)
    for _, node, _ in again.spellings():
        assert math.fsum(np.exp([*node.logprobs.values(), node.end])) <= 1 + 1e-6


@pytest.mark.slow
def test_where_the_curves_end(model: HashedModel, tree: TokenTree) -> None:
    strategies: dict[str, Callable[[], Strategy]] = {
        "automaton": lambda: PLAIN,
        "asap": Asap,
        "cars": Cars,
        "particles": lambda: Particles(32),
    }
    curves = distance_curves(
        tree, model.vocabulary, strategies, checkpoints=(50, 400, 6_000), repetitions=3
    )
    last = {name: curve.points[-1][1] for name, curve in curves.items()}
    masked = distance(model_distribution(tree), masked_distribution(tree, constraint()))
    assert last["automaton"] == pytest.approx(masked.total_variation, abs=0.03)
    assert last["cars"] < 0.03
    assert last["asap"] < 0.1
    assert last["particles"] < 0.15
    assert curves["asap"].points[0][1] > curves["asap"].points[1][1] > last["asap"]
    assert curves["particles"].texts < curves["automaton"].texts


def test_one_repetition_is_always_computed(model: HashedModel, tree: TokenTree) -> None:
    curves = distance_curves(
        tree, model.vocabulary, {"cars": Cars}, checkpoints=(5, 20), seconds=0.0
    )
    assert [passes for passes, _ in curves["cars"].points] == [5, 20]
    assert all(0 <= far <= 1 for _, far in curves["cars"].points)


def test_error_without_an_end_token(tree: TokenTree) -> None:
    with pytest.raises(VocabularyError, match="expected a vocabulary with an end token"):
        TreeWorld(tree, Vocabulary((b"a", b"b", b"ab", b"c")))
