"""Trains a byte-level BPE tokenizer on documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from lab.training.corpus import sums
from lab.training.corpus.mixture import mixture

#: Ends every document, and pads rows. There is no token for the beginning.
END = "<|end|>"
#: Words with the space before them; digits one by one; runs of punctuation kept together, even
#: over single spaces (so that ``": "`` and ``}, {"`` can be tokens); runs of white space. No
#: lookaround, so the pre-tokenizer itself is a finite-state machine.
PATTERN = (
    r" ?[\p{L}\p{M}]+"
    r"|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+(?: [^\s\p{L}\p{M}\p{N}]+)*"
    r"|\s+"
)


def sample(seed: str, count: int) -> Iterator[str]:
    """Texts from which merges are learnt: ``count`` documents of the mixture, and all of GSM8K."""
    for document in islice(mixture().documents(Random(seed)), count):
        yield document.prompt
        yield document.text
    for question, answer in sums.problems("train"):
        yield from sums.as_prose(question, answer)


def train_tokenizer(seed: str, *, tokens: int, documents: int) -> Tokenizer:
    """A tokenizer of that many tokens: the end token, all 256 bytes, then merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=tokens,
        min_frequency=2,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample(seed, documents), trainer)
    return tokenizer


def end_of(tokenizer: Tokenizer) -> int:
    """The end token's id."""
    found = tokenizer.token_to_id(END)
    if found is None:
        raise ValueError(f"the tokenizer has no token {END}")
    return found


def load(path: Path) -> Tokenizer:
    """The tokenizer in a ``tokenizer.json``."""
    return Tokenizer.from_file(str(path))
