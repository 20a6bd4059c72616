from __future__ import annotations

import pytest

from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.constraint.token_machine import machine_of
from workbench.decoding.contenders import PreparedContender, all_contenders
from workbench.decoding.exact_distribution import (
    forbidden_at,
    model_outputs,
    search_spellings,
    try_outputs,
)
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

# a=0 b=1 ab=2 end=3
VOCABULARY = toy(("a", "b", "ab"))
GRAMMAR = Grammar.from_regex("ab|aab")


def exact() -> FiniteConstraint:
    return FiniteConstraint(VOCABULARY, (b"ab", b"aab"))


class WithoutBridges(FiniteConstraint):
    """Forbids the token that spans both letters."""

    def mask(self, state: object) -> TokenMask:
        found = super().mask(state)
        return TokenMask.of([i for i in found if i != 2], found.size)


def likes(*ids: int) -> TableModel:
    """A model that writes these tokens, greedily."""
    after = {
        (0, *ids[:n]): [9.0 if i == token else 0.0 for i in range(4)] for n, token in enumerate(ids)
    }
    return TableModel(VOCABULARY, [0.0, 0.0, 0.0, 9.0], after)


def prepared(model: TableModel, constraint: Constraint) -> PreparedContender:
    return PreparedContender(all_contenders()["automaton"], model, machine_of(constraint), 0.0)


@pytest.mark.parametrize(
    ("written", "valid", "why"),
    [
        ((2, 3), 1, "it ends by itself"),
        ((2, 1, 1, 3), 1, "it continues, and is valid up to there"),
        ((1, 3), 0, "no text of the language"),
        ((0, 0, 3), 0, "a beginning alone"),
    ],
)
def test_outputs_that_count_are_valid_ones(written: tuple[int, ...], valid: int, why: str) -> None:
    model = likes(*written)
    outputs = model_outputs(model, GRAMMAR, [""], [Sampling()], max_tokens=5)
    found = try_outputs(prepared(model, exact()), outputs, max_tokens=5)
    assert (found.outputs, found.valid, found.kept) == (1, valid, ()), why
    assert found.holds is (True if valid else None)


def test_a_forbidden_token_is_a_counterexample_with_the_constrained_run() -> None:
    model = likes(0, 2, 3)
    constraint = WithoutBridges(VOCABULARY, (b"ab", b"aab"))
    found = try_outputs(
        prepared(model, constraint), model_outputs(model, GRAMMAR, [""], [Sampling()])
    )
    assert found.holds is False
    (kept,) = found.kept
    assert (kept.output.token_ids, kept.index) == ((0, 2), 1)
    assert kept.instead is not None
    assert kept.instead.text in (b"ab", b"aab")
    assert kept.instead.token_ids != [0, 2, 3]


def test_tokens_forbidden_at() -> None:
    constraint = WithoutBridges(VOCABULARY, (b"ab", b"aab"))
    assert forbidden_at(constraint, (0, 0, 1)) is None
    assert forbidden_at(constraint, (0, 2)) == 1


def test_the_search_proves_or_gives_the_shortest_forbidden_tokenization() -> None:
    assert search_spellings(exact(), exact()).complete
    found = search_spellings(exact(), WithoutBridges(VOCABULARY, (b"ab", b"aab")))
    assert found.forbidden is not None
    assert (found.forbidden.before, found.forbidden.token_id, found.forbidden.after) == ((), 2, ())


def test_a_search_that_was_cut_off_is_no_proof() -> None:
    found = search_spellings(exact(), exact(), most=2)
    assert found.forbidden is None
    assert not found.complete


class NeverEnds(FiniteConstraint):
    """Forbids the end after "ab"."""

    def mask(self, state: object) -> TokenMask:
        found = super().mask(state)
        return TokenMask.of([i for i in found if i != 3 or state != b"ab"], found.size)


def test_a_forbidden_end_is_found() -> None:
    found = search_spellings(exact(), NeverEnds(VOCABULARY, (b"ab", b"aab"))).forbidden
    assert found is not None
    assert (found.token_id, found.after) == (3, ())
    assert VOCABULARY.decode(found.before) == b"ab"
