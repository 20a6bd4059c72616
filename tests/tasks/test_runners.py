"""Runners: equal files from all of them, lost processes, errors, interruptions."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.tasks.works import WORK, in_batches, tasks
from workbench.base.errors import WorkbenchError
from workbench.tasks.results import ResultsFile, measured_path, read_results
from workbench.tasks.runners import InProcess, LocalProcesses, Runner, run_missing
from workbench.tasks.task import Outcome, Task, Work

SETTINGS = {"temperature": 1.0}

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def run_all(runner: Runner, some: list[Task], path: Path) -> list[Outcome]:
    """All outcomes, in the order of the tasks; the file is written."""
    results = ResultsFile(path, some, SETTINGS)
    for _ in run_missing(runner, WORK, some, results):
        pass
    return results.ordered()


def test_a_file_has_a_row_for_each_task_in_the_order_of_the_list(tmp_path: Path) -> None:
    some = tasks(10)
    outcomes = run_all(InProcess(), some, tmp_path / "runs.parquet")
    assert [one.key for one in outcomes] == [task.key for task in some]
    rows = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    assert [row["square"] for row in rows] == [n * n for n in range(10)]
    assert {row["status"] for row in rows} == {"done"}
    measured = pq.read_table(measured_path(tmp_path / "runs.parquet")).to_pylist()
    assert {row["process"] for row in measured} == {os.getpid()}
    assert not (tmp_path / "runs.parquet.journal").exists()


def test_processes_write_the_file_of_one_process(tmp_path: Path) -> None:
    some = tasks(40)
    run_all(InProcess(), some, tmp_path / "one.parquet")
    run_all(LocalProcesses(2), some, tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_tasks_of_a_batch_are_computed_in_one_call(tmp_path: Path) -> None:
    some = in_batches(tasks(20), 6)
    some[9] = replace(some[9], arguments={"number": 9, "act": "refuse"})
    found = run_all(InProcess(), some, tmp_path / "one.parquet")
    assert [one.key for one in found] == [task.key for task in some]
    assert found[0].record["beside"] == found[3].record["beside"] == [0, 3]
    assert found[9].error == "9 is refused"
    assert found[6].record["beside"] == [6, 9]
    assert "beside" not in found[19].record  # alone of its shard in the last batch
    run_all(LocalProcesses(2), some, tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_a_batch_with_a_missing_result_is_computed_whole(tmp_path: Path) -> None:
    whole, path = in_batches(tasks(20), 6), tmp_path / "runs.parquet"
    run_all(InProcess(), whole, tmp_path / "whole.parquet")
    running = run_missing(InProcess(), WORK, whole, ResultsFile(path, whole, SETTINGS))
    next(running)  # a batch of two
    assert isinstance(running, Generator)
    running.close()
    assert len(ResultsFile(path, whole, SETTINGS).outcomes) == 1
    run_all(InProcess(), whole, path)
    assert path.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    some = in_batches(tasks(9), 6)  # ends within a batch
    run_all(InProcess(), some, tmp_path / "grown.parquet")
    run_all(InProcess(), whole, tmp_path / "grown.parquet")
    assert (tmp_path / "grown.parquet").read_bytes() == path.read_bytes()


def test_errors_are_outcomes_and_do_not_end_the_others(tmp_path: Path) -> None:
    some = tasks(4)
    some[1] = replace(some[1], arguments={"number": 1, "act": "refuse"})
    some[2] = replace(some[2], arguments={"number": 2, "act": "fault"})
    some[3] = replace(some[3], shard="broken")
    found = run_all(InProcess(), some, tmp_path / "runs.parquet")
    assert [one.status for one in found] == ["done", "failed", "failed", "failed"]
    assert (found[1].error, found[1].hint) == ("1 is refused", "take another")
    assert found[2].error.startswith("ZeroDivisionError: by zero")
    assert found[3].error == "there is no model 'broken'"


def test_texts_that_are_not_unicode_are_kept_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    run_all(InProcess(), tasks(2, act="surrogate"), path)
    done, failed = pq.read_table(path).to_pylist()
    assert (done["text"], done["texts"]) == ("a\\ud800", [{"\\ud800": 1}])
    assert failed["error"] == "found '\\ud800'"


@pytest.mark.slow
def test_a_killed_process_costs_no_result(tmp_path: Path) -> None:
    some = tasks(30, folder=str(tmp_path))
    some[7] = replace(some[7], arguments={**some[7].arguments, "act": "die once"})
    found = run_all(LocalProcesses(2), some, tmp_path / "runs.parquet")
    assert [one.record.get("number") for one in found] == list(range(30))


@pytest.mark.slow
def test_tasks_that_kill_their_process_are_reported_and_the_others_end(tmp_path: Path) -> None:
    some = tasks(12)
    some[10] = replace(some[10], batch="a")
    some[7] = replace(some[7], batch="a")
    for number in (4, 5, 6):
        some[number] = replace(some[number], arguments={"number": number, "act": "die"})
    found = run_all(LocalProcesses(2), some, tmp_path / "runs.parquet")
    failed = [one for one in found if one.status == "failed"]
    assert [one.key for one in failed] == ["task 4", "task 5", "task 6"]
    assert {one.error for one in failed} == {"its worker process ended 3 times"}


@pytest.mark.slow
def test_workers_that_never_answer_end_the_list(tmp_path: Path) -> None:
    some = tasks(40)
    broken = Work("tests.tasks.works:fails", WORK.run)
    results = ResultsFile(tmp_path / "runs.parquet", some, SETTINGS)
    with pytest.raises(WorkbenchError, match="end before they answer"):
        list(run_missing(LocalProcesses(2), broken, some, results))


def test_what_failed_is_tried_again_and_what_is_done_is_not(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    some = tasks(6, folder=str(tmp_path))
    some[2] = replace(some[2], arguments={**some[2].arguments, "act": "refuse"})
    run_all(InProcess(), some, path)
    some[2] = replace(some[2], arguments={**some[2].arguments, "act": None})
    found = run_all(InProcess(), some, path)
    assert {one.status for one in found} == {"done"}
    calls = [len((tmp_path / str(n)).read_text()) for n in range(6)]
    assert calls == [1, 1, 2, 1, 1, 1]


def test_more_tasks_can_be_added_to_a_file_and_other_settings_cannot(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    run_all(InProcess(), tasks(3), path)
    assert len(run_all(InProcess(), tasks(5), path)) == 5
    with pytest.raises(WorkbenchError, match="is not among the tasks"):
        ResultsFile(path, tasks(4), SETTINGS)
    with pytest.raises(WorkbenchError, match=r"other settings: temperature 1\.0"):
        ResultsFile(path, tasks(5), {"temperature": 0.5})


def test_an_interruption_leaves_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    results = ResultsFile(path, tasks(9), SETTINGS)
    running = run_missing(InProcess(), WORK, tasks(9), results)
    for _ in range(4):
        next(running)
    assert isinstance(running, Generator)
    running.close()
    assert len(pq.read_table(path)) == 4


def test_a_torn_journal_loses_only_its_last_line(tmp_path: Path) -> None:
    path, some = tmp_path / "runs.parquet", tasks(5)
    results = ResultsFile(path, some, SETTINGS)
    for number in range(3):
        results.keep(Outcome(key=some[number].key, status="done", record={"number": number}))
    journal = tmp_path / "runs.parquet.journal"
    journal.write_bytes(journal.read_bytes()[:-9])
    assert [row["number"] for row in read_results(path)[1]] == [0, 1]
    torn = journal.read_bytes()
    read_results(path)
    assert journal.read_bytes() == torn, "who reads while tasks run changes nothing"
    assert list(ResultsFile(path, some, SETTINGS).outcomes) == ["task 0", "task 1"]
    journal.write_bytes(b'{"settings')
    assert not ResultsFile(path, some, SETTINGS).outcomes


def test_a_journal_that_is_removed_meanwhile_begins_again(tmp_path: Path) -> None:
    path, some = tmp_path / "runs.parquet", tasks(5)
    results = ResultsFile(path, some, SETTINGS)
    for number in range(3):
        if number == 2:
            (tmp_path / "runs.parquet.journal").unlink()
        results.keep(Outcome(key=some[number].key, status="done", record={"number": number}))
    assert list(ResultsFile(path, some, SETTINGS).outcomes) == ["task 2"]
    results.write()
    assert [row["number"] for row in read_results(path)[1]] == [0, 1, 2]


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_is_resumed(tmp_path: Path) -> None:
    some = tasks(40, folder=str(tmp_path), act="sleep", seconds=0.01)
    run_all(InProcess(), tasks(40), tmp_path / "whole.parquet")
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.tasks.test_runners import run_all, tasks, InProcess\n"
        "folder = sys.argv[1]\n"
        "run_all(InProcess(), tasks(40, folder=folder, act='sleep', seconds=0.01),"
        " Path(folder) / 'runs.parquet')\n"
    )
    random.seed(1)
    for _ in range(10):
        process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
        journal = tmp_path / "runs.parquet.journal"
        until = time.monotonic() + 60
        while not journal.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(random.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
    run_all(InProcess(), some, tmp_path / "runs.parquet")
    whole, resumed = (tmp_path / f"{name}.parquet" for name in ("whole", "runs"))
    assert whole.read_bytes() == resumed.read_bytes()
    calls = [len((tmp_path / str(n)).read_text()) for n in range(40)]
    assert sum(calls) <= 40 + 10  # only the task that was running is computed twice


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    program = (
        "from tests.tasks.test_runners import LocalProcesses, WORK, tasks\n"
        "some = tasks(9_999, act='sleep', seconds=0.05)\n"
        "for outcome in LocalProcesses(2).outcomes(WORK, some):\n"
        "    print(outcome.measured['process'], flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = {int(process.stdout.readline()) for _ in range(20)}
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [*filter(is_running, workers)]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@needs_ray
def test_a_cluster_writes_the_file_of_one_process_though_a_worker_is_killed(tmp_path: Path) -> None:
    from workbench.tasks.ray_runner import RayCluster

    some = in_batches(tasks(300), 6)
    run_all(InProcess(), some, tmp_path / "one.parquet")
    results = ResultsFile(tmp_path / "ray.parquet", some, SETTINGS)
    killed = False
    for number, outcome in enumerate(run_missing(RayCluster(jobs=2), WORK, some, results)):
        if number == 150 and not killed:
            killed = True
            os.kill(outcome.measured["process"], signal.SIGKILL)
    assert killed
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "ray.parquet").read_bytes()


def test_error_for_a_folder_of_results(tmp_path: Path) -> None:
    for path in (tmp_path, Path()):
        with pytest.raises(WorkbenchError, match="is a folder"):
            read_results(path)
        with pytest.raises(WorkbenchError, match="is a folder"):
            ResultsFile(path, (), {})
