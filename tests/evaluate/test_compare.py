from __future__ import annotations

import math

import pytest

from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.compare import (
    RunBegan,
    RunFailed,
    RunStep,
    compare,
    divergence,
    first_different_token,
)
from workbench.decoding.contenders import Contender, contenders_named
from workbench.decoding.generate import generate
from workbench.decoding.model import StatelessSession, ToyModel
from workbench.decoding.run_summaries import RunEnded
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason, Trace
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import words_of

SAMPLE = "ab ba ab ba"
MODEL = ToyModel(words_of(SAMPLE), SAMPLE)
GRAMMAR = Grammar.from_regex("(ab|ba)( (ab|ba)){0,3}")
BOTH = contenders_named("unconstrained,automaton")
NOBODY = Contender(name="unknown", title="", method="unknown", source="")


def test_every_contender_runs_on_every_prompt_with_every_seed() -> None:
    events = list(compare(MODEL, GRAMMAR, ["", "ab"], BOTH, [0, 1], max_tokens=6))
    began = [e.run for e in events if isinstance(e, RunBegan)]
    ended = [e for e in events if isinstance(e, RunEnded)]
    assert [(r.prompt, r.seed, r.contender.name) for r in began] == [
        (prompt, seed, contender.name)
        for prompt in ("", "ab")
        for seed in (0, 1)
        for contender in BOTH
    ]
    assert [e.run for e in ended] == began
    for end in ended:
        steps = [e.step for e in events if isinstance(e, RunStep) and e.run == end.run]
        assert tuple(steps) == end.trace.steps
        assert len(steps) == end.measures.tokens <= 6


def test_each_contender_makes_one_run_that_is_discarded() -> None:
    class Counted(ToyModel):
        sessions = 0

        def session(self) -> StatelessSession:
            Counted.sessions += 1
            return super().session()

    model = Counted(words_of(SAMPLE), SAMPLE)
    events = list(compare(model, GRAMMAR, ["", "ab"], BOTH, [0, 1], max_tokens=6))
    assert sum(isinstance(e, RunEnded) for e in events) == 8
    assert Counted.sessions == 8 + len(BOTH)


def test_a_stop_during_the_discarded_run_begins_no_other() -> None:
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > 2  # not before the first run, but inside the one that is discarded

    assert not list(compare(MODEL, GRAMMAR, [""], BOTH, [0], max_tokens=9, stop=stop))


def test_the_seed_draws() -> None:
    ended = [
        e
        for e in compare(
            MODEL, GRAMMAR, [""], BOTH[1:], range(8), Sampling(temperature=3.0), max_tokens=8
        )
        if isinstance(e, RunEnded)
    ]
    assert len({e.measures.text for e in ended}) > 1
    assert all(e.measures.valid for e in ended if e.measures.ended)


def test_one_that_does_not_apply_fails_alone() -> None:
    events = list(compare(MODEL, GRAMMAR, [""], [NOBODY, *BOTH], [0, 1], max_tokens=3))
    failed = [e for e in events if isinstance(e, RunFailed)]
    assert [f.run.seed for f in failed] == [0, 1]
    assert all("no method 'unknown'" in f.error.message for f in failed)
    assert sum(isinstance(e, RunEnded) for e in events) == 4


def test_a_stop_ends_the_run_and_begins_no_other() -> None:
    taken: list[RunStep] = []
    ended: list[RunEnded] = []
    for event in compare(
        MODEL, GRAMMAR, ["", "ab"], BOTH, [0], max_tokens=9, stop=lambda: len(taken) >= 2
    ):
        if isinstance(event, RunStep):
            taken.append(event)
        if isinstance(event, RunEnded):
            ended.append(event)
    assert [e.trace.stop for e in ended] == [StopReason.STOPPED]
    assert len(taken) == 2


def traces_of(*texts: str) -> list[Trace]:
    """Traces that spell texts in the words given."""
    found = []
    for words in texts:
        model = ToyModel(words_of(SAMPLE), SAMPLE)
        grammar = Grammar.from_regex("".join(words).replace(" ", "[ ]"))
        run = generate(model, compile_grammar(grammar, model.vocabulary), "")
        list(run)
        found.append(run.trace)
    return found


@pytest.mark.parametrize(
    ("texts", "place", "why"),
    [
        (("ab", "ab"), None, "the same text"),
        (("ab ab", "ab ba"), 3, "the fourth byte"),
        (("ab", "ab ba"), 2, "one ends and the other continues"),
        (("ab",), None, "alone"),
        ((), None, "none"),
    ],
)
def test_where_texts_differ(texts: tuple[str, ...], place: int | None, why: str) -> None:
    assert divergence(traces_of(*texts)) == place, why


def test_where_tokens_differ() -> None:
    one, other = traces_of("ab ba", "ab ab")
    assert first_different_token([one, one]) is None
    assert first_different_token([one, other]) in (2, 3)  # the token " ba", or " " before "ba"


def test_a_record_is_plain() -> None:
    (ended,) = (
        e for e in compare(MODEL, GRAMMAR, [""], BOTH[1:], max_tokens=4) if isinstance(e, RunEnded)
    )
    record = ended.measures.as_record()
    assert record["tokens_per_second"] == pytest.approx(record["tokens"] / record["seconds"])
    assert record["free_tokens"] + record["forced_tokens"] == record["tokens"]
    assert len(record["kept"]) == record["tokens"]
    assert record["mask_bits"] == pytest.approx(-math.fsum(map(math.log2, record["kept"])))
