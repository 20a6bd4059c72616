"""The whole benchmark: engines, cases and a vocabulary come in, records go out as they are made.

Each engine has a process; one that crashes or says nothing for too long loses the case it was on
and is started again for the rest.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.bench.cases import CASES
from workbench.bench.check import compared
from workbench.bench.peers.peer import spelt
from workbench.bench.peers.registry import ENGINES, OURS
from workbench.bench.process import ProcessError, first_mask_seconds
from workbench.bench.records import CaseRecord, EngineRecord, Record
from workbench.bench.worker import Job
from workbench.vocabulary.vocabulary import Vocabulary

#: One core an engine, whatever its libraries would like.
_ONE_THREAD = dict.fromkeys(
    (
        "RAYON_NUM_THREADS",
        "GLRMASK_COMPILE_THREADS",
        "OMP_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ),
    "1",
)

#: What an engine's process is: another program in tests.
WORKER = (sys.executable, "-P", "-m", "workbench.bench.worker")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    engines: tuple[str, ...]
    cases: tuple[str, ...]
    vocabulary: str
    #: Compilations of every case.
    repeat: int = 5
    #: Whether masks are compared.
    check: bool = False
    #: Whether whole processes are timed.
    process: bool = True
    #: Seconds of one case after which no repetition is begun.
    seconds: float = 10.0
    #: Seconds without a word after which a process is killed.
    patience: float = 120.0


def bench(plan: Plan, worker: tuple[str, ...] = WORKER) -> Iterator[Record]:
    """Every record of a plan, in the order they are measured."""
    with tempfile.TemporaryDirectory() as folder:
        for engine in plan.engines:
            masks = Path(folder) / engine
            masks.mkdir()
            for record in _engine(plan, engine, masks, worker):
                yield _with_process(record, plan) if isinstance(record, EngineRecord) else record
        if plan.check:
            yield from _checks(plan, Path(folder))


def _with_process(record: EngineRecord, plan: Plan) -> EngineRecord:
    if record.engine != OURS or not plan.process or record.status != "ok":
        return record
    try:
        cold, warm = first_mask_seconds(plan.vocabulary, plan.patience)
    except ProcessError as error:
        return replace(record, reason=str(error))
    return replace(record, process_s=cold, process_cached_s=warm)


def _engine(plan: Plan, engine: str, masks: Path, worker: tuple[str, ...]) -> Iterator[Record]:
    """All records of one engine, its process started again after each that is lost."""
    left, told = list(plan.cases), False
    about: dict[str, Any] = {
        "engine": engine,
        "version": ENGINES[engine].version,
        "vocabulary": plan.vocabulary,
    }
    while left or not told:
        job = Job(
            engine, plan.vocabulary, tuple(left), plan.repeat, plan.seconds,
            str(masks) if plan.check else None,
        )  # fmt: skip
        process = Process((*worker, json.dumps(asdict(job))))
        for said in process.events(plan.patience):
            event = said.pop("event")
            if event == "prepared" and not told:
                told = True
                yield EngineRecord(**said)
            elif event == "measured":
                left.remove(said["case"])
                yield CaseRecord(**said)
        if not told:  # it ended before any case: none will be measured
            yield EngineRecord(**about, status=process.status, reason=process.reason)
            return
        if process.status != "ok" and left:
            lost = left.pop(0)
            yield CaseRecord(**about, case=lost, status=process.status, reason=process.reason)


class Process:
    """A worker whose lines are read with patience; afterwards ``status`` says how it ended."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.status: Any = "ok"
        self.reason = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the events end
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **_ONE_THREAD, "PYTHONIOENCODING": "utf-8"},
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def events(self, patience: float) -> Iterator[dict[str, Any]]:
        """What the worker says, until it ends or is killed for saying nothing."""
        try:
            while (line := self._lines.get(timeout=patience)) is not None:
                if line.startswith(b"{"):  # libraries print too
                    yield json.loads(line)
            code = self._process.wait()
            if code:
                self.status, self.reason = "crashed", self._last_words(code)
        except queue.Empty:
            self.status, self.reason = "timed out", f"nothing for {patience:g} s"
        finally:
            self._process.kill()
            self._process.wait()
            self._errors.close()

    def _last_words(self, code: int) -> str:
        self._errors.seek(0)
        told = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"exit status {code}" + (f": {told[-1][:200]}" if told else "")


def _checks(plan: Plan, folder: Path) -> Iterator[Record]:
    """Every engine's masks against ours."""
    vocabulary = Vocabulary.load(plan.vocabulary)
    for engine in plan.engines:
        for case in plan.cases:
            ours, theirs = (folder / e / f"{case}.npy" for e in (OURS, engine))
            if engine != OURS and ours.exists() and theirs.exists():
                name = engine, ENGINES[engine].version
                walk = spelt(CASES[case].walk, vocabulary)
                yield compared(name, case, vocabulary, walk, np.load(ours), np.load(theirs))
