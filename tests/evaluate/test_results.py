"""The runner: finished units are kept and not repeated, and the page lists them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lab.experiments.experiment import (
    Begun,
    Column,
    Experiment,
    Progress,
    Record,
    Results,
    Setting,
    Size,
    Unit,
    worked,
)
from lab.experiments.results_page import page
from workbench.base.errors import WorkbenchError
from workbench.decoding.model import ToyModel
from workbench.tasks.task import Outcome
from workbench.vocabulary.toy_vocabularies import toy

MODEL = ToyModel(toy("ab"))
OTHER = ToyModel(toy("ab"), name="some/other")
SIZE = Size(questions=3)


def work_on(experiments: Sequence[Experiment], model: ToyModel, results: Results) -> list[Progress]:
    """What ``worked`` reports with units that are run here, one after the other."""

    def run(units: Sequence[tuple[Experiment, Unit]]) -> Iterator[Outcome]:
        for _, unit in units:
            try:
                record = unit.work(Setting(model, SIZE, lambda: False))
            except WorkbenchError as error:
                yield Outcome(key=unit.key, status="failed", error=error.message)
            else:
                measured = {"task_seconds": 1.0}
                yield Outcome(key=unit.key, status="done", record=record, measured=measured)

    return list(worked(experiments, call(experiments, model), results, run))


def call(experiments: Sequence[Experiment], model: ToyModel = MODEL) -> Begun:
    return Begun(model.name, SIZE, tuple(one.name for one in experiments), "a machine")


def counting(done: list[str], *, fails_at: str = "") -> Experiment:
    """Two units that say they were done."""

    def unit(key: str) -> Unit:
        def work(_: Setting) -> Record:
            if key == fails_at:
                raise WorkbenchError("it cannot be had")
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
    work_on([counting(done, fails_at="two")], MODEL, Results.at(tmp_path))
    assert done == ["one"]
    again = Results.at(tmp_path)
    assert {key: s.record for key, s in again.stored.items()} == {("toy", "one"): {"value": 1}}
    steps = work_on([counting(done)], MODEL, again)
    assert [(s.unit.key, s.done_before) for s in steps] == [("one", True), ("two", False)]
    assert done == ["one", "two"]


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    done: list[str] = []
    broken = Results.at(tmp_path / "broken")
    work_on([counting(done, fails_at="two")], MODEL, broken)
    with broken.path.open("a") as file:
        file.write('{"model": "toy", "key": "two", "rec')  # killed while it wrote
    work_on([counting(done)], MODEL, Results.at(tmp_path / "broken"))
    work_on([counting([])], MODEL, Results.at(tmp_path / "whole"))
    resumed, whole = (Results.at(tmp_path / name) for name in ("broken", "whole"))
    assert resumed.begun == whole.begun
    assert {k: s.record for k, s in resumed.stored.items()} == {
        k: s.record for k, s in whole.stored.items()
    }
    days = {s.date for s in resumed.stored.values()}
    assert all(day in page([counting([])], resumed) for day in days)


def test_an_interruption_keeps_the_units_that_ended(tmp_path: Path) -> None:
    def interrupted(_: Setting) -> Record:
        raise KeyboardInterrupt

    units = [Unit("one", lambda _: {"value": 1}), Unit("two", interrupted)]
    experiment = Experiment("e", "E", "unknown", lambda _: units, lambda _: "")
    with pytest.raises(KeyboardInterrupt):
        work_on([experiment], MODEL, Results.at(tmp_path))
    assert {key for _, key in Results.at(tmp_path).stored} == {"one"}


def test_a_unit_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    steps = work_on([counting([], fails_at="one")], MODEL, Results.at(tmp_path))
    assert [(s.unit.key, s.error) for s in steps] == [("one", "it cannot be had"), ("two", "")]


def test_units_two_experiments_share_are_done_once(tmp_path: Path) -> None:
    done: list[str] = []
    work_on([counting(done), counting(done)], MODEL, Results.at(tmp_path))
    assert done == ["one", "two"]


def test_the_page_lists_what_is_missing(tmp_path: Path) -> None:
    results = Results.at(tmp_path)
    experiment = counting([])
    results.begin(call([experiment]))
    assert "## Counting" not in page([experiment], results)
    results.keep("toy", "one", {"value": 7}, 90.0)
    told = page([experiment], results)
    assert "## Counting\n\n*unknown.* toy: " in told
    assert ", 1.5 minutes, 1 of 2 parts.\n\ntoy: one=7" in told
    results.keep("toy", "two", {"value": 8}, 7200.0)
    assert ", 2.0 hours.\n" in page([experiment], results)


def test_every_model_of_the_folder_has_a_column(tmp_path: Path) -> None:
    for model in (MODEL, OTHER):
        work_on([counting([])], model, Results.at(tmp_path))
    told = page([counting([])], Results.at(tmp_path))
    assert "toy: one=1, two=2; other: one=1, two=2" in told
    late = replace(counting([]), name="late", title="Late")
    for model in (OTHER, MODEL):
        work_on([late], model, Results.at(tmp_path))
    told = page([late], Results.at(tmp_path))
    assert "toy: one=1, two=2; other: one=1, two=2" in told, "the same order in all tables"


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


def test_the_page_names_the_machine_of_each_part(tmp_path: Path) -> None:
    first, second = counting([]), replace(counting([]), name="other", title="Other")
    results = Results.at(tmp_path)
    results.begin(Begun("toy", SIZE, ("counting", "other"), "one machine"))
    results.keep("toy", "one", {"value": 1}, 1.0)
    told = page([first, second], results)
    assert "\n* toy: one machine.\n" in told
    results.begin(Begun("toy", SIZE, ("other",), "another machine"))
    results.keep("toy", "two", {"value": 2}, 1.0)
    results.begin(Begun("some/other", SIZE, ("counting",), "a third machine"))
    for read in (results, Results.at(tmp_path)):
        told = page([first, second], read)
        assert "\n* toy: one machine.\n" in told
        named = "*Counting* (1 of 2 parts), *Other* (1 of 2 parts)"
        assert f"\n* toy for {named}: another machine.\n" in told
        assert "third" not in told, "it has no results"


def test_the_page_names_no_model_where_none_was_measured(tmp_path: Path) -> None:
    results, experiment = Results.at(tmp_path), replace(counting([]), subject="two numbers")
    results.begin(call([experiment]))
    results.keep("toy", "one", {"value": 1}, 1.0)
    assert "## Counting\n\n*unknown.* two numbers: " in page([experiment], results)
