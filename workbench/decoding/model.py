"""Language models as functions from token ids to logits, their sessions, and two toy models.

``ToyModel`` serves tests and examples. ``CountModel`` is the draft of speculative decoding for the
embedded model: earlier runs predict later runs under the same grammar well, and its logits cost a
fiftieth of a pass. After ten runs 0.85 of the proposals are accepted on worked problems the model
knows, 0.7 on the fixed template, 0.8 on C, 0.4 on free JSON (temperature 1, memory 4). The
alternative, the model's first layers without training, was measured: one of six layers (0.48 ms a
token, the whole model 2.2) would have 0.34, 0.59, 0.24 and 0.34 accepted, three (1.4 ms) 0.41,
0.72, 0.39 and 0.51, which does not pay for their time.

Steps, forks and searches score texts with common prefixes. A request borrows the idle session whose
cache shares the longest prefix with its context; a session has one borrower at a time.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from workbench.base.errors import ModelError
from workbench.base.visible_text import count_of
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: One number per token, before softmax.
Logits = npt.NDArray[np.float32]


class Message(TypedDict):
    """One message of a chat."""

    #: ``system``, ``user``, ``assistant``, or another role of the model's template.
    role: str
    content: str


#: The logits of a forward pass, (positions, rows), and the milliseconds it took.
TimedLogits = tuple[Logits, float]

#: A prompt: text, tokens of the model, or a chat that the model continues with a reply.
Prompt = str | Sequence[TokenId] | Sequence[Message]


class Session(Protocol):
    """A sequence of calls to one model that share a cache."""

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence ``token_ids`` (not empty).

        The common prefix with the sequence of the previous call is not computed again, so to
        rewind or fork, pass another sequence.
        Shape: (V,) float32; models that pad their output return more rows, which are no tokens.
        """
        ...

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits after each of the ``last`` longest prefixes of ``token_ids``, in one pass.

        Row i is ``logits(token_ids[: n - last + 1 + i])`` up to rounding: with another number of
        rows a model sums in another order.
        Shape: (last, V) float32; 1 <= last <= n.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ForwardPass:
    """A forward pass that was requested: the arguments of ``Session.score``."""

    session: Session
    token_ids: Sequence[TokenId]
    last: int


def check_pass(
    token_ids: Sequence[TokenId], last: int, rows: int, context_length: int | None
) -> None:
    """Raise ModelError if a model with these rows of logits cannot run a forward pass."""
    if not token_ids:
        raise ModelError("expected at least one token", "an empty prompt is the end token")
    if not 1 <= last <= len(token_ids):
        raise ModelError(f"expected 1 to {len(token_ids)} positions, not {last}")
    wrong = next((i for i in (min(token_ids), max(token_ids)) if not 0 <= i < rows), None)
    if wrong is not None:
        raise ModelError(
            f"expected token ids from 0 to {rows - 1}, not {wrong}",
            "use the model's own tokenizer",
        )
    if context_length is not None and len(token_ids) > context_length:
        raise ModelError(
            f"{len(token_ids):,} tokens are {len(token_ids) - context_length:,} too many: this"
            f" model reads at most {context_length:,}",
            "shorten the prompt, or ask for fewer tokens",
        )


def model_failed(error: Exception | None) -> ModelError:
    """The error of a pass: out of memory, or any exception of a third party's model code."""
    if isinstance(error, ModelError):
        return error
    message = (str(error).splitlines() or [type(error).__name__])[0]
    failure = ModelError(f"the model failed: {message}", "try a shorter prompt")
    failure.__cause__ = error
    return failure


