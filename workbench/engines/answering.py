"""A process that answers one question after the other, ended and started again where it fails.

It can crash, hang or fill the memory without ending what asks it. Questions and answers are JSON,
one a line. The interpreter is this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from workbench.base.errors import WorkbenchError

#: One thread for each engine and its libraries.
ONE_THREAD = dict.fromkeys(
    (
        "RAYON_NUM_THREADS",
        "GLRMASK_COMPILE_THREADS",
        "OMP_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ),
    "1",
)

#: Seconds in which a process has to prepare itself.
_START_SECONDS = 120.0

#: Seconds after the patience in which a process ends itself, where nothing else ends it.
_GRACE = 10


class EngineLostError(Exception):
    """The process of an engine ended or did not answer; ``status`` says which."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class AnsweringProcess:
    """A process of a module that calls ``serve``, started when the first question is asked."""

    def __init__(self, module: str, arguments: Mapping[str, Any], patience: float) -> None:
        """``patience``: seconds without an answer after which the process is killed."""
        given = json.dumps({**arguments, "alarm": int(patience) + _GRACE})
        self._command = (sys.executable, "-P", "-m", module, given)
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._end: Callable[[], None] = _nothing
        #: Why the process cannot prepare itself; empty if it did, or was not started.
        self._fault = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the next line
        weakref.finalize(self, self._errors.close)

    def ask(self, question: Mapping[str, Any]) -> Any:  # noqa: ANN401  # JSON values
        """The answer.

        Raises: EngineLostError, and the next question starts a new process; WorkbenchError where a
                process ends before it is ready, for example because a module is missing.
        """
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            return self._answer(self._patience)
        except (BrokenPipeError, EngineLostError) as error:
            crashed = self._process is not None and self._process.poll() is not None
            self.close()
            if isinstance(error, EngineLostError) and not crashed:
                raise
            raise EngineLostError("crashed", self._last_error()) from None
        except BaseException:  # an interruption: the answer to this question may still come
            self.close()
            raise

    def close(self) -> None:
        """End the process; it is also ended with this object."""
        self._end()
        self._process = None

    def _answer(self, patience: float) -> Any:  # noqa: ANN401  # a JSON value
        try:
            while (line := self._lines.get(timeout=patience)) is not None:
                if line.startswith(b'{"answer"'):  # other lines are printed by libraries
                    return json.loads(line)["answer"]
        except queue.Empty:
            raise EngineLostError("timed out", f"no answer for {patience:g} s") from None
        raise EngineLostError("crashed", self._last_error())

    def _start(self) -> subprocess.Popen[bytes]:
        """A new process that has prepared itself."""
        if self._fault:
            raise self._unusable()
        self._lines = queue.SimpleQueue()
        self._errors.seek(0)
        self._errors.truncate()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **ONE_THREAD, "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # Ctrl-C ends what asks, which then ends this process
        )
        self._end = weakref.finalize(self, _stop, self._process)
        threading.Thread(target=read_lines, args=(self._process, self._lines), daemon=True).start()
        try:
            self._answer(max(_START_SECONDS, self._patience))
        except EngineLostError as error:
            if error.status != "crashed":
                raise
            self.close()
            self._fault = self._last_error()
            raise self._unusable() from None
        return self._process

    def _unusable(self) -> WorkbenchError:
        hint = "install what it needs, or choose other engines"
        return WorkbenchError(f"the engine is not usable: {self._fault}", hint)

    def _last_error(self) -> str:
        """The last line that the process wrote to stderr."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"its process ended: {lines[-1][:200]}" if lines else "its process ended"


def _nothing() -> None:
    """There is no process yet."""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and close its input; what it has written is read to the end."""
    assert process.stdin is not None
    process.kill()
    process.wait()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def read_lines(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    """Put the lines that a process prints into a queue, then None."""
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            lines.put(line)
    lines.put(None)


def serve(answer: Callable[[dict[str, Any]], Any], alarm: int) -> None:
    """Answer the questions on stdin until it ends.

    ``alarm``  seconds of a question after which the process ends, also inside native code.
    """
    print(json.dumps({"answer": "ready"}), flush=True)
    for line in sys.stdin:
        signal.alarm(alarm)
        print(json.dumps({"answer": answer(json.loads(line))}), flush=True)
        signal.alarm(0)


def limit_memory(gigabytes: int) -> None:
    """Limit the data that this process may hold."""
    size = gigabytes << 30
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
