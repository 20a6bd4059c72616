"""The constraints of files, folders and JSON Lines that are audited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from workbench.audits.auditor import LIMITS
from workbench.audits.instances import rows_of
from workbench.audits.texts import Subject
from workbench.base.errors import WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

_SUFFIXES = {f".{notation}": notation for notation in Notation} | {".json": Notation.JSON_SCHEMA}


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """A constraint that is not compiled yet; instances and values that are none, if known."""

    name: str
    text: str
    notation: Notation
    start: str = "start"
    instances: tuple[Any, ...] = ()
    invalid: tuple[Any, ...] = ()

    def subject(self) -> Subject:
        """The compiled constraint.

        Raises: ParseError, BuildError, LimitError.
        """
        grammar = Grammar.from_text(
            self.text, self.notation, self.start, limits=LIMITS.begun(), name=self.name
        )
        return Subject(self.name, grammar, self.instances, self.invalid)


def unread(
    path: Path,
    notation: Notation | None,
    start: str,
    instances: tuple[Any, ...] = (),
    only: str = "",
) -> list[Unread]:
    """The constraints of a file, of the files of a folder, or of JSON Lines.

    ``only``  rows of JSON Lines whose id, suite or subset has this.

    Raises: WorkbenchError for a folder without constraints, or a file that cannot be read.
    """
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES]
        if not files:
            raise WorkbenchError(f"{path} has no schema and no grammar", _hint())
        return [_of_file(file, notation, start, instances) for file in files]
    if path.suffix == ".jsonl":
        return [*_of_lines(path, only)]
    return [_of_file(path, notation, start, instances)]


def _hint() -> str:
    return f"name files with one of the suffixes {', '.join(_SUFFIXES)}"


def _of_file(
    path: Path, notation: Notation | None, start: str, instances: tuple[Any, ...]
) -> Unread:
    notation = notation or _SUFFIXES.get(path.suffix)
    if notation is None:
        raise WorkbenchError(
            f"the notation of {path} is not known", f"use --notation, or {_hint()}"
        )
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}", "name a UTF-8 text file") from error
    if notation is Notation.REGEX:
        text = text.removesuffix("\n")
    begin = "root" if notation is Notation.GBNF and start == "start" else start
    return Unread(path.name, text, notation, begin, instances)


def _of_lines(path: Path, only: str) -> Iterator[Unread]:
    """The schemas of JSON Lines: objects with ``schema``, and perhaps ``id`` and ``tests``."""
    try:
        for number, row in enumerate(rows_of(path, only)):
            tests = row.get("tests", ())
            yield Unread(
                str(row.get("id", f"line {number + 1}")),
                json.dumps(row["schema"], ensure_ascii=False),
                Notation.JSON_SCHEMA,
                instances=tuple(t["data"] for t in tests if t["valid"]),
                invalid=tuple(t["data"] for t in tests if not t["valid"]),
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbenchError(
            f"cannot read {path}: {error!r}", "each line is an object with a field 'schema'"
        ) from error


def instances_of(path: Path) -> tuple[Any, ...]:
    """The values of a file, one a line.

    Raises: WorkbenchError where the file cannot be read.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
        return tuple(json.loads(line) for line in lines if line.strip())
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}", "each line is a JSON value") from error


def sampled(subjects: list[Unread], count: int | None, seed: int) -> list[Unread]:
    """A number of the constraints, chosen at random, in their order."""
    if count is None or count >= len(subjects):
        return subjects
    chosen = sorted(Random(seed).sample(range(len(subjects)), count))
    return [subjects[i] for i in chosen]
