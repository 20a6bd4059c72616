"""Kernels: functions that numba compiles, and that run as ordinary Python until that is done.

A new installation has no compiled kernels, and compiling all of them takes many seconds. The first
call of a kernel therefore starts another process that compiles them into the user's cache folder.
Meanwhile this process runs the same functions as ordinary Python: the results are the same, but
a mask takes longer. When the other process has ended, all kernels are replaced at
once by their compiled forms. A call that is running ends as it began.

::

    undecided ──first call──▶ all kernels are in the cache ──────────────▶ compiled
                              some are missing ──▶ interpreted ──switch──▶ compiled
    compiled ──a file of the cache is damaged──▶ undecided, once

The cache (``kernel_cache``) has one file for each kernel and types of arguments. Its name is a
digest of everything the machine code depends on (sources of the kernel and of all kernels it calls,
the constants they refer to, types, versions, processor).

``WORKBENCH_KERNELS=compiled`` compiles each kernel in this process at its first call, for tests;
``python`` never compiles. ``python -m workbench.constraint.kernel_examples`` fills the cache.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import IntEnum
from functools import cache
from pathlib import Path
from time import monotonic, perf_counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar, cast

import numpy as np

from workbench.base.cached_property import cached_property
from workbench.base.cpu_time import begin_uncounted, end_uncounted, uncounted
from workbench.base.kernel_cache import (
    FOLDER_VARIABLE,
    DamagedCodeError,
    StoredCode,
    code_folder,
    complete_list,
    has_all,
    installation,
    is_complete,
    remove_unused,
    write_complete,
)

KernelFunction = TypeVar("KernelFunction", bound=Callable[..., Any])

#: Which form of the kernels is called.
Form = Literal["undecided", "interpreted", "compiled"]

#: The module whose ``main`` calls every kernel with the types of arguments that occur.
_EXAMPLES = "workbench.constraint.kernel_examples"

#: The seconds after which a process that compiles is ended: in all, and without a new kernel.
_MAX_SECONDS = 300.0
_MAX_SILENCE = 90.0

#: The seconds between two looks at a process that compiles.
_WATCH_SECONDS = 0.1


class Kernel:
    """A function of the subset of Python that numba compiles; called like the function.

    Both forms have copies of the module's names, in which each kernel is replaced by the same form
    of it. So a call that began as ordinary Python does not change to compiled code inside.
    """

    def __init__(self, function: FunctionType, options: dict[str, object]) -> None:
        self.py_func, self._options = function, options
        #: Whether integers may wrap around, see ``wrapping``.
        self.wraps = False
        self._call: Callable[..., Any] = self._first_call
        with _lock:
            _kernels.append(self)

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401  # the function's result
        try:
            return self._call(*arguments)
        except DamagedCodeError:  # before the function began
            _compile_again()
            return self._call(*arguments)

    def _first_call(self, *arguments: object) -> object:
        with uncounted():
            _decide()
            self.choose_form()
        return self._call(*arguments)

    def choose_form(self) -> None:
        """From now on, calls run the present form."""
        with _lock:
            self._call = self.compiled if _state.form == "compiled" else self._interpret

    def _interpret(self, *arguments: object) -> object:
        # numpy's numbers are narrower than those of compiled code: no result may depend on that
        with np.errstate(over="raise"):
            return _plain(self.interpreted(*arguments))

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function as ordinary Python."""
        function = _copy(self.py_func, "interpreted")
        return np.errstate(over="ignore")(function) if self.wraps else function

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """numba's dispatcher, which reads compiled code from the cache or compiles it."""
        import numba

        _leave_out_compilations()
        options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, **self._options}
        dispatcher: Any = numba.njit(**options)(_copy(self.py_func, "compiled"))
        dispatcher._cache = _code_cache()(self)
        return cast("Callable[..., Any]", dispatcher)

    @cached_property
    def sources(self) -> str:
        """A digest of what the code depends on besides types: of all kernels it calls too."""
        parts = sorted(kernel._parts for kernel in _collect_kernels(self, {}))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def _parts(self) -> str:
        """The source of this kernel, and the values of names that are constants to numba."""
        function = self.py_func
        names = [
            (name, _constant(name, value))
            for name, value in _global_names(function)
            if not isinstance(value, Kernel)
        ]
        file = _digest(function.__code__.co_filename)
        return repr((function.__module__, function.__qualname__, file, self._options, names))


class _Overload(Kernel):
    """The compiled code of a kernel for certain types, called without a check of the types."""

    def __init__(self, kernel: Kernel, example: tuple[object, ...]) -> None:
        self._kernel, self._example = kernel, example
        super().__init__(kernel.py_func, {})

    @cached_property
    def interpreted(self) -> Callable[..., Any]:
        return self._kernel.interpreted

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        import numba

        signature, dispatcher = (
            tuple(map(numba.typeof, self._example)),
            cast("Any", self._kernel.compiled),
        )
        dispatcher.compile(signature)
        return cast("Callable[..., Any]", dispatcher.get_overload(signature))


