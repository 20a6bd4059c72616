"""``workbench audit`` with an engine in a process of its own; adapters of the engines in use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.audit.wrong_engine import WRONG
from tests.cli.test_cli import records, run
from workbench.lab.audit import engines
from workbench.lab.audit.auditor import SITES
from workbench.lab.audit.engines import AUDITED
from workbench.lab.audit.findings import Kind, Status

pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
UNDER = {"type": "integer", "maximum": 90}


@pytest.fixture(autouse=True)
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine with mistakes is known; its process finds it in this repository."""
    monkeypatch.setitem(AUDITED, "wrong", WRONG)
    monkeypatch.setenv(SITES, str(ROOT))


def schema_file(folder: Path, name: str, schema: object) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(schema))
    return path


@pytest.mark.slow
def test_a_finding_is_printed_with_its_program(tmp_path: Path) -> None:
    path, page = schema_file(tmp_path, "ninety", UNDER), tmp_path / "page.md"
    result = run("audit", str(path), "--engines", "wrong", "--out", str(page))
    assert result.exit_code == 1
    assert "it allows" in result.stdout
    assert "in /maximum; jsonschema" in result.stdout
    assert "reproduction (confirmed)" in result.stdout
    written = page.read_text()
    assert "under-constraining: `maximum` | 1 | 1 |" in written
    assert "ninety.json" in written
    assert str(tmp_path) not in written


@pytest.mark.slow
def test_a_process_that_crashes_or_hangs_ends_one_audit(tmp_path: Path) -> None:
    for name in ("crash", "hang", "z"):
        schema_file(tmp_path, name, {"$comment": name, **UNDER})
    result = run("audit", str(tmp_path), "--engines", "wrong", "--patience", "4", "--json")
    head, *found = records(result)
    assert head["command"].startswith("workbench ")
    assert [one["status"] for one in found] == ["crashed", "timed out", "audited"]
    assert "its process ended" in found[0]["reason"]
    assert [one["kind"] for one in found[2]["findings"]] == [Kind.UNDER]
    kept = tmp_path / "kept.txt"
    kept.write_text(result.stdout)
    again = run("audit", "--earlier", str(kept))
    assert again.exit_code == 1
    assert "wrong" in again.stdout.splitlines()[1]


@pytest.mark.slow
def test_json_lines_and_the_public_function(tmp_path: Path) -> None:
    rows = [{"id": f"row {i}", "schema": {"type": "boolean"}} for i in range(9)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = run("audit", str(path), "--engines", "wrong", "--sample", "2", "--json")
    assert result.exit_code == 0
    assert len(records(result)) == 3
    (found,) = wb.audit(wb.Grammar.from_regex("a|bc"), "wrong")
    assert (found.status, found.findings) == (Status.AUDITED, ())
    assert found.texts == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engines", "nobody", "s.json"), "there is no engine 'nobody' to audit"),
        (("--engines", "absent", "s.json"), "absent is not installed"),
        (("--engines", "wrong"), "expected a schema or a grammar"),
        (("--engines", "wrong", "no.json"), "cannot read no.json"),
        (("--engines", "wrong", "s.json", "--instances", "no.txt"), "cannot read no.txt"),
        (("--earlier", "s.json"), "s.json has no audits"),
        (("--engines", "wrong", "s.txt"), "the notation of s.txt is not known"),
    ],
)
def test_error_wrong_use(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = engines.AuditedEngine("absent", "no-such-distribution", "", "", "", {})
    monkeypatch.setitem(AUDITED, "absent", absent)
    monkeypatch.chdir(tmp_path)
    schema_file(tmp_path, "s", UNDER)
    (tmp_path / "s.txt").write_text("{}")
    result = run("audit", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_error_no_engine_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "AUDITED", {})
    result = run("audit", "s.json")
    assert result.exit_code == 2
    assert "none of the engines is installed" in result.stderr


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in AUDITED if name != "wrong"])
def test_an_engine_in_use_reads_schemas_and_regexes(name: str, tmp_path: Path) -> None:
    if not AUDITED[name].version():
        pytest.skip(f"{name} is not installed")
    for grammar in (
        wb.Grammar.from_regex("(ab|cd)+e"),
        wb.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "boolean"}},
                                     "required": ["a"], "additionalProperties": False}),
    ):  # fmt: skip
        (found,) = wb.audit(grammar, name)
        assert (found.status, found.claims) == (Status.AUDITED, ())
        assert found.masks > 5
