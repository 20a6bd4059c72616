"""Seconds from import to the first mask in new processes, with and without a cache on disk.

Without a cache, kernels run as ordinary Python while another process compiles them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.base.errors import WorkbenchError

#: Examples of the gallery whose first mask is computed.
_EXAMPLES = ("time", "json")

#: What a new process runs; it prints the seconds until the first mask and the compiled kernels.
_PROCESS = """
import sys, time
began = time.perf_counter()
import workbench as wb
from workbench.base.kernels import wait_until_compiled
from workbench.grammar.gallery import load_gallery
example = load_gallery()[sys.argv[1]]
vocabulary = wb.Vocabulary.load(sys.argv[2])
grammar = wb.Grammar.from_text(example.text, wb.Notation(example.notation), example.start)
constraint = wb.compile(grammar, vocabulary)
constraint.mask(constraint.initial)
print(time.perf_counter() - began, flush=True)
wait_until_compiled()
print(time.perf_counter() - began)
"""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The start of a new process; all times in seconds since it began to import."""

    vocabulary: str
    example: str
    #: The first mask without and with a cache.
    new: float
    cached: float
    #: When all kernels were compiled, without a cache.
    compiled: float


def cold_starts(vocabulary: str, repetitions: int, patience: float) -> Iterator[ColdStart]:
    """The medians over some processes, for each grammar; ``patience`` in seconds for each process.

    Raises: ProcessError if a process fails or takes too long.
    """
    for example in _EXAMPLES:
        start_seconds(example, vocabulary, {}, patience)  # fills the user's cache
        new = []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                empty = {"XDG_CACHE_HOME": folder}
                new.append(start_seconds(example, vocabulary, empty, patience))
        cached = [start_seconds(example, vocabulary, {}, patience)[0] for _ in range(repetitions)]
        yield ColdStart(
            vocabulary,
            example,
            new=statistics.median(first for first, _ in new),
            cached=statistics.median(cached),
            compiled=statistics.median(ready for _, ready in new),
        )


class ProcessError(WorkbenchError):
    """A process ended before its first mask."""


def start_seconds(
    example: str, vocabulary: str, changed: dict[str, str], patience: float
) -> tuple[float, float]:
    """Seconds from import to the first mask, and until all kernels were compiled.

    ``changed`` are variables of the environment.

    Raises: ProcessError where the process fails or takes too long, with its last error.
    """
    command = [sys.executable, "-P", "-c", _PROCESS, example, vocabulary]
    environment = {**os.environ, "WORKBENCH_KERNELS": "auto", **changed}
    try:
        ran = subprocess.run(
            command, env=environment, check=True, capture_output=True, timeout=patience
        )
    except subprocess.TimeoutExpired as late:
        missing = "compiled kernels" if late.stdout else "first mask"
        raise ProcessError(f"no {missing} within {patience:g} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        named = [line for line in lines if "Error" in line.split(":")[0]] or lines[-1:]
        raise ProcessError(f"a new process failed: {' '.join(named[-1:])}") from None
    first, ready = map(float, ran.stdout.split())
    return first, ready


def cold_start_table(found: Iterable[ColdStart]) -> str:
    """The measurements as text."""
    lines = [f"{'seconds from import':28}{'new':>8}{'cached':>8}{'compiled':>10}"]
    for one in found:
        name = f"{one.example}, {one.vocabulary}"
        lines.append(f"{name:28}{one.new:8.2f}{one.cached:8.2f}{one.compiled:10.1f}")
    return "\n".join(lines) + "\n"