class _State:
    """Which form of the kernels this process calls."""

    form: Form = "undecided"
    #: When the compiled forms replaced the others, by ``time.perf_counter``.
    switched = -float("inf")
    #: Set when no other process is compiling for this one, or not any more.
    settled = threading.Event()
    #: Whether all kernels were compiled again because a file was damaged.
    repaired = False
    #: Called once when something has to wait for the compiled kernels.
    announce: Callable[[], None] | None = None


_log = logging.getLogger(__name__)
_state = _State()
_lock = threading.RLock()
_kernels: list[Kernel] = []
#: The names of a module as its kernels see them, by the module and the form.
_scopes: dict[tuple[str, Form], dict[str, Any]] = {}


if TYPE_CHECKING:

    def njit(
        *, inline: str = "never", _nrt: bool = True, no_cpython_wrapper: bool = False
    ) -> Callable[[KernelFunction], KernelFunction]:
        """Make a function a kernel; for the type checker its type does not change.

        A kernel that allocates no arrays compiles in half the time without numba's runtime
        (``_nrt=False``): then references to its arguments are not counted.
        """

    def inner(function: KernelFunction) -> KernelFunction:
        """A kernel that allocates no arrays and is called only by kernels: no Python wrapper."""

    def inlined(function: KernelFunction) -> KernelFunction:
        """The same, inlined into the kernels that call it.

        For a function with thirty array arguments the call takes longer to compile than the body.
        """

else:

    def njit(**options: object) -> Callable[[FunctionType], Kernel]:
        """Make a function a kernel with options of numba."""
        return lambda function: Kernel(function, options)

    def inner(function: FunctionType) -> Kernel:
        """A kernel that only kernels call."""
        return Kernel(function, {"_nrt": False, "no_cpython_wrapper": True})

    def inlined(function: FunctionType) -> Kernel:
        """A kernel that is inlined into those that call it."""
        return Kernel(function, {"_nrt": False, "no_cpython_wrapper": True, "inline": "always"})


def wrapping(kernel: KernelFunction) -> KernelFunction:
    """A kernel whose integers wrap around on purpose, as hashes do: no warning in ordinary Python.

    Only above ``njit`` or ``inner``.
    """
    cast("Kernel", kernel).wraps = True
    return kernel


def of_arrays(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of numbers alone, without branches, as a function of numpy's arrays."""
    return cast("Kernel", kernel).py_func


def int64(number: Any) -> int:  # noqa: ANN401
    """A 64-bit integer that wraps around; numba compiles a kernel again for each integer width."""
    return cast("int", np.int64(number))


def direct(kernel: KernelFunction, *example: object) -> KernelFunction:
    """The kernel for arguments of exactly these types; the compiled form does not check them.

    For kernels that take less time than the type check of thirty arrays, 2 µs. An array may be
    read-only where the example's is not, if the kernel does not write to it.
    """
    return cast("KernelFunction", _Overload(cast("Kernel", kernel), example))


def interpreting() -> bool:
    """Whether kernels run as ordinary Python because another process is still compiling them."""
    return _state.form != "undecided" and not _state.settled.is_set()


def wait_until_compiled(check: Callable[[], None] = lambda: None) -> bool:
    """Wait if another process is compiling the kernels; whether the compiled forms are used.

    ``check`` is called while it waits, and may raise to end the wait.
    """
    _decide()
    if not _state.settled.is_set():
        _announce()
        while not _state.settled.wait(_WATCH_SECONDS):
            check()
    return _state.form == "compiled"


def switched_at() -> float:
    """When compiled kernels replaced ordinary Python, by ``time.perf_counter``; −∞ if they did not.

    Work that used up its seconds as ordinary Python waits for the compiled kernels; its seconds
    are then counted from there.
    """
    return _state.switched


def when_waiting(callback: Callable[[], None]) -> None:
    """Call ``callback`` once if something has to wait until kernels are compiled."""
    _state.announce = callback


def _announce() -> None:
    callback, _state.announce = _state.announce, None
    if callback is not None:
        callback()


def compile_all(examples: Callable[[], object]) -> None:
    """Call kernels in their compiled form, so that all are in the cache, and note that they are.

    While another process does the same, this one waits for it.

    Raises: OSError if the cache cannot be written.
    """
    from filelock import FileLock

    with _lock:
        assert _state.form != "interpreted", "a process that compiles has called no kernel before"
        _state.form = "compiled"
        _state.settled.set()
    folder = code_folder()
    with FileLock(complete_list(folder).with_suffix(".lock"), timeout=_MAX_SECONDS):
        if is_complete(folder):
            return
        examples()
        if StoredCode.all_written:
            remove_unused(folder)
            write_complete(folder, _loaded_files())


def _loaded_files() -> Iterator[str]:
    """The files of all modules that this process has imported from the packages with kernels."""
    packages = {kernel.py_func.__module__.partition(".")[0] for kernel in _kernels}
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] in packages and (file := getattr(module, "__file__", None)):
            yield file


