"""Causal language models of the transformers library."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.base.arguments import checked
from workbench.base.cached_property import cached_property
from workbench.base.errors import ModelError
from workbench.decoding.checkpoint import (
    Checkpoint,
    Progress,
    check_dtype,
    device_named,
    no_progress,
)
from workbench.decoding.model import Message, no_template
from workbench.vocabulary.load import load_tokenizer, load_vocabulary
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

if TYPE_CHECKING:
    import torch

    from workbench.decoding.transformers_session import TransformersSession


class TransformersModel:
    """Any causal language model of transformers: a directory, a GGUF file or a hub id.

    Code in a checkpoint is never run and pickled weights are never read. One forward pass
    runs at a time; threads that wait at the same time share the next one.

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
        config: Any = self.module.config
        text: Any = config.get_text_config()
        #: The most tokens of a context, None if unknown.
        self.context_length: int | None = getattr(text, "max_position_embeddings", None)
        #: The rows of its embedding; may be more or fewer than V.
        self.rows = int(self.module.get_input_embeddings().weight.shape[0])  # type: ignore[operator]
        self._first: TokenId | None = (
            self.vocabulary.end if self.vocabulary.end is not None else text.bos_token_id
        )
        from workbench.decoding.transformers_session import TransformersPasses  # needs torch

        self._passes = TransformersPasses(self.module, self.rows, self.context_length)

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
        token_ids: list[TokenId] = list(self._tokenizer.encode(whole).ids)
        if token_ids and token_ids[-1] == self.vocabulary.end:
            token_ids.pop()  # some tokenizers append the end token; a prompt must not have it
        if not token_ids and self._first is None:
            raise ModelError("expected a prompt: this model has no start token")
        return token_ids or [self._first or 0]

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
        """A new session; all sessions of the model share its forward passes and its cache."""
        return self._passes.session()

    def forget(self) -> None:
        """Release the cache of all sessions; the same calls after it give the same logits."""
        self._passes.forget()


_loading = threading.Lock()
_loaded: dict[tuple[str, str, str, str | None], TransformersModel] = {}


@checked
def load_model(
    name: str | os.PathLike[str] = "builtin",
    device: str = "auto",
    dtype: str = "auto",
    *,
    revision: str | None = None,
    progress: Progress = no_progress,
) -> TransformersModel:
    """The model of this name, loaded once per process; arguments as of ``TransformersModel``.

    Raises: ModelError, VocabularyError.
    """
    name = os.fspath(name)
    key = name, device, dtype, revision
    with _loading:  # concurrent requests wait for one load
        if key not in _loaded:
            _loaded[key] = TransformersModel(
                name, device, dtype, revision=revision, progress=progress
            )
        return _loaded[key]
