"""Paths of the files that are installed with the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def _shared(name: str) -> Path:
    """A top-level folder: next to the package in a checkout, inside it in a wheel."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


GRAMMARS = _shared("grammars")
STATIC = _shared("static")
BUILTIN_MODEL = _PACKAGE / "decoding" / "builtin"
