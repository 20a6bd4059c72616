"""Files of a model by its name: a directory, or a hub id; local copies first, then the network."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

_Loaded = TypeVar("_Loaded")

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def directory_of(name: str) -> Path | None:
    """The directory a name stands for, or None where it may be a hub id.

    Raises: FileNotFoundError for a name that can only be a path and is none.
    """
    try:
        path = Path(name).expanduser()
        if name and path.is_dir():
            return path
        is_path = path.is_file() or path.is_absolute() or name.startswith((".", "~"))
    except (OSError, RuntimeError):  # too long, or the home of nobody
        is_path = True
    if is_path:
        raise FileNotFoundError(f"expected the directory of a model, {name[:200]!r} is none")
    if not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise FileNotFoundError(f"expected a directory or a hub id, {name[:200]!r} is neither")
    return None


def local_first(load: Callable[[bool], _Loaded]) -> _Loaded:
    """``load(True)`` from local files alone; where that fails and the hub answers, ``load(False)``.

    Asking the hub's own client without a network means half a minute of retries, so
    its door is tried first.

    Raises: whatever ``load`` raises.
    """
    try:
        return load(True)
    except OSError:
        if not _reachable():
            raise
    return load(False)


def _reachable() -> bool:
    """Whether the hub can be asked: not told to stay offline, and its host answers."""
    from huggingface_hub import constants  # takes a moment, and only hub ids need it

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
