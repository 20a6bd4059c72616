"""``workbench read``: the tokens of a given text before and after the mask."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from workbench.app.cli.main import app
from workbench.base.resources import BUILTIN_MODEL

pytestmark = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["read", *arguments], input=stdin)


def test_a_text_that_is_accepted_ends_with_the_end() -> None:
    result = run("--example", "date", "2024-06-30")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[-1].split()[1:] == ["100.00%", "the", "end"]
    assert "".join(line[19:] for line in lines[:-1]) == "2024-06-30"


def test_the_first_refused_token_is_marked_and_the_rest_has_no_mask() -> None:
    result = run("--regex", "[0-9]{2}", "1xy")
    assert result.exit_code == 1
    marks = [line.split()[1] for line in result.stdout.splitlines()]
    assert marks[0].endswith("%")
    assert marks[1:] == ["refused", *["-"] * (len(marks) - 2)]


def test_json_has_a_line_for_each_token_and_a_verdict() -> None:
    result = run("--regex", "[0-9]{2}", "-", "--json", stdin="1x2")
    assert result.exit_code == 1
    *steps, verdict = map(json.loads, result.stdout.splitlines())
    assert "".join(step["token"] for step in steps) == "1x2"
    assert [step["refused"] for step in steps] == [False, True, False]
    assert verdict == {"accepted": False, "refused": 1}
