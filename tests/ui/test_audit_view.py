"""Audits for the page: the answer's format, its errors, and a process that does not end."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from tests.ui.test_wire import check
from workbench.app.ui import audit_view, wire_compare
from workbench.app.ui.audit_view import audit_engines, audited_engines
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.questions import QUESTIONS
from workbench.app.ui.shares import AUDIT
from workbench.audits.engines import AuditedEngine
from workbench.audits.findings import Audit, Finding, Kind, Level, Policy, Reproduction, Status
from workbench.base.errors import EndedError
from workbench.base.limits import time_budget

MADE = Reproduction(
    constraint="{}", text="1", so_far="", token="1", program="print()", printed="", confirmed=False
)
FINDING = Finding(
    kind=Kind.OVER, level=Level.TEXT, so_far="", token="1", text="1", why="w", place="", evidence="e",
    reproduction=MADE,
)  # fmt: skip
AUDIT_RECORD = Audit(
    name="stdin",
    engine="wrong",
    version="1",
    status=Status.AUDITED,
    findings=(FINDING,),
    policies=(Policy("narrower by policy: white space", "[ ]"),),
)
SENT = {"text": "ab", "notation": "regex"}


def prints(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """The engines are installed, and an audit is this program."""
    monkeypatch.setattr(AuditedEngine, "version", lambda _engine, _folders=(): "1")
    monkeypatch.setattr(audit_view, "_COMMAND", (sys.executable, "-c", program))


def of(lines: Sequence[object]) -> str:
    return (
        f"import sys; sys.stdin.read(); print({chr(10).join(map(json.dumps, lines))!r}, flush=True)"
    )


def test_the_audits_are_in_the_format(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    prints(monkeypatch, of([{"command": "workbench audit"}, AUDIT_RECORD.as_record()]))
    answer = audit_engines(handlers, SENT)
    check(json.loads(json.dumps(answer)), audit_engines.answer)
    assert answer["audits"][0]["findings"][0]["kind"] == "over-constraining"


def test_the_grammar_is_sent_to_the_process(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys; text = sys.stdin.read(); sys.exit(repr((text, sys.argv[1:])))"
    prints(monkeypatch, program)
    why = audit_engines(handlers, SENT)["why"]
    assert why == "('ab', ['--notation', 'regex', '--start', 'start'])"


def test_error_no_engine_is_installed(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AuditedEngine, "version", lambda _engine, _folders=(): "")
    answer = audit_engines(handlers, SENT)
    assert answer["ok"] is False
    assert answer["why"].startswith("No other engine is installed. To audit some: pip install")


@pytest.mark.parametrize("installed", [(), ("xgrammar",)])
def test_missing_engines_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...]
) -> None:
    monkeypatch.setattr(
        AuditedEngine, "version", lambda engine, folders=(): "1" if engine.name in installed else ""
    )
    listed = audited_engines()
    check(listed, wire_compare.AuditedEngines)
    assert listed["installed"] == list(installed)
    assert sorted([*installed, *listed["missing"]]) == ["llguidance", "outlines", "xgrammar"]
    assert ("xgrammar" in listed["install"]) is not bool(installed)
    assert listed["install"].endswith("llguidance outlines-core jsonschema")


def test_error_of_the_grammar(handlers: Handlers) -> None:
    assert audit_engines(handlers, {**SENT, "text": "("})["ok"] is False


def test_a_process_that_does_not_end_is_killed(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints(monkeypatch, f"{of([AUDIT_RECORD.as_record()])}; import time; time.sleep(600)")
    monkeypatch.setattr(audit_view, "_MAX_SECONDS", 3.0)
    began = time.monotonic()
    assert len(audit_engines(handlers, SENT)["audits"]) == 1
    assert time.monotonic() - began < 60


def test_the_audit_of_a_client_that_left_ends(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints(monkeypatch, f"{of([AUDIT_RECORD.as_record()])}; import time; time.sleep(600)")
    with time_budget(100.0) as deadline:
        threading.Timer(0.5, deadline.end).start()
        with pytest.raises(EndedError):
            audit_engines(handlers, SENT)


def test_audits_have_a_class_of_their_own() -> None:
    assert [each.name for each in QUESTIONS.values() if each.share is AUDIT] == ["audit_engines"]