class SharedPasses(Protocol):
    """Runs the forward passes of several sessions of one model together.

    It is the attribute ``shared_passes`` of the sessions, for models that can share passes.
    """

    def score(self, passes: Sequence[ForwardPass]) -> list[Logits | ModelError]:
        """The result of each pass: ``Session.score`` of its session, or its error."""
        ...

    def most_rows(self, tokens: int) -> int:
        """How many contexts of this length can be read together, at least one."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model over a vocabulary."""

    @property
    def name(self) -> str:
        """The name to display."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model; constraints are compiled for this vocabulary."""
        ...

    def encode(self, text: str) -> list[TokenId]:
        """The model's tokens of a prompt, never empty (an empty prompt is the end token)."""
        ...

    def session(self) -> Session:
        """A new session with an empty cache."""
        ...


@runtime_checkable
class ChatModel(Protocol):
    """A language model that may have a chat template."""

    @property
    def has_template(self) -> bool:
        """Whether it has one."""
        ...

    def render(self, messages: Sequence[Message]) -> str:
        """The messages as the text that the model reads, up to the beginning of its reply.

        Raises: ModelError if the model has no chat template, or it refuses the messages.
        """
        ...

    def encode(self, prompt: str | Sequence[Message], reply: str = "") -> list[TokenId]:
        """The model's tokens of a prompt and of a text after it, never empty.

        Raises: ModelError.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatPrompts:
    """A model that reads every text prompt as the last message of a user in a chat.

    ``before`` are the messages before it: a system message, earlier turns, or none.
    """

    model: LanguageModel
    before: tuple[Message, ...] = ()
    #: The beginning of the model's reply.
    begun: str = ""

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def vocabulary(self) -> Vocabulary:
        return self.model.vocabulary

    @property
    def context_length(self) -> int | None:
        """The most tokens of a context, None if unknown."""
        return getattr(self.model, "context_length", None)

    def encode(self, text: str, reply: str = "") -> list[TokenId]:
        """The tokens of the chat and of the beginning of a reply.

        Raises: ModelError if the model has no chat template, or it refuses the messages.
        """
        return self._chatting().encode(self._messages(text), self.begun + reply)

    def render(self, text: str) -> str:
        """The chat as the model reads it.

        Raises: ModelError if the model has no chat template, or it refuses the messages.
        """
        return self._chatting().render(self._messages(text)) + self.begun

    def session(self) -> Session:
        return self.model.session()

    def _messages(self, text: str) -> list[Message]:
        return [*self.before, Message(role="user", content=text)]

    def _chatting(self) -> ChatModel:
        if not isinstance(self.model, ChatModel):
            raise no_template(self.model.name)
        return self.model


def chatting(
    model: LanguageModel, before: tuple[Message, ...] | None, begun: str = ""
) -> LanguageModel:
    """The model that reads prompts as messages after others; itself without a chat (None).

    ``begun`` is the beginning of its reply.
    """
    return model if before is None else ChatPrompts(model, before, begun)


@dataclass(frozen=True, slots=True)
class StatelessSession:
    """A session without a cache."""

    #: The model's logits after a sequence.
    answer: Callable[[Sequence[TokenId]], Logits]

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """Implements ``Session``. Raises: ModelError for no tokens."""
        if not token_ids:
            raise ModelError("expected at least one token", "an empty prompt is the end token")
        return self.answer(token_ids)

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """Implements ``Session``."""
        return one_by_one(self.logits, token_ids, last)


def context_of(model: LanguageModel, prompt: Prompt) -> list[TokenId]:
    """The tokens of a prompt, at least one.

    Raises: ModelError for a chat, if the model has no chat template, and for more tokens than the
            model reads.
    """
    token_ids = _context_of(model, prompt)
    error = too_long(model, token_ids)
    if error is not None:
        raise error
    return token_ids


def too_long(model: LanguageModel, token_ids: Sequence[TokenId]) -> ModelError | None:
    """The error of a prompt with more tokens than the model reads; None for a shorter one."""
    longest: int | None = getattr(model, "context_length", None)
    if longest is None or len(token_ids) <= longest:
        return None
    count = count_of(len(token_ids), "token")
    return ModelError(
        f"the prompt has {count}; the model reads at most {longest:,}",
        "shorten the prompt, or choose a model with a longer context",
    )


def _context_of(model: LanguageModel, prompt: Prompt) -> list[TokenId]:
    if isinstance(prompt, str):
        return model.encode(prompt)
    given: list[Any] = list(prompt)
    if not given or not isinstance(given[0], Mapping):
        return given or model.encode("")
    if not isinstance(model, ChatModel):
        raise no_template(model.name)
    return model.encode(given)


def no_template(name: str) -> ModelError:
    """The error of a model that cannot read messages."""
    return ModelError(f"{name} has no chat template", "pass the prompt as a text")


def another_session(session: Session) -> Session:
    """Another session of the same model; the session itself if it has no cache."""
    make: Callable[[], Session] | None = getattr(session, "another", None)
    return session if make is None else make()


def padded(logits: Logits, size: int) -> Logits:
    """Logits of at least ``size`` rows; tokens that only the tokenizer has get −inf."""
    missing = size - len(logits)
    return logits if missing <= 0 else np.append(logits, np.full(missing, -np.inf, np.float32))


def one_by_one(
    logits: Callable[[Sequence[TokenId]], Logits], token_ids: Sequence[TokenId], last: int
) -> Logits:
    """``Session.score`` for models that score one position per call."""
    lengths = range(len(token_ids) - last + 1, len(token_ids) + 1)
    return np.stack([logits(token_ids[:length]) for length in lengths])


#: The most bytes of the context's end that are searched in the sample.
_MAX_CONTEXT_BYTES = 12


@dataclass(frozen=True, eq=False)
class ToyModel:
    """A deterministic language model without training, for tests and examples.

    Its logits are noise between 0 and 1, a hash of the last two tokens, the scored token and
    ``seed``. With a ``sample`` text it prefers the tokens that follow the longest suffix of the
    context in the sample, and the end token at the end of the sample. Its perplexities mean
    nothing.
    """

    vocabulary: Vocabulary
    sample: str = ""
    seed: int = 0
    name: str = "toy"

    def encode(self, text: str) -> list[TokenId]:
        """The longest token at each position; bytes that are in no token are skipped."""
        data, position, token_ids = text.encode("utf-8", "replace"), 0, list[TokenId]()
        while position < len(data):
            token_id = self.vocabulary.longest_at(data, position)
            if token_id is None:
                position += 1
                continue
            token_ids.append(token_id)
            position += len(self.vocabulary.tokens[token_id] or b"")
        return token_ids or [0 if self.vocabulary.end is None else self.vocabulary.end]

    def session(self) -> StatelessSession:
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after a sequence (V,)."""
        scores = _noise(len(self.vocabulary), (self.seed, *token_ids[-2:]))
        for token_id, score in self._continuations(self.vocabulary.decode(token_ids)):
            scores[token_id] = max(scores[token_id], np.float32(score))
        return scores

    def _continuations(self, context: bytes) -> list[tuple[TokenId, float]]:
        """The tokens that continue the sample, with their scores; longer ones score higher."""
        sample = self.sample.encode()
        if not sample:
            return []
        ending = context[-_MAX_CONTEXT_BYTES:]
        while ending and sample.find(ending) < 0:
            ending = ending[1:]
        begin = sample.find(ending) + len(ending) if ending else 0
        if begin == len(sample):
            return [] if self.vocabulary.end is None else [(self.vocabulary.end, 8.0)]
        ids_of = self.vocabulary.ids_of
        rest = sample[begin : begin + self.vocabulary.longest]
        prefixes = (rest[:length] for length in range(1, len(rest) + 1))
        return [(i, 4.0 + len(piece) / 4) for piece in prefixes for i in ids_of.get(piece, ())]


