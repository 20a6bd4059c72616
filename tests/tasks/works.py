"""Work for the tests of runners: it counts its calls in a folder, and can end its process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.tasks.task import Result, Task, Work

WORK = Work(
    "tests.tasks.works:prepare",
    "tests.tasks.works:run",
    run_batch="tests.tasks.works:run_batch",
)


def prepare(shard: str) -> str:
    """Note that a shard was loaded; ``broken`` cannot be."""
    if shard == "broken":
        raise WorkbenchError("there is no model 'broken'", "choose another")
    return shard


def run(prepared: str, arguments: Mapping[str, Any]) -> Result:
    """The square of a number, or what ``act`` says."""
    number = arguments["number"]
    if folder := arguments.get("folder"):
        with (Path(folder) / f"{number}").open("a") as file:
            file.write("x")
    match arguments.get("act"):
        case "refuse":
            raise WorkbenchError(f"{number} is refused", "take another")
        case "fault":
            raise ZeroDivisionError("by zero")
        case "surrogate" if number % 2:
            raise WorkbenchError("found '\ud800'")
        case "surrogate":
            return Result({"number": number, "text": "a\ud800", "texts": [{"\ud800": 1}]})
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once" if not (Path(arguments["folder"]) / "died").exists():
            (Path(arguments["folder"]) / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case "sleep":
            time.sleep(arguments["seconds"])
    record = {"number": number, "square": number * number, "shard": prepared, "half": number / 2}
    return Result(record, {"process": os.getpid()})


def run_batch(
    prepared: str, several: Sequence[Mapping[str, Any]]
) -> Iterator[Result | WorkbenchError]:
    """The results of ``run``, and the numbers of the batch in each."""
    numbers = [arguments["number"] for arguments in several]
    for arguments in several:
        try:
            result = run(prepared, arguments)
        except WorkbenchError as error:
            yield error
            continue
        yield Result(result.record | {"beside": numbers}, result.measured)


def in_batches(some: Sequence[Task], size: int) -> list[Task]:
    """The tasks with batches of ``size`` numbers."""
    return [replace(task, batch=f"{number // size}") for number, task in enumerate(some)]


def tasks(count: int, **arguments: Any) -> list[Task]:  # of ``run``
    """Tasks of three shards in turn."""
    return [
        Task(f"task {number}", f"shard {number % 3}", {"number": number, **arguments})
        for number in range(count)
    ]


def fails(shard: str) -> str:
    """End the process that prepares."""
    os._exit(3)
