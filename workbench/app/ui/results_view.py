"""Results files in the view *Compare*: a file arrives in parts, and its rows are answered in pages.

A file is read by a separate process with bounds (``tasks.row_store``) into SQLite. The server keeps
the last few; a browser whose file is no longer there sends it again, so any worker of several can
answer.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from workbench.app.ui import wire, wire_compare
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import (
    MAX_TEXT_CHARACTERS,
    checked_switch,
    checked_text,
    field,
    integer,
    up_to,
)
from workbench.app.ui.requests import Request
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import HEAVY, LIGHT, READING
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS, Limits
from workbench.grammar.notations import Notation, options_in
from workbench.tasks.results import files_of
from workbench.tasks.row_store import StoredRows

#: Files of one upload: results, measures and journal.
_MAX_FILES = 3

#: Files that arrive, and files that are open, at most; the oldest is dropped first.
_MAX_UPLOADS, _MAX_OPEN = 8, 8

#: The part of the memory limit that the files of one upload may have; a database may have all.
_SHARE = 8

#: How many times the seconds of a compilation reading a file may take of processor time, and at
#: most seconds of other time: a machine may have much to do.
_SECONDS, _PATIENCE = 20, 180.0

#: Rows of a page, characters of a cell, characters of CSV in an answer, groups of a plot.
_PAGE, _CELL, _CSV, _MAX_GROUPS = 50, 160, 1_000_000, 24

#: Rows whose CSV is made at a time.
_CSV_ROWS = 200

_MAX_TOKENS = 2_048

_KINDS = {
    "audit": "audits of other engines",
    "bench": "measured schemas",
    "evaluate": "results of experiments",
}


class ResultsStore:
    """Files that arrive, and those that are open, in a folder that ends with the process."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="workbench-results-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._mutex = threading.Lock()
        self._uploads: OrderedDict[str, list[Path]] = OrderedDict()
        self._open: OrderedDict[str, StoredRows] = OrderedDict()
        self._count = 0

    def _new(self, suffix: str) -> Path:
        self._count += 1
        self._folder.mkdir(mode=0o700, exist_ok=True)  # what is old may be removed from there
        return self._folder / f"{self._count}{suffix}"

    def add(self, upload: str, number: int, offset: int, data: bytes, limits: Limits) -> int:
        """Write a part of a file of an upload; returns how many of its bytes are there.

        A part that does not follow is not written. Raises: WorkbenchError for too many bytes.
        """
        with self._mutex:
            files = self._uploads.setdefault(
                upload, [self._new(".part") for _ in range(_MAX_FILES)]
            )
            self._uploads.move_to_end(upload)
            while len(self._uploads) > _MAX_UPLOADS:
                self._drop(next(iter(self._uploads)))
            sizes = [path.stat().st_size if path.exists() else 0 for path in files]
            most = limits.megabytes * 1_000_000 // _SHARE
            if offset > sizes[number]:
                return sizes[number]
            if sum(sizes) - sizes[number] + offset + len(data) > most:
                self._drop(upload)
                raise WorkbenchError(
                    f"the file has more than {most // 1_000_000} MB",
                    "serve the page with --results FILE, or use workbench results",
                )
            with files[number].open("r+b" if sizes[number] else "wb") as file:
                file.seek(offset)
                file.write(data)
            return max(sizes[number], offset + len(data))

    def _drop(self, upload: str) -> None:
        for path in self._uploads.pop(upload, ()):
            path.unlink(missing_ok=True)

    def uploaded(self, upload: str) -> list[Path]:
        """The files of an upload."""
        with self._mutex:
            return [path for path in self._uploads.get(upload, ()) if path.exists()]

    def open(self, files: Sequence[Path], limits: Limits) -> tuple[str, StoredRows]:
        """Read files; returns their name in requests, which only who has the files can know.

        Raises: WorkbenchError for files without results, or that are not there, and above the
                limits.
        """
        digest = hashlib.sha256()
        try:
            for path in files:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise WorkbenchError(f"the file cannot be read: {error.strerror}") from None
        name = digest.hexdigest()
        stored = self.rows(name)
        if stored is None:
            with self._mutex:
                path = self._new(".db")
            try:
                _read(files, path, limits)
                stored = StoredRows(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            with self._mutex:
                self._open[name] = stored
                while len(self._open) > _MAX_OPEN:
                    self._open.popitem(last=False)[1].path.unlink(missing_ok=True)
        return name, stored

    def close(self, upload: str) -> None:
        """Delete the files of an upload."""
        with self._mutex:
            self._drop(upload)

    def rows(self, name: str) -> StoredRows | None:
        """The rows of open files; None if they are no longer there."""
        with self._mutex:
            stored = self._open.get(name)
            if stored is None or not stored.path.exists():
                return None
            self._open.move_to_end(name)
            return stored


@cache
def results_store() -> ResultsStore:
    """The store of this process."""
    return ResultsStore()


def _read(files: Sequence[Path], out: Path, limits: Limits) -> None:
    """Read files in a separate process. Raises: WorkbenchError."""
    bounds = (str(limits.megabytes), f"{_SECONDS * limits.seconds:g}")
    command = (sys.executable, "-P", "-m", "workbench.tasks.row_store", str(out), *bounds)
    hint = "use workbench results, which has no such limit"
    try:
        ended = subprocess.run(
            [*command, *map(str, files)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WorkbenchError(f"reading the file takes more than {_PATIENCE:g} s", hint) from None
    if not ended.returncode:
        return
    try:
        failure = json.loads(ended.stdout)
    except ValueError:
        most = f"{bounds[0]} MB or {bounds[1]} s"
        raise WorkbenchError(
            f"the file cannot be read: it is damaged, or needs more than {most}", hint
        ) from None
    raise WorkbenchError(failure["message"], failure["hint"])


# -- questions -------------------------------------------------------------------------------------


def _decoded(value: object, name: str) -> bytes:
    try:
        return base64.b64decode(checked_text(value, name, 2_000_000), validate=True)
    except ValueError:
        raise WorkbenchError("expected a part of a file as base64") from None


class PartRequest(Request):
    """A part of a file of an upload."""

    upload: Annotated[str, up_to(64)] = ""
    file: Annotated[int, integer(0, _MAX_FILES - 1)] = 0
    offset: Annotated[int, integer(0, 2**40)] = 0
    base64: Annotated[bytes, field(_decoded, sent=str)] = b""


@question(LIGHT)
def send_results(
    handlers: Handlers, request: PartRequest
) -> wire_compare.ResultsPart | wire.Refusal:
    """Take a part of a file; ``received`` bytes of the file are there."""
    _check_upload(request.upload)
    limits = handlers.pipeline.limits
    return {
        "ok": True,
        "received": results_store().add(
            request.upload, request.file, request.offset, request.base64, limits
        ),
    }


class OpenRequest(Request):
    """The name of an upload, or ``served`` for the file that the page is served with."""

    upload: Annotated[str, up_to(64)] = ""
    served: Annotated[bool, field(checked_switch, sent=bool | None)] = False


def _check_upload(name: str) -> None:
    if not re.fullmatch(r"[0-9a-z-]{8,64}", name):
        raise WorkbenchError("expected a name of the upload")


@question(READING)
def open_results(
    handlers: Handlers, request: OpenRequest
) -> wire_compare.OpenedResults | wire.Refusal:
    """Read the files of an upload, or the file that the page is served with."""
    store, served = results_store(), handlers.served_results
    if request.served:
        if served is None:
            raise WorkbenchError("the page is served without results")
        return _about(*store.open(files_of(served) or [served], LOCAL_LIMITS))
    upload = request.upload
    _check_upload(upload)
    files = store.uploaded(upload)
    if not files:
        raise WorkbenchError("the file did not arrive", "open it again")
    try:
        return _about(*store.open(files, handlers.pipeline.limits))
    finally:
        store.close(upload)


def _about(name: str, stored: StoredRows) -> wire_compare.OpenedResults:
    about = stored.about
    settings, columns = about["settings"], about["columns"]
    usual = "runs of methods" if "contender" in columns else "rows"
    return {
        "ok": True,
        "file": name,
        "kind": _KINDS.get(str(settings.get("work")), usual),
        "settings": [
            [str(key)[:80], str(value)[:200]]
            for key, value in settings.items()
            if key != "work" and value not in ("", None)
        ][:40],
        "columns": [{"name": key, "kind": kind} for key, (_, kind) in columns.items()],
        "rows": about["rows"],
        "failed": about["failed"],
        "reasons": [
            {"why": why, "rows": count, "first": key} for why, count, key in about["reasons"]
        ],
        "bad": [{"row": number, "why": why} for number, why in about["bad"]],
        "bad_rows": about["bad_rows"],
        "groups": about["groups"],
        "summary": about["summary"],
    }


class RowsRequest(Request):
    """An open file by its name, and the filter of its rows."""

    file: Annotated[str, up_to(64)] = ""
    wanted: Annotated[str, up_to(500)] = ""

    @property
    def stored(self) -> StoredRows | None:
        """The rows; None if the file has to be sent again."""
        return results_store().rows(self.file)


class PageRequest(RowsRequest):
    """Some of the rows in an order, those from ``offset`` on."""

    sort: Annotated[str, up_to(200)] = ""
    down: Annotated[bool, field(checked_switch, sent=bool | None)] = False
    offset: Annotated[int, integer(0, 2**40)] = 0

    def numbers(self, stored: StoredRows) -> list[int]:
        """The numbers of all rows in their order."""
        return stored.numbers(self.wanted, self.sort, down=self.down)


class RowRequest(RowsRequest):
    """A row of a file, by its number."""

    n: Annotated[int, integer(0, 2**40)] = 0


class PlotRequest(RowsRequest):
    """A column whose values are plotted."""

    column: Annotated[str, up_to(200)] = ""


@question(HEAVY)
def results_rows(_: Handlers, request: PageRequest) -> wire_compare.ResultsRows | wire.Refusal:
    """A page of the rows, filtered and sorted; ``lost`` if the file has to be sent again."""
    stored = request.stored
    if stored is None:
        return {"ok": True, "lost": True, "total": 0, "rows": []}
    numbers = request.numbers(stored)
    offset = min(request.offset, len(numbers))
    rows: list[wire_compare.ResultsRow] = [
        {"n": n, "cells": [_cell_value(value) for value in cells]}
        for n, *cells in stored.rows(numbers[offset : offset + _PAGE])
    ]
    return {"ok": True, "lost": False, "total": len(numbers), "rows": rows}


def _cell_value(value: Any) -> Any:  # noqa: ANN401  # a cell
    if isinstance(value, str) and len(value) > _CELL:
        return value[:_CELL] + "…"
    return value


@question(LIGHT)
def results_row(_: Handlers, request: RowRequest) -> wire_compare.OpenedRow | wire.Refusal:
    """A row with its texts, its grammar for the editor, and the tokens of its run."""
    stored = request.stored
    if stored is None:
        return {"ok": True, "lost": True, "values": [], "grammar": None, "tokens": []}
    row = stored.row(request.n)
    values: list[wire_compare.ResultsValue] = [
        {
            "name": name,
            "value": value[:MAX_TEXT_CHARACTERS] if isinstance(value, str) else value,
        }
        for name, value in row.items()
        if value not in (None, "")
    ]
    tokens = _tokens_of(row.get("token_ids"))
    grammar = _grammar_of(row)
    return {"ok": True, "lost": False, "values": values, "grammar": grammar, "tokens": tokens}


def _grammar_of(row: Record) -> wire_compare.ResultsGrammar | None:
    """The grammar of a row as the editor opens it; None for none, or one too long for it."""
    text = row.get("grammar")
    if not isinstance(text, str) or len(text) > MAX_TEXT_CHARACTERS:
        return None
    notation = row.get("notation")
    if notation not in list(Notation):
        return None
    prompt = str(row.get("prompt") or "")
    return {
        "text": text,
        "notation": notation,
        "start": str(row.get("start") or "start"),
        "options": options_in(row, Notation(notation)),
        "prompt": prompt if len(prompt) <= MAX_TEXT_CHARACTERS else "",
    }


def _tokens_of(text: object) -> list[int]:
    """The token ids of a run; none if there are none, or too many."""
    try:
        ids = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    is_valid = isinstance(ids, list) and all(type(token_id) is int for token_id in ids)
    return ids if is_valid and len(ids) <= _MAX_TOKENS else []


@question(HEAVY)
def results_plot(_: Handlers, request: PlotRequest) -> wire_compare.ResultsPlot | wire.Refusal:
    """The distribution of a column in each group: quartiles and whiskers, as of a box plot."""
    stored = request.stored
    if stored is None:
        return {"ok": True, "lost": True, "groups": [], "left": 0}
    values_by_group = stored.distribution(request.column, request.wanted)
    groups = [_box(name[:120], np.array(each)) for name, each in values_by_group]
    groups_left = len(groups) - _MAX_GROUPS
    return {"ok": True, "lost": False, "groups": groups[:_MAX_GROUPS], "left": max(0, groups_left)}


def _box(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> wire_compare.ResultsBox:
    """The numbers of a box: whiskers end at the last value within 1.5 quartile distances."""
    first, median, third = np.percentile(values, (25, 50, 75))
    reach = 1.5 * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    return {
        "name": name,
        "count": len(values),
        "outside": len(values) - len(inside),
        "low": float(inside.min()),
        "first": float(first),
        "median": float(median),
        "third": float(third),
        "high": float(inside.max()),
    }


@question(HEAVY)
def results_csv(_: Handlers, request: PageRequest) -> wire_compare.ResultsCsv | wire.Refusal:
    """Some of the rows as CSV, those from ``offset`` on; ``next`` is the offset of the others."""
    stored = request.stored
    if stored is None:
        return {"ok": True, "lost": True, "total": 0, "next": 0, "text": ""}
    numbers = request.numbers(stored)
    offset = min(request.offset, len(numbers))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if not offset:
        lines.writerow(stored.about["columns"])
    head = text.tell()
    while offset < len(numbers) and text.tell() < head + _CSV:
        chosen = numbers[offset : offset + _CSV_ROWS]
        for row in stored.whole_rows(chosen):
            lines.writerow(row)
        offset += len(chosen)
    return {
        "ok": True,
        "lost": False,
        "total": len(numbers),
        "next": offset,
        "text": text.getvalue(),
    }
