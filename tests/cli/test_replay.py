"""``workbench replay``: recorded runs become pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workbench.app.cli.main import app
from workbench.base.resources import GRAMMARS

STEP = {
    "k": "step", "i": 0, "id": 1, "token": {"id": 1, "text": "a"}, "s": 1.0, "m": 0.0, "p": 0.5, "kept": 1.0,
    "rank": 1, "allowed": 2, "forced": False, "cut": False, "state": "0", "stack": [], "rules": [],
    "path": {"characters": [["0"], ["1"]]}, "wanted": [], "may": [],
}  # fmt: skip
HEAD = {
    "k": "head",
    "run": "r",
    "text": "ab?",
    "notation": "regex",
    "start": "start",
    "prompt": "",
    "model": "",
}


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, ["replay", *arguments], input=given)


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_run_with_its_grammar(tmp_path: Path) -> None:
    trace, out = tmp_path / "run.ndjson", tmp_path / "run.html"
    trace.write_text(lines(HEAD, STEP, {"k": "stop", "words": "done", "good": True}))
    result = run(str(trace), "-o", str(out))
    assert result.exit_code == 0, result.stderr
    page = out.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert '"text":"ab?"' in page
    assert '"words":"done"' in page


@pytest.mark.parametrize("method", ["automaton", "domino"])
def test_run_with_a_stricter_method_has_its_own_tokens(method: str) -> None:
    result = run("-", given=lines({**HEAD, "constraint": method, "lookahead": 0}, STEP))
    assert result.exit_code == 0, result.stderr
    assert ('"after 1"' in result.stdout) == (method == "domino")


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1e"])
def test_a_text_may_contain_what_other_programs_take_for_line_ends(mark: str) -> None:
    head = {**HEAD, "text": f"ab?|{mark}"}
    written = "".join(json.dumps(one, ensure_ascii=False) + "\r\n" for one in (head, STEP))
    result = run("-", given=written)
    assert result.exit_code == 0, result.stderr
    assert "<!doctype html>" in result.stdout


def test_recorded_run_of_the_gallery_is_found_by_its_name() -> None:
    result = run(str(GRAMMARS / "person.trace.ndjson"))
    assert result.exit_code == 0, result.stderr
    assert '"notation":"kbnf"' in result.stdout


#   what is read                 arguments                   reported
WRONG = [
    (lines({"k": "head"}, STEP), ("-",),                     "does not name its grammar"),
    (lines(HEAD),                ("-",),                     "this run has no tokens"),
    ("{}\n",                     ("-",),                     "line 1 is not a record"),
    (lines({"index": 0, "token_id": 3}), ("-",),             "wb.replay(trace, grammar, constraint)"),
    (lines(HEAD) + "oops",       ("-",),                     "line 2 is not a record"),
    ("",                         ("/no/such/file",),         "cannot read"),
    (lines(HEAD, STEP),          ("-", "--example", "x"),    "there is no example 'x'"),
    (lines(HEAD | {"text": "("}, STEP), ("-",),              "cannot be read"),
    (lines(HEAD | {"notation": "no"}, STEP), ("-",),         "there is no notation"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "arguments", "reported"), WRONG, ids=[row[2] for row in WRONG])
def test_error_exits_with_2(given: str, arguments: tuple[str, ...], reported: str) -> None:
    result = run(*arguments, given=given)
    assert result.exit_code == 2
    assert reported in result.stderr
