"""Files for download, and requests that fail."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.takeaway import take_code, take_machine
from workbench.base.errors import WorkbenchError

NESTED = {"text": 'start ::= "a" start? "b";', "notation": "kbnf"}
PLAIN = {"text": "(foo)+d", "notation": "regex"}


def content(reported: dict[str, Any]) -> bytes:
    return base64.b64decode(reported["base64"])


@pytest.mark.parametrize(
    ("grammar", "machine"),
    [
        (PLAIN, "characters"),
        (PLAIN, "tokens"),
        (NESTED, "tokens"),
        (NESTED, "stack"),
        (NESTED, "rules"),
        (PLAIN, "detokenizer"),
    ],
)
def test_machine_as_json(handlers: Handlers, grammar: Any, machine: str) -> None:
    reported = take_machine(handlers, {**grammar, "machine": machine, "form": "json"})
    record = json.loads(content(reported))
    assert reported["name"] == f"{machine}.json"
    assert record["machine"] == machine
    assert record["grammar"]["text"] == grammar["text"]
    assert record["edges"]


@pytest.mark.parametrize("machine", ["characters", "tokens", "detokenizer"])
def test_a_finite_machine_for_openfst(handlers: Handlers, machine: str) -> None:
    reported = take_machine(handlers, {**PLAIN, "machine": machine, "form": "fst"})
    with zipfile.ZipFile(io.BytesIO(content(reported))) as archive:
        assert f"{machine}.isyms.txt" in archive.namelist()


#   request                                                         reported
WRONG = [
    ({**NESTED, "machine": "tokens", "form": "fst"},                "read with a stack"),
    ({**NESTED, "machine": "characters", "form": "json"},           "need a stack"),
    ({**PLAIN, "machine": "engine", "form": "json"},                "expected one of characters"),
    ({**PLAIN, "machine": "tokens", "form": "exe"},                 "expected one of json, fst"),
    ({"text": "(", "machine": "characters", "form": "json"},        "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "reported"), WRONG, ids=[row[1] for row in WRONG])
def test_error_for_unavailable_files(handlers: Handlers, asked: Any, reported: str) -> None:
    with pytest.raises(WorkbenchError, match=reported):
        take_machine(handlers, asked)


def test_the_run_as_programs(handlers: Handlers) -> None:
    reported = take_code(
        handlers, {**PLAIN, "seed": 5, "tests": [{"text": "food", "expect": "accept"}]}
    )
    assert set(reported) == {"python", "transformers", "shell", "client"}
    assert 'assert grammar.accepts("food")' in reported["python"]


@pytest.mark.parametrize("engine", ["vllm", "llguidance", "xgrammar", "guidance", "outlines"])
def test_program_for_another_engine(handlers: Handlers, engine: str) -> None:
    asked = {
        "text": "start ::= 'yes' | 'no';",
        "notation": "kbnf",
        "prompt": "Well?",
        "code": engine,
    }
    written = take_code(handlers, asked)
    assert set(written) == {"python", "transformers", "shell", "client", engine}
    assert engine in written[engine]
    assert "Well?" in written[engine]
    compile(written[engine], engine, "exec")


def test_missing_program_has_its_reason_as_comment(handlers: Handlers) -> None:
    written = take_code(handlers, {"text": "([", "notation": "regex", "code": "vllm"})
    assert written["vllm"] == "# the grammar cannot be read yet"
