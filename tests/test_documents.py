"""README and the pages of ``docs/``: their examples run, their paths exist, the site builds.

In a Python block, a comment that is a Python literal is the value of its line (or what the line
prints). In a console block, the lines under a command are parts of its output, and
``# exit status 1`` after a command is its status. A block with a title is a file, which the later
blocks of the page find in their folder.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer
from typer.testing import CliRunner

import workbench as wb
from tests.command_reference import page as command_reference
from workbench.app.cli.main import app
from workbench.base.diagnostics import WARNINGS
from workbench.base.resources import BUILTIN_MODEL
from workbench.schema.schema_reader import Effect

ROOT = Path(__file__).parents[1]
#: Written by commands that have tests of their own; not read here for commands and paths.
GENERATED = {"docs/audits.md", "docs/engines.md", "docs/reference/commands.md"}
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")),
]
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in PAGES}
WRITTEN = [name for name in PAGES if name not in GENERATED]

#: The extras of the package.
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = set(_PROJECT["optional-dependencies"])

needs_model = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str
    text: str


def blocks(name: str) -> list[Block]:
    pattern = r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$"
    found = re.findall(pattern, TEXTS[name], re.DOTALL | re.MULTILINE)
    return [Block(*each) for each in found]


def asks_a_page(name: str) -> bool:
    """Its example needs a page that is open: ``tests/ui/test_api.py`` runs it."""
    return "http://127.0.0.1:7860/" in TEXTS[name]


EXAMPLES = [
    name
    for name in PAGES
    if any(one.language in ("python", "console") for one in blocks(name)) and not asks_a_page(name)
]


@pytest.mark.slow
@needs_model
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grammars").symlink_to(ROOT / "grammars")
    monkeypatch.chdir(tmp_path)
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # dataclasses look their module up
    for block in blocks(name):
        if block.title:
            Path(block.title).write_text(block.text, "utf-8")
        elif block.language == "python":
            run_python(block.text, vars(module))
        elif block.language == "console":
            for command, output in console(block.text):
                run_command(command, output)


def run_python(code: str, names: dict[str, Any]) -> None:
    """Run each statement; its comment, where it is a literal, is its value or what it prints."""
    comments = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(code).body:
        comment = comments.get(statement.end_lineno or 0, "")
        printed = io.StringIO()
        with redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "example", "eval"), names)
            else:
                value = None
                exec(compile(ast.Module([statement], []), "example", "exec"), names)
        if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("print("):
            assert printed.getvalue().strip() == comment
        elif isinstance(statement, ast.Expr) and comment and re.match(r"[\[({'\"\dTFA-Z]", comment):
            assert repr(value) == comment or value == ast.literal_eval(comment), (comment, value)


def console(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block, each with the lines of output under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *output = part.rstrip().split("\n")
        yield command, [line for line in output if line]


def run_command(line: str, output: list[str]) -> None:
    words = shlex.split(line, comments=True)
    assert words[0] == "workbench", line
    status = re.search(r"# exit status (\d)$", line)
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == int(status[1] if status else 0), (line, result.stdout, result.stderr)
    printed = result.stdout + result.stderr
    for expected in output:
        assert expected in printed, (line, printed)
        printed = printed[printed.index(expected) :]


def test_many_examples_are_run() -> None:
    assert len(EXAMPLES) > 15
    assert "README.md" in EXAMPLES


COMMANDS = [
    (name, command)
    for name in WRITTEN
    for command in (
        *(line for one in blocks(name) if one.language == "sh" for line in one.text.splitlines()),
        *(
            code
            for code in re.findall(
                r"`([^`\n]+)`", re.sub(r"```.*?```", "", TEXTS[name], flags=re.DOTALL)
            )
        ),
    )
    if re.match(r"(workbench [a-z]|python -m |pip install|make )", command)
]


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_a_command_exists_with_its_options(name: str, command: str) -> None:
    for part in command.split("&&"):
        check_command(shlex.split(part, comments=True))


def check_command(words: list[str]) -> None:
    match words:
        case ["workbench", name, *rest] if name.islower():
            check_options(typer.main.get_command(app), name, rest)
        case ["python", "-m", "lab", name, *rest] if name.islower():
            from lab.commands import app as laboratory

            check_options(typer.main.get_command(laboratory), name, rest)
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module), module
        case ["pip", "install", *packages]:
            for extras in re.findall(r"\.\[([\w,]+)\]", " ".join(packages)):
                assert set(extras.split(",")) <= EXTRAS, extras
        case ["make", target]:
            assert f"\n{target}:" in (ROOT / "Makefile").read_text("utf-8")


def check_options(group: Any, name: str, words: list[str]) -> None:
    assert name in group.commands, name
    known = {
        option
        for one in group.commands[name].params
        if one.param_type_name == "option"
        for option in (*one.opts, *one.secondary_opts)
    }
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    assert set(options) <= {*known, "--help"}, options


#: In code: a path from the root of the checkout.
PATHS = [
    (name, path)
    for name in WRITTEN
    for path in sorted(
        set(
            re.findall(
                r"`((?:workbench|lab|tests|docs|grammars|static|deploy)/[\w./-]*|\.ci/\w+)`",
                TEXTS[name],
            )
        )
    )
]


@pytest.mark.parametrize(("name", "path"), PATHS)
def test_a_path_exists(name: str, path: str) -> None:
    assert (ROOT / path).exists() or "NAME" in path


NAMES = sorted({(n, each) for n in WRITTEN for each in re.findall(r"\bwb\.(\w+)", TEXTS[n])})


@pytest.mark.parametrize(("name", "public"), NAMES)
def test_a_public_name_exists(name: str, public: str) -> None:
    assert public in wb.__all__


DOCUMENTS = {
    **TEXTS,
    **{n: (ROOT / n).read_text("utf-8") for n in ("CHANGELOG.md", "SECURITY.md", "llms.txt")},
}
LINKS = [
    (name, link)
    for name, text in DOCUMENTS.items()
    for link in re.findall(
        r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"",
        re.sub(r"```.*?```", "", text, flags=re.DOTALL),
    )
    for link in filter(None, link)
]


@pytest.mark.parametrize(("name", "link"), LINKS)
def test_a_link_resolves(name: str, link: str) -> None:
    address = urlsplit(link)
    assert not address.scheme, "a page links to another host"
    if address.path:
        assert ((ROOT / name).parent / unquote(address.path)).exists()


def test_every_code_of_advice_has_its_section() -> None:
    described = set(re.findall(r"^## (\w+)$", TEXTS["docs/reference/advice.md"], re.MULTILINE))
    given = {
        node.value
        for file in (ROOT / "workbench").rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Advice"
        for node in (*call.args, *(each.value for each in call.keywords if each.arg == "kind"))
        if isinstance(node, ast.Constant) and re.fullmatch(r"[a-z]+(_[a-z]+)*", str(node.value))
    }
    assert described == given | WARNINGS | {*Effect}


#: Files whose texts a visitor sees.
LABELLED = {".html", ".js", ".py", ".toml"}
#: Pages that name parts of the page in italics.
NAMING = [name for name in PAGES if name.startswith(("docs/tutorials/", "docs/reference/page.md"))]


@pytest.mark.parametrize("name", NAMING)
def test_the_page_has_the_labels(name: str) -> None:
    folders = (ROOT / "static", ROOT / "workbench" / "app")
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in LABELLED]
    shown = "\n".join(file.read_text("utf-8") for file in files)
    prose = re.sub(r"```.*?```", "", TEXTS[name], flags=re.DOTALL)
    for label in re.findall(r"(?<![*\w])\*([^*\n]{3,40})\*(?![*\w])", prose):
        for part in re.split(r" [›·→] ", label):
            assert re.search(rf"(?<!\w){re.escape(part)}(?!\w)", shown), part


def test_readme_is_short() -> None:
    text = TEXTS["README.md"]
    assert text.count("\n") <= 160
    assert len(text.encode()) <= 10_240


def test_changelog_and_contributing_are_short() -> None:
    assert DOCUMENTS["CHANGELOG.md"].count("\n") <= 40
    assert TEXTS["CONTRIBUTING.md"].count("\n") <= 120


def test_the_command_reference_is_that_of_the_commands() -> None:
    """Written again by ``make docs``."""
    assert TEXTS["docs/reference/commands.md"] == command_reference()


@pytest.mark.slow
def test_the_site_builds_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "WORKBENCH_DOCS_WITHOUT_API": "1", "PYTHONPATH": str(ROOT)}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert built.returncode == 0, built.stderr
    loads = (
        r"<(?:script|img|iframe|source)[^>]*\bsrc=\"?(https?:)?//|<link[^>]*href=\"?(?:https?:)?//"
    )
    for page in tmp_path.rglob("*.html"):
        assert not re.search(loads, page.read_text("utf-8")), page
