"""The runner: finished units are kept and not repeated, and the page lists them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from workbench.base.errors import WorkbenchError
from workbench.decoding.model import ToyModel
from workbench.lab.experiments.experiment import (
    QUICK,
    Experiment,
    Record,
    Results,
    Setting,
    Stopped,
    Unit,
    worked,
)
from workbench.lab.experiments.results_page import page
from workbench.vocabulary.toy import toy

MODEL = ToyModel(toy("ab"))


def setting() -> Setting:
    return Setting(MODEL, QUICK, lambda: False)


def counting(done: list[str], *, fails_at: str = "") -> Experiment:
    """Two units that say they were done."""

    def unit(key: str) -> Unit:
        def work(_: Setting) -> Record:
            if key == fails_at:
                raise Stopped
            done.append(key)
            return {"value": len(done)}

        return Unit(key, work)

    def section(records: Mapping[str, Record]) -> str:
        return ", ".join(f"{key}={record['value']}" for key, record in records.items())

    return Experiment(
        name="counting",
        title="Counting",
        source="unknown",
        units=lambda _: [unit("one"), unit("two")],
        section=section,
    )


def test_finished_units_are_kept_and_not_repeated(tmp_path: Path) -> None:
    done: list[str] = []
    with pytest.raises(Stopped):
        list(worked([counting(done, fails_at="two")], setting(), Results.at(tmp_path, setting())))
    assert done == ["one"]
    again = Results.at(tmp_path, setting())
    assert again.records == {"one": {"value": 1}}
    steps = list(worked([counting(done)], setting(), again))
    assert [(s.unit.key, s.done_before) for s in steps] == [("one", True), ("two", False)]
    assert done == ["one", "two"]


def test_units_two_experiments_share_are_done_once(tmp_path: Path) -> None:
    done: list[str] = []
    list(worked([counting(done), counting(done)], setting(), Results.at(tmp_path, setting())))
    assert done == ["one", "two"]


def test_the_page_lists_what_is_missing(tmp_path: Path) -> None:
    results = Results.at(tmp_path, setting())
    experiment = counting([])
    assert "## Counting" not in page([experiment], results, QUICK, MODEL)
    results.keep("one", {"value": 7})
    told = page([experiment], results, QUICK, MODEL)
    assert "## Counting\n\n*unknown*\n\n*1 of 2 parts were done.*\n\none=7" in told
    results.keep("two", {"value": 8})
    assert "parts were done" not in page([experiment], results, QUICK, MODEL)


def test_kept_numbers_are_valid_json(tmp_path: Path) -> None:
    results = Results.at(tmp_path, setting())
    results.keep("one", {"far": math.inf, "deep": [{"none": math.nan, "some": 0.5}]})
    assert results.records["one"] == {"far": None, "deep": [{"none": None, "some": 0.5}]}
    assert Results.at(tmp_path, setting()).records == results.records


def test_error_a_result_that_cannot_be_written(tmp_path: Path) -> None:
    results = Results.at(tmp_path, setting())
    results.path.with_suffix(".part").mkdir()
    with pytest.raises(WorkbenchError, match="cannot keep results in"):
        results.keep("one", {})


def test_error_results_of_another_model(tmp_path: Path) -> None:
    Results.at(tmp_path, setting()).keep("one", {"value": 1})
    other = Setting(ToyModel(toy("ab"), name="other"), QUICK, lambda: False)
    with pytest.raises(WorkbenchError, match=r"quick\.json holds results of toy, not of other"):
        Results.at(tmp_path, other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"head": 1, "records": 2',
        "null",
        '{"head": {"model": "toy", "size": "quick"}, "records": [1]}',
        '{"head": 3, "records": {}}',
    ],
)
def test_error_a_file_that_is_not_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / "quick.json").write_text(text)
    with pytest.raises(WorkbenchError, match="cannot keep results in"):
        Results.at(tmp_path, setting())
