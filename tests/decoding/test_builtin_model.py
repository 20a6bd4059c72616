"""The embedded model in the decoding loop, by the public API only."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from workbench.decoding.trace import StopReason
from workbench.decoding.transformers_model import TransformersModel, load_model

JSON = r"""
start ::= object;
object ::= '{' '"name": ' string ', "age": ' #'[1-9][0-9]?' (', ' string ': ' value)? '}';
value ::= string | object | #'[0-9]{1,4}' | '[' value (', ' value)* ']';
string ::= #'"[A-Za-z .@]{1,20}"';
"""


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return load_model()


def test_its_vocabulary_is_loaded_by_name(model: TransformersModel) -> None:
    assert model.vocabulary is wb.Vocabulary.load("builtin")
    assert model.vocabulary.end is not None
    assert model.vocabulary.single_bytes == frozenset(range(256))
    assert model.vocabulary.decode(model.encode("naïve → 你好")) == "naïve → 你好".encode()


@pytest.mark.parametrize("sampling", [wb.Sampling(), wb.Sampling(temperature=0.8, seed=1)])
def test_generates_json(model: TransformersModel, sampling: wb.Sampling) -> None:
    constraint = wb.compile(wb.Grammar.from_kbnf(JSON), model.vocabulary)
    generation = wb.generate(model, constraint, "A person as JSON:\n", sampling)
    steps = list(generation)
    assert generation.stop is StopReason.FORCED_END
    person = json.loads(generation.trace.text)
    assert isinstance(person["age"], int)
    assert all(step.token_id in step.mask for step in steps)
    assert generation.trace.perplexity >= 1
    again = wb.generate(model, constraint, "A person as JSON:\n", sampling)
    assert [s.token_id for s in again] == [s.token_id for s in steps]


def test_under_the_same_grammar_with_transformers_own_loop(model: TransformersModel) -> None:
    import torch

    constraint = wb.compile(wb.Grammar.from_kbnf(JSON), model.vocabulary)
    ids = torch.tensor([model.encode("A person as JSON:\n")])
    generate = model.module.generate
    assert callable(generate)
    rows = generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=200,
        do_sample=False,
        logits_processor=[wb.LogitsProcessor(constraint)],
    )
    text = model.vocabulary.decode(rows[0, ids.shape[1] :].tolist())
    own = wb.generate(model, constraint, "A person as JSON:\n")
    assert b"".join(step.token for step in own) == text
