"""Loads vocabularies and tokenizers by name: a toy, a directory, a GGUF file, or a hub model."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from workbench.base.errors import VocabularyError
from workbench.base.resources import BUILTIN_MODEL
from workbench.vocabulary.gguf_file import (
    INSTALLED,
    gguf_of,
    tokenizer_directory,
    transformers_class,
)
from workbench.vocabulary.mistral import MISTRAL, mistral_vocabulary
from workbench.vocabulary.tokenizer import check_exact, vocabulary_of
from workbench.vocabulary.toy_vocabularies import TOYS, named_toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase


_T = TypeVar("_T")

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def directory_of(name: str) -> Path | None:
    """The directory a name refers to, or None if it may be a hub id.

    Raises: FileNotFoundError for a name that is neither a directory nor a possible hub id.
    """
    try:
        path = Path(name).expanduser()
        if name and path.is_dir():
            return path
        is_path = path.is_file() or path.is_absolute() or name.startswith((".", "~"))
    except (OSError, RuntimeError):  # too long, or the home of an unknown user
        is_path = True
    if is_path:
        raise FileNotFoundError(f"expected the directory of a model, not {name[:200]!r}")
    if not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise FileNotFoundError(f"expected a directory or a hub id, not {name[:200]!r}")
    return None


def local_first(load: Callable[[bool], _T]) -> _T:
    """``load(True)`` from local files alone; if that fails and the hub answers, ``load(False)``.

    Without a network the hub's client retries for half a minute, so the connection is tested first.

    Raises: the errors of ``load``.
    """
    try:
        return load(True)
    except OSError:
        if not _is_hub_reachable():
            raise
    return load(False)


def _is_hub_reachable() -> bool:
    """Whether the hub can be used: offline mode is not set, and its host answers."""
    from huggingface_hub import constants  # a slow import that only hub ids need

    if constants.HF_HUB_OFFLINE:
        return False
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")):
        return True  # a proxy resolves names itself
    address = urlsplit(constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=3.0).close()
    except OSError:
        return False
    return True


#: The bytes that occur in texts.
_UTF8_BYTES = frozenset({*range(0xC0), *range(0xC2, 0xF5)})
#: The most missing bytes that a warning lists.
_MAX_LISTED = 16

_log = logging.getLogger(__name__)

#: All short names of vocabularies.
NAMES: tuple[str, ...] = ("builtin", *INSTALLED, *MISTRAL, *TOYS)


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A vocabulary and its tokenizer, if it was read with the tokenizers library."""

    vocabulary: Vocabulary
    tokenizer: Tokenizer | None


@dataclass(frozen=True, slots=True, eq=False)
class _Encoder:
    """Encodes a text as the tokenizers library does; unlike a local function, it can be pickled."""

    tokenizer: Tokenizer

    def __call__(self, text: str) -> list[TokenId]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids


_loaded: dict[tuple[str, str | None], _Loaded] = {}
_loading = threading.Lock()


def load_vocabulary(name: str, revision: str | None = None) -> Vocabulary:
    """The vocabulary of one of ``NAMES``, a directory, a GGUF file or a hub id at a revision.

    Raises: VocabularyError with a hint what to install or to do; ModelError for a GGUF file that
            cannot be read.
    """
    return _load(name, revision).vocabulary


def load_tokenizer(name: str, revision: str | None = None) -> Tokenizer:
    """The tokenizer of the same name.

    Raises: VocabularyError if it cannot be loaded, or if there is only a vocabulary of this name;
            ModelError for a GGUF file that cannot be read.
    """
    tokenizer = _load(name, revision).tokenizer
    if tokenizer is None:
        raise VocabularyError(
            f"{name} is a vocabulary without a tokenizer",
            "pass a model's directory or hub id",
        )
    return tokenizer


def _load(name: str, revision: str | None) -> _Loaded:
    key = name, revision
    if (loaded := _loaded.get(key)) is not None:
        return loaded  # without waiting while another one is loaded
    with _loading:
        if key not in _loaded:
            _loaded[key] = _read(name, revision)
        return _loaded[key]


def _read(name: str, revision: str | None) -> _Loaded:
    if name in MISTRAL:
        return _Loaded(mistral_vocabulary(name), None)
    if name in TOYS:
        return _Loaded(named_toy(name), None)
    if name == "builtin":
        return _from_directory(BUILTIN_MODEL, name)
    if (file := gguf_of(name)) is not None:
        return _from_directory(tokenizer_directory(file), name)
    try:
        directory = directory_of(name)
    except FileNotFoundError as error:
        raise VocabularyError(str(error), f"or one of {', '.join(NAMES)}") from None
    if directory is not None and (directory / "tokenizer.json").is_file():
        return _from_directory(directory, name)
    return _from_transformers(name if directory is None else str(directory), name, revision)


