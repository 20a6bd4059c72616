"""Kernels: numba's decorator, as the type checker is to see it.

Everything under it is compiled when it is first called and kept on disk; ``ready`` of the modules
that hold kernels calls them before any clock runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    Kernel = TypeVar("Kernel")

    def njit(*, cache: bool, nogil: bool, inline: str = "never") -> Callable[[Kernel], Kernel]:
        """What numba's decorator means to a type checker: nothing changes."""

else:
    from numba import njit

__all__ = ["njit"]
