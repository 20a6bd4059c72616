"""Strategies: the text of the plain loop, with fewer passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import ModelError
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import Generation, generate
from workbench.decoding.model import Logits, StatelessSession, ToyModel
from workbench.decoding.opportunistic_masking import OpportunisticMasking
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation, Strategy
from workbench.decoding.trace import Step, Trace
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

VOCABULARY = toy(["a", "b", "c", "ab", "bc", "aa", "abc", "é", b"\xc3", b"\xa9", "é", "ca"])
PATTERNS = [
    "(a|b)*c", "(ab|c){1,3}", "a?b?c?", "[abcé]{2,5}", "(abc)+", "é+a", "[^a]{1,3}", "a*",
    "abcabc", "(a|b)abcab", "a(bc|é)abca",
]  # fmt: skip

#: The same without an end token: a text is complete where nothing may follow.
ENDLESS = toy([t for t in VOCABULARY.tokens if t is not None], end=False)

SETTINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    top_k=st.none() | st.integers(1, 4),
    top_p=st.none() | st.floats(0.1, 1.0),
    seed=st.integers(0, 99),
    min_p=st.none() | st.floats(0.0, 1.0),
    repetition_penalty=st.sampled_from([1.0, 1.5, 0.5]),
)


@dataclass(frozen=True)
class Guessing:
    """Guesses anything, allowed or not, the end too."""

    seed: int = 0

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        rng = np.random.default_rng((self.seed, len(taken)))
        chance = float(rng.random())
        return None if chance < 0.1 else (int(rng.integers(len(constraint.vocabulary))), chance)


@dataclass(frozen=True)
class Knowing:
    """Proposes a given token at each position."""

    tokens: Sequence[TokenId]
    #: How many tokens the prompt has.
    prompt: int = 1

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        place = len(taken) - self.prompt
        return (self.tokens[place], 1.0) if place < len(self.tokens) else None


def ran(
    model: wb.LanguageModel, constraint: Constraint, sampling: Sampling, strategy: Strategy,
    max_tokens: int = 40,
) -> Trace:  # fmt: skip
    generation = generate(
        model, constraint, [0], sampling, max_tokens=max_tokens, top=2, strategy=strategy
    )
    finished(generation)
    return generation.trace


def finished(generation: Generation) -> None:
    for _ in generation:
        pass


def passes(
    model: ToyModel, constraint: Constraint, sampling: Sampling, strategy: Strategy, max_tokens: int
) -> int:
    """How often the model is asked."""
    asked = 0

    class Counted(StatelessSession):
        def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
            nonlocal asked
            asked += 1
            return super().score(token_ids, last)

    session = Counted(model.logits)
    finished(
        generate(
            model, constraint, [0], sampling,
            max_tokens=max_tokens, strategy=strategy, session=session,
        )
    )  # fmt: skip
    return asked


def same_numbers(step: Step, plain: Step) -> bool:
    """Whether a step says what the plain loop's says, the mask made or not."""
    names = ("logprob", "masked_logprob", "kept", "rank", "masked_rank", "favourite_id", "is_end",
             "index", "token_id", "token", "state", "mask", "wanted", "allowed", "forced",
             "intervened")  # fmt: skip
    return all(getattr(step, name) == getattr(plain, name) for name in names)


@pytest.mark.exhaustive
@given(
    st.sampled_from(PATTERNS), st.sampled_from([VOCABULARY, ENDLESS]), SETTINGS,
    st.integers(0, 12), st.data(),
)  # fmt: skip
def test_tokens_equal_the_plain_loops(
    pattern: str, vocabulary: Vocabulary, sampling: Sampling, budget: int, data: st.DataObject
) -> None:
    constraint = wb.compile(wb.Grammar.from_regex(pattern), vocabulary)
    model = ToyModel(vocabulary, seed=sampling.seed)
    plain = ran(model, constraint, sampling, PLAIN, budget)
    guessing = st.builds(Guessing, st.integers(0, 99))
    speculating = st.builds(
        Speculation, guessing, st.integers(0, 5), st.sampled_from([0.0, 0.2, 0.9])
    )
    strategy = data.draw(st.just(PLAIN) | st.just(OpportunisticMasking()) | speculating)
    found = ran(model, constraint, sampling, strategy, budget)
    assert found.token_ids == plain.token_ids
    assert found.stop is plain.stop
    assert found.forward_passes <= plain.forward_passes
    assert passes(model, constraint, sampling, strategy, budget) == found.forward_passes
    for step, other in zip(found.steps, plain.steps, strict=True):
        assert same_numbers(step, other) or not step.is_scored


