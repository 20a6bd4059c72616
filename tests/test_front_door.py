"""The public API: its names, and the examples of the README."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import workbench as wb
from workbench.app.cli.main import app
from workbench.base.resources import BUILTIN_MODEL
from workbench.decoding.model import ToyModel
from workbench.vocabulary.toy_vocabularies import toy

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
needs_model = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)


@pytest.mark.parametrize("name", wb.__all__)
def test_name(name: str) -> None:
    value = getattr(wb, name)
    assert value.__name__ == name
    assert value.__doc__
    assert name in dir(wb)


def test_error_for_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Gramar'"):
        wb.Gramar  # noqa: B018


@pytest.mark.slow
def test_importing_the_front_door_is_light() -> None:
    """Importing the package imports neither torch nor Gradio nor lark."""
    code = "import sys, workbench as wb; wb.Grammar.from_regex('a'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"torch", "transformers", "gradio", "lark", "pygraphviz"} & set(loaded) == set()


@pytest.mark.slow
@needs_model
def test_the_readmes_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    first, model, formats, tags, tools, methods, together, own, holes, exercises, _ = re.findall(
        r"```python\n(.*?)```", README, re.DOTALL
    )  # the last asks a page
    module = ModuleType("readme")
    monkeypatch.setitem(sys.modules, "readme", module)  # dataclasses look their module up
    names = vars(module)
    exec(first, names)
    assert names["c"].mask(names["c"].initial).ids.tolist() == [0, 2, 4]
    assert str(names["step"].token) != ""
    exec(model, names)
    assert names["order"] == names["Order"].model_validate_json(names["text"])
    assert 1 <= names["order"].count <= 99
    exec(formats, names)
    assert names["ada"] == {"name": "Ada"}
    assert not names["person"].accepts('{"name": "Ada", "age": -1}')
    assert names["point"] == names["Point"](3, 0.0)
    assert names["same"]
    exec(tags, names)
    assert names["call"] == (wb.ToolCall("weather", {"city": "Paris"}),)
    assert '"structural_tag"' in names["body"]
    exec(tools, names)
    assert names["advice"] == ["the rule 'list' is never used"]
    assert [names["nested"].accepts(text) for text in names["texts"]] == [True] * 3
    assert wb.equivalent(names["nested"], wb.Grammar.from_gbnf(names["gbnf"]))
    assert names["svg"].startswith("<svg")
    assert names["json"].accepts('{"a": [1, [2]]}')
    assert not names["json"].accepts("[[[]]]")
    exec(methods, names)
    assert names["tokens"]
    exec(together, names)
    assert len(names["texts"]) == 16
    assert all(run.stop is not None for run in names["runs"])
    assert (names["trees"].count, names["spans"][0].start) == (1, 2)
    assert "'list'" in names["words"]
    exec(own, names)
    valid = {b" Ada", b" Olivia", b" Theodore"}
    assert {b"".join(step.token for step in text) for text in names["texts"]} <= valid
    assert set(names["weighted"]) <= valid
    exec(holes, names)
    assert names["hole"].accepts(', "y": ')
    assert names["hole"].accepts('0, "y": 5')
    assert names["why"].endswith("this is string, and number is expected")
    exec(exercises, names)
    assert (names["graded"].outcome, names["graded"].text) == ("wrong", "b")
    assert names["graded"].share is not None


def test_the_readmes_comments_are_true() -> None:
    grammar = wb.Grammar.from_regex(r"(foo)+d")
    assert str(grammar.check("fox")) == "fails at column 3: expected o"
    assert "# fails at column 3: expected o" in README


CONSOLE = re.findall(r"^\$ workbench (?!serve|train|bench|fuzz|audit)(.*)$", README, re.MULTILINE)


@pytest.mark.slow
@needs_model
@pytest.mark.parametrize("line", CONSOLE)
def test_the_readmes_commands_run(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "grammars").symlink_to(Path(__file__).parent.parent / "grammars")
    (tmp_path / "rows.jsonl").write_text('{"question": "Is it? "}\n')
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == (1 if line.startswith(("check", "lint")) else 0), result.stderr


def test_the_readme_names_commands() -> None:
    assert len(CONSOLE) >= 4


def test_objects_are_written_in_one_short_line() -> None:
    rules = wb.Grammar.from_kbnf("start ::= 'a' start 'b' | #'[0-9]{1,200}';")
    regex = wb.Grammar.from_regex("(yes|no){1,300}")
    vocabulary = toy(["yes", "no", "n", "y", "a", "b", "1"])
    run = wb.generate(
        ToyModel(vocabulary), wb.compile(regex, vocabulary), "", wb.Sampling(1.0), max_tokens=200
    )
    trace = (list(run), run.trace)[1]
    explanation = wb.explain(regex, b"yes" * 99, b"maybe" * 99)
    found = {
        repr(one).partition("(")[0]: repr(one)
        for one in (
            rules,
            regex,
            regex.machine,
            rules.network,
            vocabulary,
            trace,
            trace.steps[0],
            explanation,
            wb.draw(regex, "characters"),
        )
    }
    assert all(len(line) <= 140 and "\n" not in line for line in found.values()), found
    assert found["Grammar"] == "Grammar(regex, '(yes|no){1,300}')"
    assert re.fullmatch(r"Trace\(b'(yes|no).*', \d+ tokens, [a-z ]+\)", found["Trace"])
    assert found["Explanation"].endswith(": forbidden at 'm')")
