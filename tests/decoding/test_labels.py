"""Terminal labels during generation: every strategy, healing, and transformers' own loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.decoding.test_generate import finished
from workbench.constraint.labels import Labelled, read_by
from workbench.decoding.generate import generate
from workbench.decoding.logits_processor import LogitsProcessor
from workbench.decoding.model import ToyModel
from workbench.decoding.opportunistic_masking import OpportunisticMasking
from workbench.decoding.retokenize import heal
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CoupledSpeculation, ForcedProposer
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation, Strategy
from workbench.decoding.transformers_model import TransformersModel
from workbench.grammar.label_encoding import encode_labels
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

VOCABULARY = toy(["a", "b", "\n", "* ", "*", " ", "\n* ", "ab", "b\na", "Sum", ":", "Sum:"])
PATTERNS = [
    r"Sum:(\n\* (?P<PARAGRAPH_TOKEN>)+){1,3}",
    r"(?P<TEXT_TOKEN>)*b",
    r"ab((?P<PARAGRAPH_TOKEN>)\n){2}Sum:",
    r"a(?P<TEXT_TOKEN>){3}",
    r"((?P<PARAGRAPH_TOKEN>)|ab)\* ",
]
STRATEGIES: list[Strategy] = [
    PLAIN,
    OpportunisticMasking(),
    JumpForward(),
    Speculation(ForcedProposer(), 3, 0.0),
    CoupledSpeculation(ToyModel(VOCABULARY, seed=7)),
]


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    strategy=st.sampled_from(STRATEGIES[1:]),
    temperature=st.sampled_from([0.0, 1.0, 3.0]),
    seed=st.integers(0, 99),
    budget=st.integers(0, 14),
)
def test_strategies_write_what_the_plain_loop_writes(
    pattern: str, strategy: Strategy, temperature: float, seed: int, budget: int
) -> None:
    grammar = wb.Grammar.from_regex(pattern)
    constraint = wb.compile(grammar, VOCABULARY)
    model, sampling = ToyModel(VOCABULARY, seed=seed), Sampling(temperature, seed=seed)
    runs = [
        finished(generate(model, constraint, "a", sampling, max_tokens=budget, strategy=one))
        for one in (PLAIN, strategy)
    ]
    plain, other = (run.trace for run in runs)
    if isinstance(strategy, JumpForward):  # a suffix may have fewer tokens
        assert other.text.startswith(plain.text) or plain.text.startswith(other.text)
    else:
        assert other.token_ids == plain.token_ids
        assert runs[0].stop is runs[1].stop
    assert grammar.is_prefix(other.text)
    assert grammar.is_prefix(plain.text)
    assert not plain.accepted or grammar.accepts(plain.text)


def test_a_trace_says_which_edge_each_token_took() -> None:
    grammar = wb.Grammar.from_regex(PATTERNS[0])
    constraint = wb.compile(grammar, VOCABULARY)
    assert isinstance(constraint, Labelled)
    model = ToyModel(VOCABULARY, sample="Sum:\n* ab\n* b")
    trace = finished(generate(model, constraint, "a", Sampling(0.0), max_tokens=8)).trace
    took = [
        (step.token, label.name if (label := constraint.label(step.state, step.token_id)) else "")
        for step in trace.steps
    ]
    text = [token for token, label in took if not label]
    assert text[:3] == [b"Sum", b":", b"\n* "]
    assert {label for token, label in took if token in (b"a", b"b", b"ab")} == {"PARAGRAPH_TOKEN"}
    # what it read, label by label, is a text of the grammar with signs
    machine = encode_labels(grammar)
    assert machine.is_prefix(b"".join(read_by(constraint, trace.token_ids)))


def test_forced_text_is_proposed_up_to_a_label() -> None:
    constraint = wb.compile(wb.Grammar.from_regex(PATTERNS[2]), VOCABULARY)
    proposed = ForcedProposer().propose(constraint, constraint.initial, ())
    assert proposed == (VOCABULARY.ids("ab")[0], 1.0)
    before = constraint.advance(constraint.initial, VOCABULARY.ids("ab")[0])
    assert ForcedProposer().propose(constraint, before, ()) is None


def test_the_key_of_a_state_is_that_of_the_inner_machine() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= '(' start ')' | #'(?P<TEXT_TOKEN>)';")
    constraint = wb.compile(grammar, toy(["(", ")", "((", "x"]))
    key = constraint.state_key
    two = constraint.advance(constraint.initial, 2)
    three = constraint.advance(two, 0)
    # one deep both stand alike: that is what a count model learns from
    assert key(two) == key(three)
    assert two != three


def test_a_healed_grammar_keeps_its_labels() -> None:
    model = ToyModel(VOCABULARY, sample="Sum:\n* ab")
    healed = heal(model, "aSum", wb.Grammar.from_regex(r":\n\*(?P<PARAGRAPH_TOKEN>)+"))
    assert healed.prefix == b"Sum"
    run = finished(
        generate(model, wb.compile(healed.grammar, VOCABULARY), healed.prompt, max_tokens=6)
    )
    assert run.trace.text.startswith(b"Sum:\n*")


def test_image_tokens_are_taken_and_have_no_bytes() -> None:
    vocabulary = Vocabulary((b"a", b"b", None, None), end=2, special=(3,), names={3: "[IMG]"})
    constraint = wb.compile(wb.Grammar.from_regex("a(?P<IMAGE>){2}b"), vocabulary)
    trace = finished(generate(ToyModel(vocabulary), constraint, [0])).trace
    assert trace.token_ids == [0, 3, 3, 1, 2]
    assert trace.text == b"ab"


def test_transformers_loop_writes_what_ours_writes(tiny_model: TransformersModel) -> None:
    grammar = wb.Grammar.from_regex(r"one(?P<PARAGRAPH_TOKEN>){3}\n")
    constraint = wb.compile(grammar, tiny_model.vocabulary)
    own = finished(generate(tiny_model, constraint, "x")).trace
    module: Any = tiny_model.module
    ids = torch.tensor([tiny_model.encode("x")])
    row = module.generate(
        ids, max_new_tokens=20, do_sample=False, logits_processor=[LogitsProcessor(constraint)]
    )[0].tolist()[len(ids[0]) :]
    assert row[: len(own.token_ids)] == list(own.token_ids)
    assert grammar.accepts(own.text)


def test_error_the_engine_of_kbnf_reads_no_labels() -> None:
    with pytest.raises(wb.BuildError, match="this engine does not read TEXT_TOKEN"):
        wb.Engine("start ::= 'a' #'(?P<TEXT_TOKEN>)';", VOCABULARY)
