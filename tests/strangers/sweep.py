"""Every public operation on every hostile input, each in a process that is ended after a bound.

``python -m tests.strangers.sweep --seconds 0.2 --vocabulary builtin --out rows.jsonl``

A row for each pair of input and operation: the call that took most, in CPU seconds of its thread
and megabytes that the process grew by, and how the operation ended. Rows that the file has are not
computed again, so an interrupted sweep continues. ``--table rows.jsonl …`` prints the worst factors.

One process reads an input; for each operation it forks another one, which inherits the grammar and
the vocabulary. The system's timer of CPU time ends it, also inside compiled code.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import workbench as wb
from tests.strangers.hostile_inputs import HOSTILE, Hostile
from tests.strangers.operations import OPERATIONS, Case, Operation
from workbench.base.cpu_time import cpu_seconds
from workbench.base.text_tables import format_table
from workbench.constraint.compile import METHODS
from workbench.constraint.kernel_examples import call_all_kernels

Result = TypeVar("Result")
Row = dict[str, Any]

#: A call may take this many times its limit, and these seconds besides: the first use of a table.
FACTOR = 2
FLOOR = 0.3
#: The most runs of an operation that takes too long.
_RUNS = 3
#: A process is ended in a call after this many times the limit.
_ENDED_AFTER = 12
#: The seconds of the day after which a process that sleeps in a call is ended.
_ASLEEP = 60
#: With more than these seconds the grammar is read for the operations if the limits refuse it.
_READING = 2.0
#: The most bytes by which a process may grow before it is refused memory.
_MOST_BYTES = 3 * 2**30


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits and the vocabulary of a sweep."""

    seconds: float
    vocabulary: str

    @property
    def limits(self) -> wb.Limits:
        return wb.Limits(seconds=self.seconds)


class Measuring:
    """Measures calls; ``row`` has the worst of them."""

    def __init__(self, settings: Settings, begun: Callable[[str], None]) -> None:
        self._limits, self._begun = settings.limits, begun
        self.row: Row = {"call": "", "cpu": 0.0, "factor": 0.0, "megabytes": 0.0}

    def __call__(self, name: str, work: Callable[[], Result], /, limits: int = 1) -> Result:
        self._begun(name)
        _reset_peak()
        before, began = _memory("VmRSS"), cpu_seconds()
        try:
            return work()
        finally:
            cpu = cpu_seconds() - began
            grown = max(0.0, _memory("VmHWM") - before)
            factor = max(0.0, cpu - FLOOR) / (limits * self._limits.seconds)
            self.row["megabytes"] = max(self.row["megabytes"], round(grown, 1))
            if cpu > self.row["cpu"]:
                self.row |= {"call": name, "cpu": round(cpu, 3), "factor": round(factor, 2)}


