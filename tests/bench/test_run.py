"""The benchmark as a whole: processes that work, crash, hang and chatter."""

from __future__ import annotations

import sys

import pytest

from lab.bench.benchmark import Plan, bench
from lab.bench.measurements import CaseRecord, CheckRecord, EngineRecord

#: What a worker begins with: its job, and a function that prints events.
_HEAD = """
import json, os, sys, time
job = json.loads(sys.argv[1])
about = {"engine": job["engine"], "version": "1", "vocabulary": job["vocabulary"]}
def emit(event, **fields): print(json.dumps({"event": event, **fields}), flush=True)
def case(name): emit("begun", case=name); emit("measured", **about, case=name, warm_us=1.0)
"""

#   how it ends           the rest of the program                                              status       part of the reason
BAD = [
    ("killed",            "case('choice') if 'choice' in job['cases'] else os.abort()",          "crashed",   "exit status -6"),
    ("an exit status",    "sys.exit('no more memory')",                                          "crashed",   "exit status 1: no more memory"),
    ("silence",           "time.sleep(60)",                                                      "timed out", "nothing for 3 s"),
]  # fmt: skip


def _worker(*lines: str) -> tuple[str, ...]:
    return sys.executable, "-c", _HEAD + "\n".join(lines)


def _plan(*cases: str, patience: float = 250.0, check: bool = False) -> Plan:
    return Plan(
        ("workbench",), cases, "all-bytes", repeat=1, process=False, patience=patience, check=check
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rest", "status", "reason"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_lost_case_is_reported_and_the_others_are_measured(
    rest: str, status: str, reason: str
) -> None:
    worker = _worker(
        "emit('prepared', **about)",
        "for name in job['cases']:",
        f"    emit('begun', case=name) if name == 'ip' else case(name)\n    if name == 'ip': {rest}",
    )
    patience = 3.0 if status == "timed out" else 250.0
    engine, *cases = bench(_plan("datetime", "ip", "quoted", patience=patience), worker)
    assert isinstance(engine, EngineRecord)
    reported = [(c.case, c.status) for c in cases if isinstance(c, CaseRecord)]
    assert reported == [("datetime", "ok"), ("ip", status), ("quoted", "ok")]
    assert isinstance(cases[1], CaseRecord)
    assert reason in cases[1].reason


def test_engine_that_cannot_be_prepared_is_reported_once() -> None:
    (only,) = bench(_plan("choice", "ip"), _worker("sys.exit('cannot import it')"))
    assert isinstance(only, EngineRecord)
    assert (only.status, only.reason) == ("crashed", "exit status 1: cannot import it")


def test_chatter_of_libraries_is_passed_over() -> None:
    worker = _worker("print('a warning')", "emit('prepared', **about)", "case('choice')")
    assert [record.kind for record in bench(_plan("choice"), worker)] == ["engine", "case"]


@pytest.mark.slow
def test_our_engine_is_measured_in_its_process() -> None:
    records = list(bench(_plan("choice", "anbn", "json_schema")))
    engine, *cases = records
    assert isinstance(engine, EngineRecord)
    assert engine.prepare_ms is not None
    assert engine.cached_ms is not None
    reported = [(c.case, c.status) for c in cases if isinstance(c, CaseRecord)]
    assert reported == [("choice", "ok"), ("anbn", "ok"), ("json_schema", "ok")]


@pytest.mark.slow
def test_check_compares_engines_with_ours_alone() -> None:
    records = list(bench(_plan("choice", check=True)))
    assert not any(isinstance(record, CheckRecord) for record in records)
