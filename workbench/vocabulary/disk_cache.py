"""Arrays and directories of files cached on disk under a key, and byte strings packed into arrays.

A vocabulary of 131k tokens is read from the cache in 1 ms; building it as a list takes 30 ms.

A file is a line of JSON with its name and the type, shape, offset and checksum of each array, then
the arrays, aligned to 64 bytes. The arrays are mapped into memory: numpy's .npz took 5 ms, this
format 0.3 ms without the checksums, which take half a millisecond a megabyte. A file that is
damaged or of another name, or that others may write, is replaced; if it cannot be written, the
arrays are computed in each process. Both are logged once. Files are never deleted; a vocabulary
takes a few megabytes.

A directory holds a converted model. It is written under another name and renamed, so that it is
whole or absent; a list of its files shows whether it was damaged since.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import IO, TypeVar, overload

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.locks import WorkLock
from workbench.base.private_files import check_private, private_cache_folder
from workbench.vocabulary.trie import Trie


class Packed(Sequence[bytes | None]):
    """A sequence of byte strings and None in two arrays; equal to a tuple of the same items.

    Shape: ``text`` (B,) uint8, the bytes of all strings; ``lengths`` (V,) int32, −1 for None.
    Raises: ValueError if the two are inconsistent.
    """

    def __init__(self, text: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32]) -> None:
        self.text, self.lengths = text, lengths
        self._ends = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
        if (
            lengths.min(initial=0) < -1
            or int(self._ends[-1] if len(lengths) else 0) != len(text)
            or text.dtype != np.uint8
            or lengths.dtype != np.int32
        ):
            raise ValueError("lengths and bytes do not fit together")

    @staticmethod
    def of(tokens: Sequence[bytes | None]) -> Packed:
        """The same strings, packed."""
        if isinstance(tokens, Packed):
            return tokens
        lengths = np.array([-1 if t is None else len(t) for t in tokens], np.int32)
        text = np.frombuffer(b"".join([t for t in tokens if t is not None]), np.uint8)
        return Packed(text, lengths)

    def __reduce__(self) -> tuple[type[Packed], tuple[npt.NDArray[np.generic], ...]]:
        """The two arrays, without what is computed from them later."""
        return Packed, (self.text, self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[bytes | None, ...]: ...
    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes | None, ...] | None:
        if isinstance(index, slice):
            return self._whole[index]
        if "_whole" in self.__dict__:
            return self._whole[index]
        length, end = int(self.lengths[index]), int(self._ends[index])
        return None if length < 0 else self.text[end - length : end].tobytes()

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._whole)

    def __contains__(self, token: object) -> bool:
        return token in self._whole

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Packed):
            return np.array_equal(self.lengths, other.lengths) and np.array_equal(
                self.text, other.text
            )
        return self._whole == other if isinstance(other, tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        return f"Packed({len(self)} strings)"

    @cached_property
    def _whole(self) -> tuple[bytes | None, ...]:
        """All strings as a tuple, for callers that read many of them."""
        text = self.text.tobytes()
        lengths: list[int] = self.lengths.tolist()
        ends = accumulate(max(0, n) for n in lengths)
        return tuple(
            None if n < 0 else text[end - n : end] for n, end in zip(lengths, ends, strict=True)
        )

    def of_length(self, length: int) -> npt.NDArray[np.uint8]:
        """The bytes of all strings of one length, (strings, length)."""
        starts = self._ends[self.lengths == length] - length
        strings: npt.NDArray[np.uint8] = self.text[starts[:, None] + np.arange(length)]
        return strings


Arrays = Mapping[str, npt.NDArray[np.generic]]

Result = TypeVar("Result")

#: Incremented when the format or the content of a kind of file changes.
_VERSION = 8

_log = logging.getLogger(__name__)

#: Arrays begin at multiples of this many bytes.
_ALIGNMENT = 64

#: The trie of fewer tokens is built faster than read from disk.
_MIN_CACHED_TOKENS = 8_000


def cached_arrays(
    kind: str, key: str, make: Callable[[], Arrays], of: Callable[[Arrays], Result]
) -> Result:
    """``of(make())``, with the arrays of ``make`` read from disk if they are cached.

    A file may be damaged: if ``of`` raises KeyError, TypeError or ValueError for arrays read from
    disk, they are made again. Several processes may do this at the same time: each writes a
    separate file and renames it.
    """
    try:
        path = private_cache_folder() / f"{kind}-{_VERSION}-{key}.arrays"
    except OSError as error:
        _report_unwritten("the user's cache", str(error))
        return of(make())
    try:
        return of(_read(path))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        # truncated, damaged or written by another program
        _log.warning("%s cannot be read and is made again: %s", path.name, error)
    arrays = make()
    _write(path, arrays)
    return of(arrays)


def _read(path: Path) -> Arrays:
    """The arrays of a file.

    Raises: OSError; ValueError, TypeError, AttributeError if it is damaged.
    """
    with path.open("rb") as file:
        check_private(path, file.fileno())
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    data = np.frombuffer(mapped, np.uint8)
    line_end = mapped.find(b"\n")
    head = json.loads(mapped[:line_end])
    if head["file"] != path.name:
        raise ValueError(f"it is a copy of {head['file']}")
    return {
        name: _at(data, kind, shape, line_end + 1 + offset, checksum)
        for name, (kind, shape, offset, checksum) in head["arrays"].items()
    }


def _at(
    data: npt.NDArray[np.uint8], kind: str, shape: list[int], start: int, checksum: int
) -> npt.NDArray[np.generic]:
    """One array of a file.

    Raises: ValueError, TypeError if the file is damaged.
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    if not 0 <= size <= len(data) - start:
        raise ValueError("the file is truncated")
    if zlib.crc32(data[start : start + size].data) != checksum:
        raise ValueError("its checksum differs")
    array: npt.NDArray[np.generic] = data[start : start + size].view(kind).reshape(shape)
    return array


