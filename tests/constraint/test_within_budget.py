"""Texts that always end: distances in tokens against a search, and masks under a budget."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.constraint.test_outlines import regexes
from tests.laws.test_mask_laws import grammar_of, slow, trees
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.constraint.engine.automaton import StackConstraint, automaton
from workbench.constraint.engine.token_distances import FAR
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.within_budget import WithinBudget, token_distances
from workbench.grammar.gallery import load_gallery
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy import toy

#: Tokens over the letters of the random grammars; several of them end or begin rules inside.
WORDS = toy(["a", "b", "c", "ab", "ba", "cc", "abc", "bab", "aab"])

#: Tokens for the cases below.
SIGNS = toy(
    ["a", "b", "(", ")", "[", "]", "+", "*", "1", ",", "()", "))", ")))", "((", ")+", "+1", "1)", "aa", "bb", "ab", ")]", "],["]
)  # fmt: skip

#: The most tokens that the search tries.
DEEP = 7


def searched(constraint: Constraint, state: State, most: int = DEEP) -> int:
    """The fewest tokens to an accepted text by trying all of them; more than ``most``: ``FAR``."""
    level = {state}
    for tokens in range(most + 1):
        if any(map(constraint.is_final, level)):
            return tokens
        level = {
            constraint.advance(here, token)
            for here in level
            for token in constraint.mask(here)
            if token not in constraint.vocabulary.ends
        }
    return FAR


def agree(constraint: Constraint, walks: int = 6, length: int = 5) -> None:
    """Distances equal the search's in the states of random walks, and after each token there."""
    distances = token_distances(constraint)
    chooser = random.Random(len(constraint.vocabulary))
    for _ in range(walks):
        state = constraint.initial
        for _ in range(length):
            expected = searched(constraint, state)
            assert distances.distance(state) == expected or (
                expected == FAR and distances.distance(state) > DEEP
            )
            ids, found = distances.after(state)
            least: dict[int, int] = {}
            for token, distance in zip(ids.tolist(), found.tolist(), strict=True):
                least[token] = min(distance, least.get(token, FAR))
            allowed = [i for i in constraint.mask(state) if i not in constraint.vocabulary.ends]
            assert {i for i, distance in least.items() if distance < FAR} == set(allowed)
            for token in allowed:
                assert least[token] == distances.distance(constraint.advance(state, token))
                assert least[token] <= distances.farthest(state)
            if not allowed:
                break
            state = constraint.advance(state, chooser.choice(allowed))


