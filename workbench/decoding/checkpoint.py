"""Finds, checks and loads the weights of a model: a directory, a hub id or a GGUF file.

Code of a checkpoint is never run, nor kernels of the hub, and pickled weights are never read. The
size of the weights is compared with the free memory before they are read. A GGUF file is converted
once into a directory of the user's cache, whose files any program that reads transformers' models
can use.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import ModelError
from workbench.base.resources import BUILTIN_MODEL
from workbench.vocabulary.gguf_file import (
    GgufHeader,
    converted,
    gguf_of,
    read_header,
    tokenizer_directory,
    transformers_class,
)
from workbench.vocabulary.load import directory_of, local_first

if TYPE_CHECKING:
    import torch


#: What loading does and, where it is known, which part of it is done, from 0 to 1.
Progress = Callable[[str, float | None], None]

#: The names of devices; ``auto`` takes an accelerator if there is one.
DEVICES = ("auto", "cpu", "cuda", "mps")

#: The number formats of weights; ``auto`` is that of the checkpoint, or float32 for a model on the
#: CPU with up to ``_MAX_FLOAT32_PARAMETERS``.
DTYPES = ("auto", "float32", "bfloat16", "float16")

#: Up to this many parameters a model runs in float32 on the CPU: exact, and no slower.
_MAX_FLOAT32_PARAMETERS = 1_500_000_000
#: Up to this many parameters one thread is faster than several: a token is 5 ms of small products,
#: and on a busy machine waiting for other threads took 60 ms.
_MAX_ONE_THREAD_PARAMETERS = 100_000_000

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"

#: The most bytes of a safetensors file's header, as in the format's own library.
_MAX_HEADER = 100_000_000


def no_progress(stage: str, done: float | None) -> None:
    """Report nothing."""


# -- device, number format, memory -----------------------------------------------------------------


def check_device(name: str) -> None:
    """Raise ModelError for a name that is not one of ``DEVICES``; ``cuda:1`` is the second GPU."""
    if name != "auto" and name.partition(":")[0] not in DEVICES[1:]:
        raise ModelError(f"there is no device {name!r}", f"choose one of {', '.join(DEVICES)}")


def device_named(name: str) -> str:
    """The device that a name of ``DEVICES`` refers to.

    Raises: ModelError for an unknown name or an absent device.
    """
    check_device(name)
    import torch

    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return next(device for device, there in available.items() if there)
    if not available[name.partition(":")[0]]:
        raise ModelError(f"this machine or its PyTorch has no {name}", "choose device cpu or auto")
    return name


def check_dtype(name: str) -> None:
    """Raise ModelError for a number format that is not one of ``DTYPES``."""
    if name not in DTYPES:
        raise ModelError(f"there is no dtype {name!r}", f"choose one of {', '.join(DTYPES)}")


#: The parameters of the models for which ``set_threads`` was called.
_sizes: list[int] = []


@cache
def _own_threads() -> int:
    """The number of threads that torch chose for this process."""
    import torch

    return torch.get_num_threads()


def set_threads(model: torch.nn.Module) -> None:
    """Let torch use one thread if all models of this process are small.

    The number is that of the calling thread and of threads that use torch for the first time later.
    So only programs of the workbench call this, for every model they load: the page and the
    commands. Loading a model in another program does not change its threads.
    """
    import torch

    parameters = list(model.parameters())
    if any(each.device.type != "cpu" for each in parameters):
        return
    thread_count = _own_threads()
    _sizes.append(sum(each.numel() for each in parameters))
    torch.set_num_threads(1 if max(_sizes) <= _MAX_ONE_THREAD_PARAMETERS else thread_count)


#: The limit and the use of a container's memory on Linux.
_CONTAINER = Path("/sys/fs/cgroup")


def total_memory() -> int | None:
    """The bytes of memory of the machine, or the limit of a container; None if unknown."""
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(getattr(os, "sysconf_names", {})):
        return None  # Windows
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no limit: the file is missing, or contains "max"
        total = min(total, int((_CONTAINER / "memory.max").read_text()))
    return total


def free_memory(device: str) -> int | None:
    """The bytes of memory that are free on a device; None if unknown.

    On Linux what is available without swapping, within the limit of a container; on other systems
    all memory of the machine.
    """
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return total_memory()
    lines = (line.split() for line in text.splitlines())
    free = next((int(parts[1]) * 1024 for parts in lines if parts[0] == "MemAvailable:"), None)
    with suppress(OSError, ValueError):  # no limit: the file is missing, or contains "max"
        limit = int((_CONTAINER / "memory.max").read_text())
        stat = dict(line.split() for line in (_CONTAINER / "memory.stat").read_text().splitlines())
        used = int((_CONTAINER / "memory.current").read_text()) - int(stat["inactive_file"])
        free = min(limit - used, limit if free is None else free)
    return free


def _check_memory(name: str, needed: int, dtype: str, device: str, smaller: str) -> None:
    """Raise ModelError if fewer bytes are free on a device than are needed."""
    free = free_memory(device)
    if free is not None and needed > free:
        dtype_note = "" if dtype == "auto" else f" in {dtype}"
        raise ModelError(
            f"{name} needs {needed / 1e9:.1f} GB{dtype_note},"
            f" and {max(0, free) / 1e9:.1f} GB of memory are free on {device}",
            smaller,
        )


# -- checkpoints -----------------------------------------------------------------------------------

#: Held while a model is loaded: hidden modules, warnings and progress bars are process-wide, and
#: the memory that one model needs is not free for another one.
_loading = threading.RLock()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the files of a model are: exactly one of the three is given."""

    #: The name it was found by.
    name: str
    directory: Path | None = None
    gguf: Path | None = None
    hub_id: str | None = None
    #: A branch, tag or commit of the hub; None for its main branch.
    revision: str | None = None

    @staticmethod
    def find(name: str, revision: str | None = None) -> Checkpoint:
        """The checkpoint of a name: ``builtin``, an installed package, a path or a hub id.

        Raises: ModelError with a hint, before large files are read.
        """
        checkpoint = _locate(name, revision)
        if revision is not None and checkpoint.hub_id is None:
            raise ModelError(f"{name!r} has no revisions", "only a hub id has them")
        if checkpoint.gguf is not None:
            read_header(checkpoint.gguf)
        else:
            if checkpoint.directory is not None:
                _check_files(checkpoint.directory)
            checkpoint.from_pretrained("AutoConfig")
        return checkpoint

    def load(
        self, device: str, dtype: str = "auto", progress: Progress = no_progress
    ) -> torch.nn.Module:
        """The causal language model, in evaluation mode on a device of ``device_named``.

        Raises: ModelError with a hint, also if it does not fit into the free memory.
        """
        with _loading:
            if self.gguf is not None:
                directory = _convert(self.gguf, progress)
                return Checkpoint(self.name, directory).load(device, dtype, progress)
            progress("loading", None)
            with self._errors_explained():
                stored = self._stored_size()
            if stored is not None:
                self._check_fits(stored, device, dtype)
            options: dict[str, Any] = {"use_safetensors": True, "dtype": dtype}
            with _bars_reported(progress):
                model = self.from_pretrained("AutoModelForCausalLM", **options)
            return _place_on_device(model, device, dtype)

    def tokenizer(self) -> Any:  # noqa: ANN401  # a tokenizer of transformers
        """The tokenizer with its chat template.

        Raises: ModelError.
        """
        if self.gguf is not None:
            return Checkpoint(self.name, tokenizer_directory(self.gguf)).tokenizer()
        return self.from_pretrained("AutoTokenizer")

    def from_pretrained(self, kind: str, **options: object) -> Any:  # noqa: ANN401
        """``from_pretrained`` of transformers' class ``kind``; for a directory without the hub.

        Raises: ModelError.
        """
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        reader = transformers_class(kind)
        from transformers.utils import logging as untyped_logging

        logging: Any = untyped_logging
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        if self.hub_id is not None:
            options["revision"] = self.revision or "main"

        def load(local: bool) -> object:
            loaded: object = reader.from_pretrained(
                str(self.directory or self.hub_id),
                local_files_only=local,
                trust_remote_code=False,
                **options,
            )
            return loaded

        with (
            _loading,
            self._errors_explained(),
            warnings.catch_warnings(),
            _without_hub_kernels(),
        ):
            warnings.simplefilter("ignore")  # about configurations, which the user cannot change
            return load(True) if self.hub_id is None else local_first(load)

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        """Errors as ModelError: transformers raises any exception, from OSError to KeyError."""
        try:
            yield
        except Exception as error:
            raise self._explain(error) from error

    def _stored_size(self) -> _Stored | None:
        """The size of the weights, from the headers of their files; None if unknown."""
        if self.directory is not None:
            index, single = self.directory / _INDEX, self.directory / _WEIGHTS
            file = index if index.is_file() else single if single.is_file() else None
        else:
            file = self._download()
        if file is None:
            return None
        if file.name != _INDEX:
            return _stored_in((file,))
        listed = json.loads(file.read_text(encoding="utf-8"))
        files = [file.parent / name for name in sorted(set(listed["weight_map"].values()))]
        if all(each.is_file() for each in files):
            return _stored_in(files)
        size = int(listed.get("metadata", {}).get("total_size", 0))
        return _Stored(size // 2, size) if size else None  # large models are stored in 16 bits

    def _download(self) -> Path | None:
        """The weights of a hub id, or their index if they are in several files; downloaded once."""
        from huggingface_hub import hf_hub_download

        def find(local: bool) -> Path:
            for name in (_WEIGHTS, _INDEX):
                try:
                    return Path(
                        hf_hub_download(
                            str(self.hub_id), name, revision=self.revision, local_files_only=local
                        )
                    )
                except OSError as error:
                    missing = error
            raise missing

        try:
            return local_first(find)
        except OSError:
            return None  # transformers explains why, or knows other names

    def _check_fits(self, stored: _Stored, device: str, dtype: str) -> None:
        on_cpu = device == "cpu"
        if dtype == "auto" and on_cpu and stored.parameters <= _MAX_FLOAT32_PARAMETERS:
            dtype = "float32"
        width = {"auto": 0, "float32": 4}.get(dtype, 2)
        needed = stored.parameters * width or stored.size
        half = stored.parameters * 2
        smaller = "choose a smaller model, or close other programs"
        if half < needed:
            smaller = f"choose dtype bfloat16 ({half / 1e9:.1f} GB), or a smaller model"
        for memory in dict.fromkeys(("cpu", device)):  # weights are read through the main memory
            _check_memory(self.name, needed, dtype, memory, smaller)

    def _explain(self, error: Exception) -> ModelError:
        name = self.name
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "trust_remote_code" in str(error):
            return ModelError(
                f"{name!r} needs code from its repository, which is never run here",
                "choose a model whose architecture transformers knows",
            )
        if self.hub_id is not None and isinstance(error, OSError):
            if "safetensors" in str(error):
                return ModelError(
                    f"{name!r} has no weights as safetensors; pickled weights are not read",
                    "choose a revision or a model with safetensors",
                )
            revision_note = f" at revision {self.revision!r}" if self.revision is not None else ""
            return ModelError(
                f"{name!r}{revision_note} is not on this machine and the hub does not answer or"
                " does not know it",
                "name builtin, smollm2, a directory, a GGUF file, or a hub id once with network",
            )
        return ModelError(
            f"cannot load {name!r}: {message}",
            "check that it is a causal language model, complete, and known to this transformers",
        )


def _locate(name: str, revision: str | None) -> Checkpoint:
    if name == "builtin":
        return Checkpoint(name, BUILTIN_MODEL)
    if (file := gguf_of(name)) is not None:
        return Checkpoint(name, gguf=file)
    try:
        directory = directory_of(name)
    except FileNotFoundError as error:
        hint = "pass the directory that holds config.json, a GGUF file, or a hub id"
        raise ModelError(str(error), hint) from None
    if directory is not None:
        return Checkpoint(name, directory)
    return Checkpoint(name, hub_id=name, revision=revision)


def _check_files(directory: Path) -> None:
    """Refuse directories that cannot be loaded safely, before reading."""
    if not (directory / "config.json").is_file():
        single = next((file.name for file in sorted(directory.glob("*.gguf"))), "")
        hint = f"pass the file {single} itself" if single else "pass a directory of transformers"
        raise ModelError(f"expected config.json in {directory}", hint)
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


@dataclass(frozen=True, slots=True)
class _Stored:
    """The number of weights of a checkpoint and their bytes on disk."""

    parameters: int
    size: int


def _stored_in(files: Iterable[Path]) -> _Stored:
    """The size of the weights in safetensors files, from their headers.

    Raises: ValueError, KeyError, TypeError for damaged ones.
    """
    parameters = size = 0
    for file in files:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > _MAX_HEADER:
                raise ValueError(f"{file.name} is not a safetensors file")
            header = json.loads(opened.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                parameters, size = parameters + prod(tensor["shape"]), size + end - begin
    return _Stored(parameters, size)


def _place_on_device(model: torch.nn.Module, device: str, dtype: str) -> torch.nn.Module:
    """The model on its device, in a suitable number format."""
    size = sum(p.numel() for p in model.parameters())
    try:
        if device == "cpu" and dtype == "auto" and size <= _MAX_FLOAT32_PARAMETERS:
            model = model.float()
        placed: torch.nn.Module = model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"cannot put the model on device {device!r}: {str(error).splitlines()[0]}",
            "try device 'cpu'",
        ) from error
    return placed.requires_grad_(False)


@contextmanager
def _without_hub_kernels() -> Iterator[None]:
    """Hide the package kernels: transformers would run code that it downloads from the hub."""
    before = sys.modules.get("kernels")
    sys.modules["kernels"] = None  # type: ignore[assignment]  # marks it as not installed
    try:
        yield
    finally:
        if before is None:
            del sys.modules["kernels"]
        else:
            sys.modules["kernels"] = before


@contextmanager
def _bars_reported(progress: Progress) -> Iterator[None]:
    """Report transformers' progress bars instead of showing them, where this version allows it."""
    import transformers.modeling_gguf_pytorch_utils as untyped_reader
    from transformers.utils import logging

    gguf_reader: Any = untyped_reader

    def counted(stage: str, items: Any) -> Iterator[Any]:  # noqa: ANN401
        for number, item in enumerate(items):
            progress(stage, number / len(items))
            yield item

    def hook(bar: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> object:
        counts = bool(given) and hasattr(given[0], "__len__")
        return counted("loading", given[0]) if counts else bar(*given, **options)

    set_hook: Any = getattr(logging, "set_tqdm_hook", lambda _: None)
    shown = getattr(gguf_reader, "tqdm", None)
    before = set_hook(hook)
    gguf_reader.tqdm = lambda items, **_: counted("converting", items)
    try:
        yield
    finally:
        set_hook(before)
        gguf_reader.tqdm = shown


# -- GGUF ------------------------------------------------------------------------------------------


def _convert(file: Path, progress: Progress) -> Path:
    """The directory of a GGUF file's model as transformers stores it; converted once.

    Raises: ModelError if it cannot be converted, or does not fit into memory or on the disk.
    """
    header = read_header(file)
    tokenizer = tokenizer_directory(file)

    def make(directory: Path) -> None:
        progress("converting", None)
        _check_space(file, header, directory)
        for each in tokenizer.iterdir():
            shutil.copy(each, directory)
        source = Checkpoint(file.name, file.parent)
        with _bars_reported(progress):
            model = source.from_pretrained(
                "AutoModelForCausalLM", gguf_file=file.name, dtype=header.dtype
            )
        progress("storing", None)
        _store(model, header, directory)

    return converted("model", file, make)


def _check_space(file: Path, header: GgufHeader, directory: Path) -> None:
    """Raise ModelError if the converted weights fit not into memory, or not on the disk."""
    size = header.parameters * (4 if header.dtype == "float32" else 2)
    # the weights, and a copy of them while they are written
    _check_memory(f"converting {file.name}", 2 * size, "auto", "cpu", "choose a smaller model")
    free = shutil.disk_usage(directory).free
    if free < size:
        raise ModelError(
            f"{file.name}, converted, needs {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
            f" in {directory.parent}",
            "free space there, or set XDG_CACHE_HOME to another folder",
        )


def _store(model: Any, header: GgufHeader, directory: Path) -> None:  # noqa: ANN401
    """Write a model without its quantization, which save_pretrained would refuse or keep."""
    from safetensors.torch import save_model

    described = model.config.to_dict()
    described.pop("quantization_config", None)
    described["architectures"] = [type(model).__name__]
    type(model.config)(**described).save_pretrained(directory)
    if header.ends:
        model.generation_config.eos_token_id = list(header.ends)
    model.generation_config.save_pretrained(directory)
    save_model(model, str(directory / _WEIGHTS), metadata={"format": "pt"})


# -- the forward pass of a model -------------------------------------------------------------------


def rope_length_of(config: Any) -> int | None:  # noqa: ANN401  # a configuration of transformers
    """The context length past which the rotary embedding changes; None if it does not."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if rope.get("rope_type", rope.get("type")) not in ("longrope", "dynamic"):
        return None
    length = rope.get("original_max_position_embeddings")
    original = length or getattr(config, "original_max_position_embeddings", None)
    return int(original or config.max_position_embeddings)


def cache_argument(module: torch.nn.Module) -> str:
    """The name of the forward pass's argument for the cache; transformers renamed it in 5.24."""
    names = inspect.signature(module.forward).parameters
    return "cache" if "cache" in names else "past_key_values"


#: How many tokens attention reads in the time of another call.
_CALL = 32


def _causal_mask(positions: torch.Tensor, length: int, dtype: torch.dtype) -> torch.Tensor:
    """What tokens at these positions (texts, new) look at: (texts, 1, new, length), 0 or −∞."""
    import torch

    hidden = torch.arange(length, device=positions.device) > positions[:, :, None]
    mask = torch.zeros(hidden.shape, dtype=dtype, device=positions.device)
    return mask.masked_fill_(hidden, -torch.inf)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """A pass that reads the new tokens of several texts, one text after the other.

    All layers but attention read them as one text (1, T). Attention reads ``width`` tokens of each
    text together, and each text that has more by itself.

    ``rows``       the text of each token (T,).
    ``positions``  its position there (T,).
    ``mask``       what the tokens that are read together look at (texts, 1, width, length).
    ``queries``    these tokens (texts · width,); the last one of a shorter text is repeated.
    ``answers``    where the result of each token is (T,), indices of texts · width.
    ``longer``     for each longer text its index, its first token, the token after its last one,
                   and its mask (1, 1, tokens, length).
    """

    rows: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    queries: torch.Tensor
    answers: torch.Tensor
    longer: Sequence[tuple[int, int, int, torch.Tensor]]

    @staticmethod
    def of(
        lengths: Sequence[int], counts: Sequence[int], length: int, like: torch.nn.Module
    ) -> Ranges:
        """Texts with known tokens and new ones; keys for ``length`` tokens of each."""
        import torch

        dtype, device = next((p.dtype, p.device) for p in like.parameters())
        width = _read_at_once(counts)
        begins, new = torch.tensor([0, *accumulate(counts[:-1])]), torch.tensor(counts)
        rows = torch.arange(len(counts)).repeat_interleave(new)
        nth = torch.arange(len(rows)) - begins[rows]
        positions = (torch.tensor(lengths)[rows] + nth).to(device)
        queries = begins[:, None] + torch.arange(width).minimum(new[:, None] - 1)
        longer = []
        for row, (begin, count) in enumerate(zip(begins.tolist(), counts, strict=True)):
            if count > width:
                mask = _causal_mask(positions[None, begin : begin + count], length, dtype)
                longer.append((row, begin, begin + count, mask))
        return Ranges(
            rows.to(device),
            positions,
            _causal_mask(positions[queries.to(device)], length, dtype),
            queries.ravel().to(device),
            (rows * width + nth.clamp(max=width - 1)).to(device),
            longer,
        )


def _read_at_once(counts: Sequence[int]) -> int:
    """How many new tokens of each text one call of attention reads: the fastest number."""
    return min(
        sorted(set(counts)),
        key=lambda width: width * len(counts) + sum(_CALL + n for n in counts if n > width),
    )


class _Current(threading.local):
    """The ranges of the forward pass that this thread runs."""

    ranges: Ranges | None = None


_current = _Current()


@contextmanager
def attention_in(ranges: Ranges) -> Iterator[None]:
    """Give ranges to the attention of the forward pass that this thread runs."""
    _register_attention()
    _current.ranges = ranges
    try:
        yield
    finally:
        _current.ranges = None


@cache
def _register_attention() -> None:
    """Replace transformers' attention function by one that does the same, and knows ranges.

    It has the same name, because some models compare the name.
    """
    from transformers import AttentionInterface

    plain: Callable[..., tuple[torch.Tensor, None]] = AttentionInterface()["sdpa"]

    def attention(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: object,
    ) -> tuple[torch.Tensor, None]:
        ranges = _current.ranges
        if ranges is None:
            return plain(module, query, key, value, attention_mask, **options)
        read = query[0].transpose(0, 1).index_select(0, ranges.queries)  # (texts · width, heads, …)
        read = read.view(len(ranges.mask), -1, *read.shape[1:]).transpose(1, 2)
        together, _ = plain(module, read, key, value, attention_mask, **options)
        output = together.flatten(0, 1).index_select(0, ranges.answers)  # (T, heads, …)
        for text, begin, end, mask in ranges.longer:
            keys, values = (each[text : text + 1, :, : mask.shape[-1]] for each in (key, value))
            alone, _ = plain(module, query[:, :, begin:end], keys, values, mask, **options)
            output[begin:end] = alone[0]
        return output[None], None

    AttentionInterface.register("sdpa", attention)
