"""Rows of results in a SQLite file, where they are sorted, filtered and read in pages.

``python -m workbench.tasks.row_store OUT.db MEGABYTES SECONDS FILE…`` reads the files of ``compare
--dataset``, ``audit`` and ``bench --schemas`` (Parquet, its measures, its journal), and JSON lines
of ``evaluate`` and ``results --json``. It is a separate process with a bound on its memory, because
files of the page's visitors are not trusted: a small Parquet file can describe any amount of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import sqlite3
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import check_time_budget
from workbench.tasks.datasets import BadRow, Row, lines_of
from workbench.tasks.results import SETTINGS
from workbench.tasks.summary import SUMMARY_COLUMNS, default_groups, summary_of
from workbench.tasks.task import Record, storable

#: Rows and columns at most.
MAX_ROWS, MAX_COLUMNS = 1_000_000, 200

#: Characters of a text in the table; the rest of a longer one is stored once for all rows.
MAX_CELL = 500

#: Characters of a column's name, and of a text, at most.
_MAX_NAME, _MAX_TEXT = 200, 5_000_000

#: Bad rows, and reasons of failures, that are listed.
_MAX_LISTED = 100

#: Rows that are inserted at a time.
_BATCH = 1_000

_HINT = "choose a file that compare, audit, bench or evaluate wrote with --out"

#: Orders of rows that are kept.
_MAX_SORTED = 8


@dataclass(frozen=True, slots=True)
class Where:
    """A condition in SQL, and the values of its marks."""

    text: str
    values: tuple[Any, ...] = ()


#: The condition of all rows.
EVERY = Where("1")

#: A comparison that a visitor writes, such as ``tokens > 100``.
_COMPARED = re.compile(r"(?P<column>\S+?)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*)", re.DOTALL)

_SIGNS = {"=": "=", "!=": "IS NOT", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(eq=False)
class _Store:
    """The tables that are written."""

    database: sqlite3.Connection
    settings: Record = field(default_factory=dict)
    #: The number and kind of each column: ``bool``, ``number``, ``text``, ``json``, or empty.
    columns: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: Measures by the key of their row.
    measured: dict[str, Record] = field(default_factory=dict)
    bad: list[BadRow] = field(default_factory=list)
    #: Rows that were read, those included that a later one of the same key replaced.
    read: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Insert a row. Raises: WorkbenchError above the limits."""
        self.read += 1
        if self.read > MAX_ROWS:
            raise WorkbenchError(
                f"the file has more than {MAX_ROWS:,} rows", "use workbench results"
            )
        key = str(row["key"])
        row = {**row, "key": key} | self.measured.get(key, {})
        cells = {self._column(name, value): value for name, value in row.items()}
        names = ", ".join(f"c{number}" for number in cells)
        marks = ", ".join("?" * len(cells))
        values = [_cell(value) for value in cells.values()]
        shown = [value[:MAX_CELL] if isinstance(value, str) else value for value in values]
        cursor = self.database.execute(
            f"INSERT OR REPLACE INTO rows ({names}) VALUES ({marks})",
            shown,
        )
        for number, value in zip(cells, values, strict=True):
            if isinstance(value, str) and len(value) > MAX_CELL:
                self._add_long(cursor.lastrowid, number, value)

    def _add_long(self, row: int | None, column: int, text: str) -> None:
        digest = hashlib.sha256(text.encode()).digest()
        self.database.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (digest, text))
        self.database.execute("INSERT INTO long VALUES (?, ?, ?)", (row, column, digest))

    def _column(self, name: str, value: object) -> int:
        """The number of a column, which is added if it is new."""
        number, kind = self.columns.get(name, (len(self.columns), ""))
        if name not in self.columns:
            if number == MAX_COLUMNS or len(name) > _MAX_NAME:
                most = f"{MAX_COLUMNS} columns, or a name of more than {_MAX_NAME} characters"
                raise WorkbenchError(f"the file has more than {most}", _HINT)
            if name != "key":  # the table begins with it
                self.database.execute(f"ALTER TABLE rows ADD COLUMN c{number}")
        now = _kind(value)
        self.columns[name] = number, (kind if now in ("", kind) else "text") if kind else now
        return number


def _kind(value: object) -> str:
    """The kind of a value's column; empty for a missing value or text."""
    match value:
        case None | "":
            return ""
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "text"
    return "json"


