"""Folders and files that only this user may change: caches whose content is run or trusted.

Machine code is read from the cache, and arrays whose indices kernels do not check. So a folder or a
file that another user owns or may write is not read. Root may write everywhere and counts as this
user. On Windows, the user's folders have access lists that exclude other users; nothing is checked.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

from workbench.base.resources import cache_folder

_log = logging.getLogger(__name__)

#: The folders with something that was reported.
_reported = set[Path]()


def private_cache_folder() -> Path:
    """The user's cache folder for this project, else one in the temporary folder; it exists.

    Raises: OSError if neither can be made, or others may write to both.
    """
    try:
        return private_folder(cache_folder())
    except NotPrivateError as error:
        report_not_private(error)
    except RuntimeError:  # there is no home folder
        pass
    return temporary_folder()


def temporary_folder() -> Path:
    """A folder of the user in the system's temporary folder; it is the same in all processes.

    Raises: OSError if it cannot be made or others may write to it.
    """
    owner = "" if sys.platform == "win32" else os.getuid()
    folder = Path(tempfile.gettempdir()) / f"grammar-workbench-{owner}"
    if folder.is_symlink():
        raise NotPrivateError(folder, "is a link")
    return private_folder(folder)


def private_folder(folder: Path) -> Path:
    """The folder, made for this user alone if it does not exist.

    Raises: OSError if it cannot be made; NotPrivateError if others may write to it.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    check_private(folder)
    return folder


def read_private(path: Path) -> bytes:
    """The content of a file.

    Raises: OSError; NotPrivateError if others may write to it.
    """
    with path.open("rb") as file:
        check_private(path, file.fileno())
        return file.read()


class NotPrivateError(PermissionError):
    """Others than this user may write to the folder or file ``path``."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path


def check_private(path: Path, descriptor: int | None = None) -> None:
    """Raise NotPrivateError if others may write to a folder or file, or to an open file.

    Raises: OSError if there is nothing.
    """
    if sys.platform == "win32":
        return
    status = os.stat(path if descriptor is None else descriptor)
    # the owner of a link may change where it leads
    owners = {status.st_uid, path.lstat().st_uid if descriptor is None else status.st_uid}
    if not owners <= {0, os.getuid()}:
        raise NotPrivateError(path, "belongs to another user")
    is_shared = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    if status.st_mode & stat.S_IWOTH or is_shared:
        raise NotPrivateError(path, "can be written by other users")


@cache
def _is_own_group(number: int) -> bool:
    """Whether a group has the name of this user and no other member, as on many systems."""
    import grp
    import pwd

    try:
        group, name = grp.getgrgid(number), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def report_not_private(error: NotPrivateError) -> None:
    """Log why a cache is not used; once for all files of a folder."""
    if error.path.parent not in _reported:
        _reported.add(error.path.parent)
        hint = "remove it, or let only its user write to it"
        _log.warning("a cache is not used: %s; %s", error, hint)