def _reset_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> float:
    """Megabytes of this process: what it has (``VmRSS``) or its peak (``VmHWM``)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1000
    return 0.0


def exceeds(row: Row, limits: wb.Limits) -> str:
    """Why a row breaks the rule; empty if it keeps it."""
    if row["end"].startswith("killed"):
        return f"{row['end']} in {row['call']}"
    if row["factor"] > FACTOR:
        return f"{row['cpu']} s in {row['call']}"
    if row["megabytes"] > FACTOR * limits.megabytes:
        return f"{row['megabytes']} MB"
    return row["end"] if row["end"].startswith("raised") else ""


# -- processes ------------------------------------------------------------------------------------


def _in_process(work: Callable[[Callable[[Row], None]], None]) -> Iterator[Row]:
    """The rows that ``work`` sends from another process.

    The last row says if it was ended: ``{"killed": signal}``.
    """
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            os.setpgid(0, 0)
            with os.fdopen(writing, "w", buffering=1) as pipe:
                work(lambda row: print(json.dumps(row), file=pipe, flush=True))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        yield from map(json.loads, pipe)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it started
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
        yield {
            "killed": signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit"
        }


def _measured(
    operation: Callable[[Measuring], None], settings: Settings, send: Callable[[Row], None]
) -> None:
    """Run an operation in this process, which ends in a call that takes too long; send its row."""

    def begin(name: str) -> None:
        send({"begun": name})
        signal.setitimer(signal.ITIMER_PROF, _most_seconds(settings))
        signal.alarm(_ASLEEP)

    call = Measuring(settings, begin)
    size = int(_memory("VmSize") * 1000) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size + _MOST_BYTES, size + _MOST_BYTES))
    try:
        operation(call)
        end = "answer"
    except wb.WorkbenchError as error:
        end = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
    except Exception as error:  # whatever it raises is what is looked for
        end = f"raised {type(error).__name__}: {str(error)[:200]}"
    send({**call.row, "end": end})


def _row(operation: Callable[[Measuring], None], settings: Settings) -> Row:
    """The row of an operation; if it took too long, the smallest of three: caches are shared."""
    rows = [_run(operation, settings)]
    while (
        rows[-1]["factor"] > FACTOR
        and not rows[-1]["end"].startswith("killed")
        and len(rows) < _RUNS
    ):
        rows.append(_run(operation, settings))
    return min(rows, key=lambda row: float(row["factor"]))


def _run(operation: Callable[[Measuring], None], settings: Settings) -> Row:
    """The row of an operation that runs in another process."""
    row, begun = {"call": "", "cpu": 0.0, "factor": 0.0, "megabytes": 0.0, "end": ""}, ""
    for sent in _in_process(lambda send: _measured(operation, settings, send)):
        begun = sent.get("begun", begun)
        if "killed" in sent:
            row |= {
                "call": begun,
                "cpu": _most_seconds(settings),
                "factor": float(_ENDED_AFTER),
                "end": f"killed {sent['killed']}",
            }
        elif "end" in sent:
            row |= sent
    return row


def _most_seconds(settings: Settings) -> float:
    """The CPU seconds after which a process is ended in a call."""
    return FLOOR + _ENDED_AFTER * settings.seconds


def _read(hostile: Hostile, text: str, limits: wb.Limits) -> wb.Grammar:
    return wb.Grammar.from_text(text, hostile.notation, limits=limits)


def _problems(hostile: Hostile, text: str, limits: wb.Limits) -> object:
    return wb.problems(text, hostile.notation, limits=limits)


#: The operations on the text itself, which need no grammar.
_OF_TEXTS: dict[str, Callable[[Hostile, str, wb.Limits], object]] = {
    "read": _read,
    "problems": _problems,
}
#: The names of all operations.
_NAMES = (*_OF_TEXTS, *OPERATIONS)


def _rows_of(
    hostile: Hostile, settings: Settings, wanted: Iterable[str], send: Callable[[Row], None]
) -> None:
    """Send the rows of an input."""
    text, limits = hostile.text, settings.limits

    wanted = set(wanted)
    for name, work in _OF_TEXTS.items():
        if name in wanted:
            whole = partial(work, hostile, text, limits)
            send({"operation": name, **_row(partial(_called, name, whole), settings)})
    if wanted <= _OF_TEXTS.keys():
        return
    vocabulary = wb.Vocabulary.load(settings.vocabulary)
    try:
        grammar = _read(hostile, text, wb.Limits(seconds=_READING, megabytes=1_000, states=300_000))
    except wb.WorkbenchError:
        return
    case = Case(replace(grammar, limits=limits), vocabulary, limits, hostile.reads)
    gc.collect()
    gc.freeze()
    for name in OPERATIONS:
        if name in wanted:
            send({"operation": name, **_row(_bound(OPERATIONS[name], case), settings)})


def _called(name: str, work: Callable[[], object], call: Measuring) -> None:
    call(name, work)


def _bound(operation: Operation, case: Case) -> Callable[[Measuring], None]:
    return lambda call: operation(case, call)


def sweep(
    settings: Settings,
    inputs: Iterable[Hostile] = HOSTILE,
    operations: Iterable[str] = _NAMES,
    done: Mapping[str, Iterable[str]] | None = None,
) -> Iterator[Row]:
    """The rows of inputs and operations, without those that are done."""
    operations = tuple(operations)
    _prepare(settings, operations)
    for hostile in inputs:
        wanted = set(operations) - set((done or {}).get(hostile.name, ()))
        if not wanted:
            continue
        rows = _in_process(lambda send: _rows_of(hostile, settings, wanted, send))  # noqa: B023
        for row in rows:
            yield {"input": hostile.name, **asdict(settings), **row}


def _prepare(settings: Settings, operations: Sequence[str]) -> None:
    """Load kernels, the vocabulary and the methods' tables of it: their first use is not swept."""
    call_all_kernels()
    vocabulary = wb.Vocabulary.load(settings.vocabulary)
    grammar = wb.Grammar.from_kbnf("start ::= 'a' start? 'b';")
    few = wb.Limits(seconds=10)
    for method in METHODS:
        if f"method {method}" not in operations:
            continue
        with suppress(wb.WorkbenchError):
            constraint = wb.compile(grammar, vocabulary, method, few)
            constraint.mask(constraint.initial)


# -- the command ----------------------------------------------------------------------------------


def _stored(out: Path, settings: Settings) -> dict[str, set[str]]:
    """The operations of each input that a file of rows has."""
    done: defaultdict[str, set[str]] = defaultdict(set)
    if out.exists():
        for row in rows_in(out):
            if (row["seconds"], row["vocabulary"]) == (settings.seconds, settings.vocabulary):
                done[row["input"]].add(row.get("operation", ""))
    return done


def rows_in(out: Path) -> Iterator[Row]:
    """The rows of a file."""
    with out.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def table(rows: Iterable[Row]) -> str:
    """The worst row of each operation."""
    worst: dict[str, Row] = {}
    for row in rows:
        name = row.get("operation", "?")
        if name not in worst or row["factor"] > worst[name]["factor"]:
            worst[name] = row
    lines = [("operation", "input", "call", "CPU s", "factor", "end")]
    lines += [
        (name, row["input"], row["call"], f"{row['cpu']}", f"{row['factor']}", row["end"][:40])
        for name, row in worst.items()
    ]
    return format_table(lines)


def main() -> None:
    """Sweep, and print what breaks the rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--vocabulary", default="builtin")
    parser.add_argument("--out", type=Path, default=Path("sweep.jsonl"))
    parser.add_argument("--inputs", nargs="*", help="names of inputs; all unless given")
    parser.add_argument("--operations", nargs="*", help="names of operations; all unless given")
    parser.add_argument("--table", type=Path, nargs="*", help="print the worst rows of files")
    given = parser.parse_args()
    if given.table:
        print(table(row for file in given.table for row in rows_in(file)))
        return
    settings = Settings(given.seconds, given.vocabulary)
    inputs = [each for each in HOSTILE if given.inputs is None or each.name in given.inputs]
    operations = given.operations or _NAMES
    with given.out.open("a", encoding="utf-8") as out:
        for row in sweep(settings, inputs, operations, _stored(given.out, settings)):
            print(json.dumps(row, ensure_ascii=False), file=out, flush=True)
            if "end" in row and (why := exceeds(row, settings.limits)):
                print(f"{row['input']} · {row['operation']}: {why}", flush=True)


if __name__ == "__main__":
    main()