def _decide() -> None:
    """Choose the form at the first call of any kernel."""
    with _lock:
        if _state.form != "undecided":
            return
        chosen = os.environ.get("WORKBENCH_KERNELS", "auto")
        if chosen == "compiled" or (chosen == "auto" and has_all()):
            _state.form = "compiled"
        else:
            _state.form = "interpreted"
        # the present process compiles only what it was asked to, or cannot repair
        recovers = _state.form == "compiled" and chosen == "auto" and not _state.repaired
        StoredCode.damage_is_error = recovers
        if _state.form == "compiled" or chosen == "python":
            _state.settled.set()
            return
    threading.Thread(target=_switch_when_compiled, name="kernels", daemon=True).start()


def _switch_when_compiled() -> None:
    """Let another process compile all kernels, then replace the interpreted forms."""
    try:
        _compile_in_another_process()
        import numba  # noqa: F401  # before the switch, because it takes half a second

        with _lock:
            _state.form = "compiled"
            for kernel in _kernels:
                if kernel._call != kernel._first_call:
                    kernel.choose_form()
            _state.switched = perf_counter()
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("kernels remain ordinary Python, which is slower: %s", error)
    finally:
        _state.settled.set()


def _compile_again() -> None:
    """Let another process compile all kernels, because files of the cache are damaged."""
    with _lock:
        if _state.repaired:
            return  # by another thread
        _state.repaired, StoredCode.damage_is_error = True, False
        with suppress(OSError):  # in a read-only folder, this process compiles what it needs
            complete_list(code_folder()).unlink(missing_ok=True)
        for key in [key for key in _scopes if key[1] == "compiled"]:
            del _scopes[key]
        for kernel in _kernels:
            vars(kernel).pop("compiled", None)
        _decide_anew()


def _decide_anew() -> None:
    """Let the next call of any kernel choose the form."""
    _state.form, _state.settled = "undecided", threading.Event()
    for kernel in _kernels:
        kernel._call = kernel._first_call


def _after_fork() -> None:
    """A child process has no thread that switches: it decides again at its next call.

    The forking thread holds ``_lock``, so no other thread was in the middle of a change.
    """
    global _lock
    _lock = threading.RLock()
    if not _state.settled.is_set():
        _decide_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_after_fork,
    )


def _compile_in_another_process() -> None:
    """Have all kernels compiled into the cache.

    Raises: OSError if no process can be started; SubprocessError if it fails or does not end,
            with the last line of its errors.
    """
    code = (
        # it ends by itself too, because this process may end earlier
        f"import faulthandler; faulthandler.dump_traceback_later({_MAX_SECONDS}, exit=True)\n"
        f"import sys; sys.path[:] = {sys.path!r}; import {_EXAMPLES} as m; m.main()"
    )
    with tempfile.TemporaryFile(dir=code_folder()) as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, FOLDER_VARIABLE: str(code_folder())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # it continues if this process ends
        )
        try:
            status = _watch(process, code_folder())
        except subprocess.SubprocessError:
            _kill(process)
            raise
        if status:
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").split("\n")
            message = next(filter(str.strip, reversed(lines)), f"exit status {status}")
            raise subprocess.SubprocessError(message)


