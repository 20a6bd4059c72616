"""The wheel: its contents, its size, and that it runs without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.exhaustive

#: Mebibytes; the embedded model has 12.1 and GSM8K's questions 1.3.
LARGEST = 16.0

NEEDED = (
    "workbench/__init__.py",
    "workbench/py.typed",
    "workbench/syntax/regex/unicode.json",
    "workbench/app/lessons/content/ambiguity.toml",
    "workbench/decoding/builtin/model.safetensors",
    "workbench/decoding/builtin/tokenizer.json",
    "workbench/_data/grammars/gallery.toml",
    "workbench/_data/static/base.css",
)


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """A folder with the wheel and the source distribution."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, str(ROOT)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        yield Path(folder)


@pytest.fixture(scope="module")
def installed(built: Path) -> Iterator[dict[str, str]]:
    """The environment of processes that see the unpacked wheel and not the checkout."""
    (wheel,) = built.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        yield {**os.environ, "PYTHONPATH": folder}


def test_the_wheel_has_what_runs_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in NEEDED if name not in names] == []
    top = {name.split("/")[0] for name in names}
    assert top == {"workbench", f"grammar_workbench-{workbench.__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]
    assert wheel.stat().st_size < LARGEST * 2**20


def test_the_source_distribution_has_the_tests(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    folder = f"grammar_workbench-{workbench.__version__}"
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    for wanted in ("tests/conftest.py", "README.md", "LICENSE", "CITATION.cff", "SECURITY.md"):
        assert f"{folder}/{wanted}" in names


def test_the_command_line_runs_from_the_wheel(installed: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workbench", "check", "--example", "json", '{"a":[1,2]}']
    made = subprocess.run(
        command, env=installed, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr
    assert "accepted" in made.stdout


def test_the_page_is_served_from_the_wheel(installed: dict[str, str], tmp_path: Path) -> None:
    program = (
        "import workbench\n"
        "from workbench.app.ui.serve import ServeSettings, start\n"
        "print(workbench.__file__)\n"
        "page = start(ServeSettings(port=0, quiet=True, models=('builtin',)))\n"
        "print(page.local_url, flush=True)\n"
        "page.block_thread()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=installed,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as served:
        assert served.stdout is not None
        assert served.stdout.readline().startswith(installed["PYTHONPATH"])
        with urllib.request.urlopen(served.stdout.readline().strip(), timeout=60) as answer:
            assert b"wb-" in answer.read()
        served.terminate()
