"""The benchmark of JSON Schema: runs engines over a file of schemas and reports."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from lab.bench.measurements import median, percentile_99
from lab.bench.peers.registry import OURS
from lab.bench.schema_worker import SchemaRecord, Status, Tally, version_of
from workbench.audits.instances import rows_of
from workbench.base.text_tables import figure, format_table
from workbench.engines.answering import AnsweringProcess, EngineLostError
from workbench.grammar.notations import Notation
from workbench.tasks.task import Outcome, Record, Result, Task, Work

#: Wrong judgements of our engine that are listed.
_MAX_MISTAKES = 48


def report(records: Sequence[SchemaRecord]) -> str:
    """Tables of shares, times and spellings; for our engine also refusals and wrong judgements."""
    engines = list(dict.fromkeys(r.engine for r in records))
    of = {engine: [r for r in records if r.engine == engine] for engine in engines}
    parts = [_shares(of), _times(of), _by_subset(records), _by_spelling(of)]
    if OURS in of:
        parts += [_phases(of[OURS]), _refusals(of[OURS]), _mistakes(of[OURS])]
    return "\n\n".join(part for part in parts if part) + "\n"


#: How a schema can end besides compiling.
ENDS: tuple[Status, ...] = ("refused", "failed", "crashed", "timed out")


def _shares(of: dict[str, list[SchemaRecord]]) -> str:
    """Schemas by how they end; one passes if its instances, as written, are judged rightly."""
    rows: list[tuple[str, ...]] = [
        ("schemas", "compiled", "", "passing", "", "refuses valid", "accepts invalid", *ENDS, "MB")
    ]
    for records in of.values():
        by = Counter(r.status for r in records)
        grew = max(r.kilobytes for r in records) / 1024
        ends = (str(by[s]) for s in ENDS)
        over = sum(record.refuses_valid for record in records)
        under = sum(record.accepts_invalid for record in records)
        done = by["compiled"]
        right = sum(
            r.status == "compiled" and not (r.refuses_valid or r.accepts_invalid) for r in records
        )
        shares = str(done), _share(done, len(records)), str(right), _share(right, len(records))
        rows.append((_name(records), *shares, str(over), str(under), *ends, figure(grew)))
    return format_table(rows)


def _times(of: dict[str, list[SchemaRecord]]) -> str:
    once, processor = "once: median", "processor: median"
    head = "text to first mask, ms", "median", "p90", "p99", "most", once, "p99", processor, "p99"
    rows: list[tuple[str, ...]] = [head]
    for records in of.values():
        done = [r for r in records if r.status == "compiled"]
        best, first, cpu = (
            sorted(getattr(r, name) for r in done) for name in ("ms", "first_ms", "cpu_ms")
        )
        if best:
            shown = (
                median(best), best[len(best) * 9 // 10], percentile_99(best), best[-1],
                median(first), percentile_99(first), median(cpu), percentile_99(cpu),
            )  # fmt: skip
            rows.append((_name(records), *map(figure, shown)))
    return format_table(rows)


def _by_subset(records: Sequence[SchemaRecord]) -> str:
    """For each subset and engine: schemas that pass, first masks, and the time between tokens.

    A schema passes if it compiles and every instance in declared order is judged rightly. A mask
    is computed between two tokens of a valid instance.
    """
    head = "subset, engine", "compiled", "passing", "first mask, ms: p50", "p99"
    rows: list[tuple[str, ...]] = [(*head, "mask, µs: mean", "p99", "most", "masks")]
    subsets = dict.fromkeys((r.subset or r.suite) for r in records)
    for subset in ("all", *subsets):
        for engine in dict.fromkeys(r.engine for r in records):
            its = [
                r for r in records if r.engine == engine and subset in ("all", r.subset or r.suite)
            ]
            done = [r for r in its if r.status == "compiled"]
            passing = [r for r in its if r.passes]
            first = sorted(r.ms for r in done if r.ms is not None)
            masks = sorted(one for r in done for one in r.mask_us)
            times = (median(first), percentile_99(first)) if first else (None, None)
            between = (
                (sum(masks) / len(masks), percentile_99(masks), masks[-1])
                if masks
                else (None, None, None)
            )
            shares = (_share(len(some), len(its)) for some in (done, passing))
            numbers = map(figure, (*times, *between))
            rows.append((f"{subset}, {engine}", *shares, *numbers, str(len(masks))))
    return format_table(rows)


def _by_spelling(of: dict[str, list[SchemaRecord]]) -> str:
    """Accepted instances of compiled schemas; spellings with equal results share a row."""
    rows: list[tuple[str, ...]] = [("accepted, by spelling", "of valid", "", "of invalid", "")]
    for records in of.values():
        sums: dict[str, Tally] = {}
        for record in records:
            for spelling, tally in record.tallies.items():
                sums.setdefault(spelling, Tally()).add(tally)
        for order in dict.fromkeys(spelling.split("/")[0] for spelling in sums):
            its = {name: tally for name, tally in sums.items() if name.startswith(order)}
            alike = len({astuple(tally) for tally in its.values()}) == 1
            for spelling, tally in [*its.items()][: 1 if alike else None]:
                name = f"{order} order, every spelling" if alike else spelling
                rows.append((f"{records[0].engine}, {name}", *_accepted(tally)))
    return format_table(rows)


def _accepted(tally: Tally) -> tuple[str, ...]:
    """The shares, each with the number judged wrongly."""
    return (
        _share(tally.valid, tally.of_valid),
        f"({tally.of_valid - tally.valid} of {tally.of_valid} not)",
        _share(tally.invalid, tally.of_invalid),
        f"({tally.invalid} of {tally.of_invalid})",
    )


def _phases(records: Sequence[SchemaRecord]) -> str:
    """The phases of our compilations."""
    rows: list[tuple[str, ...]] = [("of ours, ms", "median", "p99", "most")]
    done = [r for r in records if r.parts]
    for name in done[0].parts if done else ():
        ordered = sorted(r.parts[name] for r in done)
        shown = median(ordered), percentile_99(ordered), ordered[-1]
        rows.append((name, *map(figure, shown)))
    slowest = sorted(done, key=lambda r: r.ms or 0, reverse=True)[:5]
    listed = ", ".join(f"{r.id} ({figure(r.ms)} ms, {r.chars:,} characters)" for r in slowest)
    return f"{format_table(rows)}\nslowest: {listed}" if done else ""


def _refusals(records: Sequence[SchemaRecord]) -> str:
    lines = []
    for status in ENDS:
        some = [r for r in records if r.status == status]
        by = Counter(r.keyword for r in some).most_common()
        for keyword, count in by:
            one = next(r for r in some if r.keyword == keyword)
            lines.append(f"{status} {count:4} {keyword}   e.g. {one.id}: {one.reason[:110]}")
    return "\n".join(lines)


def _mistakes(records: Sequence[SchemaRecord]) -> str:
    """Wrong judgements in declared order; ``--json`` has all of them."""
    lines = []
    wrong = [(r, number, how) for r in records for number, how in r.wrong.items()]
    for record, number, how in wrong:
        declared = [spelling for spelling in how if spelling.startswith("declared")]
        if declared:
            lines.append(f"wrong {record.id} test {number}: {', '.join(declared[:3])}")
    rest = len(lines) - _MAX_MISTAKES
    return "\n".join(lines[:_MAX_MISTAKES] + ([f"and {rest} more"] if rest > 0 else []))


def _name(records: Sequence[SchemaRecord]) -> str:
    return f"{records[0].engine} {records[0].version}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


#: The functions of the tasks of a file of schemas.
WORK = Work(*(f"{__name__}:{name}" for name in ("prepare", "run", "given")))

#: The fields of a record that differ between runs.
_MEASURED = ("ms", "cpu_ms", "first_ms", "parts", "mask_us", "kilobytes")

#: Lists, and fields whose names depend on the schema, which a row has as texts of JSON.
_TEXTS = ("parts", "tallies", "wrong", "valid_tests")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    file: Path
    engines: tuple[str, ...]
    vocabulary: str
    only: str = ""
    #: Seconds without an answer after which the current schema is recorded as lost.
    patience: float = 120.0

    def as_record(self) -> Record:
        """What results depend on besides the keys of the tasks."""
        about = {"file": self.file.name, "only": self.only, "vocab": self.vocabulary}
        return {"work": "bench", **about, "timeout": self.patience}

    def tasks(self) -> list[Task]:
        """Each row once in every engine; a shard is an engine."""
        found: dict[str, Task] = {}
        rows = list(rows_of(self.file, self.only))
        for engine in self.engines:
            shard = json.dumps(
                {"engine": engine, "vocabulary": self.vocabulary, "patience": self.patience}
            )
            version = version_of(engine)
            for row in rows:
                digest = hashlib.sha256(json.dumps(row).encode()).hexdigest()[:8]
                key = f"{row['id']} ({digest}) · {engine} {version}"
                found[key] = Task(key, shard, row)
        return [*found.values()]


class Measuring:
    """An engine in a separate process that measures one schema after the other."""

    def __init__(self, engine: str, vocabulary: str, patience: float) -> None:
        self._engine = engine
        self._process = AnsweringProcess(
            "lab.bench.schema_worker",
            {"engine": engine, "vocabulary": vocabulary},
            patience,
        )

    def record(self, row: Record) -> SchemaRecord:
        """The record of a row; where the process fails it says how."""
        try:
            found = self._process.ask(row)
        except EngineLostError as lost:
            return _lost(self._engine, row, lost)
        tallies = {name: Tally(**tally) for name, tally in found.pop("tallies").items()}
        return SchemaRecord(**found, tallies=tallies)


def prepare(shard: str) -> Measuring:
    """The engine of a shard."""
    return Measuring(**json.loads(shard))


def run(measuring: Measuring, row: Mapping[str, Any]) -> Result:
    """The measures of one schema in one engine."""
    record = measuring.record(dict(row))
    found = asdict(record)
    found |= {name: json.dumps(found[name]) for name in _TEXTS}
    measured = {name: found.pop(name) for name in _MEASURED}
    ended = found.pop("status")
    flags = {"compiled": ended == "compiled", "passing": record.passes, "verdict": record.verdict}
    return Result({**found, "ended": ended, **flags}, measured)


def given(row: Mapping[str, Any]) -> Record:
    """The schema that was measured, for its row in the results file."""
    text = json.dumps(row["schema"], ensure_ascii=False)
    return {"grammar": text, "notation": str(Notation.JSON_SCHEMA), "start": "start"}


def records_of(outcomes: Sequence[Outcome]) -> list[SchemaRecord]:
    """The records of outcomes that are done."""
    return [record_of_row(outcome.row) for outcome in outcomes if outcome.status == "done"]


def record_of_row(row: Record) -> SchemaRecord:
    """The record of a row of a results file."""
    row = row | {name: json.loads(row[name]) for name in _TEXTS} | {"status": row["ended"]}
    row["tallies"] = {name: Tally(**tally) for name, tally in row["tallies"].items()}
    return SchemaRecord(**{each.name: row[each.name] for each in fields(SchemaRecord)})


def _lost(engine: str, row: Record, lost: EngineLostError) -> SchemaRecord:
    return SchemaRecord(
        engine=engine,
        version=version_of(engine),
        id=row["id"],
        suite=row.get("suite", ""),
        subset=row.get("subset", ""),
        chars=len(json.dumps(row["schema"])),
        status="timed out" if lost.status == "timed out" else "crashed",
        reason=lost.reason,
        keyword=lost.reason[:60],
    )
