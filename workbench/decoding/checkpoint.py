"""A directory or a hub id comes in, a ready torch model goes out; never code, never pickle."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.errors import ModelError
from workbench.vocabulary.hub import directory_of, local_first

if TYPE_CHECKING:
    import torch

_Loaded = TypeVar("_Loaded")

#: Up to this many parameters a model computes in float32 on the CPU, exact and no slower.
_SMALL = 1_500_000_000
#: Below this, one thread is faster than several: a token is 5 ms of small products, and on a
#: busy machine waiting for the other threads took 60.
_TINY = 100_000_000

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def find_checkpoint(name: str) -> None:
    """Make sure that there is a model of that name, before anything big is read.

    Raises: ModelError with what to do.
    """
    _through(name, lambda where: _from_pretrained("AutoConfig", where))


def load_checkpoint(name: str, device: str | None) -> torch.nn.Module:
    """The causal language model of that name, in evaluation mode on its device.

    Raises: ModelError with what to do.
    """

    def load(where: str) -> torch.nn.Module:
        model: torch.nn.Module = _from_pretrained(
            "AutoModelForCausalLM", where, use_safetensors=True, dtype="auto"
        )
        return model

    return _placed(_through(name, load), device)


def _through(name: str, load: Callable[[str], _Loaded]) -> _Loaded:
    """What ``load`` makes of the place a name stands for, its failures explained."""
    try:
        directory = directory_of(name)
    except FileNotFoundError as error:
        raise ModelError(str(error), "pass the directory that holds config.json") from None
    if directory is not None:
        _check_files(directory)
    try:
        return load(name if directory is None else str(directory))
    except Exception as error:
        # transformers raises anything from OSError to KeyError for a checkpoint it cannot read
        raise _explained(name, directory, error) from error


def _check_files(directory: Path) -> None:
    """Refuse what cannot be loaded safely before anything is read."""
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
            " can run code while they are read, so they are not",
            "convert them with model.save_pretrained(folder) where you trust them",
        )
    raise ModelError(
        f"expected weights as safetensors in {directory}", "copy model.safetensors there"
    )


def _from_pretrained(kind: str, where: str, **options: object) -> Any:  # noqa: ANN401
    """What transformers' class ``kind`` reads there; a directory is never looked up elsewhere."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import transformers
    from transformers.utils import logging as spoken

    logging: Any = spoken  # not typed
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    reader = getattr(transformers, kind)

    def load(local: bool) -> object:
        found: object = reader.from_pretrained(
            where, local_files_only=local, trust_remote_code=False, **options
        )
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about configurations; nothing a person here can mend
        return load(True) if Path(where).is_dir() else local_first(load)


def _explained(name: str, directory: Path | None, error: Exception) -> ModelError:
    told = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "trust_remote_code" in str(error):
        return ModelError(
            f"{name!r} needs its own code, which is never run here",
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
        f"cannot load {name!r}: {told}", "check that the directory holds a causal language model"
    )


def _placed(model: torch.nn.Module, device: str | None) -> torch.nn.Module:
    """The model on its device, in a number format that device is good at."""
    import torch

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    size = sum(p.numel() for p in model.parameters())
    try:
        if chosen == "cpu":
            model = model.float() if size <= _SMALL else model
            if size <= _TINY:
                torch.set_num_threads(1)
        placed: torch.nn.Module = model.to(chosen).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"cannot put the model on device {chosen!r}: {str(error).splitlines()[0]}",
            "try device 'cpu'",
        ) from error
    return placed.requires_grad_(False)
