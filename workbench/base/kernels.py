"""Decorators for numba kernels, typed for mypy, with a disk cache that follows called kernels.

A kernel is compiled at its first call and cached on disk. Each module with kernels has a function
``ready`` that calls them, so that no time limit includes compilation. numba decides by the
kernel's own source file whether the cached code is up to date; here the source files of all
kernels it calls count as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

if TYPE_CHECKING:

    def njit(
        *, cache: bool, nogil: bool, inline: str = "never", _nrt: bool = True
    ) -> Callable[[Kernel], Kernel]:
        """Compile a function with numba; for the type checker its type does not change.

        A kernel that allocates no arrays compiles in half the time without numba's runtime
        (``_nrt=False``): then references to its arguments are not counted.
        """

    def inner(function: Kernel) -> Kernel:
        """A kernel that allocates no arrays and is called only by kernels: no Python wrapper."""

    def inlined(function: Kernel) -> Kernel:
        """The same, inlined into the kernels that call it.

        For a function with thirty array arguments the call takes longer to compile than the body.
        """

    def int64(number: object) -> int:
        """A 64-bit integer: numba compiles a kernel again for each integer width."""

else:
    import numba
    from numba import int64
    from numba.core.registry import CPUDispatcher

    def njit(**options: object) -> Callable[[Kernel], Kernel]:
        """numba's decorator, for kernels that only Python and other kernels call."""
        return lambda function: _stamped(numba.njit(no_cfunc_wrapper=True, **options)(function))

    def inner(function: Kernel) -> Kernel:
        """``njit`` for kernels that only other kernels call."""
        return _inner(inline="never")(function)

    def _inner(inline: str) -> Callable[[Kernel], Kernel]:
        options = {"cache": True, "nogil": True, "_nrt": False, "no_cpython_wrapper": True}
        return njit(inline=inline, **options)

    def inlined(function: Kernel) -> Kernel:
        """``inner`` for kernels that are inlined into their callers."""
        return _inner(inline="always")(function)

    def _stamped(kernel: Kernel) -> Kernel:
        """The kernel; its cached code is used only if no file of a kernel it calls changed."""
        cache_file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if (
            cache_file is None
        ):  # a private attribute of numba; without it, numba's own stamp is used
            return kernel
        load = cache_file._load_index

        def loaded() -> object:
            # computed here because a kernel may call others that are defined below it
            cache_file._source_stamp = [_stamp(file) for file in sorted(_files(kernel, set()))]
            try:
                return load()
            except (AttributeError, ImportError):  # written by another version of numba
                return {}

        cache_file._load_index = loaded
        return kernel

    @cache
    def _stamp(file: str) -> tuple[float, int]:
        stat = Path(file).stat()
        return stat.st_mtime, stat.st_size

    def _files(kernel: Kernel, seen: set[object]) -> set[str]:
        """The source files of a kernel and of all kernels it calls."""
        seen.add(kernel)
        function = kernel.py_func
        files = {function.__code__.co_filename}
        for called in map(function.__globals__.get, function.__code__.co_names):
            if isinstance(called, CPUDispatcher) and called not in seen:
                files |= _files(called, seen)
        return files


def direct(kernel: Kernel, *example: object) -> Kernel:
    """The compiled kernel for arguments of exactly these types, without checking them.

    For kernels that take less time than the type check of thirty arrays, 2 µs. An array may be
    read-only where the example's is not, if the kernel does not write to it.
    """
    import numba

    signature, dispatcher = tuple(map(numba.typeof, example)), cast("Any", kernel)
    dispatcher.compile(signature)
    return cast("Kernel", dispatcher.get_overload(signature))


def when_compiling(callback: Callable[[], None]) -> None:
    """Call ``callback`` once if this process compiles a kernel rather than loading it from disk."""
    from numba.core import event

    class Once(event.Listener):
        called = False

        def on_start(self, _: object) -> None:
            if not self.called:
                self.called = True
                callback()

        def on_end(self, _: object) -> None:
            """Required by the listener interface."""

    event.register("numba:compile", Once())  # type: ignore[no-untyped-call]


#: Seconds after the end of a compilation within which the next one is expected to begin.
_BETWEEN_KERNELS = 2.0


@cache
def compile_watch() -> Callable[[], bool]:
    """A function that returns whether this process is compiling kernels now."""
    from numba.core import event

    class Watch(event.Listener):
        under_way = 0
        last = -math.inf

        def on_start(self, _: object) -> None:
            self.under_way += 1

        def on_end(self, _: object) -> None:
            self.under_way -= 1
            self.last = time.monotonic()

    watch = Watch()
    event.register("numba:compile", watch)  # type: ignore[no-untyped-call]
    return lambda: watch.under_way > 0 or time.monotonic() - watch.last < _BETWEEN_KERNELS


__all__ = ["compile_watch", "direct", "inlined", "inner", "int64", "njit", "when_compiling"]