@pytest.mark.exhaustive
@given(
    st.sampled_from(PATTERNS), st.sampled_from([VOCABULARY, ENDLESS]), SETTINGS, st.integers(0, 12)
)
def test_skipping_writes_the_plain_loops_text(
    pattern: str, vocabulary: Vocabulary, sampling: Sampling, budget: int
) -> None:
    constraint = wb.compile(wb.Grammar.from_regex(pattern), vocabulary)
    model = ToyModel(vocabulary, seed=sampling.seed)
    plain = ran(model, constraint, sampling, PLAIN, budget)
    found = ran(model, constraint, sampling, JumpForward(), budget)
    if found.token_ids != plain.token_ids:
        assert_only_the_end_is_spelt_otherwise(found, plain)
    else:
        assert found.stop is plain.stop
    assert found.forward_passes <= sum(not step.forced for step in plain.steps)
    assert passes(model, constraint, sampling, JumpForward(), budget) == found.forward_passes
    run = generate(
        model, constraint, [0], sampling, max_tokens=budget, top=2, strategy=JumpForward()
    )
    finished(run)
    if run.trace.token_ids == plain.token_ids:
        assert run.scored_trace().perplexity == plain.perplexity or not plain.text
        for step, other in zip(run.scored_trace().steps, plain.steps, strict=True):
            assert same_numbers(step, other)
    assert run.scored_trace().forward_passes == found.forward_passes
    for step, other in zip(found.steps, plain.steps, strict=False):
        if not step.is_scored:
            break
        assert same_numbers(step, other)


def assert_only_the_end_is_spelt_otherwise(found: Trace, plain: Trace) -> None:
    """One text begins with the other, equal where both end, in no more tokens than the plain."""
    assert found.text.startswith(plain.text) or plain.text.startswith(found.text)
    if plain.accepted:
        assert found.text == plain.text
        assert found.accepted
    assert len(found.steps) <= len(plain.steps)


LETTERS = toy("abcd")  # end is 4
USUAL = [math.log(p) for p in (0.1, 0.2, 0.3, 0.25, 0.15)]
FREE = FiniteConstraint(LETTERS, [b"abcd", b"abdd", b"bbdc", b"ccccc"])


@pytest.mark.parametrize(
    ("proposals", "scored", "firsts", "because"),
    [
        ("ccccc", [6], [0], "five proposals and the end in one pass"),
        ("", [1] * 6, [0, 1, 2, 3, 4, 5], "no proposals: the plain loop"),
        ("ccb", [3, 1, 1, 1], [0, 3, 4, 5], "the third is not allowed, so it is not asked about"),
        ("ca", [2, 1, 1, 1, 1], [0, 2, 3, 4, 5], "nor is the second"),
        ("accc", [5, 4, 1], [0, 1, 5], "abcd was proposed and a is wrong, then three are right"),
    ],
)  # fmt: skip
def test_passes_of_a_speculation(
    proposals: str, scored: list[int], firsts: list[int], because: str
) -> None:
    constraint = wb.compile(wb.Grammar.from_regex("abcd|abdd|b+dc|(c|d)+"), LETTERS)
    model = TableModel(LETTERS, USUAL, {(0, 2, 2, 2, 2, 2): [0, 0, 0, 0, 9]})
    asked: list[int] = []

    class Counting(TableModel):
        def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
            asked.append(last)
            return super().score(token_ids, last)

    guesses = Knowing(LETTERS.ids(*proposals))
    session = Counting(LETTERS, USUAL, model.after)
    found = generate(model, constraint, [0], strategy=Speculation(guesses, 5), session=session)
    steps = list(found)
    assert found.trace.text == b"ccccc"
    assert asked == scored, because
    assert [step.index for step in steps if step.forward] == firsts
    assert found.trace.forward_passes == len(scored)
    assert all(step.is_scored for step in steps)


@pytest.mark.parametrize(
    ("pattern", "tokens", "passes", "because"),
    [
        ("(a|b)cdcd", ["a", "cdcd", ""], 1, "after the first letter one text is left"),
        ("cdcd", ["cdcd", ""], 0, "one text from the start"),
        ("c(dcd)?", ["cdcd", ""], 1, "the text may end after c: two texts"),
        ("cd*", ["cd", ""], 2, "any number of d"),
        ("(a|b)(cd|c)", ["a", "cd", ""], 2, "all tokens begin one text, and two are left"),
    ],
)  # fmt: skip
def test_a_forced_suffix_is_skipped(
    pattern: str, tokens: list[str], passes: int, because: str
) -> None:
    vocabulary = toy(["a", "b", "c", "d", "cd", "cdcd"])
    constraint = wb.compile(wb.Grammar.from_regex(pattern), vocabulary)
    model = TableModel(vocabulary, [5, 4, 0, 0, 1, 2, 3])
    trace = ran(model, constraint, Sampling(), JumpForward())
    assert [step.token.decode() for step in trace.steps] == tokens, because
    assert trace.forward_passes == passes
    assert trace.text == ran(model, constraint, Sampling(), PLAIN).text


def test_a_draft_too_long_for_the_model_is_left_out() -> None:
    class Short(StatelessSession):
        def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
            if len(token_ids) > 4:
                raise ModelError("too long")
            return super().score(token_ids, last)

    constraint = wb.compile(wb.Grammar.from_regex("(a|b)ccccc(a|b)"), LETTERS)
    model = ToyModel(LETTERS)
    for strategy in (PLAIN, JumpForward(), Speculation(Knowing([2] * 9), 8)):
        run = generate(model, constraint, [0], strategy=strategy, session=Short(model.logits))
        with pytest.raises(ModelError, match="too long"):
            finished(run)
        assert len(run.steps) == 4  # the prompt and three of them can be read
        with pytest.raises(ModelError, match="too long"):
            next(run)  # another call raises again
