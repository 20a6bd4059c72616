"""A vocabulary's name → seconds of a whole new process: import, vocabulary, grammar, first mask."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

_PROGRAM = """
import sys
import workbench as wb
v = wb.Vocabulary.load(sys.argv[1])
c = wb.compile(wb.Grammar.from_kbnf("start ::= 'a' start? 'b' | #'[0-9]+';"), v)
c.mask(c.initial)
"""


class ProcessError(Exception):
    """A process did not come to its first mask."""


def first_mask_seconds(vocabulary: str, patience: float) -> tuple[float, float]:
    """Seconds with numba's kernels compiled anew, and with them cached.

    The interpreter's own start counts. The vocabulary comes from this user's cache
    folder in both, if it is there.
    Raises: ProcessError where a process fails or takes too long, with its last words.
    """
    with tempfile.TemporaryDirectory() as folder:
        cold = _seconds(vocabulary, folder, patience)
        return cold, _seconds(vocabulary, folder, patience)


def _seconds(vocabulary: str, kernels: str, patience: float) -> float:
    begun = time.perf_counter()
    try:
        subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, vocabulary],
            env={**os.environ, "NUMBA_CACHE_DIR": kernels},
            check=True,
            capture_output=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        raise ProcessError(f"no first mask within {patience:g} s") from None
    except subprocess.CalledProcessError as error:
        told = error.stderr.decode("utf-8", "replace").strip().splitlines()
        named = [line for line in told if "Error" in line.split(":")[0]] or told[-1:]
        raise ProcessError(f"a new process failed: {' '.join(named[-1:])}") from None
    return time.perf_counter() - begun
