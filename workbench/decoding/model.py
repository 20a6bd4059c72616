"""Language models as functions from token ids to logits, and two without weights.

The draft of speculative decoding for the embedded model: what it wrote before says much about what
it writes next under the same grammar, and asking costs a fiftieth of a pass. After ten runs 0.85 of
the proposals are accepted on worked problems the model knows, 0.7 on the fixed template, 0.8 on C,
0.4 on free JSON (temperature 1, memory 4). Tried as well: the model's own first layers, without
training. One of six layers (0.48 ms a token, the whole 2.2) would have 0.34, 0.59, 0.24 and 0.34
accepted, three (1.4 ms) 0.41, 0.72, 0.39 and 0.51, which saves nothing at that price.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from workbench.base.errors import ModelError
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One number a token, before softmax.
Logits = npt.NDArray[np.float32]

#: What a model reads first: text, or its own tokens.
Prompt = str | Sequence[TokenId]


class Session(Protocol):
    """One conversation with a model: a cache that is cropped by itself."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence ``token_ids`` (not empty).

        What this sequence shares with that of the call before is not computed
        again; so rewinding and forking are just calls with another sequence.
        Shape: (V,) float32; models that pad their output give further rows, which are no tokens.
        """
        ...

    def judge(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits after each of the ``last`` longest beginnings of ``token_ids``, in one pass.

        Row i is what ``logits(token_ids[: n - last + 1 + i])`` says, up to rounding: a model
        sums other numbers of rows in another order.
        Shape: (last, V) float32; 1 <= last <= n.
        """
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model over a vocabulary."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    def encode(self, text: str) -> list[TokenId]:
        """The model's own tokens of a prompt, never empty (an empty prompt is the end token)."""
        ...

    def session(self) -> Session:
        """A new conversation, with an empty cache."""
        ...


@dataclass(frozen=True, slots=True)
class StatelessSession:
    """A conversation with a model that works out every answer anew."""

    #: The model's logits after a sequence.
    answer: Callable[[Sequence[TokenId]], Logits]

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """As ``Session`` says. Raises: ModelError for no tokens."""
        if not token_ids:
            raise ModelError("expected at least one token", "an empty prompt is the end token")
        return self.answer(token_ids)

    def judge(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """As ``Session`` says."""
        return one_by_one(self.logits, token_ids, last)


def context_of(model: LanguageModel, prompt: Prompt) -> list[TokenId]:
    """The tokens of a prompt, never none."""
    ids = model.encode(prompt) if isinstance(prompt, str) else list(prompt)
    return ids or model.encode("")


def padded(logits: Logits, size: int) -> Logits:
    """At least ``size`` rows: tokens without one (added to the tokenizer alone) have no chance."""
    missing = size - len(logits)
    return logits if missing <= 0 else np.append(logits, np.full(missing, -np.inf, np.float32))


def one_by_one(
    logits: Callable[[Sequence[TokenId]], Logits], token_ids: Sequence[TokenId], last: int
) -> Logits:
    """``Session.judge`` for models that read nothing in parallel."""
    lengths = range(len(token_ids) - last + 1, len(token_ids) + 1)
    return np.stack([logits(token_ids[:length]) for length in lengths])


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

    def session(self) -> StatelessSession:
        return StatelessSession(self.logits)

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


#: What followed some tokens: the ids, and how often each.
_Followed = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class CountModel:
    """The shares of tokens after the last few, mixed with the shares after fewer.

    Shape:  ``followed`` by the tokens before, at most ``memory`` of them.
    Source: interpolation after Witten & Bell 1991: a context that was followed by n tokens of t
            kinds keeps n / (n + t) of the probability, the shorter context has the rest, and the
            shortest shares it evenly.
    """

    vocabulary: Vocabulary
    spells: LanguageModel
    followed: Mapping[tuple[TokenId, ...], _Followed]
    memory: int
    name: str = "counts"

    @staticmethod
    def learnt(
        model: LanguageModel, texts: Iterable[Sequence[TokenId]], memory: int = 4
    ) -> CountModel:
        """The counts of some texts in a model's tokens; prompts are read as that model does."""
        seen: defaultdict[tuple[TokenId, ...], Counter[TokenId]] = defaultdict(Counter)
        for ids in texts:
            for place, token_id in enumerate(ids):
                for begin in range(max(0, place - memory), place + 1):
                    seen[tuple(ids[begin:place])][token_id] += 1
        followed = {
            before: (
                np.fromiter(counts, np.int64, len(counts)),
                np.fromiter(counts.values(), np.float64, len(counts)),
            )
            for before, counts in seen.items()
        }
        return CountModel(model.vocabulary, model, followed, memory)

    def encode(self, text: str) -> list[TokenId]:
        """As the model whose tokens were counted."""
        return self.spells.encode(text)

    def session(self) -> StatelessSession:
        """A conversation; there is nothing to remember."""
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of the shares after a sequence (V,)."""
        shares = np.full(len(self.vocabulary), 1 / len(self.vocabulary))
        for length in range(min(self.memory, len(token_ids)) + 1):
            known = self.followed.get(tuple(token_ids[len(token_ids) - length :]))
            if known is None:
                break
            ids, counts = known
            total, kinds = counts.sum(), len(ids)
            shares *= kinds / (total + kinds)
            shares[ids] += counts / (total + kinds)
        logits: Logits = np.log(shares).astype(np.float32)
        return logits
