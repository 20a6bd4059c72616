"""Writes the documentation page about engines on MaskBench from results files.

::

    python -m lab bench --schemas maskbench/data --out results.parquet
    python -m lab.bench.schema_page docs/results/maskbench.md maskbench/data results.parquet

Each claim about another engine is checked again by a short program that uses this engine alone; the
page has the program of one schema for each kind of claim. MaskBench has no licence: the programs
read it from the folder, and the page has the names of its schemas only.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from lab.bench.measurements import median, percentile_99
from lab.bench.peers.registry import OURS
from lab.bench.schema_worker import VERDICTS, SchemaRecord
from lab.bench.schemas import record_of_row
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import figure, format_table
from workbench.tasks.results import read_results

_HEAD = """\
# Engines on MaskBench

This page is written from results files by `python -m lab.bench.schema_page`.
MaskBench (guidance-ai/jsonschemabench) has JSON Schemas in use, with valid and
invalid instances. Each engine ran in a process of its own, over 131,072 tokens; a text is judged
byte by byte as `json.dumps` writes it.

* *passes*: the schema compiles, all valid instances are accepted, all invalid ones refused.
* *over-constrained*: a valid instance is refused.
* *under-constrained*: an invalid instance is accepted, without an error.
* *refused*: an error of the engine says so; *failed*: an error that should not occur.
* *timed out*: no answer within {patience:g} s, while other programs used the machine too;
  *crashed*: the process ended.

Options bring the engines closest to the schemas: any white space, and undeclared properties
(xgrammar with `strict_mode=False`).
"""
_PROGRAMS_HEAD = """\
## Programs

For each kind of claim about another engine the smallest schema that confirms it. The writer of this
page ran each program alone, and it printed what its comment says. It reads MaskBench's folder.
"""
#: By engine: the lines that set ``accepted`` for ``SCHEMA`` and ``TEXT``.
_PROGRAMS = {
    "llguidance": """\
import llguidance as llg
matcher = llg.LLMatcher(llg.LLTokenizer("byte"), llg.LLMatcher.grammar_from_json_schema(SCHEMA))
accepted = matcher.consume_tokens(list(TEXT.encode())) and matcher.is_accepting()
""",
    "xgrammar": """\
import xgrammar as xgr
compiler = xgr.GrammarCompiler(xgr.TokenizerInfo([*map(chr, range(128)), ""], stop_token_ids=[128]))
matcher = xgr.GrammarMatcher(compiler.compile_json_schema(SCHEMA, strict_mode=False))
accepted = matcher.accept_string(TEXT) and matcher.accept_token(128)
""",
    "glrmask": """\
import glrmask
tokens = glrmask.Vocab.from_id_to_bytes({byte: bytes([byte]) for byte in range(256)})
state = glrmask.Grammar.from_json_schema(SCHEMA).compile(tokens).start()
accepted = state.commit_bytes(TEXT.encode()) and state.is_accepting()
""",
    "outlines-core": """\
import outlines_core as oc, outlines_core.json_schema
regex = oc.json_schema.build_regex_from_schema(SCHEMA, r"[ \\t\\n\\r]*")
index = oc.Index(regex, oc.Vocabulary(256, {bytes([b]): [b] for b in range(256)}))
state = index.get_initial_state()
for byte in TEXT.encode():
    state = None if state is None else index.get_next_state(state, byte)
