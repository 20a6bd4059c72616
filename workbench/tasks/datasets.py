"""Rows of a dataset: JSON lines, CSV, Parquet, or a dataset of the Hugging Face library.

A row that cannot be read is yielded with its number and the reason; the others follow.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError

#: The formats by the ending of the file's name.
_FORMATS = (".jsonl", ".json", ".csv", ".parquet")

#: Rows of Parquet that are read at a time.
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """A row, with its number counted from 1 in the order of the dataset."""

    number: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read."""

    number: int
    reason: str


def rows_of(name: str, split: str = "train") -> Iterator[Row | BadRow]:
    """The rows of a file (by its ending), of a folder that ``datasets`` has saved, or of a hub id.

    ``split``  the part of a folder or hub id with several.

    Raises: WorkbenchError if there is no such file, its format is unknown, or the library that
            reads it is not installed.
    """
    path = Path(name)
    if path.is_dir() or not path.suffix:
        yield from _of_library(name, split)
        return
    if path.suffix not in _FORMATS:
        raise WorkbenchError(
            f"cannot tell the format of {name!r}",
            f"name a file that ends in {', '.join(_FORMATS)}, or a folder saved by datasets",
        )
    try:
        match path.suffix:
            case ".jsonl":
                yield from lines_of(path)
            case ".json":
                yield from _of_list(path)
            case ".csv":
                with path.open(encoding="utf-8", newline="") as file:
                    for number, row in enumerate(csv.DictReader(file), 1):
                        yield Row(number, row)
            case _:
                yield from _of_parquet(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WorkbenchError(f"cannot read {name}: {error}", "name a readable file") from error


def lines_of(path: Path) -> Iterator[Row | BadRow]:
    """The rows of a file of JSON lines."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield _row(number, json.loads(line))
            except (ValueError, RecursionError) as error:
                yield BadRow(number, f"not JSON: {error}")


def _of_list(path: Path) -> Iterator[Row | BadRow]:
    try:
        rows = json.loads(path.read_bytes())
    except ValueError as error:
        raise WorkbenchError(f"{path} is not JSON: {error}", "or end its name in .jsonl") from error
    if not isinstance(rows, list):
        raise WorkbenchError(f"expected a list of objects in {path}")
    for number, values in enumerate(rows, 1):
        yield _row(number, values)


def _row(number: int, values: object) -> Row | BadRow:
    if isinstance(values, dict):
        return Row(number, values)
    return BadRow(number, f"expected an object, found {type(values).__name__}")


def _of_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(number, values)
    except pa.ArrowException as error:
        raise WorkbenchError(f"cannot read {path}: {error}", "is it a Parquet file?") from error


def _of_library(name: str, split: str) -> Iterator[Row]:
    """Of a folder that ``datasets`` has saved, or a hub id from its cache or the network."""
    try:
        import datasets
    except ImportError as error:
        raise WorkbenchError(
            f"there is no file {name!r}; a hub id needs the package datasets",
            "pip install 'grammar-workbench[datasets]'",
        ) from error
    try:
        dataset: Any = (
            datasets.load_from_disk(name)
            if Path(name).is_dir()
            else datasets.load_dataset(name, split=split)
        )
        if isinstance(dataset, datasets.DatasetDict):
            dataset = dataset[split]
    except (OSError, ValueError, KeyError, ConnectionError) as error:
        raise WorkbenchError(f"cannot load the dataset {name!r}: {error}") from error
    for number, values in enumerate(dataset, 1):
        yield Row(number, values)


def mapped(values: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a row under the names of ``columns`` (field → column).

    A field that ``columns`` does not name is read from the column with its own name, if any.

    Raises: WorkbenchError for a column that the row lacks.
    """
    for column in columns.values():
        if column not in values:
            raise WorkbenchError(
                f"the row has no column {column!r}", f"it has {', '.join(map(repr, values))}"
            )
    return dict(values) | {field: values[column] for field, column in columns.items()}


def columns_named(options: Sequence[str]) -> dict[str, str]:
    """Options such as ``prompt=question`` as field → column. Raises: WorkbenchError."""
    columns = {}
    for option in options:
        field, equals, column = option.partition("=")
        if not (field and equals and column):
            raise WorkbenchError(
                f"expected FIELD=COLUMN, found {option!r}", "such as --column prompt=question"
            )
        columns[field] = column
    return columns