def _cell(value: object) -> str | int | float | None:
    """A value as SQLite stores it."""
    match value:
        case bool() | None:
            return value
        case int() if abs(value) < 2**63:
            return value
        case float():
            return value if math.isfinite(value) else None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    stored: str = storable(text)
    if len(stored) > _MAX_TEXT:
        raise WorkbenchError(f"a text has more than {_MAX_TEXT:,} characters", _HINT)
    return stored


def _read_parquet(path: Path, store: _Store, *, measures: bool) -> None:
    """Add the rows of a Parquet file: its measures, or its results.

    Raises: WorkbenchError for a file without results.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = set(file.schema_arrow.names)
            if "key" not in names:
                raise WorkbenchError("the file has no results: it has no column 'key'", _HINT)
            if measures != ("status" not in names):
                return
            if not measures:
                _settle(store, (file.schema_arrow.metadata or {}).get(SETTINGS, b"{}"))
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    if measures:
                        store.measured[str(row.pop("key"))] = row
                    else:
                        store.add(row)
    except pa.ArrowException as error:
        raise WorkbenchError(f"cannot read the file: {_brief(error)}", _HINT) from error


def _settle(store: _Store, text: bytes) -> None:
    settings = json.loads(text)
    if not isinstance(settings, dict):
        raise WorkbenchError("the file's settings are not an object", _HINT)
    store.settings |= settings


def _read_lines(path: Path, store: _Store) -> None:
    """Add the rows of JSON lines; a line that cannot be read is noted with its number."""
    for line in lines_of(path):
        if isinstance(line, BadRow):
            store.bad.append(line)
            continue
        try:
            row = _row_of(line, store)
        except (KeyError, TypeError, ValueError) as error:
            store.bad.append(BadRow(line.number, f"no result: {_brief(error)}"))
            continue
        if row is not None:
            store.add(row)


def _row_of(line: Row, store: _Store) -> Record | None:
    """The row of a line: of a journal, of ``evaluate``, or any object; None for settings."""
    record = dict(line.values)
    if "settings" in record and "key" not in record:  # the head of a journal
        store.settings |= dict(record["settings"])
        return None
    if "begun" in record:  # a call of evaluate
        store.settings |= {"work": "evaluate", "model": record["begun"]["model"]}
        return None
    for part in ("record", "measured"):
        record |= dict(record.pop(part, {}))
    if "key" not in record and "status" in record:  # of audit --json
        record["ended"] = record.pop("status")
    if "key" in record and "date" in record:  # of evaluate
        record["key"] = f"{record['key']} · {record['model']}"
    if record.get("kind") == "failed":  # of compare --json
        record |= {"status": "failed", "error": str(record.pop("message", ""))}
    about: Record = {"key": f"line {line.number}", "status": "done", "error": "", "hint": ""}
    return about | record


def _brief(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def write_rows(files: Sequence[Path], out: Path) -> None:
    """Read files of results into a SQLite file; a later file's row replaces that of the same key.

    Raises: WorkbenchError for files that are no results, or have too many rows or columns.
    """
    with contextlib.closing(sqlite3.connect(out)) as database:
        database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE rows (n INTEGER PRIMARY KEY, c0 TEXT UNIQUE);"
            "CREATE TABLE texts (digest BLOB PRIMARY KEY, text TEXT) WITHOUT ROWID;"
            "CREATE TABLE long (n INTEGER, number INTEGER, digest BLOB);"
            "CREATE TABLE about (record TEXT);"
        )
        store = _Store(database)
        store._column("key", "")
        try:
            parquet = [path for path in files if _is_parquet(path)]
            for path in parquet:
                _read_parquet(path, store, measures=True)
            for path in files:
                if path in parquet:
                    _read_parquet(path, store, measures=False)
                else:
                    _read_lines(path, store)
            if not store.read:
                raise WorkbenchError("the file has no results" + _first_bad(store.bad), _HINT)
            database.execute("CREATE INDEX long_of ON long (n)")
            about = json.dumps(_about(store), ensure_ascii=False)
            database.execute("INSERT INTO about VALUES (?)", (about,))
            database.commit()
        except (OSError, ValueError, KeyError, RecursionError, sqlite3.Error) as error:
            raise WorkbenchError(f"cannot read the file: {_brief(error)}", _HINT) from error


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _first_bad(bad: Sequence[BadRow]) -> str:
    return f"; line {bad[0].number}: {bad[0].reason}" if bad else ""


def _about(store: _Store) -> Record:
    """What is shown of the whole: settings, columns, numbers, failures and the summary."""
    reader = _Reader(store.database, store.columns)
    wanted = [name for name in store.columns if name in SUMMARY_COLUMNS]
    rows = [dict(zip(wanted, row, strict=True)) for row in reader.values(wanted)]
    groups = default_groups(rows)
    try:
        summary = summary_of(rows, groups)[: _MAX_LISTED + 1]
    except (ValueError, TypeError, WorkbenchError):  # columns of other kinds than ours
        summary = []
    return {
        "settings": store.settings,
        "columns": {name: list(about) for name, about in store.columns.items()},
        "rows": len(rows),
        "failed": sum(row["status"] == "failed" for row in rows),
        "reasons": reader.reasons(),
        "bad": [[row.number, row.reason[:300]] for row in store.bad[:_MAX_LISTED]],
        "bad_rows": len(store.bad),
        "groups": [name for name in groups if name in store.columns],
        "summary": summary,
    }


class _Reader:
    """Queries over the rows."""

    def __init__(self, database: sqlite3.Connection, columns: Mapping[str, Any]) -> None:
        self._database = database
        self._columns = columns

    def name(self, column: str) -> str:
        """A column's name in SQL. Raises: WorkbenchError for an unknown one."""
        if column not in self._columns:
            raise WorkbenchError(
                f"the results have no column {column!r}", f"they have {', '.join(self._columns)}"
            )
        return f"c{int(self._columns[column][0])}"

    def values(
        self, columns: Sequence[str | None], where: Where = EVERY, order: str = "n"
    ) -> Iterator[tuple[Any, ...]]:
        """The values of columns in the rows of a condition; None is the number of the row."""
        names = ", ".join("n" if column is None else self.name(column) for column in columns)
        return self._database.execute(
            f"SELECT {names} FROM rows WHERE {where.text} ORDER BY {order}",
            where.values,
        )

    def reasons(self) -> list[list[Any]]:
        """The reasons of failures: text, number of rows, key of the first."""
        if "error" not in self._columns:
            return []
        status, error = self.name("status"), self.name("error")
        hint = self.name("hint") if "hint" in self._columns else "''"
        rows = self._database.execute(
            f"SELECT {error}, {hint}, COUNT(*), c0, MIN(n) FROM rows WHERE {status} = 'failed'"
            f" GROUP BY {error}, {hint} ORDER BY MIN(n) LIMIT {_MAX_LISTED}"
        )
        return [
            [f"{reason} ({hint})" if hint else str(reason), count, key]
            for reason, hint, count, key, _ in rows
        ]

    def long(self, numbers: Sequence[int]) -> dict[tuple[int, int], str]:
        """The long texts of rows, by the number of the row and that of the column."""
        rows = self._database.execute(
            "SELECT n, number, text FROM long JOIN texts USING (digest)"
            f" WHERE n IN ({', '.join(map(str, map(int, numbers)))})"
        )
        return {(n, number): text for n, number, text in rows}

    def where(self, wanted: str) -> Where:
        """The condition that a visitor wrote: texts and comparisons, with ``and`` between them.

        Raises: WorkbenchError for a comparison that the column does not have.
        """
        parts = [self._condition(part.strip()) for part in re.split(r"\s+and\s+", wanted)]
        conditions = [part for part in parts if part is not EVERY]
        return Where(
            " AND ".join(f"({part.text})" for part in conditions) or "1",
            tuple(value for part in conditions for value in part.values),
        )

    def _condition(self, part: str) -> Where:
        if not part:
            return EVERY
        compared = _COMPARED.fullmatch(part)
        if compared is None or compared["column"] not in self._columns:
            texts = [
                f"instr(lower(c{number}), lower(?))"
                for number, kind in self._columns.values()
                if kind in ("text", "json")
            ]
            return Where(" OR ".join(texts), (part,) * len(texts))
        column, sign, value = compared["column"], compared["sign"], compared["value"].strip()
        kind = self._columns[column][1]
        given: str | float = value.strip("\"'")
        if kind in ("number", "bool"):
            try:
                given = _TRUTH[value] if value in _TRUTH else float(value)
            except ValueError:
                hint = f"for example {column} > 10" if kind == "number" else f"{column} = true"
                raise WorkbenchError(
                    f"expected a number to compare {column} with, found {value!r}", hint
                ) from None
        return Where(f"{self.name(column)} {_SIGNS[sign]} ?", (given,))