accepted = state is not None and index.is_final_state(state)
""",
}
#: Seconds of a program.
_MAX_SECONDS = 60


def page(records: Sequence[SchemaRecord], folder: Path, patience: float) -> str:
    """The page about all records; ``folder`` is MaskBench's, for the programs."""
    engines = sorted({record.engine for record in records})
    of = {name: [record for record in records if record.engine == name] for name in engines}
    today = datetime.now(UTC).date().isoformat()
    where = (
        f"{len({record.id for record in records})} schemas; {today}, Python"
        f" {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()}), load average"
        f" {os.getloadavg()[1]:.0f} when the page was written. First masks are processor times from"
        " the text of the schema, the quickest of up to five compilations."
    )
    tables = [_verdicts(of), _times(of), "## Subsets: schemas that pass", _subsets(of)]
    parts = [_HEAD.format(patience=patience), where, *tables, _PROGRAMS_HEAD, *_checked(of, folder)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _verdicts(of: dict[str, list[SchemaRecord]]) -> str:
    rows: list[tuple[object, ...]] = [("engine", "schemas", *VERDICTS)]
    for records in of.values():
        by = Counter(record.verdict for record in records)
        rows.append((_name(records), len(records), *(by[verdict] for verdict in VERDICTS)))
    return format_table(rows, "markdown")


def _times(of: dict[str, list[SchemaRecord]]) -> str:
    """First masks of what each engine compiles, and of what it and ours compile.

    Without engines that timed out: what took them longest would be missing.
    """
    ours = {record.id: record.cpu_ms for record in of.get(OURS, ()) if record.cpu_ms is not None}
    rows: list[tuple[object, ...]] = [
        ("first mask, ms", "median", "p99", "both compile", "its median", "ours")
    ]
    for records in of.values():
        first = {record.id: record.cpu_ms for record in records if record.cpu_ms is not None}
        both = sorted(first.keys() & ours.keys())
        if not both or any(record.verdict == "timed out" for record in records):
            continue  # what took longest is missing
        times = sorted(first.values())
        medians = (median(sorted(every[name] for name in both)) for every in (first, ours))
        shown = (
            figure(median(times)),
            figure(percentile_99(times)),
            len(both),
            *map(figure, medians),
        )
        rows.append((_name(records), *shown))
    return format_table(rows, "markdown")


def _subsets(of: dict[str, list[SchemaRecord]]) -> str:
    names = sorted({record.subset for records in of.values() for record in records})
    rows: list[tuple[object, ...]] = [("subset", *map(_name, of.values()))]
    for name in names:
        cells = []
        for records in of.values():
            those = [record for record in records if record.subset == name]
            cells.append(f"{sum(r.verdict == 'passes' for r in those)} of {len(those)}")
        rows.append((name, *cells))
    return format_table(rows, "markdown")


def _checked(of: dict[str, list[SchemaRecord]], folder: Path) -> Iterator[str]:
    """For each other engine and kind of claim the first program that confirms one."""
    for engine, records in of.items():
        for accepts in (True, False) if engine in _PROGRAMS else ():
            claims = sorted(_claims(records, accepts=accepts), key=lambda claim: claim[0].chars)
            confirmed = (_confirmed(*claim, accepts, folder) for claim in claims)
            yield from islice(filter(None, confirmed), 1)


def _claims(
    records: Iterable[SchemaRecord], *, accepts: bool
) -> Iterator[tuple[SchemaRecord, int]]:
    """The instances that are judged wrongly as ``json.dumps`` writes them, by number."""
    for record in records:
        for number in record.wrong_as_written:
            if (number in record.valid_tests) != accepts:
                yield record, number


def _confirmed(record: SchemaRecord, number: int, accepts: bool, folder: Path) -> str:
    """The program of a claim as Markdown, if it prints what is claimed; else an empty text."""
    kind = "an invalid" if accepts else "a valid"
    comment = f"{record.engine} {record.version} {'accepts' if accepts else 'refuses'} {kind} text"
    body = _PROGRAMS[record.engine] + "print(bool(accepted))"
    read = (
        f'# {comment}: {accepts}\nimport json\nrow = json.load(open("FOLDER/{record.id}.json"))\n'
        f'SCHEMA, TEXT = json.dumps(row["schema"]), json.dumps(row["tests"][{number}]["data"])\n'
    )
    code = (read + body).replace("FOLDER", str(folder))
    try:
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=_MAX_SECONDS
        )
    except subprocess.TimeoutExpired:
        return ""
    if answer.stdout.strip() != str(accepts):
        return ""
    return f"```text\n{read.replace('FOLDER', 'maskbench/data')}{body}\n```"


def _name(records: Sequence[SchemaRecord]) -> str:
    return f"{records[0].engine} {records[0].version}".strip()


def main(arguments: Sequence[str]) -> None:
    """Write the page: its path, MaskBench's folder, results files.

    Raises: WorkbenchError for a file that has no results of this benchmark.
    """
    out, folder, *files = map(Path, arguments)
    rows, patience = dict[str, SchemaRecord](), 0.0
    for file in files:
        settings, stored = read_results(file)
        if settings.get("work") != "bench":
            raise WorkbenchError(f"{file} has no results of schemas", "name a file of 'lab bench'")
        patience = float(settings["timeout"])
        rows |= {row["key"]: record_of_row(row) for row in stored if row["status"] == "done"}
    out.write_text(page([*rows.values()], folder, patience), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
