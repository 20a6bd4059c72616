"""One engine's process: a job comes in as JSON on the command line, events go out a line each.

Events are ``prepared`` (an EngineRecord), ``begun`` (the name of a case) and ``measured`` (a
CaseRecord). Masks to be compared are left as files ``<case>.npy`` in the job's folder.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from workbench.bench.cases import CASES, Case
from workbench.bench.measure import RefusedError, masks_of, measure
from workbench.bench.peers.peer import Peer, spelt
from workbench.bench.peers.registry import ENGINES, OURS
from workbench.bench.records import CaseRecord, EngineRecord
from workbench.errors import WorkbenchError
from workbench.vocabulary.vocabulary import Vocabulary

#: Small, so what it costs is what the vocabulary costs.
_SMALL = Case("small", "no1", regex="(yes|no)[0-9]")

#: A grammar, to load what reads grammars and the kernels for stacks.
_SMALL_GRAMMAR = Case(
    "small grammar",
    "acb",
    kbnf="start ::= 'a' start 'b' | 'c';",
    lark='start: "a" start "b" | "c"\n',
    ebnf='root ::= "a" root "b" | "c"\n',
)


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do."""

    engine: str
    vocabulary: str
    cases: tuple[str, ...]
    repeat: int
    #: After these many seconds of one case no repetition is begun.
    seconds: float
    #: Where masks are left, or None.
    masks: str | None


def run(job: Job) -> None:
    """Measure all cases of a job, telling each event as it happens."""
    vocabulary = Vocabulary.load(job.vocabulary)
    entry = ENGINES[job.engine]
    kind, name = entry.load(), (job.engine, entry.version)
    peer, prepared = _prepared(kind, name, vocabulary)
    _tell("prepared", asdict(prepared))
    for case in (CASES[c] for c in job.cases):
        _tell("begun", {"case": case.name})
        _tell("measured", asdict(_one(peer, name, case, job)))


def _one(peer: Peer, name: tuple[str, str], case: Case, job: Job) -> CaseRecord:
    """A case measured, or the engine's refusal as a record."""
    try:
        walk = spelt(case.walk, peer.vocabulary)
        record = measure(peer, name, case, walk, job.repeat, job.seconds)
        if job.masks and record.status == "ok":
            np.save(Path(job.masks) / f"{case.name}.npy", masks_of(peer, case, walk))
        return record
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust extensions derive from BaseException
        reason = str(error) if isinstance(error, RefusedError | WorkbenchError) else _told(error)
        about: dict[str, Any] = {
            "engine": name[0],
            "version": name[1],
            "vocabulary": peer.vocabulary.name,
        }
        return CaseRecord(**about, case=case.name, status="refused", reason=reason)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _prepared(
    kind: type[Peer], name: tuple[str, str], vocabulary: Vocabulary
) -> tuple[Peer, EngineRecord]:
    """The engine with its vocabulary, and how long that took, the quickest of three times.

    Ours is timed with an empty cache folder, then with what it left there. What belongs to the
    process and not to the vocabulary is loaded before: front ends, kernels.
    """
    for case in (_SMALL, _SMALL_GRAMMAR):
        _first_mask(kind, _anew(vocabulary, 300), case)
    fresh, cached = [], []
    for _ in range(3):
        anew = _anew(vocabulary, len(vocabulary))
        if name[0] != OURS:
            # our share of the adapters' work is not the peers' time
            _ = anew.ids_of, anew.trie
        with TemporaryDirectory() as folder, _cache_in(folder):
            fresh.append(_timed(kind, anew))
            if name[0] == OURS:
                cached.append(_timed(kind, _anew(vocabulary, len(vocabulary))))
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
    """What is remembered of vocabularies is remembered there meanwhile."""
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


def _anew(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The first tokens of a vocabulary and all single bytes, as one nothing is derived from yet."""
    tokens = [*vocabulary.tokens[:size]]
    if size < len(vocabulary):
        tokens.extend(bytes((b,)) for b in range(256))
    return Vocabulary(tokens, end=vocabulary.end, name=vocabulary.name)


def _first_mask(kind: type[Peer], vocabulary: Vocabulary, case: Case) -> None:
    peer = kind(vocabulary)
    compile_ = peer.compiler(case)
    if compile_ is not None:
        peer.start(compile_()).mask()


def _tell(event: str, said: dict[str, object]) -> None:
    print(json.dumps({"event": event, **said}), flush=True)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    run(Job(**{**given, "cases": tuple(given["cases"])}))
