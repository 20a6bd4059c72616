"""``workbench grade``: answers to an exercise, in files, as a table."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from workbench.analysis.exercise import Exercise, Graded, Outcome
from workbench.app.cli.options import errors_reported, progress_bar, write_file
from workbench.app.exercises.exercise_reader import load_exercise
from workbench.base.diagnostics import Problem
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS
from workbench.grammar.notations import Notation

#: Bytes of an answer at most.
_MAX_BYTES = 1_000_000

#: The columns of the table.
COLUMNS = (
    "file",
    "notation",
    "verdict",
    "credit",
    "language_credit",
    "counterexample",
    "gained_or_lost",
    "compared_up_to",
    "unmet_conditions",
    "problem",
    "line",
    "column",
)


@dataclass(frozen=True, slots=True)
class GradedFile:
    """A file and the result of its check."""

    path: Path
    #: None if it does not follow from the file's name.
    notation: Notation | None
    graded: Graded

    def row(self) -> dict[str, str]:
        """The row of the table; a cell without a value is empty."""
        graded, problem = self.graded, self.graded.problem
        line, column = (problem.position if problem else None) or ("", "")
        counterexample = graded.counterexample
        return {
            "file": str(self.path),
            "notation": str(self.notation or ""),
            "verdict": str(graded.outcome),
            "credit": _number(graded.share),
            "language_credit": _number(graded.language_share),
            # as a JSON string: white space is seen, and no spreadsheet takes it for a formula
            "counterexample": ""
            if counterexample is None
            else json.dumps(counterexample.decode("utf-8", "backslashreplace"), ensure_ascii=False),
            "gained_or_lost": ""
            if counterexample is None
            else "gained"
            if graded.gained
            else "lost",
            "compared_up_to": "" if graded.bound is None else str(graded.bound),
            "unmet_conditions": "; ".join(graded.unmet),
            "problem": problem.message if problem else "",
            "line": str(line),
            "column": str(column),
        }

    def complaint(self) -> str:
        """``file:line:column: message`` of an answer that cannot be read; else empty."""
        problem = self.graded.problem
        if problem is None:
            return ""
        position = "".join(f"{number}:" for number in problem.position or ())
        return f"{self.path}:{position} {problem.message}"


def _number(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def grade(
    task: Annotated[
        str,
        typer.Argument(help="An exercise: its name, its TOML file or its link."),
    ],
    answers: Annotated[
        list[Path],
        typer.Argument(help="Files with one answer each, or folders with such files."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A CSV file; without one stdout.")
    ] = None,
    notation: Annotated[
        str | None,
        typer.Option(
            metavar="NOTATION",
            help=f"Of files whose suffix names none; one of {', '.join(Notation)}.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long to compare an answer that needs a stack.")
    ] = 0.5,
) -> None:
    """Check answers to an exercise: a CSV with verdict, counterexample and partial credit.

    The suffix of a file names its notation. Credit is 1 for a right answer. For a wrong one it is
    computed from all short texts: the share of the texts that the answer or the solution accepts
    that both accept, or the share of the texts that one of both rejects that both reject, whichever
    is smaller. It is 0 for an answer that does not satisfy the conditions, such as the notation;
    language_credit is that of its language.

    Exit status 0: all answers were read; 1: some could not; 2: wrong use.
    """
    with errors_reported():
        if notation is not None and notation not in list(Notation):
            raise WorkbenchError(f"expected one of {', '.join(Notation)}, not {notation!r}")
        exercise = load_exercise(task)
        exercise.verify()
        files = list(_files(answers, out))
        if not files:
            raise WorkbenchError("there are no answers", "name files, or folders with files")
        graded = []
        other = None if notation is None else Notation(notation)
        grader = _Grader(exercise, other, seconds)
        with progress_bar(len(files), "grading") as advance:
            for path in files:
                graded.append(grader.grade(path))
                advance(path.name[:30], 1)
        write_file(out, _table(graded).encode(), "choose another --out")
        _report(graded)
    raise typer.Exit(int(any(each.graded.outcome is Outcome.UNREADABLE for each in graded)))


def _files(paths: list[Path], out: Path | None) -> Iterator[Path]:
    """The files, and those in the folders at any depth, sorted; hidden ones are left out.

    Raises: WorkbenchError for a path that does not exist.
    """
    for path in paths:
        if path.is_dir():
            for inside in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in inside.relative_to(path).parts)
                if inside.is_file() and not hidden and inside != out:
                    yield inside
        elif path.exists():
            yield path
        else:
            raise WorkbenchError(f"there is no file {path}", "name files or folders with answers")


class _Grader:
    """Checks files; equal answers are compared once."""

    def __init__(self, exercise: Exercise, notation: Notation | None, seconds: float) -> None:
        self._exercise = exercise
        self._notation = notation
        self._limits = replace(LOCAL_LIMITS, seconds=seconds)
        self._known: dict[tuple[str, Notation], Graded] = {}

    def grade(self, path: Path) -> GradedFile:
        """The result of one file; a file that cannot be read has one too."""
        notation = Notation.of_file(path.name) or self._notation
        try:
            if notation is None:
                suffixes = ", ".join(notation.suffix for notation in Notation)
                raise WorkbenchError(
                    f"the notation does not follow from the file's name: expected {suffixes}"
                )
            text = _text(path)
        except WorkbenchError as error:
            unreadable = Graded(
                outcome=Outcome.UNREADABLE, problem=Problem.of(error), why=error.message
            )
            return GradedFile(path, notation, unreadable)
        if notation is Notation.REGEX:
            text = text.removesuffix("\n").removesuffix("\r")
        key = text, notation
        if key not in self._known:
            self._known[key] = self._exercise.check(
                text, notation, limits=self._limits, name=str(path)
            )
        return GradedFile(path, notation, self._known[key])


def _text(path: Path) -> str:
    """The text of an answer.

    Raises: WorkbenchError where the file cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise WorkbenchError(f"cannot read the file: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise WorkbenchError(f"the file has more than {_MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"the file is not UTF-8: byte {error.start + 1}") from None


def _table(graded: list[GradedFile]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS)
    writer.writeheader()
    writer.writerows(each.row() for each in graded)
    return written.getvalue()


def _report(graded: list[GradedFile]) -> None:
    """Answers that cannot be read, and the number of each verdict, on stderr."""
    for each in graded:
        if complaint := each.complaint():
            print(complaint, file=sys.stderr)
    counts = Counter(each.graded.outcome for each in graded)
    parts = [f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]]
    print(f"{len(graded)} answers: {', '.join(parts)}", file=sys.stderr)
    if counts[Outcome.REFUSED]:
        why = "a condition is not satisfied; the column language_credit has that of the language"
        print(f"refused answers have credit 0: {why}", file=sys.stderr)
