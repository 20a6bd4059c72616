"""Causal language models of the transformers library, loaded from a directory or the hub."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from workbench.base.errors import ModelError
from workbench.base.resources import BUILTIN_MODEL
from workbench.decoding.model import Logits, Message, common_prefix, no_template
from workbench.vocabulary.load import directory_of, load_tokenizer, load_vocabulary, local_first
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache


_Loaded = TypeVar("_Loaded")

#: Up to this many parameters a model runs in float32 on the CPU: exact, and no slower.
_MAX_FLOAT32_PARAMETERS = 1_500_000_000
#: Up to this many parameters one thread is faster than several: a token is 5 ms of small products,
#: and on a busy machine waiting for other threads took 60 ms.
_MAX_ONE_THREAD_PARAMETERS = 100_000_000

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def find_checkpoint(name: str) -> None:
    """Check that a model of this name exists, before large files are read.

    Raises: ModelError with a hint.
    """
    _through(name, lambda where: _from_pretrained("AutoConfig", where))


def load_checkpoint(name: str, device: str | None) -> torch.nn.Module:
    """The causal language model of this name, in evaluation mode on its device.

    Raises: ModelError with a hint.
    """

    def load(where: str) -> torch.nn.Module:
        model: torch.nn.Module = _from_pretrained(
            "AutoModelForCausalLM", where, use_safetensors=True, dtype="auto"
        )
        return model

    return _placed(_through(name, load), device)


def _through(name: str, load: Callable[[str], _Loaded]) -> _Loaded:
    """Call ``load`` with the directory or hub id of a name; failures become ModelError."""
    try:
        directory = directory_of(name)
    except FileNotFoundError as error:
        raise ModelError(str(error), "pass the directory that holds config.json") from None
    if directory is not None:
        _check_files(directory)
    try:
        return load(name if directory is None else str(directory))
    except Exception as error:
        # transformers raises any exception, from OSError to KeyError, for an unreadable checkpoint
        raise _explained(name, directory, error) from error


def _check_files(directory: Path) -> None:
    """Refuse directories that cannot be loaded safely, before reading."""
    if not (directory / "config.json").is_file():
        raise ModelError(
            f"expected config.json in {directory}", "pass the directory of a transformers model"
        )
    if any(directory.glob("*.safetensors")):
        return
    pickled = sorted(p.name for p in directory.iterdir() if p.suffix in _PICKLED)
    if pickled:
        raise ModelError(
            f"expected weights as safetensors in {directory}, found {pickled[0]}: pickled weights"
            " can run code when they are loaded, so they are not supported",
            "convert them with model.save_pretrained(folder) if you trust them",
        )
    raise ModelError(
        f"expected weights as safetensors in {directory}", "copy model.safetensors there"
    )


def _from_pretrained(kind: str, where: str, **options: object) -> Any:  # noqa: ANN401
    """``from_pretrained`` of transformers' class ``kind``; for a directory without the hub."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import transformers
    from transformers.utils import logging as untyped_logging

    logging: Any = untyped_logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    reader = getattr(transformers, kind)

    def load(local: bool) -> object:
        found: object = reader.from_pretrained(
            where, local_files_only=local, trust_remote_code=False, **options
        )
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about configurations, which the user cannot change
        return load(True) if Path(where).is_dir() else local_first(load)


def _explained(name: str, directory: Path | None, error: Exception) -> ModelError:
    message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "trust_remote_code" in str(error):
        return ModelError(
            f"{name!r} needs code from its repository, which is never run here",
            "choose a model whose architecture transformers knows",
        )
    if directory is None and isinstance(error, OSError):
        if "safetensors" in str(error):
            return ModelError(
                f"{name!r} has no weights as safetensors; pickled weights are not read",
                "choose a revision or a model with safetensors",
            )
        return ModelError(
            f"{name!r} is not on this machine and the hub does not answer or does not know it",
            "download the model once with network, or pass a local directory",
        )
    return ModelError(
        f"cannot load {name!r}: {message}", "check that the directory holds a causal language model"
    )


def _placed(model: torch.nn.Module, device: str | None) -> torch.nn.Module:
    """The model on its device, in a suitable number format."""
    import torch

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    size = sum(p.numel() for p in model.parameters())
    try:
        if chosen == "cpu":
            model = model.float() if size <= _MAX_FLOAT32_PARAMETERS else model
            if size <= _MAX_ONE_THREAD_PARAMETERS:
                torch.set_num_threads(1)
        placed: torch.nn.Module = model.to(chosen).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"cannot put the model on device {chosen!r}: {str(error).splitlines()[0]}",
            "try device 'cpu'",
        ) from error
    return placed.requires_grad_(False)


class TransformersModel:
    """Any causal language model of transformers: a local directory or a hub id.

    Code in a checkpoint is never run and pickled weights are never read. One forward pass
    runs at a time; other threads wait.

    ``path_or_id``  a directory, a hub id, or ``builtin`` for the embedded model.
    ``device``      torch's name of a device; None chooses one.

    Raises: ModelError if it cannot be loaded; VocabularyError if its tokens cannot be mapped
            to bytes exactly.
    """

    def __init__(self, path_or_id: str, device: str | None = None) -> None:
        #: The directory or hub id.
        self.name = path_or_id
        self._where = where = str(BUILTIN_MODEL) if path_or_id == "builtin" else path_or_id
        find_checkpoint(where)
        #: The tokens as bytes.
        self.vocabulary: Vocabulary = load_vocabulary(path_or_id)
        self._tokenizer = load_tokenizer(path_or_id)
        #: The model itself.
        self.module: torch.nn.Module = load_checkpoint(where, device)
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
        return _through(self._where, lambda where: _from_pretrained("AutoTokenizer", where))

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


@cache
def _loaded(name: str, device: str | None) -> TransformersModel:
    return TransformersModel(name, device)


def load_model(name: str = "builtin", device: str | None = None) -> TransformersModel:
    """The model of this name, loaded once per process: ``builtin``, a directory or a hub id.

    Raises: ModelError, VocabularyError.
    """
    with _loading:  # concurrent requests wait for one load
        return _loaded(name, device)


def builtin_model() -> TransformersModel:
    """The embedded model.

    Raises: ModelError if its files are missing.
    """
    return load_model("builtin")
