"""The decorator of numba kernels, typed for mypy, with a disk cache that follows called kernels.

Everything under ``njit`` is compiled when it is first called and kept on disk; ``ready`` of the
modules that hold kernels calls them before any clock runs. numba looks only at a kernel's own file
to tell whether what is on disk is up to date; here the files of all kernels it calls count as well.
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
        """What numba's decorator means to a type checker: nothing changes.

        A kernel that makes no arrays compiles in half the time without numba's runtime
        (``_nrt``): then nobody counts references to those it is given.
        """

    def inner(function: Kernel) -> Kernel:
        """A kernel that makes no arrays and is called by kernels only, so it needs no way in."""

    def inlined(function: Kernel) -> Kernel:
        """The same, written into the kernels that call it.

        What thirty arrays are handed to takes longer to compile than what it does.
        """

    def int64(number: object) -> int:
        """A number of 64 bits: numba compiles a kernel for each width it is called with."""

else:
    import numba
    from numba import int64
    from numba.core.registry import CPUDispatcher

    def njit(**options: object) -> Callable[[Kernel], Kernel]:
        """numba's decorator, for kernels that only Python and other kernels call."""
        return lambda function: _stamped(numba.njit(no_cfunc_wrapper=True, **options)(function))

    def inner(function: Kernel) -> Kernel:
        """The same for kernels that only other kernels call."""
        return _inner(inline="never")(function)

    def _inner(inline: str) -> Callable[[Kernel], Kernel]:
        options = {"cache": True, "nogil": True, "_nrt": False, "no_cpython_wrapper": True}
        return njit(inline=inline, **options)

    def inlined(function: Kernel) -> Kernel:
        """The same for kernels that are written into those that call them."""
        return _inner(inline="always")(function)

    def _stamped(kernel: Kernel) -> Kernel:
        """What is on disk counts only while the files of all kernels it calls are as they were."""
        kept = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if kept is None:  # numba's own; without it, its own stamp has to do
            return kernel
        load = kept._load_index

        def loaded() -> object:
            # not before: a kernel may call others that are defined below it
            kept._source_stamp = [_stamp(file) for file in sorted(_files(kernel, set()))]
            try:
                return load()
            except (AttributeError, ImportError):  # another version's, with types of its own
                return {}

        kept._load_index = loaded
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
    """The compiled kernel for arguments of exactly these types, which it no longer looks at.

    For kernels whose work takes less than looking at the types of thirty arrays does, 2 µs.
    Arrays may be read-only where the example's are not, if the kernel does not write them.
    """
    import numba

    signature, dispatcher = tuple(map(numba.typeof, example)), cast("Any", kernel)
    dispatcher.compile(signature)
    return cast("Kernel", dispatcher.get_overload(signature))


def when_compiling(tell: Callable[[], None]) -> None:
    """Have somebody told, once, if kernels are compiled in this process and not read from disk."""
    from numba.core import event

    class Teller(event.Listener):
        told = False

        def on_start(self, _: object) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, _: object) -> None:
            """Nobody wants to know."""

    event.register("numba:compile", Teller())  # type: ignore[no-untyped-call]


#: Seconds after a kernel was compiled in which the next one is expected.
_BETWEEN_KERNELS = 2.0


@cache
def compile_watch() -> Callable[[], bool]:
    """A function that says whether this process is compiling kernels now."""
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
