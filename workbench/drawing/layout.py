"""One Graphviz process that is kept running: DOT to SVG within a time limit.

Graphviz cannot be interrupted, so it runs in a separate process that is killed at its time
limit. Where pygraphviz is missing, the system's ``dot`` program does the same, a process a picture.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import WorkbenchError

_PROGRAM = Path(__file__).with_name("layout_worker.py")

#: Seconds a fresh process may take to import Graphviz (0.2 measured; a busy machine needs more).
_START_SECONDS = 30.0


class LayoutError(WorkbenchError):
    """Graphviz could not be run, or refused a picture."""


class LayoutTimeoutError(TimeoutError):
    """The layout took longer than it may; the process is gone."""


@dataclass(frozen=True, slots=True)
class Job:
    """One layout: the text, which of Graphviz's layouts, and graph attributes set on top."""

    dot: str
    seconds: float
    prog: str = "dot"
    format: str = "svg"
    attributes: Mapping[str, str] = field(default_factory=dict)


class Worker:
    """The process with pygraphviz in it; started when first needed, and again after a kill.

    Not for two threads together: ``render.Renderer`` hands each of its workers to one.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def layout(self, job: Job) -> bytes:
        """The picture.

        Raises: LayoutTimeoutError; LayoutError with Graphviz's own words; ImportError where
                there is no pygraphviz, or it does not run.
        """
        process = self._running()
        message = {
            "dot": job.dot,
            "prog": job.prog,
            "format": job.format,
            "attributes": dict(job.attributes),
            "seconds": job.seconds,
        }
        answer = self._exchange(process, json.dumps(message).encode(), job.seconds)
        if answer[:1] == b"+":
            return answer[1:]
        raise LayoutError(
            f"graphviz could not lay the picture out: {answer[1:].decode(errors='replace')}",
            "look at the table of states instead",
        )

    def close(self) -> None:
        """End the process; the next layout starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        # -P keeps this folder off the path: its modules have names other packages use too
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            greeting = self._exchange(self._process, None, _START_SECONDS)
        except LayoutTimeoutError:
            raise ImportError("the layout process does not start") from None
        if greeting[:1] != b"+":
            self.close()
            raise ImportError(greeting[1:].decode(errors="replace"))
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], message: bytes | None, seconds: float
    ) -> bytes:
        """Send a message and read its answer, or kill the process when the time is over."""
        # killing makes the blocked read return; unlike select() this works on every system
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            if message is not None:
                _write(process, message)
            return _read(process)
        except (OSError, EOFError):
            self.close()
            raise LayoutTimeoutError from None
        except BaseException:
            # interrupted (Ctrl-C): the answer is still to come and would be taken for the next one
            self.close()
            raise
        finally:
            timer.cancel()


def _write(process: subprocess.Popen[bytes], message: bytes) -> None:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(struct.pack(">I", len(message)) + message)
    process.stdin.flush()


def _read(process: subprocess.Popen[bytes]) -> bytes:
    if process.stdout is None:
        raise EOFError
    head = process.stdout.read(4)
    if len(head) < 4:
        raise EOFError
    (length,) = struct.unpack(">I", head)
    body = process.stdout.read(length)
    if len(body) < length:
        raise EOFError
    return body


def layout_by_program(job: Job) -> bytes:
    """The same picture from the system's Graphviz.

    Raises: LayoutTimeoutError; LayoutError where there is no such program, or it refused.
    """
    program = shutil.which("dot")
    if program is None:
        raise LayoutError(
            "no Graphviz was found, so there are no pictures",
            "pip install pygraphviz brings one; so does the system's graphviz package",
        )
    flags = [f"-G{name}={value}" for name, value in job.attributes.items()]
    try:
        done = subprocess.run(
            [program, f"-K{job.prog}", f"-T{job.format}", *flags],
            input=job.dot.encode(),
            capture_output=True,
            timeout=job.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LayoutTimeoutError from None
    if done.returncode or not done.stdout:
        words = done.stderr.decode(errors="replace").strip()
        raise LayoutError(f"graphviz could not lay the picture out: {words}")
    return done.stdout
