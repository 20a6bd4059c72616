"""Results of a list of tasks: a Parquet file, and a journal while the tasks run.

``runs.parquet`` has a row for each task that ended, in the order of the list, so it is the same
file from every runner: what was given (``Work.given``), and the record. What differs between runs,
such as seconds, is in ``runs.measured.parquet``.
While the tasks run, each outcome is appended to ``runs.parquet.journal``, a file of JSON lines,
before the next outcome. So the next call continues, however the process ended. Where the machine
lost power, outcomes may be missing that came within a fifth of a second after another one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.tasks.task import Outcome, Record, Task, Work, function_named, storable

#: Seconds between two waits for the disk: a wait takes milliseconds, thousands of tasks end in one.
_SYNC_SECONDS = 0.2

#: The key of the settings in the metadata of the Parquet file.
SETTINGS = b"workbench.settings"


class ResultsFile:
    """The results of tasks with the same settings.

    ``settings``  plain values that the results depend on besides the tasks' keys.
    ``work``      its ``given`` says what the rows have of the tasks' arguments.

    Raises: WorkbenchError if the file belongs to other settings, cannot be read, or has results of
            tasks that are not in the list.
    """

    def __init__(
        self,
        path: Path,
        tasks: Sequence[Task],
        settings: Mapping[str, Any],
        work: Work | None = None,
    ) -> None:
        self.path = path
        self._given = function_named(work.given) if work and work.given else None
        self._tasks = {task.key: task for task in tasks}
        self._settings = dict(settings)
        if len(self._tasks) < len(tasks):
            raise ValueError("two tasks have the same key")
        self.outcomes: dict[str, Outcome] = {}
        self._synced = 0.0
        _check_file(path)
        self._journal = _journal_path(path)
        try:
            if path.exists():
                self._add_all(*_read_stored(path))
            if self._journal.exists():
                whole = _whole_lines(self._journal)
                self._journal.write_bytes(whole)  # the process may have ended within a line
                if whole:
                    self._add_all(*_read_journal(self._journal))
            self._append()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _not_kept(path, error) from error

    def _add_all(self, settings: Record, outcomes: Iterable[Outcome]) -> None:
        changed = [
            name
            for name in self._settings | settings
            if self._settings.get(name) != settings.get(name)
        ]
        if changed:
            was = ", ".join(f"{name} {settings.get(name)!r}" for name in changed)
            raise WorkbenchError(
                f"{self.path} has results with other settings: {was}",
                "use those settings, or name another file",
            )
        for outcome in outcomes:
            if outcome.key not in self._tasks:
                raise WorkbenchError(
                    f"{self.path} has the result of {outcome.key!r}, which is not among the tasks",
                    "use the same rows and methods, or more of them, or name another file",
                )
            if outcome.status == "done":  # what failed is tried again
                self.outcomes[outcome.key] = outcome

    def keep(self, outcome: Outcome) -> None:
        """Append an outcome to the journal. Raises: WorkbenchError."""
        self.outcomes[outcome.key] = outcome
        try:
            self._append(asdict(outcome))
        except OSError as error:
            raise _not_kept(self.path, error) from error

    def _append(self, *lines: Record) -> None:
        """Append lines to the journal, which begins with the settings."""
        with self._journal.open("a", encoding="utf-8") as file:
            if not file.tell():  # also if it was removed meanwhile
                lines = {"settings": self._settings}, *lines
            for line in lines:
                file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            if time.monotonic() > self._synced + _SYNC_SECONDS:
                os.fsync(file.fileno())
                self._synced = time.monotonic()

    def ordered(self) -> list[Outcome]:
        """The outcomes so far, in the order of the tasks."""
        return [self.outcomes[key] for key in self._tasks if key in self.outcomes]

    def write(self) -> None:
        """Replace the Parquet files by the outcomes so far, and delete the journal.

        Raises: WorkbenchError; the journal is kept then.
        """
        import pyarrow as pa

        rows = self.ordered()
        text = json.dumps(self._settings, sort_keys=True)
        records = [row.head | self._given_to(row.key) | row.record for row in rows]
        try:
            _write(self.path, records, {SETTINGS: text.encode()})
            _write(measured_path(self.path), [{"key": row.key} | row.measured for row in rows], {})
            self._journal.unlink(missing_ok=True)
        except (OSError, pa.ArrowException) as error:
            raise _not_kept(self.path, error) from error

    def _given_to(self, key: str) -> Record:
        if self._given is None:
            return {}
        record: Record = storable(self._given(self._tasks[key].arguments))
        return record


def measured_path(path: Path) -> Path:
    """The file of the measures that belong to the results in ``path``."""
    return path.with_suffix(".measured" + path.suffix)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise WorkbenchError(f"{str(path)!r} is a folder", "name a file of results (Parquet)")


def _journal_path(path: Path) -> Path:
    return path.with_name(path.name + ".journal")


def files_of(path: Path) -> list[Path]:
    """The files that belong to the results in ``path`` and are there: it, measures, journal."""
    every = path, measured_path(path), _journal_path(path)
    return [file for file in every if file.exists()]


def read_results(path: Path) -> tuple[Record, list[Record]]:
    """The settings and the rows of a results file, those in its journal included.

    A row has ``key``, ``status``, ``error``, ``hint``, and the fields of records and measures.

    Raises: WorkbenchError if the file is missing or cannot be read.
    """
    _check_file(path)
    journal = _journal_path(path)
    settings: Record = {}
    by_key: dict[str, Outcome] = {}
    try:
        for read, source in ((_read_stored, path), (_read_journal, journal)):
            if source.exists():
                settings, outcomes = read(source)
                by_key |= {outcome.key: outcome for outcome in outcomes}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbenchError(
            f"cannot read results from {path}: {error}", "name a file written with --out"
        ) from error
    if not path.exists() and not journal.exists():
        raise WorkbenchError(f"there is no file {str(path)!r}", "name a file of results (Parquet)")
    return settings, [outcome.row for outcome in by_key.values()]


def _read_stored(path: Path) -> tuple[Record, list[Outcome]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    settings = json.loads((table.schema.metadata or {}).get(SETTINGS, b"{}"))
    beside = measured_path(path)
    measured = (
        {row.pop("key"): row for row in pq.read_table(beside).to_pylist()}
        if beside.exists()
        else {}
    )
    outcomes = []
    for row in table.to_pylist():
        key, status, error, hint = (row.pop(name) for name in ("key", "status", "error", "hint"))
        outcomes.append(
            Outcome(
                key=key,
                status=status,
                record=row if status == "done" else {},
                error=error,
                hint=hint,
                measured=measured.get(key, {}) if status == "done" else {},
            )
        )
    return settings, outcomes


def _whole_lines(path: Path) -> bytes:
    """The journal without a last line that has no end: another process may be writing it."""
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1]


def _read_journal(path: Path) -> tuple[Record, list[Outcome]]:
    """The journal's settings and outcomes; the file is not changed."""
    lines = [json.loads(line) for line in _whole_lines(path).decode().splitlines()]
    settings: Record = lines[0]["settings"] if lines else {}
    return settings, [Outcome(**line) for line in lines[1:]]


def _write(path: Path, rows: Sequence[Record], metadata: dict[bytes, bytes]) -> None:
    """Write rows as a Parquet file; a reader sees the old file or the new one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    table = pa.table(columns).replace_schema_metadata(metadata)
    beside = path.with_name(path.name + ".new")
    pq.write_table(table, beside, compression="zstd")
    beside.replace(path)


def _not_kept(path: Path, error: Exception) -> WorkbenchError:
    if isinstance(error, WorkbenchError):
        return error
    return WorkbenchError(f"cannot keep results in {path}: {error}", "name another file")