def _watch(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The exit status of a process that compiles into a folder, once it ends.

    Raises: SubprocessError if it takes too long, or writes nothing for long: it hangs, is stopped,
            or waits for one of which this is true.
    """
    began = progressed = monotonic()
    changed = folder.stat().st_mtime_ns
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_WATCH_SECONDS)
        now, before = monotonic(), changed
        changed = folder.stat().st_mtime_ns
        if changed != before:
            progressed = now
        if now - began > _MAX_SECONDS:
            raise subprocess.SubprocessError(f"not compiled in {_MAX_SECONDS:g} s")
        if now - progressed > _MAX_SILENCE:
            raise subprocess.SubprocessError(f"no kernel was compiled in {_MAX_SILENCE:g} s")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _copy(function: FunctionType, form: Form) -> FunctionType:
    """The function with other kernels in the same form as its global names."""
    scope = _scope(function.__globals__, form)
    copied = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__qualname__ = function.__qualname__
    return copied


def _plain(result: object) -> object:
    """The result with Python's numbers, as compiled kernels return them."""
    if isinstance(result, np.generic):
        return result.item()
    if type(result) is tuple:
        return tuple(map(_plain, result))
    return result


def _scope(names: dict[str, Any], form: Form) -> dict[str, Any]:
    key = names["__name__"], form
    with _lock:
        if key in _scopes:
            return _scopes[key]
        # stored before it is filled, because kernels call each other
        scope = _scopes[key] = dict(names)
        for name, value in names.items():
            if isinstance(value, Kernel):
                scope[name] = value.interpreted if form == "interpreted" else value.compiled
            elif value is int64 and form == "compiled":
                import numba

                scope[name] = numba.int64
            elif _is_enum(value) and form == "compiled":
                scope[name] = _numbers_of(value)
    return scope


def _is_enum(value: object) -> TypeGuard[type[IntEnum]]:
    return isinstance(value, type) and issubclass(value, IntEnum)


def _numbers_of(kind: type[IntEnum]) -> tuple[int, ...]:
    """The members of an enum as a named tuple of integers: numba's own enums unify with none."""
    numbers = namedtuple(kind.__name__, kind.__members__)  # type: ignore[misc]
    return cast("tuple[int, ...]", numbers(*map(int, kind)))


def _collect_kernels(kernel: Kernel, kernels: dict[Kernel, None]) -> dict[Kernel, None]:
    """A kernel and all kernels it calls, added to ``kernels``."""
    kernels[kernel] = None
    for _, called in _global_names(kernel.py_func):
        if isinstance(called, Kernel) and called not in kernels:
            _collect_kernels(called, kernels)
    return kernels


def _global_names(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The module's names that a function refers to, with their values."""
    codes = [function.__code__]
    for code in codes:
        codes += (inner for inner in code.co_consts if isinstance(inner, CodeType))
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _constant(name: str, value: object) -> object:
    """What determines the machine code of a name's value, of the types that kernels may refer to.

    Raises: TypeError for a value of another type.
    """
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return _qualified_name(type(value)), [_constant(name, item) for item in value]
    if _is_enum(value):
        return _qualified_name(value), [(member.name, int(member)) for member in value]
    if isinstance(value, type):
        return _qualified_name(value), getattr(value, "_field_defaults", None)
    if value is np or value is math or value is int64:
        return None  # their versions are part of ``installation``
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic | None):
        return type(value).__name__, value
    raise TypeError(f"a kernel refers to {name!r}, which is a {type(value).__name__}")


def _qualified_name(kind: type) -> tuple[object, ...]:
    """A class by name, with the names of its fields if it is a named tuple."""
    return kind.__module__, kind.__qualname__, getattr(kind, "_fields", None)


def _named_tuples(types: Iterable[Any]) -> Iterator[tuple[object, ...]]:
    """The classes of named tuples in types of numba, whose names do not have those of fields."""
    for numba_type in types:
        if hasattr(numba_type, "instance_class"):
            yield _qualified_name(numba_type.instance_class)
        yield from _named_tuples(getattr(numba_type, "types", ()))


@cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@cache
def _leave_out_compilations() -> None:
    """Let no limit count the compilations in this process."""
    from numba.core import event

    class Compilations(event.Listener):
        def on_start(self, _: object) -> None:
            _announce()
            begin_uncounted()

        def on_end(self, _: object) -> None:
            end_uncounted()

    event.register("numba:compile", Compilations())


@cache
def _code_cache() -> type:
    """The class of numba's caches that store code with ``StoredCode``."""
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps

    rebuild: Any = CompileResult._rebuild
    dump: Any = dumps

    class Cache(NullCache):
        def __init__(self, kernel: Kernel) -> None:
            self._code = StoredCode(kernel.py_func, kernel.sources)

        def load_overload(self, signature: object, target: Any) -> object:  # noqa: ANN401
            with uncounted():
                target.refresh()
                stored = self._code.read(self._key(signature, target.codegen()))
                return None if stored is None else rebuild(target, *stored)

        def save_overload(self, signature: object, result: Any) -> None:  # noqa: ANN401
            if not result.lifted and not result.library.has_dynamic_globals:
                self._code.write(self._key(signature, result.codegen), dump(result._reduce()))

        def _key(self, signature: Any, codegen: Any) -> tuple[object, ...]:  # noqa: ANN401
            fields = list(_named_tuples(signature))
            return str(signature), fields, codegen.magic_tuple(), installation()

    return Cache


__all__ = [
    "compile_all",
    "direct",
    "inlined",
    "inner",
    "int64",
    "interpreting",
    "njit",
    "of_arrays",
    "switched_at",
    "wait_until_compiled",
    "when_waiting",
    "wrapping",
]  # fmt: skip
