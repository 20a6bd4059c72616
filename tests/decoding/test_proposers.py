"""Proposers: counts of runs, forced bytes, and the keys of states."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.constraint.protocol import Constraint
from workbench.constraint.token_machine import machine_of
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CountProposer, ForcedProposer
from workbench.decoding.strategy import PLAIN, Proposer, Speculation, Strategy
from workbench.decoding.trace import Trace
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy(["a", "b", "(", ")", "ab", "((", "))", ", ", ","])
NESTED = "start ::= '(' item (', ' item)* ')'; item ::= start | 'a' | 'b' | 'ab';"
MODEL = ToyModel(WORDS, sample="((a, b), (ab, (a)))", seed=3)


def nested() -> wb.TokenMachine:
    return wb.compile(wb.Grammar.from_kbnf(NESTED), WORDS)


def ran(constraint: Constraint, seed: int, strategy: Strategy = PLAIN, heat: float = 0.7) -> Trace:
    sampling = Sampling(heat, seed=seed)
    run = generate(MODEL, constraint, "(", sampling, max_tokens=30, strategy=strategy)
    for _ in run:
        pass
    return run.trace


def test_counts_are_frequencies_of_the_chosen_tokens() -> None:
    constraint = wb.compile(wb.Grammar.from_regex("a(a|b)*"), WORDS)
    model = TableModel(WORDS, [3, 1, 0, 0, 2, 0, 0, 0, 0, 1])
    runs = []
    for seed in range(30):
        run = generate(model, constraint, [0], Sampling(1.0, seed=seed), max_tokens=6)
        assert list(run)
        runs.append(run.trace)
    counts = CountProposer.learnt(constraint, runs, memory=0)
    inside = constraint.advance(constraint.initial, 0)
    chosen = [s.token_id for run in runs for s in run.steps if s.state == inside]
    best = max(set(chosen), key=chosen.count)
    assert counts.propose(constraint, inside, [0, 0]) == (best, chosen.count(best) / len(chosen))


def test_a_longer_memory_falls_back_on_shorter_ones() -> None:
    constraint = wb.compile(wb.Grammar.from_regex("(a|b|,)*"), WORDS)
    counts = CountProposer.learnt(constraint, [trace_of(constraint, [0, 1, 8, 0, 1, 0])], memory=2)
    here = constraint.initial
    # a b was followed by a comma and by a; alone, b too; with nothing known a is the likeliest
    assert counts.propose(constraint, here, [0, 1]) in [(8, 0.5), (0, 0.5)]
    assert counts.propose(constraint, here, [8, 0]) == (1, 1.0)
    assert counts.propose(constraint, here, [2, 8]) == (0, 1.0), "a comma was followed by a"
    assert counts.propose(constraint, here, [2, 2]) == (0, 0.5), "half of all tokens are a"
    assert counts.propose(constraint, "outside", []) is None


def trace_of(constraint: Constraint, ids: list[int]) -> Trace:
    """The trace of these tokens."""
    wanted = iter(ids)

    class Following(TableModel):
        def logits(self, token_ids):  # type: ignore[no-untyped-def]
            self.usual = [0.0] * len(WORDS)
            self.usual[next(wanted)] = 9.0
            return super().logits(token_ids)

    run = generate(Following(WORDS, []), constraint, [0], max_tokens=len(ids))
    assert [step.token_id for step in run] == ids
    return run.trace


def test_states_that_differ_only_in_depth_are_counted_together() -> None:
    constraint = nested()
    key = constraint.state_key

    def after(text: str) -> object:
        state = constraint.initial
        for token_id in WORDS.ids(*text):
            state = constraint.advance(state, token_id)
        return key(state)

    assert after("(((") == after("((((") != after("(")
    assert after("(((a") == after("((((a")
    assert after("(((a") != after("(((")
    assert after("(a") != after("(((a"), "the outermost list returns elsewhere"
    assert len({after("(" * depth) for depth in range(20)}) == 4


def test_inserted_text_is_counted_with_its_remainder() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= 'a(b' ('a' | start) ')';")
    constraint = wb.compile(grammar, WORDS, method="template")
    key, states = constraint.state_key, [constraint.initial]
    for token_id in WORDS.ids(*"a(ba(ba"):
        states.append(constraint.advance(states[-1], token_id))
    keys = [key(state) for state in states]
    assert len(set(keys[:3])) == 3
    assert keys[3] != keys[2]


def test_counts_use_the_key_of_a_constraint() -> None:
    regular = wb.compile(wb.Grammar.from_regex("a*b"), WORDS)
    assert regular.state_key(regular.initial) == regular.initial
    # a constraint of another author has no other keys than its states
    assert machine_of(FiniteConstraint(WORDS, [b"ab"])).state_key(b"a") == b"a"


@pytest.mark.parametrize(
    ("pattern", "token", "because"),
    [
        ("a(ab|b)*", "a", "one byte, then it branches"),
        ("abc?", None, "c is no token, and ab is read otherwise"),
        ("ab, a", "ab", "the longest token, though more is forced"),
        (", , a", ", ", "the longest"),
        ("a*", None, "it may end"),
    ],
)  # fmt: skip
def test_forced_bytes_are_proposed(pattern: str, token: str | None, because: str) -> None:
    constraint = wb.compile(
        wb.Grammar.from_regex(pattern), toy(["a", "b", "c", "ab", ", ", ",", " "])
    )
    guess = ForcedProposer().propose(constraint, constraint.initial, [0])
    if token is None:
        assert guess is None or pattern == "abc?", because
    else:
        assert guess == (constraint.vocabulary.ids(token)[0], 1.0), because


def test_forced_bytes_are_cached_by_state_and_constraint() -> None:
    asked: list[object] = []

    class Watched(FiniteConstraint):
        def forced(self, state: object, most: int = sys.maxsize) -> bytes:
            asked.append(state)
            assert isinstance(state, bytes)
            return b"abab"[len(state) :]

    constraint, forced = Watched(WORDS, [b"abab"]), ForcedProposer()
    for state in (b"", b"ab", b""):
        assert forced.propose(constraint, state, [0]) == (WORDS.ids("ab")[0], 1.0)
    assert asked == [b"", b"ab"]
    other = wb.compile(wb.Grammar.from_regex("b"), WORDS)
    assert forced.propose(other, other.initial, [0]) == (WORDS.ids("b")[0], 1.0)


@pytest.mark.exhaustive
@given(st.integers(0, 50), st.sampled_from([0.0, 0.7, 1.5]), st.integers(0, 3), st.booleans())
def test_tokens_equal_the_plain_loops(seed: int, heat: float, memory: int, forced: bool) -> None:
    constraint = nested()
    learnt = CountProposer.learnt(constraint, [ran(constraint, s) for s in range(3)], memory)
    proposer: Proposer = ForcedProposer() if forced else learnt
    plain = ran(constraint, seed, PLAIN, heat)
    found = ran(constraint, seed, Speculation(proposer, 6, 0.2), heat)
    assert found.token_ids == plain.token_ids
    assert found.forward_passes <= plain.forward_passes


def test_counts_save_passes() -> None:
    constraint = nested()
    learnt = CountProposer.learnt(constraint, [ran(constraint, seed) for seed in range(5)])
    runs = [(ran(constraint, s), ran(constraint, s, Speculation(learnt))) for s in range(20, 30)]
    plain = sum(run.forward_passes for run, _ in runs)
    assert sum(run.forward_passes for _, run in runs) < 0.7 * plain
