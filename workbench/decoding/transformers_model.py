"""Causal language models of the transformers library, and their sessions."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.errors import ModelError
from workbench.decoding.checkpoint import (
    Checkpoint,
    Progress,
    check_dtype,
    device_named,
    no_progress,
)
from workbench.decoding.model import Logits, Message, common_prefix, no_template
from workbench.vocabulary.load import load_tokenizer, load_vocabulary
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache


class TransformersModel:
    """Any causal language model of transformers: a directory, a GGUF file or a hub id.

    Code in a checkpoint is never run and pickled weights are never read. One forward pass
    runs at a time; other threads wait.

    ``name``      ``builtin`` for the embedded model, ``smollm2`` for the one of an installed
                  package, a directory, a path that ends in .gguf, or a hub id.
    ``device``    ``auto``, ``cpu``, ``cuda`` or ``mps``.
    ``dtype``     the weights' format: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
    ``revision``  a branch, tag or commit of a hub id.
    ``progress``  called with the stage of loading and the part of it that is done, or None.

    Raises: ModelError if it cannot be loaded or does not fit into the free memory; VocabularyError
            if its tokens cannot be mapped to bytes exactly.
    """

    def __init__(
        self,
        name: str,
        device: str = "auto",
        dtype: str = "auto",
        *,
        revision: str | None = None,
        progress: Progress = no_progress,
    ) -> None:
        #: The name it was loaded by.
        self.name = name
        check_dtype(dtype)
        self._checkpoint = Checkpoint.find(name, revision)
        chosen = device_named(device)
        progress("reading the tokenizer", None)
        #: The tokens as bytes.
        self.vocabulary: Vocabulary = load_vocabulary(name, revision)
        self._tokenizer = load_tokenizer(name, revision)
        #: The model itself.
        self.module: torch.nn.Module = self._checkpoint.load(chosen, dtype, progress)
        #: Held during a forward pass.
        self.lock = threading.Lock()
        config: Any = self.module.config
        text: Any = config.get_text_config()
        #: The most tokens of a context, None if unknown.
        self.context_length: int | None = getattr(text, "max_position_embeddings", None)
        #: The rows of its embedding; may be more or fewer than V.
        self.rows = int(self.module.get_input_embeddings().weight.shape[0])  # type: ignore[operator]
        self._first: TokenId | None = (
            self.vocabulary.end if self.vocabulary.end is not None else text.bos_token_id
        )

    def __repr__(self) -> str:
        return f"TransformersModel({self.name!r})"

    def encode(self, prompt: str | Sequence[Message], reply: str = "") -> list[TokenId]:
        """The prompt in the model's tokens, with the start token it was trained with, if any.

        ``reply`` is a text after the prompt, tokenized together with it.

        Messages are rendered by ``render``, whose text contains the special tokens.

        Raises: ModelError for an empty prompt, if the model has no start token; errors of
                ``render``.
        """
        if not isinstance(prompt, str):
            chat = self.render(prompt) + reply
            return list(self._tokenizer.encode(chat, add_special_tokens=False).ids)
        # unpaired surrogates become "?"
        whole = (prompt + reply).encode("utf-8", "replace").decode()
        found: list[TokenId] = list(self._tokenizer.encode(whole).ids)
        if found and found[-1] == self.vocabulary.end:
            found.pop()  # some tokenizers append the end token; a prompt must not have it
        if not found and self._first is None:
            raise ModelError("expected a prompt: this model has no start token")
        return found or [self._first or 0]

    def render(self, messages: Sequence[Message]) -> str:
        """The messages in the tokenizer's own chat template, up to the beginning of the reply.

        The template comes with the model; transformers runs it in Jinja's sandbox.

        Raises: ModelError if the tokenizer has no template, or it refuses the messages.
        """
        for message in messages:
            if not all(isinstance(message.get(key), str) for key in ("role", "content")):
                raise ModelError(
                    f"expected a message with a role and a content, not {message!r}",
                    'such as {"role": "user", "content": "Hello"}',
                )
        if not self.has_template:
            raise no_template(self.name)
        try:
            text: str = self._chat.apply_chat_template(
                [dict(message) for message in messages], tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # a template raises errors of its language
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(
                f"the chat template of {self.name} refuses these messages: {reason}",
                "most templates expect user and assistant in turn, after one system message",
            ) from error
        return text.encode("utf-8", "replace").decode()

    @cached_property
    def has_template(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return bool(getattr(self._chat, "chat_template", None))

    @cached_property
    def _chat(self) -> Any:  # noqa: ANN401  # a tokenizer of transformers
        return self._checkpoint.tokenizer()

    def session(self) -> TransformersSession:
        """A new session with an empty cache of keys and values."""
        return TransformersSession(self)


class TransformersSession:
    """A session: caches keys and values of the last context and crops them when it changes."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        parameters = inspect.signature(model.module.forward).parameters
        #: Whether the model can compute logits of the last positions only.
        self._keeps = "logits_to_keep" in parameters
        #: Recurrent models have a state that cannot be cropped: they read the whole context each
        #: time.
        self._croppable = not getattr(model.module, "_is_stateful", False)
        self._cache: DynamicCache | None = None
        self._read: list[TokenId] = []
        #: The logits at the last positions of the last context; none before the first call.
        self._rows: Logits = np.empty((0, model.rows), np.float32)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits after the whole sequence, see ``Session``.

        Shape:  (rows,) float32: the rows of the model, at least V.
        Raises: ModelError past the model's context, or if it fails.
        """
        found: Logits = self.score(token_ids, 1)[0]
        return found

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits after each of the ``last`` longest prefixes, in one forward pass.

        Shape:  (last, rows) float32.
        Raises: ModelError past the model's context, or if it fails.
        """
        wanted = list(token_ids)
        self._check(wanted, last)
        with self._model.lock:
            if wanted == self._read and len(self._rows) >= last:
                return self._rows[-last:]
            try:
                self._rows = self._forward(wanted, last)
            except Exception as error:
                self._cache, self._read, self._rows = None, [], self._rows[:0]
                # out of memory, or any exception of a third party's forward pass
                message = (str(error).splitlines() or [type(error).__name__])[0]
                raise ModelError(f"the model failed: {message}", "try a shorter prompt") from error
            self._read = wanted
            return self._rows

    def _check(self, wanted: list[TokenId], last: int) -> None:
        if not wanted:
            raise ModelError("expected at least one token", "an empty prompt is the end token")
        if not 1 <= last <= len(wanted):
            raise ModelError(f"expected 1 to {len(wanted)} positions, not {last}")
        if not 0 <= min(wanted) <= max(wanted) < self._model.rows:
            raise ModelError(
                f"expected token ids below {self._model.rows}, not {max(wanted)}",
                "use the model's own tokenizer",
            )
        longest = self._model.context_length
        if longest is not None and len(wanted) > longest:
            raise ModelError(
                f"{len(wanted):,} tokens are {len(wanted) - longest:,} too many: this model reads"
                f" at most {longest:,}",
                "shorten the prompt, or ask for fewer tokens",
            )

    def _forward(self, wanted: list[TokenId], last: int) -> Logits:
        """One forward pass over the tokens that are not cached."""
        import torch

        known = min(common_prefix(self._read, wanted), len(wanted) - last) if self._croppable else 0
        extra: dict[str, Any] = {"logits_to_keep": last} if self._keeps else {}
        with torch.inference_mode():
            cached = self._cropped(known)
            device = next(self._model.module.parameters()).device
            ids = torch.tensor([wanted[known:]], device=device)  # (1, new)
            out = self._model.module(
                input_ids=ids, past_key_values=cached, use_cache=self._croppable, **extra
            )
            self._cache = out.past_key_values if self._croppable else None
            found: Logits = out.logits[0, -last:].float().cpu().numpy()  # (last, rows)
        if not self._croppable:
            found = np.array(found)
        return found

    def _cropped(self, known: int) -> DynamicCache | None:
        """The cache of the first ``known`` tokens; a new one for none."""
        if not self._croppable:
            return None
        if self._cache is None or known == 0:
            from transformers import DynamicCache

            # without a configuration every layer caches all tokens, also layers with a sliding
            # window: it costs memory, but can be cropped anywhere
            return DynamicCache()
        if known < len(self._read):
            self._cache.crop(
                known - len(self._read)
            )  # the number of tokens to remove; newer versions take no length
        return self._cache


_loading = threading.Lock()
_loaded: dict[tuple[str, str, str, str | None], TransformersModel] = {}


def load_model(
    name: str = "builtin",
    device: str = "auto",
    dtype: str = "auto",
    *,
    revision: str | None = None,
    progress: Progress = no_progress,
) -> TransformersModel:
    """The model of this name, loaded once per process; arguments as of ``TransformersModel``.

    Raises: ModelError, VocabularyError.
    """
    key = name, device, dtype, revision
    with _loading:  # concurrent requests wait for one load
        if key not in _loaded:
            _loaded[key] = TransformersModel(
                name, device, dtype, revision=revision, progress=progress
            )
        return _loaded[key]


def builtin_model() -> TransformersModel:
    """The embedded model.

    Raises: ModelError if its files are missing.
    """
    return load_model()