def _noise(size: int, key: Sequence[int]) -> Logits:
    """Numbers in [0, 1) that depend only on ``key`` (splitmix64 over key and index)."""
    seed = 0
    for part in key:
        seed = (seed * 0x100000001B3 + int(part) + 1) & 0xFFFFFFFFFFFFFFFF
    z = (np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)


#: The ids that followed a context, and how often each.
_Followers = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class CountModel:
    """An n-gram model: counts after the last tokens, interpolated with those of shorter contexts.

    Shape:  ``followed`` by context, at most ``memory`` tokens.
    Source: interpolation after Witten & Bell 1991: a context that was followed by n tokens of t
            kinds keeps n / (n + t) of the probability, the shorter context gets the rest, and the
            shortest is uniform.
    """

    vocabulary: Vocabulary
    tokenizer: LanguageModel
    followed: Mapping[tuple[TokenId, ...], _Followers]
    memory: int
    name: str = "counts"

    @staticmethod
    def learnt(
        model: LanguageModel, texts: Iterable[Sequence[TokenId]], memory: int = 4
    ) -> CountModel:
        """The counts of some texts in a model's tokens; prompts are tokenized by that model."""
        seen: defaultdict[tuple[TokenId, ...], Counter[TokenId]] = defaultdict(Counter)
        for ids in texts:
            for index, token_id in enumerate(ids):
                for begin in range(max(0, index - memory), index + 1):
                    seen[tuple(ids[begin:index])][token_id] += 1
        followed = {
            before: (
                np.fromiter(counts, np.int64, len(counts)),
                np.fromiter(counts.values(), np.float64, len(counts)),
            )
            for before, counts in seen.items()
        }
        return CountModel(model.vocabulary, model, followed, memory)

    def encode(self, text: str) -> list[TokenId]:
        """Tokenize like the model whose tokens were counted."""
        return self.tokenizer.encode(text)

    def session(self) -> StatelessSession:
        """A session; there is nothing to cache."""
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The log-probabilities after a sequence (V,)."""
        probabilities = np.full(len(self.vocabulary), 1 / len(self.vocabulary))
        for length in range(min(self.memory, len(token_ids)) + 1):
            followers = self.followed.get(tuple(token_ids[len(token_ids) - length :]))
            if followers is None:
                break
            ids, counts = followers
            total, kinds = counts.sum(), len(ids)
            probabilities *= kinds / (total + kinds)
            probabilities[ids] += counts / (total + kinds)
        logits: Logits = np.log(probabilities).astype(np.float32)
        return logits


#: The most idle sessions; each holds a cache as long as its text.
_MAX_IDLE = 4


@runtime_checkable
class CachingSession(Session, Protocol):
    """A session that keeps what the model computed for the tokens it has read."""

    @property
    def read(self) -> Sequence[TokenId]:
        """The tokens that are not computed again; none after a failed call."""
        ...


class SessionPool:
    """The idle sessions of one model that have a cache, the most recently used last."""

    def __init__(self, kept: int = _MAX_IDLE) -> None:
        self._kept = kept
        self._idle: list[CachingSession] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, model: LanguageModel, context: Sequence[TokenId]) -> Iterator[Session]:
        """Borrow a session for ``context``; no other caller gets it until the block ends.

        It is an idle one that has read most of the text, if any, else a new one: cropping the cache
        of another user's session would cost them what it saves here.
        """
        session = self._pop_best(list(context)) or model.session()
        try:
            yield session
        finally:
            if isinstance(session, CachingSession):
                with self._lock:
                    self._idle.append(session)
                    del self._idle[: -self._kept]

    def _pop_best(self, context: list[TokenId]) -> Session | None:
        with self._lock:
            shared = [common_prefix(list(session.read), context) for session in self._idle]
            best = max(range(len(shared)), key=shared.__getitem__, default=None)
            if best is None or 2 * shared[best] < len(context):
                return None
            return self._idle.pop(best)


def common_prefix(left: list[TokenId], right: list[TokenId]) -> int:
    """The length of the common prefix of two token sequences."""
    if right[: len(left)] == left:  # the usual case, at C speed
        return len(left)
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
