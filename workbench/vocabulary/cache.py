"""Arrays remembered on disk: in comes a key and how to make them, out they come, made or read.

A file is a line of JSON that says where each array lies, and the arrays, which are mapped into
memory, not read. Numpy's own .npz took 5 ms for what takes 0.3 so. A folder that cannot be written
or a file that cannot be read costs time and nothing else. Left out: forgetting; a vocabulary takes
a few megabytes.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.packed import Packed
from workbench.vocabulary.trie import Trie

Arrays = Mapping[str, npt.NDArray[np.generic]]

Made = TypeVar("Made")

#: Counted up when what is written changes.
_VERSION = 5

#: Arrays begin at multiples of this many bytes.
_ALIGNED = 64

#: Below this many tokens a trie is made faster than it is found.
_BIG = 8_000


def folder() -> Path:
    """The user's cache folder for this project, by each system's custom; it need not exist."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        base = Path(chosen)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "grammar-workbench"


def remembered(
    kind: str, key: str, make: Callable[[], Arrays], of: Callable[[Arrays], Made]
) -> Made:
    """What ``of`` makes of the arrays of that kind and key, read from disk or made and written.

    Arrays that were read need not be what was written: ``of`` raises KeyError, TypeError or
    ValueError where they are not, and they are made anew. Several processes may ask at once:
    each writes a file of its own and renames it.
    """
    try:
        path = folder() / f"{kind}-{_VERSION}-{key}.arrays"
    except RuntimeError:  # no home folder
        return of(make())
    found = _read(path)
    if found is not None:
        try:
            return of(found)
        except (KeyError, TypeError, ValueError):
            pass  # another's, or damaged
    made = make()
    _write(path, made)
    return of(made)


def _read(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = np.frombuffer(mapped, np.uint8)
        line_end = mapped.find(b"\n")
        return {
            name: _at(data, kind, shape, line_end + 1 + offset)
            for name, (kind, shape, offset) in json.loads(mapped[:line_end]).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return None  # missing, cut off or not ours: made anew


def _at(
    data: npt.NDArray[np.uint8], kind: str, shape: list[int], start: int
) -> npt.NDArray[np.generic]:
    """One array of a file.

    Raises: ValueError, TypeError where it does not lie there whole.
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    if not 0 <= size <= len(data) - start:
        raise ValueError("cut off")
    array: npt.NDArray[np.generic] = data[start : start + size].view(kind).reshape(shape)
    return array


def _write(path: Path, arrays: Arrays) -> None:
    written = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            written = file.name
            _put(file.file, arrays)
        os.replace(written, path)
    except OSError:
        if written is not None:
            Path(written).unlink(missing_ok=True)


def _put(file: IO[bytes], arrays: Arrays) -> None:
    places, offset = {}, 0
    for name, array in arrays.items():
        places[name] = array.dtype.str, array.shape, offset
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    head = json.dumps(places).encode()
    # the line is filled up, so that what is aligned within the arrays is aligned in the file
    file.write(head.ljust(-(-(len(head) + 1) // _ALIGNED) * _ALIGNED - 1) + b"\n")
    for array in arrays.values():
        data = array.tobytes()
        file.write(data.ljust(-(-len(data) // _ALIGNED) * _ALIGNED, b"\0"))


def trie_of(tokens: Sequence[bytes | None]) -> Trie:
    """``Trie.of(tokens)``, remembered on disk where there are many.

    Cost: for 131k tokens 2 ms where they are packed and the trie is on disk, 8 ms where they
          are not packed.
    """
    if len(tokens) < _BIG:
        return Trie.of(tokens)
    packed = Packed.of(tokens)
    key = hashlib.sha256(packed.lengths.tobytes() + packed.text.tobytes()).hexdigest()

    def make() -> Arrays:
        made = Trie.of(tokens)
        return {name: getattr(made, name) for name in _FIELDS} | {"height": np.array(made.height)}

    return remembered("trie", key, make, _trie)


_FIELDS = ("byte", "depth", "skip", "first", "token_ids")


def _trie(arrays: Arrays) -> Trie:
    """A trie as read.

    Raises: KeyError, TypeError, ValueError where the arrays do not fit together: kernels trust
            its indices.
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
