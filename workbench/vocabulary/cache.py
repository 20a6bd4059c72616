"""Arrays remembered on disk: in comes a key and how to make them, out they come, made or read.

Files are numpy's .npz without pickle. A folder that cannot be written or a file that cannot be
read costs time and nothing else. Left out: forgetting; a vocabulary takes a few megabytes.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.trie import Trie

Arrays = Mapping[str, npt.NDArray[np.generic]]

#: Counted up when what is written changes.
_VERSION = 1

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


def remembered(kind: str, key: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of that kind and key: read from disk, or made and written there.

    Several processes may ask at once: each writes a file of its own and renames it.
    """
    try:
        path = folder() / f"{kind}-{_VERSION}-{key}.npz"
    except RuntimeError:  # no home folder
        return make()
    found = _read(path)
    if found is None:
        found = make()
        _write(path, found)
    return found


def _read(path: Path) -> Arrays | None:
    try:
        # opened here, since numpy leaves a file open that it cannot read
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # missing, cut off or not ours: made anew


def _write(path: Path, arrays: Arrays) -> None:
    written = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            written = file.name
            np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes a flag by name too
        os.replace(written, path)
    except OSError:
        if written is not None:
            Path(written).unlink(missing_ok=True)


def trie_of(tokens: Sequence[bytes | None]) -> Trie:
    """``Trie.of(tokens)``, remembered on disk where there are many.

    Cost: 25 ms for 131k tokens read from disk, half of it to hash them.
    """
    if len(tokens) < _BIG:
        return Trie.of(tokens)
    packed = pack(tokens)
    key = hashlib.sha256(packed["lengths"].tobytes() + packed["text"].tobytes()).hexdigest()
    made: list[Trie] = []

    def make() -> Arrays:
        made.append(Trie.of(tokens))
        return {name: getattr(made[0], name) for name in _FIELDS} | {
            "height": np.array(made[0].height)
        }

    arrays = remembered("trie", key, make)
    return made[0] if made else _checked(arrays) or Trie.of(tokens)


_FIELDS = ("byte", "depth", "skip", "first", "token_ids")


def _checked(arrays: Arrays) -> Trie | None:
    """A trie as read, or None where the arrays do not fit together: kernels trust its indices."""
    try:
        byte, depth, skip, first, ids = (arrays[name] for name in _FIELDS)
        trie = Trie(
            byte=byte.astype(np.uint8, copy=False),
            depth=depth.astype(np.int32, copy=False),
            skip=skip.astype(np.int32, copy=False),
            first=first.astype(np.int32, copy=False),
            token_ids=ids.astype(np.int32, copy=False),
            height=int(arrays["height"]),
        )
    except (KeyError, ValueError, TypeError):
        return None
    nodes = len(trie)
    fits = (
        len(trie.depth) == len(trie.skip) == len(trie.first) - 1 == nodes
        and trie.depth.max(initial=0) < max(1, trie.height)
        and trie.skip.max(initial=0) <= nodes
        and trie.first.max(initial=0) <= len(trie.token_ids)
    )
    return trie if fits else None


def pack(tokens: Sequence[bytes | None]) -> dict[str, npt.NDArray[np.generic]]:
    """Tokens as two arrays: all bytes, and how many each has (−1 for None)."""
    lengths = np.array([-1 if t is None else len(t) for t in tokens], np.int32)
    text = np.frombuffer(b"".join([t for t in tokens if t is not None]), np.uint8)
    return {"lengths": lengths, "text": text}


def unpack(arrays: Arrays) -> list[bytes | None]:
    """The tokens two arrays hold."""
    text = arrays["text"].tobytes()
    lengths: list[int] = arrays["lengths"].tolist()
    ends = list(accumulate(max(0, n) for n in lengths))
    return [None if n < 0 else text[end - n : end] for n, end in zip(lengths, ends, strict=True)]
