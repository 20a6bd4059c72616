"""Step and Trace: the values computed from the recorded fields."""

from __future__ import annotations

import math
from typing import Any

import pytest

from workbench.constraint.masks import TokenMask
from workbench.decoding.measures import repetition
from workbench.decoding.trace import Step, StopReason, Trace, perplexity


def step(**given: Any) -> Step:
    """A step of token 1 of four; the rest as given."""
    usual: dict[str, Any] = {
        "index": 0, "token_id": 1, "token": b"a", "state": 0, "mask": TokenMask.of([1, 2], 4),
        "logprob": math.log(0.25), "masked_logprob": math.log(0.5), "favourite_id": 1,
        "kept": 0.5, "rank": 1, "masked_rank": 1, "wanted": (), "allowed": (), "forward": True, "model_ms": 1.0,
        "mask_ms": 1.0, "advance_ms": 1.0, "is_end": False,
    }  # fmt: skip
    return Step(**(usual | given))


def test_a_step_computes_surprisal_mask_bits_and_interventions() -> None:
    assert step().surprisal == pytest.approx(math.log(4))
    assert step().mask_bits == pytest.approx(1.0)
    assert step(kept=1.0).mask_bits == 0
    assert step(kept=0.0).mask_bits == math.inf
    assert math.isnan(step(kept=math.nan).mask_bits)
    assert not step().intervened
    assert step(favourite_id=3).intervened
    assert not step(favourite_id=2).intervened, "its favourite was allowed, and not drawn"
    assert not step().forced
    assert step(mask=TokenMask.of([1], 4)).forced


def test_steps_compare_by_identity() -> None:
    one = step()
    assert one == one  # that is the point
    assert one != step()


def test_a_trace_sums_up_its_steps() -> None:
    steps = (
        step(),
        step(token=b"\xc3", favourite_id=0, logprob=math.log(0.5)),
        step(token=b"\xa9", forward=False, logprob=math.nan, kept=math.nan),
        step(token=b"", is_end=True, logprob=math.log(0.125), token_id=3),
    )
    trace = Trace(steps, StopReason.ACCEPTED)
    assert trace.text == "aé".encode()
    assert trace.token_ids == [1, 1, 1, 3]
    assert trace.perplexity == pytest.approx(math.sqrt(8)), "1/4 and 1/2"
    assert trace.perplexity_with_end == pytest.approx(4), "1/4, 1/2 and 1/8"
    assert trace.forward_passes == 3
    assert trace.interventions == 1
    assert trace.mask_bits == pytest.approx(3.0)


@pytest.mark.parametrize("stop", [None, *StopReason])
def test_a_trace_is_accepted_if_the_grammar_ended_it(stop: StopReason | None) -> None:
    accepted = {StopReason.ACCEPTED, StopReason.FORCED_END}
    assert Trace((), stop).accepted is (stop in accepted)


#   log-probabilities           perplexity   because
CASES = [
    ([math.log(0.5)] * 7,       2.0,         "as surprising as a coin"),
    ([0.0, 0.0],                1.0,         "certain"),
    ([math.log(0.5), math.log(0.125)], 4.0,  "the geometric mean"),
    ([-math.inf, 0.0],          math.inf,    "one impossible token is enough"),
    ([-1e6],                    math.inf,    "past every float"),
]  # fmt: skip


@pytest.mark.parametrize(("logprobs", "expected", "because"), CASES)
def test_perplexity_of_logarithms(logprobs: list[float], expected: float, because: str) -> None:
    assert perplexity(logprobs) == pytest.approx(expected), because


def test_perplexity_of_nothing() -> None:
    assert math.isnan(perplexity([]))


#   tokens                                      what is reported                     why
REPEATED = [
    ([],                                        "",                                  "no token"),
    ([b"a"] * 11,                               "",                                  "too few"),
    ([b"a"] * 12,                               "tokens 1 to 12 repeat one token",   "the fewest"),
    ([b"x", *[b"a"] * 13, b"y"],                "tokens 2 to 14 repeat one token",   "in the middle"),
    ([b" ", b"\n", b"\t\t"] * 5,                "tokens 1 to 15 are white space",    "different blanks"),
    ([b"{", *[b"  "] * 12],                     "tokens 2 to 13 are white space",    "before a repetition"),
    ([b"a", b"b"] * 6,                          "tokens 1 to 12 repeat 2 tokens",    "a text of two tokens"),
    ([b"a", b"b", b"c", b"d"] * 3,              "",                                  "not four times"),
    ([b"a", b"b", b"c", b"d"] * 4,              "tokens 1 to 16 repeat 4 tokens",    "four times"),
    ([bytes([97 + i % 7]) for i in range(40)],  "",                                  "a period of seven"),
    ([b""] * 20,                                "",                                  "end tokens have no text"),
]  # fmt: skip


@pytest.mark.parametrize(("tokens", "reported", "why"), REPEATED)
def test_a_repetition_is_reported_with_its_tokens(
    tokens: list[bytes], reported: str, why: str
) -> None:
    assert repetition(tokens) == reported, why
