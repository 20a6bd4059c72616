"""Results: what units of work came to, kept in a folder's file as they are done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit
from workbench.plain import finite


@dataclass(eq=False)
class Results:
    """The records of one model and one size, by the key of their unit."""

    path: Path
    #: What they are of: other records in the same file would be mixed up.
    head: Record
    records: dict[str, Record] = field(default_factory=dict)

    @staticmethod
    def at(folder: Path, setting: Setting) -> Results:
        """Those of a folder, as far as they were done; the folder is made where there is none.

        Raises: WorkbenchError where the file is not one of ours, or the folder cannot be made.
        """
        path = folder / f"{setting.size.name}.json"
        head = {"model": setting.model.name, "size": setting.size.name}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                return Results(path, head)
            kept = json.loads(path.read_text("utf-8"))
            found = Results(path, dict(kept["head"]), dict(kept["records"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _not_kept(path, error) from error
        if found.head != head:
            raise WorkbenchError(
                f"{path} holds results of {found.head.get('model')}, not of {head['model']}",
                "name another folder with --out",
            )
        return found

    def keep(self, key: str, record: Record) -> None:
        """Write a record down at once: whoever stops the work loses the unit under way alone.

        Numbers JSON has no word for are None from here on.
        Raises: WorkbenchError where it cannot be written.
        """
        self.records[key] = finite(record)
        kept = {"head": self.head, "records": self.records}
        text = json.dumps(kept, indent=1, allow_nan=False)
        beside = self.path.with_suffix(".part")
        try:
            beside.write_text(text + "\n", "utf-8")
            os.replace(beside, self.path)
        except OSError as error:
            raise _not_kept(self.path, error) from error


def _not_kept(path: Path, error: Exception) -> WorkbenchError:
    return WorkbenchError(
        f"cannot keep results in {path}: {error}", "name another folder with --out"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """A unit is about to begin, or was done before."""

    experiment: Experiment
    unit: Unit
    #: Counted from 0, of all units of all experiments.
    number: int
    of: int
    done_before: bool


def worked(
    experiments: Sequence[Experiment], setting: Setting, results: Results
) -> Iterator[Progress]:
    """Do what is not done yet, unit by unit; told before each.

    Units that two experiments share are done once.
    Raises: Stopped; WorkbenchError where a result cannot be kept.
    """
    units = {
        unit.key: (experiment, unit)
        for experiment in experiments
        for unit in experiment.units(setting.size)
    }
    for number, (key, (experiment, unit)) in enumerate(units.items()):
        before = key in results.records
        yield Progress(experiment, unit, number, len(units), before)
        if not before:
            results.keep(key, unit.work(setting))
