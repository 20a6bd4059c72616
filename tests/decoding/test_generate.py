"""generate(): every field of a step, every stop reason, rewinding, and odd vocabularies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.decoding.worlds import FiniteConstraint, TableModel
from workbench.base.errors import ModelError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import Generation, generate
from workbench.decoding.model import LanguageModel, ToyModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import JumpForward
from workbench.decoding.trace import StopReason, perplexity
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary

LETTERS = toy("abcd")  # end is 4
USUAL = [math.log(p) for p in (0.1, 0.2, 0.3, 0.25, 0.15)]


def finished(generation: Generation) -> Generation:
    for _ in generation:
        pass
    return generation


def run(
    texts: Sequence[str], usual: Sequence[float] = USUAL, vocabulary: Vocabulary = LETTERS,
    **options: Any,
) -> Generation:  # fmt: skip
    model = TableModel(vocabulary, usual)
    constraint = FiniteConstraint(vocabulary, [t.encode() for t in texts])
    return finished(generate(model, constraint, [0], **options))


def test_protocols_are_implemented() -> None:
    assert isinstance(TableModel(LETTERS, USUAL), LanguageModel)
    assert isinstance(ToyModel(LETTERS), LanguageModel)
    assert isinstance(FiniteConstraint(LETTERS, []), Constraint)


def test_every_field_of_a_step() -> None:
    step = run(["ab", "ad", "b"], top=3).steps[0]
    assert (step.index, step.token_id, step.token, step.state) == (0, 1, b"b", b"")
    assert list(step.mask) == [0, 1]
    assert step.logprob == pytest.approx(math.log(0.2))
    assert step.masked_logprob == pytest.approx(math.log(2 / 3))
    assert (step.favourite_id, step.rank) == (2, 3)
    assert step.kept == pytest.approx(0.3)
    assert step.intervened
    assert not step.forced
    assert step.mask_bits == pytest.approx(-math.log2(0.3))
    assert [(c.token_id, c.token, c.allowed) for c in step.wanted] == [
        (2, b"c", False),
        (3, b"d", False),
        (1, b"b", True),
    ]
    assert [c.probability for c in step.wanted] == pytest.approx([0.3, 0.25, 0.2])
    assert [c.masked_probability for c in step.wanted] == pytest.approx([0, 0, 2 / 3])
    assert [(c.token_id, c.allowed) for c in step.allowed] == [(1, True), (0, True)]
    assert [c.masked_probability for c in step.allowed] == pytest.approx([2 / 3, 1 / 3])
    assert [c.probability for c in step.allowed] == pytest.approx([0.2, 0.1])
    assert step.forward
    assert not step.is_end
    assert min(step.model_ms, step.mask_ms, step.advance_ms) >= 0


def test_the_end_token_is_a_step() -> None:
    generation = run(["b"])
    last = generation.steps[-1]
    assert (last.is_end, last.token, last.token_id, last.state) == (True, b"", 4, b"b")
    assert generation.trace.text == b"b"
    assert generation.trace.token_ids == [1, 4]


def test_the_model_reads_prompt_and_tokens() -> None:
    model = TableModel(LETTERS, USUAL)
    finished(generate(model, FiniteConstraint(LETTERS, [b"ba"]), "cd"))
    assert model.asked == [[2, 3], [2, 3, 1], [2, 3, 1, 0]]


ENDS, END, DEAD = StopReason.ACCEPTED, StopReason.FORCED_END, StopReason.DEAD_END
BUDGET, STOPPED = StopReason.TOKEN_BUDGET, StopReason.STOPPED

#   texts         options                  reason   text    because
STOPS = [
    (["b", "ba"], {},                      ENDS,    b"b",   "the end (0.15) beats a (0.1)"),
    (["b", "bd"], {},                      END,     b"bd",  "d (0.25) beats the end"),
    (["b"],       {},                      END,     b"b",   "only the end is left"),
    ([""],        {},                      END,     b"",    "the empty text alone"),
    (["bad"],     {"max_tokens": 2},       BUDGET,  b"ba",  "two tokens, not accepted"),
    (["bad"],     {"max_tokens": 3},       BUDGET,  b"bad", "the end token would be the fourth"),
    (["bad"],     {"max_tokens": 4},       END,     b"bad", "the end token is the fourth"),
    (["bad"],     {"max_tokens": 0},       BUDGET,  b"",    "nothing at all"),
    (["bad"],     {"stop": lambda: True},  STOPPED, b"",    "asked before the first token"),
    (["bxd"],     {},                      DEAD,    b"b",   "no token spells x"),
    ([],          {},                      DEAD,    b"",    "the empty language"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "options", "reason", "text", "because"), STOPS)
def test_stop_reasons(
    texts: list[str], options: dict[str, Any], reason: StopReason, text: bytes, because: str
) -> None:
    generation = run(texts, **options)
    assert (generation.stop, generation.trace.text) == (reason, text), because
    assert generation.trace.stop is reason


def test_without_an_end_token_a_text_ends_where_nothing_can_follow() -> None:
    generation = run(["b", "bd"], USUAL[:4], toy("abcd", end=False))
    assert (generation.stop, generation.trace.text) == (StopReason.FORCED_END, b"bd")
    assert generation.trace.accepted


def test_stop_is_known_with_the_last_step() -> None:
    generation = generate(TableModel(LETTERS, USUAL), FiniteConstraint(LETTERS, [b"b"]), [0])
    next(generation)
    assert generation.stop is None
    assert generation.trace.stop is None
    assert next(generation).is_end
    assert generation.stop is StopReason.FORCED_END
    assert next(generation, None) is None


def test_stopping_in_the_middle() -> None:
    asked = itertools.count()
    generation = run(["abcdabcd"], stop=lambda: next(asked) >= 4)
    assert (generation.stop, generation.trace.text) == (StopReason.STOPPED, b"abcd")


def test_perplexity_is_of_the_unmasked_probabilities() -> None:
    trace = run(["ad"]).trace
    assert trace.perplexity == pytest.approx(math.exp(-(math.log(0.1) + math.log(0.25)) / 2))
    with_end = math.exp(-(math.log(0.1) + math.log(0.25) + math.log(0.15)) / 3)
    assert trace.perplexity_with_end == pytest.approx(with_end)
    assert trace.mask_bits == pytest.approx(-math.log2(0.1 * 0.25 * 0.15))
    assert math.isnan(run([]).trace.perplexity)


MANY = [bytes((a, b, c, d)) for a in b"abcd" for b in b"abcd" for c in b"abcd" for d in b"abcd"]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_prefix_continues_as_the_generation_would_have(temperature: float) -> None:
    model, constraint = ToyModel(LETTERS, seed=5), FiniteConstraint(LETTERS, MANY)
    sampling = Sampling(temperature=temperature, seed=9)
    whole = finished(generate(model, constraint, "ab", sampling))
    for cut in range(len(whole.trace.token_ids) - 1):
        taken = whole.trace.token_ids[:cut]
        rest = finished(generate(model, constraint, "ab", sampling, prefix=taken))
        assert taken + rest.trace.token_ids == whole.trace.token_ids
        assert [s.index for s in rest.steps] == [s.index for s in whole.steps[cut:]]
        assert [s.logprob for s in rest.steps] == [s.logprob for s in whole.steps[cut:]]


def test_seeds_repeat_and_differ() -> None:
    model, constraint = ToyModel(LETTERS), FiniteConstraint(LETTERS, MANY)

    def text(seed: int) -> bytes:
        return finished(generate(model, constraint, "a", Sampling(1.0, seed=seed))).trace.text

    assert [text(s) for s in range(6)] == [text(s) for s in range(6)]
    assert len({text(s) for s in range(6)}) > 1


def test_incomplete_characters() -> None:
    euro = "€".encode()
    vocabulary = Vocabulary((euro[:1], euro[1:], euro[:2], euro[2:], None), end=4)
    model = TableModel(vocabulary, [0, 0, 1, 0, 0])
    trace = finished(generate(model, FiniteConstraint(vocabulary, [euro]), [4])).trace
    assert [s.token for s in trace.steps] == [euro[:2], euro[2:], b""]
    assert trace.text.decode() == "€"


def test_duplicates_are_separate_tokens() -> None:
    vocabulary = Vocabulary((b"a", b"a", None), end=2)
    model = TableModel(vocabulary, [0, 1, 0])
    step = finished(generate(model, FiniteConstraint(vocabulary, [b"a"]), [2])).steps[0]
    assert (step.token_id, list(step.mask)) == (1, [0, 1])
    assert step.masked_logprob == pytest.approx(1 - math.log(1 + math.e))


def test_rows_that_are_no_tokens_have_probability_and_are_never_taken() -> None:
    padded = [*USUAL, math.log(2.0), math.log(7.0)]  # nine of ten parts go to no token
    step = run(["b", "d"], padded, top=3).steps[0]
    assert step.logprob == pytest.approx(math.log(0.25 / 10))
    assert step.kept == pytest.approx(0.045)
    assert [c.token_id for c in step.wanted] == [2, 3, 1]
    assert step.favourite_id == 2


def test_tokens_without_a_row_have_no_probability() -> None:
    step = run(["a", ""], [0.0, 0.0, 0.0]).steps[0]
    assert step.token_id == 0
    assert [c.masked_probability for c in step.allowed] == [1.0, 0.0]
    forced = run([""], [0.0, 0.0, 0.0]).steps[0]
    assert (forced.logprob, forced.masked_logprob, forced.kept) == (-math.inf, 0.0, 0.0)
    assert run([""], [0.0, 0.0, 0.0]).trace.perplexity_with_end == math.inf


def test_skipping_the_model_if_one_token_is_allowed() -> None:
    constraint, model = FiniteConstraint(LETTERS, [b"abcd", b"abdd"]), TableModel(LETTERS, USUAL)
    asked = finished(generate(model, constraint, [0])).trace
    calls = len(model.asked)
    skipped = finished(generate(model, constraint, [0], strategy=JumpForward())).trace
    assert skipped.token_ids == asked.token_ids
    assert (asked.forward_passes, skipped.forward_passes) == (5, 1)
    assert model.asked[calls:] == [[0], [0, 0], [0, 0, 1]]
    assert [s.forward for s in skipped.steps] == [False, False, True, False, False]
    assert [s.is_scored for s in skipped.steps] == [True, True, True, False, False]
    assert [s.logprob for s in skipped.steps[:3]] == [s.logprob for s in asked.steps[:3]]
    assert skipped.perplexity == perplexity(s.logprob for s in asked.steps[:3])
    assert skipped.mask_bits == math.fsum(s.mask_bits for s in asked.steps[:3])


def test_a_session_is_continued() -> None:
    model = ToyModel(LETTERS)
    session = TableModel(LETTERS, USUAL)
    finished(generate(model, FiniteConstraint(LETTERS, [b"b"]), [0], session=session))
    assert session.asked == [[0], [0, 1]]


def test_error_prefix_not_allowed() -> None:
    with pytest.raises(TokenNotAllowed):
        run(["ab"], prefix=[1])
    with pytest.raises(TokenNotAllowed, match="without the end token"):
        run(["ab"], prefix=[0, 1, 4])


def test_error_other_vocabulary() -> None:
    model = TableModel(LETTERS, USUAL)
    with pytest.raises(VocabularyError) as caught:
        generate(model, FiniteConstraint(all_bytes(), [b"a"]), [0])
    assert str(caught.value) == (
        "expected a constraint over the model's own vocabulary (toy, 5 tokens), not over all bytes"
        " (257 tokens)\nhint: compile the grammar with model.vocabulary"
    )
    generate(model, FiniteConstraint(toy("abcd"), [b"a"]), [0])  # the same tokens will do


def test_error_negative_budget() -> None:
    with pytest.raises(WorkbenchError, match="of at least 0 as 'max_tokens', not -1"):
        run(["a"], max_tokens=-1)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_error_logits_that_are_no_numbers(bad: float) -> None:
    with pytest.raises(ModelError, match="not numbers"):
        run(["a"], [0, bad, 0, 0, 0])


def test_toy_model_follows_its_sample() -> None:
    sample = "abcabd"
    model = ToyModel(LETTERS, sample)
    texts = [s + t for s in (b"", b"a", b"abc") for t in MANY] + [sample.encode()]
    trace = finished(generate(model, FiniteConstraint(LETTERS, texts), "")).trace
    assert trace.text == b"abcabd"
    assert trace.steps[-1].is_end


def test_toy_model_is_deterministic() -> None:
    model = ToyModel(LETTERS, seed=1)
    assert model.encode("xaxb") == [0, 1]
    assert model.encode("") == [4]
    first, again = (model.session().logits([1, 2, 3]) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, ToyModel(LETTERS, seed=2).logits([1, 2, 3]))
    with pytest.raises(ModelError):
        model.session().logits([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": -1}, "of at least 0 as 'max_tokens', not -1"),
        ({"max_tokens": 1.5}, "of at least 0 as 'max_tokens', not float: 1.5"),
        ({"max_tokens": None, "finish": True}, "of at least 0 as 'max_tokens', not None"),
        ({"top": "3"}, "of at least 0 as 'top', not str: '3'"),
        ({"strategy": "asap"}, "expected a Strategy .steps. as 'strategy', not str: 'asap'"),
        ({"strategy": type(Sampling())}, "expected a Strategy"),
        ({"strategy": None}, "expected a Strategy .steps. as 'strategy', not None"),
    ],
)
def test_error_for_options_of_a_wrong_type(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        generate(ToyModel(LETTERS, "abcabd"), FiniteConstraint(LETTERS, [b"ab"]), "", **options)


def test_a_step_records_every_stage_if_wanted() -> None:
    sampling = Sampling(0.5, top_k=2, repetition_penalty=2.0)
    vocabulary = toy(["a", "b", "c"])
    model = TableModel(vocabulary, [2.0, 1.0, -1.0, -2.0])
    constraint = FiniteConstraint(vocabulary, [b"aab", b"abc", b"bab"])
    steps = list(generate(model, constraint, [0], sampling, stages=True))
    first = steps[0]
    # the prompt is a token "a": its logit 2 is halved; "c" is forbidden
    exp = np.exp
    model_sum, read_sum = exp(2) + exp(1) + exp(-1) + exp(-2), exp(1) + exp(1) + exp(-1) + exp(-2)
    shares = {
        0: (exp(2) / model_sum, exp(1) / read_sum, 0.5, 0.5, 0.5),
        1: (exp(1) / model_sum, exp(1) / read_sum, 0.5, 0.5, 0.5),
        2: (exp(-1) / model_sum, exp(-1) / read_sum, 0.0, 0.0, 0.0),
    }
    names = ("model", "repetition penalty", "mask", "temperature", "top-k")
    for step in steps:
        assert tuple(name for name, _ in step.stages) == names
        (own,) = (one for one in step.allowed if one.token_id == step.token_id)
        assert own.stages == tuple(share for _, share in step.stages)
    for candidate in first.wanted:
        if candidate.token_id in shares:
            assert candidate.stages == pytest.approx(shares[candidate.token_id])
    plain = list(generate(model, constraint, [0], sampling))
    assert [step.token_id for step in plain] == [step.token_id for step in steps]
    assert all(step.stages == () and step.wanted[0].stages == () for step in plain)