class StoredRows:
    """The rows of a SQLite file that ``write_rows`` has written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.closing(self._open()) as database:
            (text,) = next(database.execute("SELECT record FROM about"))
        #: What ``_about`` computed.
        self.about: Record = json.loads(text)
        self._sorted: OrderedDict[tuple[str, str, bool], list[int]] = OrderedDict()

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[_Reader]:
        """Queries, which end at the deadline of a ``time_budget``.

        Raises: LimitError; WorkbenchError if the file was removed.
        """
        try:
            with contextlib.closing(self._open()) as database:
                database.set_progress_handler(_over_budget, 20_000)
                yield _Reader(database, self.about["columns"])
        except sqlite3.OperationalError:
            check_time_budget("filter for less, or use workbench results")
            if not self.path.exists():
                raise WorkbenchError("the results were closed", "open the file again") from None
            raise

    def numbers(self, wanted: str, sort: str, *, down: bool) -> list[int]:
        """The numbers of the rows of a condition, sorted by a column; missing values are last.

        Raises: WorkbenchError for a wrong condition or column; LimitError.
        """
        asked = wanted, sort, down
        numbers = self._sorted.pop(asked, None)
        if numbers is None:
            with self._reading() as reader:
                order = "n"
                if sort:
                    name = reader.name(sort)
                    order = f"{name} IS NULL, {name} {'DESC' if down else 'ASC'}, n"
                where = reader.where(wanted)
                numbers = [n for (n,) in reader.values([None], where, order)]
        self._sorted[asked] = numbers
        while len(self._sorted) > _MAX_SORTED:
            self._sorted.popitem(last=False)
        return numbers

    def rows(self, numbers: Sequence[int]) -> list[list[Any]]:
        """The number and the values of rows; long texts are cut, truth values are of bool."""
        columns = self.about["columns"]
        where = Where(f"n IN ({', '.join(map(str, map(int, numbers)))})")
        with self._reading() as reader:
            row_of = {row[0]: row for row in reader.values([None, *columns], where)}
        truths = [None, *(kind == "bool" for _, kind in columns.values())]
        return [
            [
                bool(value) if truth and value is not None else value
                for value, truth in zip(row_of[n], truths, strict=True)
            ]
            for n in numbers
            if n in row_of
        ]

    def row(self, n: int) -> Record:
        """A row with all of its texts. Raises: WorkbenchError for an unknown number."""
        rows = self.whole_rows([n])
        if not rows:
            raise WorkbenchError(f"there is no row {n}")
        return dict(zip(self.about["columns"], rows[0], strict=True))

    def whole_rows(self, numbers: Sequence[int]) -> list[list[Any]]:
        """The values of rows with all of their texts."""
        with self._reading() as reader:
            long = reader.long(numbers)
        places = [number for number, _ in self.about["columns"].values()]
        return [
            [long.get((n, column), value) for column, value in zip(places, cells, strict=True)]
            for n, *cells in self.rows(numbers)
        ]

    def distribution(self, column: str, wanted: str) -> list[tuple[str, list[float]]]:
        """The values of a column in the rows of a condition that are done, by group.

        Raises: WorkbenchError for an unknown column, or one without numbers.
        """
        if self.about["columns"].get(column, (0, ""))[1] != "number":
            raise WorkbenchError(f"the results have no column {column!r} of numbers")
        groups: dict[str, list[float]] = {}
        with self._reading() as reader:
            where = reader.where(wanted)
            done = Where(f"({where.text}) AND {reader.name('status')} = 'done'", where.values)
            for *names, value in reader.values([*self.about["groups"], column], done):
                if isinstance(value, int | float):
                    groups.setdefault(" ".join(map(str, names)), []).append(value)
        return list(groups.items())


def _over_budget() -> int:
    try:
        check_time_budget()
    except LimitError:
        return 1
    return 0


def _bound(megabytes: int, seconds: float) -> None:
    """Bound the memory, processor time and files of this process, where that is possible."""
    try:
        import resource
    except ImportError:  # Windows
        return
    size = megabytes * 1_000_000
    most = {
        resource.RLIMIT_AS: 8 * size,  # libraries reserve addresses that they do not use
        resource.RLIMIT_FSIZE: size,
        resource.RLIMIT_CPU: math.ceil(seconds),
    }
    for what, value in most.items():
        _, hard = resource.getrlimit(what)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def main(arguments: Sequence[str]) -> int:
    """Read files into a SQLite file; an error is printed as JSON."""
    out, megabytes, seconds, *files = arguments
    _bound(int(megabytes), float(seconds))
    try:
        write_rows([Path(file) for file in files], Path(out))
    except WorkbenchError as error:
        print(json.dumps({"message": error.message, "hint": error.hint}))
        return 1
    except MemoryError:
        print(json.dumps({"message": "the file needs too much memory", "hint": _HINT}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
