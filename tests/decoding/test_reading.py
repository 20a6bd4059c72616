"""A given text, read under a mask: the steps of a run that takes it, and the first refused token."""

from __future__ import annotations

import math

import pytest

import workbench as wb
from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import VocabularyError
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.reading import read_text, tokens_after
from workbench.decoding.sampling import Sampling
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy(["a", "b", "ab", "c", "x"])
END = WORDS.end
MODEL = ToyModel(WORDS, seed=3)
LANGUAGE = FiniteConstraint(WORDS, [b"abc", b"ab", b"abcc"])


def test_the_steps_are_those_of_a_run_that_takes_the_text() -> None:
    for seed in range(20):
        sampling = Sampling(0.8, seed=seed, min_p=0.01)
        run = generate(MODEL, LANGUAGE, "x", sampling, stages=True)
        steps = list(run)
        reading = read_text(MODEL, LANGUAGE, "x", run.trace.text.decode(), sampling, stages=True)
        if [step.token_id for step in reading.steps] != [step.token_id for step in steps]:
            continue  # the run wrote it in other tokens than the tokenizer
        assert reading.accepted
        assert reading.refused is None
        for read, step in zip(reading.steps, steps, strict=True):
            assert read.logprob == pytest.approx(step.logprob)
            assert read.masked_logprob == pytest.approx(step.masked_logprob)
            assert read.allowed == step.allowed
            assert read.rank == step.rank
            assert read.kept == pytest.approx(step.kept)
            assert [name for name, _ in read.stages] == [name for name, _ in step.stages]
        assert reading.perplexity == pytest.approx(run.trace.perplexity)
        return
    raise AssertionError("no run wrote the tokenizer's tokens")


#   text     refused  accepted  because
READINGS = [
    ("abc",  None,    True,     "a text of the language"),
    ("ab",   None,    True,     "which may go on, and may end"),
    ("xab",  0,       False,    "the first token begins no text"),
    ("abx",  1,       False,    "after ab no x"),
    ("a",    1,       False,    "the end is refused: the text is not complete"),
    ("",     0,       False,    "nothing but the end, which is refused"),
    ("abccc", 3,      False,    "one c too many"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "refused", "accepted", "because"), READINGS)
def test_the_first_refused_token(
    text: str, refused: int | None, accepted: bool, because: str
) -> None:
    reading = read_text(MODEL, LANGUAGE, "c", text)
    assert reading.refused == refused, because
    assert reading.accepted is accepted
    assert b"".join(step.token for step in reading.steps) == text.encode()
    for index, step in enumerate(reading.steps):
        if refused is None or index < refused:
            assert step.token_id in step.mask
        elif index == refused:
            assert step.token_id not in step.mask
            assert step.masked_logprob == -math.inf
            assert step.masked_rank == 0
        else:
            assert len(step.mask) == len(WORDS), "the model alone"
    ends = [step.is_end for step in reading.steps]
    assert not any(ends[:-1])
    assert not ends or ends[-1] is (refused in (None, len(reading.steps) - 1) and ends[-1])


def test_without_an_end_token_a_final_state_accepts() -> None:
    endless = toy(["a", "b"], end=False)
    language = FiniteConstraint(endless, [b"ab"])
    model = ToyModel(endless, seed=1)
    for text, accepted, refused in (("ab", True, None), ("a", False, None), ("abb", False, 2)):
        reading = read_text(model, language, [0], text, stages=True)
        assert (reading.accepted, reading.refused) == (accepted, refused), text


def test_a_text_of_many_passes() -> None:
    grammar = wb.Grammar.from_regex("[abc]*")
    reading = read_text(MODEL, wb.compile(grammar, WORDS), "x", "abc" * 40)
    assert reading.accepted
    assert sum(step.forward for step in reading.steps) == math.ceil(len(reading.steps) / 32)
    assert not any(math.isnan(step.logprob) for step in reading.steps)


def test_tokens_never_cross_the_end_of_the_prompt() -> None:
    assert tokens_after(MODEL, "a", "bc") == (WORDS.ids("a"), WORDS.ids("b", "c"))
    assert tokens_after(MODEL, "c", "abc") == (WORDS.ids("c"), WORDS.ids("ab", "c"))


def test_error_for_a_text_or_vocabulary_that_cannot_be_read() -> None:
    with pytest.raises(VocabularyError, match="cannot write this text"):
        read_text(MODEL, LANGUAGE, "a", "é")
    with pytest.raises(VocabularyError, match="model's own vocabulary"):
        read_text(MODEL, FiniteConstraint(toy(["a"]), [b"a"]), "a", "a")
