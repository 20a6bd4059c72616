"""Paths of the files that are installed with the package, and of the folder for cached ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def _shared_folder(name: str) -> Path:
    """A top-level folder: next to the package in a checkout, inside it in a wheel."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


GRAMMARS = _shared_folder("grammars")
STATIC = _shared_folder("static")
BUILTIN_MODEL = _PACKAGE / "decoding" / "builtin"


def cache_folder() -> Path:
    """The user's cache folder for this project, as usual on the system; it need not exist.

    A relative XDG_CACHE_HOME is ignored, as its specification demands.

    Raises: RuntimeError if there is no home folder.
    """
    if (chosen := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        base = chosen
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "grammar-workbench"
