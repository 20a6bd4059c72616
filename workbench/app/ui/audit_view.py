"""Audits of the installed engines with the current grammar, for the view *Compare*.

An audit runs as the command ``workbench audit`` in a separate process: an engine that crashes,
hangs or needs much memory does not stop the server.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from workbench.app.ui import wire, wire_compare
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.requests import TextRequest
from workbench.app.ui.shares import AUDIT
from workbench.audits.engines import AUDITED
from workbench.base.limits import check_time_budget
from workbench.engines.answering import read_lines

#: Seconds after which the completed audits are the answer.
_MAX_SECONDS = 75.0

#: Seconds between two checks whether the client is still there.
_CHECK_SECONDS = 0.1

#: The amount of work for one engine.
_AMOUNT = ("--texts", "3", "--seconds", "5", "--shorten", "3", "--patience", "8")

_COMMAND = (sys.executable, "-P", "-m", "workbench", "audit", "-", "--json", *_AMOUNT)

#: What an audit needs besides the engines.
_JUDGE = "jsonschema"


def audited_engines() -> wire_compare.AuditedEngines:
    """The engines that can be audited, with the command that installs those that are missing."""
    installed = [name for name, engine in AUDITED.items() if engine.version()]
    missing = [engine for name, engine in AUDITED.items() if name not in installed]
    packages = [engine.distribution.replace("_", "-") for engine in missing]
    return {
        "installed": installed,
        "missing": [engine.name for engine in missing],
        "install": " ".join(["pip install", *packages, _JUDGE]) if missing else "",
    }


@question(AUDIT)
def audit_engines(handlers: Handlers, request: TextRequest) -> wire_compare.Audits | wire.Refusal:
    """The audit of every installed engine, or why no engine can be audited."""
    handlers.compiled(request).readable()  # reports its errors
    engines = audited_engines()
    if not engines["installed"]:
        why = f"No other engine is installed. To audit some: {engines['install']}."
        return {"ok": False, "why": why}
    audits, stderr_text = _run_audits(request)
    if audits:
        return {"ok": True, "audits": audits}
    why = stderr_text.removeprefix("error: ") or "the audit was not done in time"
    return {"ok": False, "why": why}


def _run_audits(request: TextRequest) -> tuple[list[wire_compare.EngineAudit], str]:
    """The audits that were done in time, and what the process wrote to stderr."""
    which = ("--notation", str(request.notation), "--start", request.start)
    ends, audits = time.monotonic() + _MAX_SECONDS, list[wire_compare.EngineAudit]()
    with tempfile.TemporaryFile() as errors, _running((*_COMMAND, *which), errors) as process:
        assert process.stdin is not None
        process.stdin.write(request.text.encode("utf-8", "replace"))
        process.stdin.close()
        for line in _lines(process, ends):
            record: wire_compare.EngineAudit = json.loads(line)
            if "engine" in record:
                audits.append(record)
        errors.seek(0)
        return audits, errors.read().decode("utf-8", "replace").strip()[-1_000:]


@contextmanager
def _running(command: tuple[str, ...], errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed at the end of the block."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _lines(process: subprocess.Popen[bytes], ends: float) -> Iterator[bytes]:
    """The lines a process prints, until it ends or time is over.

    Raises: EndedError where the client leaves.
    """
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=read_lines, args=(process, lines), daemon=True).start()
    while time.monotonic() < ends:
        check_time_budget()
        with suppress(queue.Empty):
            if (line := lines.get(timeout=_CHECK_SECONDS)) is None:
                return
            yield line
