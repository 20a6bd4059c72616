"""Audits as a list of tasks and rows of a results file."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from workbench.audits.auditor import Auditor, Settings
from workbench.audits.engine_process import EngineProcess, first_tokens
from workbench.audits.engines import AuditedEngine
from workbench.audits.findings import Audit, Kind, Status
from workbench.audits.subjects import Unread
from workbench.base.errors import WorkbenchError
from workbench.tasks.results import read_results
from workbench.tasks.task import Outcome, Record, Result, Task, Work

#: The functions of the tasks of audits.
WORK = Work(*(f"{__name__}:{name}" for name in ("prepare", "run", "given")))

#: Characters of a reason that are kept.
_MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """What is audited, and how."""

    named: Sequence[Unread]
    engines: Sequence[AuditedEngine]
    vocabulary: str
    tokens: int
    folders: Sequence[str]
    patience: float
    settings: Settings

    def as_record(self) -> Record:
        """What results depend on besides the keys of the tasks; named as the options are."""
        how = self.settings
        return {
            "work": "audit",
            "vocab": self.vocabulary,
            "tokens": self.tokens,
            "patience": self.patience,
            "texts": how.texts,
            "seconds": how.seconds,
            "shorten": how.shorten_seconds,
            "seed": how.seed,
        }

    def tasks(self) -> list[Task]:
        """Each constraint once in every engine; those of one constraint follow each other."""
        shard = json.dumps(
            {
                "engines": [asdict(engine) for engine in self.engines],
                "vocabulary": (self.vocabulary, self.tokens),
                "folders": [*self.folders],
                "patience": self.patience,
                "settings": asdict(self.settings),
            }
        )
        versions = [(engine.name, engine.version(tuple(self.folders))) for engine in self.engines]
        tasks: dict[str, Task] = {}
        for entry in self.named:
            constraint = asdict(entry) | {"notation": str(entry.notation)}
            digest = hashlib.sha256(json.dumps(constraint).encode()).hexdigest()[:8]
            name = entry.name.encode("utf-8", "backslashreplace").decode()
            for engine, version in versions:
                key = f"{name} ({digest}) · {engine} {version}"
                about = {"engine": engine, "version": version}
                tasks[key] = Task(key, shard, {**about, "constraint": constraint, "digest": digest})
        return [*tasks.values()]

    def auditor(self, entry: Unread) -> Auditor:
        """The exact side of a constraint. Raises: WorkbenchError."""
        vocabulary = first_tokens(self.vocabulary, self.tokens)
        return Auditor(entry.subject(), vocabulary, self.settings)


class Loaded:
    """A worker's vocabulary, its engines, each in its own process, and the last constraint."""

    def __init__(self, shard: str) -> None:
        about = json.loads(shard)
        self._settings = Settings(**about["settings"])
        name, count = about["vocabulary"]
        self._vocabulary = first_tokens(name, count)
        self._engines = {}
        for fields_of in about["engines"]:
            engine = AuditedEngine(**fields_of)
            process = EngineProcess(engine, (name, count), about["folders"], about["patience"])
            self._engines[engine.name] = engine, process
        self._digest = ""
        self._auditor: Auditor | WorkbenchError

    def audit(self, arguments: Mapping[str, Any]) -> Audit:
        """The audit of a task."""
        if arguments["digest"] != self._digest:
            try:
                constraint = Unread(**arguments["constraint"])
                self._auditor = Auditor(constraint.subject(), self._vocabulary, self._settings)
            except WorkbenchError as error:
                self._auditor = error
            self._digest = arguments["digest"]
        engine, process = self._engines[arguments["engine"]]
        if isinstance(self._auditor, Auditor):
            return self._auditor.audit(engine, arguments["version"], process)
        return Audit(
            name=arguments["constraint"]["name"],
            engine=engine.name,
            version=arguments["version"],
            status=Status.NOT_JUDGED,
            reason=self._auditor.message[:_MAX_REASON],
        )


def prepare(shard: str) -> Loaded:
    """The engines of a shard. Raises: VocabularyError."""
    return Loaded(shard)


def run(loaded: Loaded, arguments: Mapping[str, Any]) -> Result:
    """The audit of one constraint in one engine."""
    return row_of(loaded.audit(arguments))


def given(arguments: Mapping[str, Any]) -> Record:
    """The constraint of an audit, for its row in the results file."""
    about = arguments["constraint"]
    return {"grammar": about["text"], **{name: about[name] for name in ("notation", "start")}}


def row_of(audit: Audit) -> Result:
    """An audit as a row; findings and policies are texts of JSON."""
    record = audit.as_record()
    seconds = record.pop("seconds")
    ended = str(record.pop("status"))
    texts = {name: json.dumps(record.pop(name)) for name in ("findings", "policies")}
    kinds = {
        "over": audit.found(Kind.OVER) is not None,
        "under": audit.found(Kind.UNDER) is not None,
        "by_policy": bool(audit.policies),
    }
    head = {name: record.pop(name) for name in ("name", "engine", "version")}
    return Result({**head, "ended": ended, **kinds, **record, **texts}, {"engine_seconds": seconds})


def audit_of(row: Record) -> Audit:
    """The audit of a row."""
    texts = {name: json.loads(row[name]) for name in ("findings", "policies")}
    values = {field.name: row[field.name] for field in fields(Audit) if field.name in row}
    return Audit.of_record(
        {**values, **texts, "status": row["ended"], "seconds": row.get("engine_seconds", 0.0)}
    )


def audits_of(outcomes: Sequence[Outcome]) -> list[Audit]:
    """The audits among outcomes."""
    return [
        audit_of(outcome.record | outcome.measured)
        for outcome in outcomes
        if outcome.status == "done"
    ]


def read_audits(path: Path) -> tuple[str, list[Audit]]:
    """The command that made a results file, and its audits. Raises: WorkbenchError."""
    settings, rows = read_results(path)
    if settings.get("work") != "audit":
        raise WorkbenchError(f"{path} has no audits", "name a file of audit --out")
    audits = [audit_of(row) for row in rows if row["status"] == "done"]
    return command_of(settings, audits), audits


def command_of(settings: Record, audits: Sequence[Audit]) -> str:
    """The command of audits with these settings; those that are None or empty are left out."""
    options = {"engines": ",".join(dict.fromkeys(audit.engine for audit in audits))} | {
        name: value for name, value in settings.items() if name not in ("work", "files")
    }
    words = ["workbench", "audit", *settings["files"]]
    for name, value in options.items():
        if value not in (None, ""):
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            words += [f"--{name}", shown]
    return shlex.join(words)
