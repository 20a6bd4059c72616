"""No public operation on a hostile input exceeds twice its limit: a part of the whole sweep.

The command ``python -m tests.strangers.sweep`` has the other limits and vocabularies.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.strangers.hostile_inputs import HOSTILE
from tests.strangers.sweep import Measuring, Settings, exceeds, rows_in

#: Parts of the inputs; each has ten to fifty seconds of work.
_PARTS = 64
SETTINGS = Settings(0.2, "builtin")


@pytest.mark.exhaustive
@pytest.mark.strangers
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(_PARTS))
def test_no_operation_exceeds_twice_its_limit(part: int, tmp_path: Path) -> None:
    inputs = [each.name for each in HOSTILE[part::_PARTS]]
    out = tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "tests.strangers.sweep", "--out", str(out)]
    subprocess.run([*command, "--inputs", *inputs], check=True, capture_output=True)
    rows = list(rows_in(out))
    assert {row["input"] for row in rows} == set(inputs)
    beyond = [
        f"{row['input']} · {row['operation']}: {why}"
        for row in rows
        if (why := exceeds(row, SETTINGS.limits))
    ]
    assert not beyond


def test_inputs_have_different_names() -> None:
    assert len({each.name for each in HOSTILE}) == len(HOSTILE)


def test_a_call_without_a_limit_is_found() -> None:
    call = Measuring(SETTINGS, lambda name: None)
    ends = time.thread_time() + 0.8

    def endless() -> None:
        while time.thread_time() < ends:
            pass

    call("quick", lambda: None)
    assert not exceeds({**call.row, "end": "answer"}, SETTINGS.limits)
    call("endless", endless)
    assert "endless" in exceeds({**call.row, "end": "answer"}, SETTINGS.limits)


def test_a_call_that_raises_anything_else_or_is_killed_is_found() -> None:
    row = {"call": "mask", "cpu": 0.0, "factor": 0.0, "megabytes": 0.0}
    assert not exceeds({**row, "end": "ParseError: expected a"}, SETTINGS.limits)
    assert exceeds({**row, "end": "raised KeyError: 3"}, SETTINGS.limits)
    assert exceeds({**row, "end": "killed SIGPROF"}, SETTINGS.limits)
    assert exceeds({**row, "end": "answer", "megabytes": 600.0}, SETTINGS.limits)
