"""A file of schemas and engines in; records out as they are made, each engine in a process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.bench.peers.registry import ENGINES
from workbench.bench.run import Process
from workbench.bench.schemas.records import SchemaRecord, Tally
from workbench.bench.schemas.worker import Job, rows_of

#: What an engine's process is.
_WORKER = (sys.executable, "-P", "-m", "workbench.bench.schemas.worker")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    file: Path
    engines: tuple[str, ...]
    vocabulary: str
    only: str = ""
    #: Seconds without a word after which an engine loses the schema it is on.
    patience: float = 120.0


def measured(plan: Plan) -> Iterator[SchemaRecord | dict[str, Any]]:
    """The record of every schema in every engine; a mapping says what memory an engine took."""
    rows = list(rows_of(plan.file, plan.only))
    for engine in plan.engines:
        done, over = 0, False
        while not over and done < len(rows):
            job = Job(engine, plan.vocabulary, str(plan.file.resolve()), plan.only, done)
            process = Process((*_WORKER, json.dumps(asdict(job))))
            for said in process.events(plan.patience):
                if said.pop("event") == "over":
                    over = True
                    yield {"engine": engine, **said}
                    continue
                done += 1
                tallies = {name: Tally(**tally) for name, tally in said.pop("tallies").items()}
                yield SchemaRecord(**said, tallies=tallies)
            if process.status != "ok" and done < len(rows):
                yield _lost(engine, rows[done], process)
                done += 1


def _lost(engine: str, row: dict[str, Any], process: Process) -> SchemaRecord:
    return SchemaRecord(
        engine=engine,
        version=ENGINES[engine].version,
        id=row["id"],
        suite=row.get("suite", ""),
        subset=row.get("subset", ""),
        chars=len(json.dumps(row["schema"])),
        status=process.status,
        reason=process.reason,
        keyword=process.reason[:60],
    )
