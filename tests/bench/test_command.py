"""``python -m lab bench``: what it prints and how it exits."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lab import commands
from lab.bench.measurements import CaseRecord, EngineRecord
from lab.commands import app


def run(*arguments: str) -> Result:
    quick = ("--vocab", "all-bytes", "--peers", "none", "--repeat", "1", "--no-process")
    return CliRunner().invoke(app, ["bench", *quick, *arguments])


@pytest.mark.slow
def test_json_lines_hold_the_documented_fields() -> None:
    result = run("--cases", "choice,json_schema", "--json")
    assert result.exit_code == 0, result.stderr
    engine, choice, schema = (json.loads(line) for line in result.stdout.splitlines())
    assert engine.keys() == {field.name for field in fields(EngineRecord)}
    assert choice.keys() == schema.keys() == {field.name for field in fields(CaseRecord)}
    assert (choice["case"], choice["status"], choice["tokens"]) == ("choice", "ok", 6)
    assert (schema["case"], schema["status"]) == ("json_schema", "ok")
    assert result.stderr == ""


@pytest.mark.slow
def test_real_grammars_are_measured() -> None:
    result = run("--real", "--cases", "json,regex", "--markdown")
    assert result.exit_code == 0, result.stderr
    head, *rows = [line for line in result.stdout.splitlines() if line.startswith("|")]
    assert "cold mask p99, µs" in head
    assert [row.split("|")[1].strip() for row in rows[1:]] == ["json", "regex"]


@pytest.mark.slow
def test_table_names_every_case() -> None:
    result = run("--cases", "choice,anbn")
    assert result.exit_code == 0, result.stderr
    assert "choice · 6 tokens" in result.stdout
    assert "anbn · 24 tokens" in result.stdout


#   arguments                        reported on stderr
WRONG = [
    (("--cases", "nothing"),         "there is no case 'nothing'"),
    (("--real", "--cases", "anbn"),  "there is no case 'anbn'"),
    (("--peers", "nobody"),          "there is no peer 'nobody'"),
    (("--vocab", "/no/such/dir"),    "error: "),
    (("--proper", "--real"),         "--proper and --real do not go together"),
    (("--cold-start", "--check"),    "--cold-start and --check do not go together"),
    (("--proper", "--repeat", "2"),  "--proper and --repeat do not go together"),
    (("--cold-start", "--no-process"), "--cold-start and --process do not go together"),
    (("--schemas", "x", "--cases", "anbn"), "--schemas and --cases do not go together"),
    (("--only", "github"),           "--only has no effect here"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "reported"), WRONG, ids=[w[0][0] for w in WRONG])
def test_error_exits_with_2(arguments: tuple[str, ...], reported: str) -> None:
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 2
    assert reported in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["bench", "evaluate --all"])
def test_nothing_is_measured_without_compiled_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(commands, "wait_until_compiled", lambda: False)
    monkeypatch.setattr(commands, "loaded_model", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2
    assert "the kernels are not compiled, so nothing is measured" in result.stderr
