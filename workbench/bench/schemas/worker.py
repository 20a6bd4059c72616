"""One engine's process over a file of schemas: a job as JSON in, a record of each schema out."""

from __future__ import annotations

import gc
import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.bench.peers.registry import ENGINES, OURS
from workbench.bench.schemas.declared import spellings
from workbench.bench.schemas.engines import SCHEMA_ENGINES, Made, SchemaPeer
from workbench.bench.schemas.records import SchemaRecord, Tally
from workbench.errors import WorkbenchError
from workbench.vocabulary.vocabulary import Vocabulary

#: Compilations go on until there are so many, or so many seconds are spent.
_TIMES, _SECONDS = 5, 0.25

#: A message of ours ends its pointer with the keyword.
_POINTER = re.compile(r"(?:^|\s)/?(?:[^\s:]*/)?([$\w]+):")


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do."""

    engine: str
    vocabulary: str
    file: str
    #: Rows whose id, suite or subset holds this.
    only: str
    #: So many of them are done.
    done: int


def rows_of(file: Path, only: str) -> Iterator[dict[str, Any]]:
    """The rows of a file whose id, suite or subset holds a text."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if any(only in row.get(key, "") for key in ("id", "suite", "subset")):
                yield row


def run(job: Job) -> None:
    """Tell the record of every row, and at the end what memory it took."""
    vocabulary = Vocabulary.load(job.vocabulary)
    peer = SCHEMA_ENGINES[job.engine](vocabulary)
    _masked(peer, '{"type": "object", "properties": {"a": {"type": "integer"}}}')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, row in enumerate(rows_of(Path(job.file), job.only)):
        if number >= job.done:
            _tell("schema", asdict(_record(peer, job.engine, row)))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _tell("over", {"kilobytes": after - before})


def _record(peer: SchemaPeer, engine: str, row: dict[str, Any]) -> SchemaRecord:
    text = json.dumps(row["schema"], ensure_ascii=False)
    about: dict[str, Any] = {
        "engine": engine,
        "version": ENGINES[engine].version,
        "id": row["id"],
        "suite": row.get("suite", ""),
        "subset": row.get("subset", ""),
        "chars": len(text),
    }
    try:
        made, times, cpu = _quickest(peer, text)
    except WorkbenchError as error:
        named = _POINTER.search(error.message)
        keyword = named[1] if named else error.message[:60]
        return SchemaRecord(**about, status="refused", reason=error.message, keyword=keyword)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust extensions derive from BaseException
        told = f"{type(error).__name__}: {error}"[:300]
        return SchemaRecord(
            **about,
            status="failed" if engine == OURS else "refused",
            reason=told,
            keyword=told[:60],
        )
    tallies, wrong = judged(made.accepts, row)
    return SchemaRecord(
        **about,
        status="compiled",
        ms=1e3 * min(times),
        cpu_ms=1e3 * cpu,
        first_ms=1e3 * times[0],
        parts=made.parts,
        tallies=tallies,
        wrong=wrong,
    )


def _masked(peer: SchemaPeer, text: str) -> Made:
    made = peer.made(text)
    peer.start(made.compiled).mask()
    return made


def _quickest(peer: SchemaPeer, text: str) -> tuple[Made, list[float], float]:
    """The quickest of some compilations, the seconds of all, and the least of the processor's."""
    times: list[float] = []
    cpu: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while not times or (len(times) < _TIMES and sum(times) < _SECONDS):
            spent, begun = time.process_time(), time.perf_counter()
            made = _masked(peer, text)
            times.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - spent)
            if times[-1] == min(times):
                best = made
    finally:
        gc.enable()
    return best, times, min(cpu)


def judged(
    accepts: Callable[[str], bool], row: dict[str, Any]
) -> tuple[dict[str, Tally], dict[str, list[str]]]:
    """What is accepted of the instances, by spelling; and which are judged wrongly."""
    tallies: dict[str, Tally] = {}
    wrong: dict[str, list[str]] = {}
    for number, test in enumerate(row["tests"]):
        known: dict[str, bool] = {}
        for spelling, text in spellings(row["schema"], test["data"]).items():
            if text not in known:
                known[text] = _accepted(accepts, text)
            tallies.setdefault(spelling, Tally()).count(test["valid"], known[text])
            if known[text] != test["valid"]:
                wrong.setdefault(str(number), []).append(spelling)
    return tallies, wrong


def _accepted(accepts: Callable[[str], bool], text: str) -> bool:
    try:
        return accepts(text)
    except (UnicodeEncodeError, WorkbenchError):  # half a character; too much for the limits
        return False


def _tell(event: str, said: dict[str, object]) -> None:
    print(json.dumps({"event": event, **said}), flush=True)


if __name__ == "__main__":
    run(Job(**json.loads(sys.argv[1])))
