"""Runs the benchmark: one worker process for each engine; tables of its records.

A worker prints one JSON object a line: the event ``prepared`` (an EngineRecord), ``begun`` (the
name of a case) or ``measured`` (a CaseRecord). Masks to be compared are files ``<case>.npy`` in
the job's folder. If a worker crashes or prints nothing until the timeout, the case it was
measuring is recorded as lost, and a new worker measures the remaining cases.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lab.bench.cases import case_named
from lab.bench.cold_starts import ProcessError
from lab.bench.measurements import (
    CaseRecord,
    EngineRecord,
    Record,
    RefusedError,
    compared,
    first_mask_seconds,
    masks_of,
    measure,
)
from lab.bench.peers.registry import ENGINES, OURS
from workbench.base.errors import WorkbenchError
from workbench.engines.answering import ONE_THREAD
from workbench.engines.case import Case
from workbench.engines.peer import Peer, greedy_tokens
from workbench.vocabulary.vocabulary import Vocabulary

#: A small constraint: its time is that of the vocabulary.
_SMALL = Case("small", "no1", regex="(yes|no)[0-9]")

#: A grammar, to load the grammar parsers and the kernels for stacks.
_SMALL_GRAMMAR = Case(
    "small grammar",
    "acb",
    kbnf="start ::= 'a' start 'b' | 'c';",
    lark='start: "a" start "b" | "c"\n',
    ebnf='root ::= "a" root "b" | "c"\n',
)


@dataclass(frozen=True, slots=True)
class Job:
    """The task of one worker."""

    engine: str
    vocabulary: str
    cases: tuple[str, ...]
    repeat: int
    #: Seconds of one case after which no repetition begins.
    seconds: float
    #: Folder for the masks, or None.
    masks: str | None


def run(job: Job) -> None:
    """Measure all cases of a job and print each event as it happens."""
    vocabulary = Vocabulary.load(job.vocabulary)
    entry = ENGINES[job.engine]
    kind, name = entry.load(), (job.engine, entry.version)
    peer, prepared = _prepared(kind, name, vocabulary)
    _emit("prepared", asdict(prepared))
    for case in map(case_named, job.cases):
        _emit("begun", {"case": case.name})
        _emit("measured", asdict(_one(peer, name, case, job)))


def _one(peer: Peer, name: tuple[str, str], case: Case, job: Job) -> CaseRecord:
    """A case measured, or the engine's refusal as a record."""
    try:
        walk = greedy_tokens(case.walk, peer.vocabulary)
        record = measure(peer, name, case, walk, job.repeat, job.seconds)
        if job.masks and record.status == "ok":
            np.save(Path(job.masks) / f"{case.name}.npy", masks_of(peer, case, walk))
        return record
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust extensions derive from BaseException
        reason = str(error) if isinstance(error, RefusedError | WorkbenchError) else _message(error)
        about: dict[str, Any] = {
            "engine": name[0],
            "version": name[1],
            "vocabulary": peer.vocabulary.name,
        }
        return CaseRecord(**about, case=case.name, status="refused", reason=reason)


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _prepared(
    kind: type[Peer], name: tuple[str, str], vocabulary: Vocabulary
) -> tuple[Peer, EngineRecord]:
    """The engine with its vocabulary, and the preparation time: the quickest of three.

    Ours is timed with an empty cache folder, then with the folder it filled. Parsers and kernels,
    which belong to the process and not to the vocabulary, are loaded before.
    """
    for case in (_SMALL, _SMALL_GRAMMAR):
        _first_mask(kind, _fresh(vocabulary, 300), case)
    fresh, cached = [], []
    for _ in range(3):
        unprepared = _fresh(vocabulary, len(vocabulary))
        if name[0] != OURS:
            # our share of the adapters' work is not the peers' time
            _ = unprepared.ids_of, unprepared.trie
        with TemporaryDirectory() as folder, _cache_in(folder):
            fresh.append(_timed(kind, unprepared))
            if name[0] == OURS:
                cached.append(_timed(kind, _fresh(vocabulary, len(vocabulary))))
    record = EngineRecord(
        engine=name[0],
        version=name[1],
        vocabulary=vocabulary.name,
        prepare_ms=min(fresh),
        cached_ms=min(cached) if cached else None,
    )
    return kind(vocabulary), record


@contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    """Use ``folder`` as the disk cache of vocabularies inside the block."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = folder
    try:
        yield
    finally:
        del os.environ["XDG_CACHE_HOME"]
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


def _timed(kind: type[Peer], vocabulary: Vocabulary) -> float:
    """Milliseconds from a vocabulary to a first small mask."""
    gc.collect()
    gc.disable()
    try:
        begun = time.perf_counter()
        _first_mask(kind, vocabulary, _SMALL)
        return (time.perf_counter() - begun) * 1e3
    finally:
        gc.enable()


def _fresh(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """A vocabulary of the first tokens and all single bytes, without cached tables."""
    tokens = [*vocabulary.tokens[:size]]
    if size < len(vocabulary):
        tokens.extend(bytes((b,)) for b in range(256))
    return Vocabulary(tokens, end=vocabulary.ends, name=vocabulary.name)


def _first_mask(kind: type[Peer], vocabulary: Vocabulary, case: Case) -> None:
    peer = kind(vocabulary)
    compile_ = peer.compiler(case)
    if compile_ is not None:
        peer.start(compile_()).mask()


def _emit(event: str, fields: dict[str, object]) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


#: The command of a worker; tests use another program.
WORKER = (sys.executable, "-P", "-m", "lab.bench.benchmark")


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
    #: Seconds without output after which a worker is killed.
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
    return replace(record, first_mask_no_kernels_s=cold, first_mask_cached_kernels_s=warm)


def _engine(plan: Plan, engine: str, masks: Path, worker: tuple[str, ...]) -> Iterator[Record]:
    """All records of one engine; a new worker is started after each lost case."""
    left, prepared = list(plan.cases), False
    about: dict[str, Any] = {
        "engine": engine,
        "version": ENGINES[engine].version,
        "vocabulary": plan.vocabulary,
    }
    while left or not prepared:
        job = Job(
            engine, plan.vocabulary, tuple(left), plan.repeat, plan.seconds,
            str(masks) if plan.check else None,
        )  # fmt: skip
        process = Process((*worker, json.dumps(asdict(job))))
        for fields in process.events(plan.patience):
            event = fields.pop("event")
            if event == "prepared" and not prepared:
                prepared = True
                yield EngineRecord(**fields)
            elif event == "measured":
                left.remove(fields["case"])
                yield CaseRecord(**fields)
        if not prepared:  # it ended before any case: none will be measured
            yield EngineRecord(**about, status=process.status, reason=process.reason)
            return
        if process.status != "ok" and left:
            lost = left.pop(0)
            yield CaseRecord(**about, case=lost, status=process.status, reason=process.reason)


class Process:
    """A worker whose output is read with a timeout; ``status`` says how it ended."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.status: Any = "ok"
        self.reason = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the events end
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **ONE_THREAD, "PYTHONIOENCODING": "utf-8"},
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
        """The worker's events, until it ends or is killed at the timeout."""
        try:
            while (line := self._lines.get(timeout=patience)) is not None:
                if line.startswith(b"{"):  # other lines are printed by libraries
                    yield json.loads(line)
            code = self._process.wait()
            if code:
                self.status, self.reason = "crashed", self._last_error(code)
        except queue.Empty:
            self.status, self.reason = "timed out", f"nothing for {patience:g} s"
        finally:
            self._process.kill()
            self._process.wait()
            self._errors.close()

    def _last_error(self, code: int) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"exit status {code}" + (f": {lines[-1][:200]}" if lines else "")


def _checks(plan: Plan, folder: Path) -> Iterator[Record]:
    """Compare every engine's masks with ours."""
    vocabulary = Vocabulary.load(plan.vocabulary)
    for engine in plan.engines:
        for case in plan.cases:
            ours, theirs = (folder / e / f"{case}.npy" for e in (OURS, engine))
            if engine != OURS and ours.exists() and theirs.exists():
                name = engine, ENGINES[engine].version
                walk = greedy_tokens(case_named(case).walk, vocabulary)
                yield compared(name, case, vocabulary, walk, np.load(ours), np.load(theirs))


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    run(Job(**{**given, "cases": tuple(given["cases"])}))
