"""The runner: finished units are kept and not repeated, and the page lists them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbench.base.errors import WorkbenchError
from workbench.decoding.model import ToyModel
from workbench.lab.experiments.experiment import (
    Column,
    Experiment,
    Record,
    Results,
    Setting,
    Size,
    Stopped,
    Unit,
    worked,
)
from workbench.lab.experiments.results_page import page
from workbench.vocabulary.toy import toy

MODEL = ToyModel(toy("ab"))
OTHER = ToyModel(toy("ab"), name="some/other")
SIZE = Size(questions=3)


def setting(model: ToyModel = MODEL) -> Setting:
    return Setting(model, SIZE, lambda: False)


def counting(done: list[str], *, fails_at: str = "") -> Experiment:
    """Two units that say they were done."""

    def unit(key: str) -> Unit:
        def work(_: Setting) -> Record:
            if key == fails_at:
                raise Stopped
            done.append(key)
            return {"value": len(done)}

        return Unit(key, work)

    def section(columns: Sequence[Column]) -> str:
        return "; ".join(
            f"{c.title}: " + ", ".join(f"{key}={r['value']}" for key, r in c.records.items())
            for c in columns
        )

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
        list(worked([counting(done, fails_at="two")], setting(), Results.at(tmp_path)))
    assert done == ["one"]
    again = Results.at(tmp_path)
    assert {key: s.record for key, s in again.stored.items()} == {("toy", "one"): {"value": 1}}
    steps = list(worked([counting(done)], setting(), again))
    assert [(s.unit.key, s.done_before) for s in steps] == [("one", True), ("two", False)]
    assert done == ["one", "two"]


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    done: list[str] = []
    broken = Results.at(tmp_path / "broken")
    with pytest.raises(Stopped):
        list(worked([counting(done, fails_at="two")], setting(), broken))
    with broken.path.open("a") as file:
        file.write('{"model": "toy", "key": "two", "rec')  # killed while it wrote
    list(worked([counting(done)], setting(), Results.at(tmp_path / "broken")))
    list(worked([counting([])], setting(), Results.at(tmp_path / "whole")))
    resumed, whole = (Results.at(tmp_path / name) for name in ("broken", "whole"))
    assert resumed.begun == whole.begun
    assert {k: s.record for k, s in resumed.stored.items()} == {
        k: s.record for k, s in whole.stored.items()
    }
    days = {s.date for s in resumed.stored.values()}
    assert all(day in page([counting([])], resumed) for day in days)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("error", [KeyboardInterrupt, WorkbenchError])
def test_an_interruption_keeps_the_units_that_ended(
    tmp_path: Path, error: type[BaseException]
) -> None:
    """Units without times run at the same time; the first one fails once all have begun."""
    begun, stopped = threading.Barrier(4), threading.Event()

    def fails(_: Setting) -> Record:
        begun.wait(timeout=30)
        raise error("stop")

    def ends(_: Setting) -> Record:
        begun.wait(timeout=30)
        return {"value": 1}

    def is_stopped(running: Setting) -> Record:
        begun.wait(timeout=30)
        while not running.stop():
            time.sleep(0.01)
        stopped.set()
        raise Stopped

    works = {"fails": fails, "one": ends, "two": ends, "long": is_stopped}
    units = [Unit(key, work, alone=False) for key, work in works.items()]
    experiment = Experiment("e", "E", "unknown", lambda _: units, lambda _: "")
    with pytest.raises(error):
        list(worked([experiment], setting(), Results.at(tmp_path)))
    assert stopped.is_set()
    assert {key for _, key in Results.at(tmp_path).stored} == {"one", "two"}


def test_units_two_experiments_share_are_done_once(tmp_path: Path) -> None:
    done: list[str] = []
    list(worked([counting(done), counting(done)], setting(), Results.at(tmp_path)))
    assert done == ["one", "two"]


def test_the_page_lists_what_is_missing(tmp_path: Path) -> None:
    results = Results.at(tmp_path)
    experiment = counting([])
    results.begin(setting(), [experiment])
    assert "## Counting" not in page([experiment], results)
    results.keep("toy", "one", {"value": 7}, 90.0)
    told = page([experiment], results)
    assert "## Counting\n\n*unknown.* toy: " in told
    assert ", 1.5 minutes, 1 of 2 parts.\n\ntoy: one=7" in told
    results.keep("toy", "two", {"value": 8}, 7200.0)
    assert ", 2.0 hours.\n" in page([experiment], results)


def test_every_model_of_the_folder_has_a_column(tmp_path: Path) -> None:
    for model in (MODEL, OTHER):
        list(worked([counting([])], setting(model), Results.at(tmp_path)))
    told = page([counting([])], Results.at(tmp_path))
    assert "toy: one=1, two=2; other: one=1, two=2" in told


def test_kept_numbers_are_valid_json(tmp_path: Path) -> None:
    results = Results.at(tmp_path)
    results.keep("toy", "one", {"far": math.inf, "deep": [{"none": math.nan, "some": 0.5}]}, 1.0)
    stored = Results.at(tmp_path).stored["toy", "one"]
    assert stored.record == {"far": None, "deep": [{"none": None, "some": 0.5}]}


def test_error_a_result_that_cannot_be_written(tmp_path: Path) -> None:
    results = Results.at(tmp_path)
    results.path.mkdir()
    with pytest.raises(WorkbenchError, match="cannot keep results in"):
        results.keep("toy", "one", {}, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"model": 1',
        "null",
        '{"model": "toy", "key": "one", "record": [1], "seconds": 1, "date": ""}',
        '{"begun": {"model": "toy", "size": {"unknown": 1}, "experiments": [], "machine": ""}}',
    ],
)
def test_error_a_file_that_is_not_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.jsonl").write_text(text + "\n")
    with pytest.raises(WorkbenchError, match="cannot keep results in"):
        Results.at(tmp_path)