CASES = {
    "counted twice": "start ::= 'a' start 'b' | 'ab';",
    "any number of rules end at once": "start ::= '(' start? ')' | '(' start '+' start? | '1';",
    "a chain of operators": "start ::= sum; sum ::= product ('+' sum)?; product ::= value ('*' product)?;"
    " value ::= '1' | '(' sum ')';",
    "right recursion in brackets": "start ::= '(' list ')'; list ::= item (',' list)?; item ::= 'a'+ | start;",
    "several stacks": "start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | 'aa' | 'bb';",
    "two kinds of brackets": "start ::= ('(' start ')' | '[' start ']' | '1' | 'a')+;",
    "lists in lists": "start ::= '[' (start (',' start)*)? ']' | '1';",
    "long way out": "start ::= 'a' | '(' deep ')'; deep ::= '((((((' start '))))))' | 'b' start;",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_distances_equal_a_search(text: str) -> None:
    constraint = wb.compile(wb.Grammar.from_kbnf(text), SIGNS)
    assert isinstance(constraint, StackConstraint)
    agree(constraint, walks=25, length=8)


@pytest.mark.parametrize("pattern", ["(a|b)*ab", "a{3,9}", "(aa)+b?|1", "1?", r"\((1|\+1)*\)"])
def test_distances_of_a_regex_equal_a_search(pattern: str) -> None:
    agree(wb.compile(wb.Grammar.from_regex(pattern), SIGNS), walks=10)


@pytest.mark.exhaustive
@slow
@given(trees())
def test_distances_of_random_grammars(tree: GrammarTree) -> None:
    try:
        constraint = automaton(grammar_of(tree), WORDS, LIMITS)
        agree(constraint, walks=3, length=4)
    except (VocabularyError, LimitError):
        assume(False)


@pytest.mark.exhaustive
@slow
@given(regexes)
def test_distances_of_random_regexes(pattern: str) -> None:
    try:
        agree(wb.compile(wb.Grammar.from_regex(pattern), WORDS), walks=3)
    except VocabularyError:
        assume(False)


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_mask_allows_exactly_what_can_still_end(text: str) -> None:
    inner = wb.compile(wb.Grammar.from_kbnf(text), SIGNS)
    within = WithinBudget(inner, 5)
    waiting = [within.initial]
    for state in waiting:  # all texts
        expected = {
            token
            for token in inner.mask(state.inner)
            if token in SIGNS.ends
            or searched(inner, inner.advance(state.inner, token), state.left - 2) < FAR
        }
        assert set(within.mask(state)) == expected
        assert expected, "no state may be a dead end"
        for token in set(inner.mask(state.inner)) - set(SIGNS.ends):
            if token in expected:
                waiting.append(within.advance(state, token))
            else:
                with pytest.raises(TokenNotAllowed):
                    within.advance(state, token)
    assert any(state.left == 1 for state in waiting)


def test_every_random_text_ends_within_every_budget() -> None:
    model = wb.load_model("builtin")
    for name in ("json", "arithmetic", "expression", "person", "kbnf_digits", "date"):
        example = load_gallery()[name]
        grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
        constraint = wb.compile(grammar, model.vocabulary)
        least = token_distances(constraint).distance(constraint.initial) + 1
        for budget, seed in itertools.product((least, least + 1, least + 6), range(3)):
            sampling = wb.Sampling(temperature=1.5, seed=seed)
            made = wb.generate(
                model, constraint, example.prompt, sampling, max_tokens=budget, finish=True
            )
            trace = made.trace if list(made) else None
            assert trace is not None
            assert trace.stop in (wb.StopReason.ACCEPTED, wb.StopReason.FORCED_END)
            assert grammar.accepts(trace.text)


def test_an_ample_budget_changes_no_text() -> None:
    model, grammar = wb.load_model("builtin"), wb.Grammar.from_regex("[0-9]{4}-[01][0-9]")
    constraint = wb.compile(grammar, model.vocabulary)
    plain = wb.generate(model, constraint, "A month: ", max_tokens=40)
    ending = wb.generate(model, constraint, "A month: ", max_tokens=40, finish=True)
    assert [s.token_id for s in plain] == [s.token_id for s in ending]


def test_error_budget_too_small() -> None:
    constraint = wb.compile(wb.Grammar.from_regex("a{5}"), toy(["a"]))
    with pytest.raises(WorkbenchError) as caught:
        WithinBudget(constraint, 5)
    assert str(caught.value) == (
        "every text needs at least 6 tokens with the end token, and the budget is 5\n"
        "hint: allow 6 tokens or more"
    )


def test_error_other_method() -> None:
    grammar = wb.Grammar.from_regex("a+")
    with pytest.raises(WorkbenchError, match="the distances of the exact engine"):
        WithinBudget(wb.compile(grammar, SIGNS, "online"), 5)


@given(st.integers(2, 12), st.integers(0, 5))
def test_a_prefix_counts_against_the_budget(budget: int, taken: int) -> None:
    within = WithinBudget(wb.compile(wb.Grammar.from_regex("a{0,20}"), toy(["a"])), budget)
    state = within.initial
    for _ in range(min(taken, budget - 1)):
        state = within.advance(state, 0)
    assert within.fewest(state) == 1
    assert state.left == budget - min(taken, budget - 1)
