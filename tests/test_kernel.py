"""The disk cache of kernels is valid only while no file of a called kernel changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

BELOW = """
from workbench.base.kernels import inner

@inner
def answer(number: int) -> int:
    return number + {plus}
"""

ABOVE = """
from workbench.base.kernels import inlined, njit, when_compiling
from below import answer

when_compiling(lambda: print("compiling"))

@njit(cache=True, nogil=True, _nrt=False)
def above_answer(number: int) -> int:
    return between(number)

@inlined
def between(number: int) -> int:
    return answer(number)

print(above_answer(1))
"""


def run(folder: Path) -> tuple[int, bool]:
    """The answer of a new process, and whether it compiled kernels."""
    ran = subprocess.run(
        [sys.executable, "above.py"],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    *said, answer = ran.stdout.split()
    assert said in ([], ["compiling"]), "it says so once"
    return int(answer), bool(said)


WATCHED = """
from workbench.base.kernels import compile_watch, njit

compiling = compile_watch()

@njit(cache=True, nogil=True)
def answer(number: int) -> int:
    return number + 1

print(compiling())
answer(1)
print(compiling())
"""


@pytest.mark.exhaustive
def test_whether_kernels_are_compiled_now(tmp_path: Path) -> None:
    (tmp_path / "watched.py").write_text(WATCHED)
    answers = []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        command = [sys.executable, "watched.py"]
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        answers.append(ran.stdout.split())
    assert answers == [["False", "True"], ["False", "False"]], "the second time it is on disk"


@pytest.mark.exhaustive
def test_a_change_below_is_noticed_above(tmp_path: Path) -> None:
    (tmp_path / "above.py").write_text(ABOVE)
    (tmp_path / "below.py").write_text(BELOW.format(plus=1))
    assert run(tmp_path) == (2, True)
    assert run(tmp_path) == (2, False)
    time.sleep(0.02)
    (tmp_path / "below.py").write_text(BELOW.format(plus=41))
    os.utime(tmp_path / "below.py")
    assert run(tmp_path) == (42, True), "a kernel in a separate file, called by one defined later"


@pytest.mark.exhaustive
def test_a_cache_of_another_version_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "above.py").write_text(ABOVE)
    (tmp_path / "below.py").write_text(BELOW.format(plus=1))
    run(tmp_path)
    # an index that names a removed class, as unpickling reports it
    for index in (tmp_path / "kept").rglob("*.nbi"):
        head = index.read_bytes().split(b"\x80", 1)[0]
        index.write_bytes(head + b"cworkbench.kernel\nNoLongerThere\n.")
    assert run(tmp_path) == (2, True)