def _from_directory(directory: Path, name: str) -> _Loaded:
    """Read tokenizer.json directly, without importing transformers (two seconds)."""
    from tokenizers import Tokenizer

    path = directory / "tokenizer.json"
    try:
        data = path.read_bytes()  # as text it takes four times the memory
        tokenizer = Tokenizer.from_buffer(data)
        spec = json.loads(data)
    except FileNotFoundError:
        raise VocabularyError(
            f"expected tokenizer.json in {directory}", "pass the directory of a whole model"
        ) from None
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read {path}: {error}") from error
    entry = _json(directory / "tokenizer_config.json").get("eos_token")
    end = entry.get("content") if isinstance(entry, dict) else entry
    files = [directory / file for file in _MODEL_CONFIGURATIONS]
    return _check(tokenizer, spec, _ends(tokenizer, end, files), name)


#: The files of a model that may name end tokens.
_MODEL_CONFIGURATIONS = ("generation_config.json", "config.json")


def _ends(tokenizer: Tokenizer, end_text: object, files: Iterable[Path]) -> list[TokenId]:
    """The tokenizer's own end token, given by its text, then those that a model's files name.

    The configuration of a model that reads images too has its language model's in ``text_config``.
    Of these ids only added tokens count: configurations also have default ids (Llama's is 2),
    which may be those of ordinary text.
    """
    first = tokenizer.token_to_id(end_text) if isinstance(end_text, str) else None
    added = tokenizer.get_added_tokens_decoder()
    ends = [] if first is None else [first]
    for file in files:
        whole = _json(file)
        for part in (whole, whole.get("text_config")):
            ids = part.get("eos_token_id") if isinstance(part, dict) else None
            listed = ids if isinstance(ids, list) else [ids]
            ends += [i for i in listed if isinstance(i, int) and i in added]
    return ends


def _json(path: Path) -> dict[str, Any]:
    """The JSON object of a file; empty if there is no such file or object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _from_transformers(where: str, name: str, revision: str | None) -> _Loaded:
    """Find, download or convert the tokenizer with transformers."""
    reader = transformers_class("AutoTokenizer")

    def load(local: bool) -> PreTrainedTokenizerBase:
        tokenizer: PreTrainedTokenizerBase = reader.from_pretrained(
            where,
            revision=revision or "main",
            local_files_only=local,
            trust_remote_code=False,
            use_fast=True,
        )
        return tokenizer

    try:
        loaded = local_first(load)
    except OSError as error:
        raise VocabularyError(
            f"the tokenizer of {name!r} is not on this machine and the hub does not answer or"
            " does not know it",
            "download the model once with network, or pass a local directory",
        ) from error
    except Exception as error:  # transformers passes on any error of the conversion
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise VocabularyError(f"cannot load the tokenizer of {name!r}: {message}") from error
    tokenizer = getattr(loaded, "backend_tokenizer", None)
    if tokenizer is None or not hasattr(tokenizer, "to_str"):
        raise VocabularyError(
            f"the tokenizer of {name!r} is written in Python and cannot be read exactly",
            "choose a model that ships tokenizer.json",
        )
    files = filter(None, (_model_file(where, file, revision) for file in _MODEL_CONFIGURATIONS))
    ends = _ends(tokenizer, loaded.eos_token, files)
    return _check(tokenizer, json.loads(tokenizer.to_str()), ends, name)


def _model_file(where: str, file: str, revision: str | None) -> Path | None:
    """A file of a directory or hub id; None if the hub does not have it."""
    from transformers.utils.hub import cached_file

    if (directory := Path(where)).is_dir():
        return directory / file
    try:
        path = local_first(
            lambda local: cached_file(where, file, revision=revision, local_files_only=local)
        )
    except OSError:
        return None
    return None if path is None else Path(path)


def _check(
    tokenizer: Tokenizer, spec: dict[str, Any], ends: Iterable[TokenId], name: str
) -> _Loaded:
    """The vocabulary of a tokenizer, checked against the tokenizer itself."""
    tokenizer.no_truncation()  # some files truncate texts, for training
    tokenizer.no_padding()

    encode = _Encoder(tokenizer)
    vocabulary = vocabulary_of(spec, name=name, end=ends, encoder=encode)
    check_exact(vocabulary, encode)
    if missing := sorted(_UTF8_BYTES - vocabulary.alphabet):
        listed = " ".join(f"{byte:02x}" for byte in missing[:_MAX_LISTED])
        more = " …" if len(missing) > _MAX_LISTED else ""
        _log.warning(
            "no token of %s contains the bytes %s%s: no text with them is generated",
            name,
            listed,
            more,
        )
    return _Loaded(vocabulary, tokenizer)
