from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest
import torch
from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import ByteLevel

from lab.training import tokenizer_training
from lab.training.corpus.document import Document
from lab.training.corpus.mixture import mixture
from lab.training.loop import TrainSettings, batch, encode, smoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tokenizer_training.train_tokenizer("test", tokens=3000, documents=6000)


def test_every_byte_is_a_token(tokenizer: Tokenizer) -> None:
    held = tokenizer.get_vocab()
    assert all(symbol in held for symbol in ByteLevel.alphabet())
    assert len(ByteLevel.alphabet()) == 256


def test_the_end_token_is_there_once(tokenizer: Tokenizer) -> None:
    assert tokenizer_training.end_of(tokenizer) == 0
    assert tokenizer.get_vocab_size() == 3000


@pytest.mark.parametrize("bridge", ['":', '",', '{"', '"]', '"}', '":Ġ"', '",Ġ"', "</"])
def test_bridge_tokens_are_there(tokenizer: Tokenizer, bridge: str) -> None:
    assert bridge in tokenizer.get_vocab()


def test_digits_are_separate_tokens(tokenizer: Tokenizer) -> None:
    assert not [t for t in tokenizer.get_vocab() if len(t) > 1 and any(c.isdigit() for c in t)]


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, 2]}\n', "  two  spaces ", "naïve café 山 🐱", "\r\n\ttab", "a\u0301 x\u00a0y", ""],
)
def test_texts_round_trip(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_documents_round_trip(tokenizer: Tokenizer) -> None:
    for document in islice(mixture().documents(Random("round trip")), 300):
        ids = encode(tokenizer, document)
        assert tokenizer.decode(ids) == document.prompt + document.text
        assert ids[-1] == 0


def test_prompt_and_text_are_encoded_separately(tokenizer: Tokenizer) -> None:
    ids = encode(tokenizer, Document("x", "The colour: ", "Red"))
    assert ids == [*tokenizer.encode("The colour: ").ids, *tokenizer.encode("Red").ids, 0]


def test_batches_depend_on_seed_and_step_alone(tokenizer: Tokenizer) -> None:
    def made(seed: int, step: int) -> torch.Tensor:
        settings = smoke(TrainSettings(out=Path("unused"), seed=seed))
        return batch(tokenizer, mixture(), settings, step)

    assert made(1, 5).shape == (2, 65)
    assert made(1, 5).equal(made(1, 5))
    assert not made(1, 5).equal(made(1, 6))
    assert not made(1, 5).equal(made(2, 5))


def test_error_when_a_tokenizer_has_no_end() -> None:
    with pytest.raises(ValueError, match="has no token"):
        tokenizer_training.end_of(Tokenizer(models.BPE()))
