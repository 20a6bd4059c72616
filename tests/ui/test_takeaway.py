"""What is taken away: files the browser gets, and what cannot be had."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.takeaway import take_code, take_machine
from workbench.base.errors import WorkbenchError

NESTED = {"text": 'start ::= "a" start? "b";', "notation": "kbnf"}
PLAIN = {"text": "(foo)+d", "notation": "regex"}


@pytest.fixture(scope="module")
def handlers() -> Handlers:
    return Handlers(toy_room())


def content(told: dict[str, Any]) -> bytes:
    return base64.b64decode(told["base64"])


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
def test_a_whole_machine_as_json(handlers: Handlers, grammar: Any, machine: str) -> None:
    told = take_machine(handlers, {**grammar, "machine": machine, "form": "json"})
    record = json.loads(content(told))
    assert told["name"] == f"{machine}.json"
    assert record["machine"] == machine
    assert record["grammar"]["text"] == grammar["text"]
    assert record["edges"]


@pytest.mark.parametrize("machine", ["characters", "tokens", "detokenizer"])
def test_a_finite_machine_for_openfst(handlers: Handlers, machine: str) -> None:
    told = take_machine(handlers, {**PLAIN, "machine": machine, "form": "fst"})
    with zipfile.ZipFile(io.BytesIO(content(told))) as archive:
        assert f"{machine}.isyms.txt" in archive.namelist()


#   what is asked                                                   told
WRONG = [
    ({**NESTED, "machine": "tokens", "form": "fst"},                "only the finite machines"),
    ({**NESTED, "machine": "characters", "form": "json"},           "need a stack"),
    ({**PLAIN, "machine": "engine", "form": "json"},                "expected one of characters"),
    ({**PLAIN, "machine": "tokens", "form": "exe"},                 "expected one of json, fst"),
    ({"text": "(", "machine": "characters", "form": "json"},        "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "told"), WRONG, ids=[row[1] for row in WRONG])
def test_error_for_what_cannot_be_had(handlers: Handlers, asked: Any, told: str) -> None:
    with pytest.raises(WorkbenchError, match=told):
        take_machine(handlers, asked)


def test_the_run_as_programs(handlers: Handlers) -> None:
    told = take_code(
        handlers, {**PLAIN, "seed": 5, "tests": [{"text": "food", "expect": "accept"}]}
    )
    assert set(told) == {"python", "transformers", "shell", "client"}
    assert 'assert grammar.accepts("food")' in told["python"]


@pytest.mark.parametrize("engine", ["vllm", "llguidance", "xgrammar", "outlines"])
def test_another_engine_s_program_is_written_when_it_is_asked(
    handlers: Handlers, engine: str
) -> None:
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


def test_why_there_is_no_such_program_is_a_comment(handlers: Handlers) -> None:
    written = take_code(handlers, {"text": "([", "notation": "regex", "code": "vllm"})
    assert written["vllm"] == "# the grammar cannot be read yet"
