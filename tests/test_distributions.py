"""What the library needs: the packages that are loaded, and those that may be missing.

Each row is a process of its own, in which the packages of the extras cannot be imported.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from workbench.base.extras import EXTRAS

PROJECT = tomllib.loads(
    (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text("utf-8")
)["project"]

_BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""
_LOADED = """
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
_CONSTRAINT = "constraint = wb.compile(grammar, wb.Vocabulary([b'a', b'b', b'1', b'[', b']']))\n"
_MASK = _CONSTRAINT + "constraint.mask(constraint.initial)\n"


@cache
def run(code: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    """A process in which packages cannot be imported; its last line names the loaded ones."""
    whole = _BLOCKED.format(packages=set(blocked)) + textwrap.dedent(code) + _LOADED
    return subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, timeout=300, check=False
    )


def command(*arguments: str) -> str:
    """Code that runs a command of the command line."""
    return (
        f"sys.argv = {['workbench', *arguments]!r}\n"
        "from workbench.app.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as ended: print('status', ended.code)\n"
    )


#: Names of packages that are loaded only where they are needed, by what runs.
_HEAVY = {"numba", "lark", "interegular", "tokenizers", "typer"}
LIBRARY = [
    ("import workbench", "import workbench", set[str]()),
    ("regex", "import workbench as wb; grammar = wb.Grammar.from_regex('a+')\n" + _MASK, {"numba"}),
    ("KBNF", "import workbench as wb; grammar = wb.Grammar.from_kbnf('start ::= \"a\" start? \"b\";')\n" + _MASK, {"numba"}),
    ("GBNF", "import workbench as wb; grammar = wb.Grammar.from_gbnf('root ::= \"a\"')\n" + _MASK, {"numba"}),
    ("JSON Schema", "import workbench as wb; grammar = wb.Grammar.from_json_schema({'type': 'array'})\n" + _MASK, {"numba"}),
    ("dataclass", "import workbench as wb; grammar = wb.Grammar.from_dataclass('@dataclass\\nclass P:\\n  a: int')\n", {"numba"}),
    ("Lark", "import workbench as wb; grammar = wb.Grammar.from_lark('start: \"a\"')\n" + _MASK, {"numba", "lark", "interegular"}),
    ("vocabulary", "import workbench as wb; wb.Vocabulary.load('builtin')\n", {"numba", "tokenizers"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "may"), [row[1:] for row in LIBRARY], ids=[r[0] for r in LIBRARY])
def test_the_library_runs_without_the_extras(code: str, may: set[str]) -> None:
    made = run(code, *EXTRAS)
    assert made.returncode == 0, made.stderr
    assert set(made.stdout.splitlines()[-1].split()) & _HEAVY <= may


COMMANDS = [
    (("check", "--regex", "a+", "aa"), "accepted"),
    (("check", "--kbnf", "-", "a"), "status 2"),
    (("lint", "--regex", "a|a"), "delete one of them"),
    (("convert", "--regex", "a+", "--to", "kbnf"), "start ::="),
    (("parse", "--regex", "a", "a"), "'a'"),
    (("mask", "--regex", "ab|c"), "'ab'"),
    (("--help",), "audit"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "printed"), COMMANDS)
def test_the_grammar_commands_run_without_the_extras(
    arguments: tuple[str, ...], printed: str
) -> None:
    made = run(command(*arguments), *EXTRAS)
    assert made.returncode == 0, made.stderr
    assert printed in made.stdout


MISSING = [
    (command("draw", "--regex", "a"), "graphviz", "app"),
    (command("serve"), "gradio", "app"),
    (command("generate", "--regex", "a"), "transformers", "models"),
    (command("results", __file__), "pyarrow", "data"),
    ("import workbench as wb; wb.load_model('builtin')", "transformers", "models"),
    ("import workbench as wb; wb.draw(wb.Grammar.from_regex('a'), 'characters').dot()", "graphviz", "app"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("code", "package", "extra"), MISSING)
def test_a_missing_extra_is_one_sentence_with_the_command(
    code: str, package: str, extra: str
) -> None:
    made = run(code, *EXTRAS)
    assert f"this needs the package {package}\n" in made.stderr
    assert f"pip install 'grammar-workbench[{extra}]'" in made.stderr


def test_the_extras_install_what_the_messages_say() -> None:
    extras = PROJECT["optional-dependencies"]
    distributions = {"railroad": "railroad-diagrams"}
    comes_with = {"anyio": "starlette"}
    for package, extra in EXTRAS.items():
        name = distributions.get(package, comes_with.get(package, package))
        assert name in {Requirement(each).name for each in extras[extra]}, package
    core = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert not core & {distributions.get(package, package) for package in EXTRAS}
