"""``python -m lab.bench.rehearsal python3.12``: the page as a Space starts it.

The committed files are copied, the packages of ``requirements.txt`` installed into a new virtual
environment of the given Python, and ``python app.py`` is started with the variable that a Space
sets, an empty home directory, no compiler and two cores. The command prints the seconds until the
page, a picture and the first token, after the start of the process, and those that are aimed at on
a quiet machine. It needs a package index, and the commands ``git`` and ``tar``.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from workbench.base.text_tables import format_table

_ROOT = Path(__file__).resolve().parents[2]

#: Seconds from the start of the process that are aimed at.
_AIMS = {"page": 3.0, "picture": 4.0, "first token": 6.0}

#: Seconds until the rehearsal ends without a result.
_PATIENCE = 180


def install(python: str, folder: Path) -> Path:
    """Copy the committed files and install what they need; returns the environment's Python."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=_ROOT, check=True, capture_output=True)
    (folder / "files").mkdir()
    subprocess.run(["tar", "-x"], cwd=folder / "files", input=archive.stdout, check=True)
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    own = folder / "venv" / "bin" / "python"
    needed = str(folder / "files" / "requirements.txt")
    subprocess.run([own, "-m", "pip", "install", "--quiet", "-r", needed], check=True)
    return own


@contextmanager
def space(python: Path, folder: Path) -> Iterator[str]:
    """The address of the page, as a Space starts it, until the end of the block."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [*_two_cores(), python, "app.py"],
        cwd=folder / "files",
        env={
            "PATH": "",  # no compiler
            "HOME": str(home),
            "SPACE_ID": "owner/grammar-workbench",
            "GRADIO_SERVER_PORT": str(port),
        },
        stdout=subprocess.DEVNULL,  # the address that a Space prints is not this machine's
    ) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _two_cores() -> list[str]:
    """The beginning of a command that runs on two cores, on Linux."""
    taskset = shutil.which("taskset")
    return [taskset, "--cpu-list", "0,1"] if taskset else []


def measured(url: str, began: float) -> dict[str, float]:
    """The seconds since ``began`` until each kind of answer."""
    seconds = dict[str, float]()
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:
        while not _answers(client):
            if time.monotonic() - began > _PATIENCE:
                raise SystemExit("the page did not start")
            time.sleep(0.05)
        seconds["page"] = time.monotonic() - began
        drawn = client.post(
            "/wb/ask/draw_machine",
            json={"text": "(yes|no){1,3}", "notation": "regex", "tab": "characters"},
        ).json()
        if "svg" not in drawn:
            raise SystemExit(f"no picture: {drawn}")
        seconds["picture"] = time.monotonic() - began
        run = {"text": "[a-z ]{200}", "notation": "regex", "prompt": "Hello", "max_tokens": 200}
        with client.stream("POST", "/wb/run", json=run) as answer:
            for line in answer.iter_lines():
                kind = json.loads(line)["k"]
                if kind == "error":
                    raise SystemExit(f"no token: {line}")
                if kind == "step":
                    seconds["first token"] = time.monotonic() - began
                    return seconds
    raise SystemExit("no token")


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/").is_success
    except httpx.TransportError:
        return False


def main(python: str = sys.executable) -> None:
    """Rehearse twice: with empty caches, and with those that the first start filled."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        own = install(python, folder)
        found = list[dict[str, float]]()
        for _ in range(2):
            began = time.monotonic()
            with space(own, folder) as url:
                found.append(measured(url, began))
    rows = [
        [kind, *(f"{one[kind]:.1f}" for one in found), f"{aim:.0f}"] for kind, aim in _AIMS.items()
    ]
    print(format_table([["seconds until", "first start", "second", "aim"], *rows], "markdown"))


if __name__ == "__main__":
    main(*sys.argv[1:])
