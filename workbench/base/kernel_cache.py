"""The files of compiled kernels: where they are, whether all are there, and how one is stored.

A file is named by a digest of all that its machine code depends on, and begins with a digest of its
content. A folder belongs to one processor and one version of Python, numba and numpy.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import time as wall_time
from types import FunctionType
from typing import Any

import numpy as np

from workbench.base.private_files import (
    NotPrivateError,
    private_cache_folder,
    private_folder,
    read_private,
    report_not_private,
    temporary_folder,
)

#: Cached code that no process has read for this many seconds is removed.
_UNUSED = 90 * 86_400

_log = logging.getLogger(__name__)

#: The variable that names the folder to a process that compiles.
FOLDER_VARIABLE = "WORKBENCH_KERNEL_FOLDER"


@cache
def code_folder() -> Path:
    """The folder of compiled code for this processor: the user's, else a temporary one.

    Raises: OSError if neither can be written, or others may write to both.
    """
    if named := os.environ.get(FOLDER_VARIABLE):
        return private_folder(Path(named))
    try:
        return _usable(private_cache_folder())
    except OSError as error:
        if isinstance(error, NotPrivateError):
            report_not_private(error)
        return _usable(temporary_folder())


def _usable(folder: Path) -> Path:
    """The folder of compiled code in a cache folder; it is complete, or it can be written.

    Raises: OSError
    """
    private_folder(folder / "kernels")
    codes = private_folder(folder / "kernels" / installation())
    if not is_complete(codes):
        tempfile.TemporaryFile(dir=codes).close()
    return codes


@cache
def installation() -> str:
    """A digest of what compiled code depends on besides sources: versions and the processor."""
    processor = platform.machine() + platform.processor()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features", "model name")):
                processor += line
            elif not line:
                break
    parts = [sys.version, np.__version__, processor]
    parts += [version(name) for name in ("numba", "llvmlite")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def has_all() -> bool:
    """Whether all kernels are in the cache."""
    try:
        return is_complete(code_folder())
    except OSError:
        return False


def is_complete(folder: Path) -> bool:
    """Whether all kernels of the present sources are in a folder of compiled code."""
    try:
        files = json.loads(complete_list(folder).read_bytes())
        return bool(files) and all(_stamp(file) == stamp for file, stamp in files.items())
    except (OSError, ValueError, AttributeError):
        return False


def complete_list(folder: Path) -> Path:
    """The file that lists the sources all of whose kernels are in the folder."""
    package = hashlib.sha256(__file__.encode()).hexdigest()[:16]
    return folder / f"complete-{package}.json"


def _stamp(file: str) -> list[float]:
    stat = Path(file).stat()
    return [stat.st_mtime, stat.st_size]


def write_complete(folder: Path, files: Iterable[str]) -> None:
    """List the sources all of whose kernels are in the folder.

    Raises: OSError
    """
    stamps = {file: _stamp(file) for file in files}
    replace_file(complete_list(folder), json.dumps(stamps).encode())


def remove_unused(folder: Path) -> None:
    """Remove what was not read for long, of other versions of Python and numba too."""
    if folder.name != installation():
        return  # a folder that the environment names
    for path in (*folder.parent.glob("*/*"), *folder.parent.glob("*")):
        with suppress(OSError):  # a folder that is not empty
            if wall_time() - path.stat().st_mtime > _UNUSED:
                path.rmdir() if path.is_dir() else path.unlink()


def replace_file(path: Path, data: bytes) -> None:
    """Write a file as a whole.

    Raises: OSError
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise


class DamagedCodeError(Exception):
    """The file of a kernel is damaged."""


class StoredCode:
    """Compiled code of one kernel on disk."""

    #: False after code could not be written.
    all_written = True
    #: Whether damage is an error, or the kernel is compiled where it is needed.
    damage_is_error = False
    #: Whether damage was logged.
    damage_logged = False

    def __init__(self, function: FunctionType, sources: str) -> None:
        """``sources`` is a digest of all that the machine code depends on in the sources."""
        self._function, self._sources = function, sources

    def read(self, key: object) -> Any:  # noqa: ANN401  # numba's own data
        """What was stored under a key; None if there is nothing or it is damaged.

        Raises: DamagedCodeError where ``damage_is_error``.
        """
        try:
            path = self._path(key)
            data = read_private(path)
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                self._report_damage(path)
                return None
            if wall_time() - path.stat().st_mtime > _UNUSED / 3:
                with suppress(OSError):  # the folder may be read-only
                    path.touch()
        except NotPrivateError as error:
            report_not_private(error)
            return None
        except OSError:
            return None
        return pickle.loads(data[32:])  # in a file and a folder that only this user may write

    @staticmethod
    def _report_damage(path: Path) -> None:
        """Log damage once in a process.

        Raises: DamagedCodeError where ``damage_is_error``.
        """
        if not StoredCode.damage_logged:
            StoredCode.damage_logged = True
            _log.warning("compiled kernels in %s are damaged and are compiled again", path.parent)
        if StoredCode.damage_is_error:
            raise DamagedCodeError

    def write(self, key: object, data: bytes) -> None:
        """Store data under a key; an error is logged once."""
        try:
            replace_file(self._path(key), hashlib.sha256(data).digest() + data)
        except OSError as error:  # a full disk, or no folder: it is compiled in each process
            if isinstance(error, NotPrivateError):
                report_not_private(error)
            elif StoredCode.all_written:
                _log.warning("compiled kernels cannot be cached: %s", error)
            StoredCode.all_written = False

    def _path(self, key: object) -> Path:
        function = self._function
        whole = (function.__module__, function.__qualname__, self._sources, key)
        digest = hashlib.sha256(repr(whole).encode()).hexdigest()[:24]
        return code_folder() / f"{function.__qualname__}-{digest}.code"