def _write(path: Path, arrays: Arrays) -> None:
    written = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            written = file.name
            _put(file.file, arrays, path.name)
        os.replace(written, path)
    except OSError as error:
        if written is not None:
            Path(written).unlink(missing_ok=True)
        _report_unwritten(str(path.parent), error.strerror or str(error))


@cache
def _report_unwritten(folder: str, reason: str) -> None:
    """Log once that nothing can be cached."""
    _log.warning("nothing can be cached in %s: %s", folder, reason)


def _put(file: IO[bytes], arrays: Arrays, name: str) -> None:
    layout, offset = {}, 0
    for array_name, array in arrays.items():
        checksum = zlib.crc32(array.tobytes())
        layout[array_name] = array.dtype.str, array.shape, offset, checksum
        offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    head = json.dumps({"file": name, "arrays": layout}).encode()
    # the line is padded, so that the arrays are aligned in the file
    file.write(head.ljust(-(-(len(head) + 1) // _ALIGNMENT) * _ALIGNMENT - 1) + b"\n")
    for array in arrays.values():
        data = array.tobytes()
        file.write(data.ljust(-(-len(data) // _ALIGNMENT) * _ALIGNMENT, b"\0"))


#: The list of the files of a cached directory.
_LIST = "files.json"

#: Files up to this many bytes are compared by a digest, larger ones by their size.
_MAX_DIGESTED = 1 << 26

#: Unfinished directories older than this many seconds are removed: their process has ended.
_ABANDONED = 86_400

#: How often a directory is renamed while other processes damage or replace the one of that name.
_MAX_RENAMES = 8

_making = WorkLock()


def cached_directory(key: str, make: Callable[[Path], None]) -> Path:
    """The directory of the files that ``make`` writes into an empty one; cached on disk.

    A directory whose files have changed is made again. Several processes may do this at the same
    time: the directory of the first one is kept.

    Raises: OSError if it cannot be written; errors of ``make``, after which nothing is left.
    """
    whole = private_cache_folder() / key
    if _is_whole(whole):
        return whole
    with _making:
        if _is_whole(whole):
            return whole
        for old in whole.parent.glob(f"{whole.name}.*.part"):
            with suppress(OSError):  # its process may rename it at this moment
                if time.time() - old.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(old)
        part = Path(tempfile.mkdtemp(dir=whole.parent, prefix=f"{whole.name}.", suffix=".part"))
        try:
            make(part)
            for path in part.iterdir():
                path.chmod(0o600)
            (part / _LIST).write_text(json.dumps(_files(part)))
            _rename(part, whole)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return whole


def _rename(part: Path, whole: Path) -> None:
    """Rename a directory; one of that name is kept if it is whole, else replaced.

    Another process may do the same at any moment, so a damaged one is renamed before it is removed.
    """
    damaged = part.with_name(f"{part.stem}.old.part")
    for _ in range(_MAX_RENAMES):
        with suppress(OSError):
            part.rename(whole)
            return
        if _is_whole(whole):
            return
        with suppress(OSError):
            whole.rename(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    part.rename(whole)


def _is_whole(directory: Path) -> bool:
    try:
        listed = json.loads((directory / _LIST).read_text())
        return bool(listed == _files(directory))
    except (OSError, ValueError):
        return False


def _files(directory: Path) -> dict[str, str]:
    """A digest or the size of every file, by its name.

    Raises: OSError, also if others may write to a file or the directory.
    """
    check_private(directory)
    digests = {}
    for path in sorted(directory.iterdir()):
        check_private(path)
        size = path.stat().st_size
        if path.name != _LIST:
            small = size <= _MAX_DIGESTED
            digests[path.name] = (
                hashlib.sha256(path.read_bytes()).hexdigest() if small else str(size)
            )
    return digests


def trie_of(tokens: Sequence[bytes | None]) -> Trie:
    """``Trie.of(tokens)``, cached on disk if there are many tokens.

    Cost: for 131k tokens, if the trie is on disk: 2 ms for packed tokens, 8 ms for others.
    """
    if len(tokens) < _MIN_CACHED_TOKENS:
        return Trie.of(tokens)
    packed = Packed.of(tokens)
    key = hashlib.sha256(packed.lengths.tobytes() + packed.text.tobytes()).hexdigest()

    def make() -> Arrays:
        trie = Trie.of(tokens)
        return {name: getattr(trie, name) for name in _FIELDS} | {"height": np.array(trie.height)}

    return cached_arrays("trie", key, make, _trie)


_FIELDS = ("byte", "depth", "skip", "first", "token_ids")


def _trie(arrays: Arrays) -> Trie:
    """A trie from the arrays of a cached file.

    Raises: KeyError, TypeError, ValueError if the arrays are inconsistent: kernels do not check
            indices.
    """
    byte, depth, skip, first, ids = (arrays[name] for name in _FIELDS)
    trie = Trie(
        byte=byte.astype(np.uint8, copy=False),
        depth=depth.astype(np.int32, copy=False),
        skip=skip.astype(np.int32, copy=False),
        first=first.astype(np.int32, copy=False),
        token_ids=ids.astype(np.int32, copy=False),
        height=int(arrays["height"]),
    )
    nodes = len(trie)
    if not (
        len(trie.depth) == len(trie.skip) == len(trie.first) - 1 == nodes
        and trie.depth.max(initial=0) < max(1, trie.height)
        and trie.skip.max(initial=0) <= nodes
        and trie.first.max(initial=0) <= len(trie.token_ids)
    ):
        raise ValueError("the arrays of a trie do not fit together")
    return trie
