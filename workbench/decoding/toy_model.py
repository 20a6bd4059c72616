"""ToyModel: logits without weights, for tests and for pages where no model is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.decoding.model import Forgetful, Logits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The longest ending of a context that is looked up in the sample, in bytes.
_MEMORY = 12


@dataclass(frozen=True, eq=False)
class ToyModel:
    """Something that answers like a language model and has learnt nothing.

    Its logits are noise between 0 and 1 made by hashing the last two tokens, the
    token asked about and ``seed``; with a ``sample`` text it likes tokens that go on
    as the sample does after the longest ending of the context found in it, the end
    token where the sample ends. The same question always gets the same answer. Its
    perplexities mean nothing.
    """

    vocabulary: Vocabulary
    sample: str = ""
    seed: int = 0
    name: str = "toy"

    def encode(self, text: str) -> list[TokenId]:
        """The longest token at each place; bytes no token spells are left out."""
        data, place, found = text.encode("utf-8", "replace"), 0, list[TokenId]()
        while place < len(data):
            token_id = self.vocabulary.longest_at(data, place)
            if token_id is None:
                place += 1
                continue
            found.append(token_id)
            place += len(self.vocabulary.tokens[token_id] or b"")
        return found or [0 if self.vocabulary.end is None else self.vocabulary.end]

    def session(self) -> Forgetful:
        return Forgetful(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after a sequence (V,)."""
        scores = _noise(len(self.vocabulary), (self.seed, *token_ids[-2:]))
        for token_id, liking in self._continuations(self.vocabulary.decode(token_ids)):
            scores[token_id] = max(scores[token_id], np.float32(liking))
        return scores

    def _continuations(self, context: bytes) -> list[tuple[TokenId, float]]:
        """Tokens the sample goes on with, and how much they are liked: longer ones more."""
        sample = self.sample.encode()
        if not sample:
            return []
        ending = context[-_MEMORY:]
        while ending and sample.find(ending) < 0:
            ending = ending[1:]
        here = sample.find(ending) + len(ending) if ending else 0
        if here == len(sample):
            return [] if self.vocabulary.end is None else [(self.vocabulary.end, 8.0)]
        ids_of = self.vocabulary.ids_of
        rest = sample[here : here + self.vocabulary.longest]
        spelt = (rest[:length] for length in range(1, len(rest) + 1))
        return [(i, 4.0 + len(piece) / 4) for piece in spelt for i in ids_of.get(piece, ())]


def _noise(size: int, key: Sequence[int]) -> Logits:
    """Numbers in [0, 1) that depend on ``key`` alone (splitmix64 over key and index)."""
    seed = 0
    for part in key:
        seed = (seed * 0x100000001B3 + int(part) + 1) & 0xFFFFFFFFFFFFFFFF
    z = (np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
