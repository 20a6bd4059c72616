"""Laws of the loop, under the exact automaton and under every setting of the sampling."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.decoding.model import ToyModel
from workbench.decoding.trace import StopReason
from workbench.vocabulary.toy_vocabularies import toy

VOCABULARY = toy(["a", "b", "c", "ab", "bc", "aa", "abc", "é", b"\xc3", b"\xa9", "é", "ca"])

PATTERNS = ["(a|b)*c", "(ab|c){1,3}", "a?b?c?", "[abcé]{2,5}", "(abc)+", "é+a", "[^a]{1,3}", "a*"]

SETTINGS = st.builds(
    wb.Sampling,
    temperature=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    top_k=st.none() | st.integers(1, 4),
    top_p=st.none() | st.floats(0.1, 1.0),
    seed=st.integers(0, 99),
)


@pytest.mark.exhaustive
@given(st.sampled_from(PATTERNS), SETTINGS, st.integers(0, 12))
def test_a_generation_keeps_the_laws_of_its_steps(
    pattern: str, sampling: wb.Sampling, budget: int
) -> None:
    constraint = wb.compile(wb.Grammar.from_regex(pattern), VOCABULARY)
    model = ToyModel(VOCABULARY, seed=sampling.seed)
    generation = wb.generate(model, constraint, "a", sampling, max_tokens=budget, top=3)
    steps = list(generation)
    trace = generation.trace

    assert generation.stop in set(StopReason) - {StopReason.STOPPED, StopReason.DEAD_END}
    if trace.accepted:
        assert re.fullmatch(pattern, trace.text.decode())
    else:
        assert len(steps) == budget
    state = constraint.initial
    for number, step in enumerate(steps):
        assert (step.index, step.state) == (number, state)
        assert step.token_id in step.mask
        assert step.mask == constraint.mask(state)
        assert step.is_end is (step.token_id == VOCABULARY.end)
        state = constraint.advance(state, step.token_id)
        # the reported likelihoods are consistent
        assert step.logprob <= step.masked_logprob <= 0
        assert math.exp(step.logprob) == pytest.approx(math.exp(step.masked_logprob) * step.kept)
        # the sum of all is computed with an error below 1e-6
        assert math.fsum(c.masked_probability for c in step.allowed) <= 1 + 1e-6
        assert step.intervened is (step.favourite_id not in step.mask)
        assert (step.rank == 1) is (step.token_id == step.favourite_id)
        assert [c.allowed for c in step.wanted] == [c.token_id in step.mask for c in step.wanted]
        if sampling.temperature == 0:
            assert step.token_id == step.allowed[0].token_id
