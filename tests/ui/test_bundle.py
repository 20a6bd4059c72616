"""ES modules joined to one script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.app.ui.page_files import ModuleError, join_late, join_modules, module_names
from workbench.base.resources import STATIC

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def _write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, "utf-8")
    return folder


#: Modules that print what they import, in an order that only their imports give.
MODULES = {
    "a": 'import { twice as double } from "./b.js";\nimport { log } from "./c-d.js";\n'
    "log(double(3));\nlog(2);\n",
    "b": 'import { log } from "./c-d.js";\n/* A\n   comment. */\nexport function twice(x) {\n'
    '  // another\n  return 2 * x;\n}\nlog("b");\n',
    "c-d": "export const log = (x) => console.log(x);\nconst twice = null;\n",
}


def test_a_module_comes_after_those_it_imports(tmp_path: Path) -> None:
    assert module_names(_write(tmp_path, **MODULES), "a.js") == ("c-d.js", "b.js", "a.js")


@needs_node
@pytest.mark.parametrize("kind", ["joined", "as modules"])
def test_joined_modules_do_what_modules_do(tmp_path: Path, kind: str) -> None:
    _write(tmp_path, **MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = "a.js"
    if kind == "joined":
        script = "joined.cjs"
        (tmp_path / script).write_text(join_modules(tmp_path, "a.js"), "utf-8")
    result = subprocess.run(
        ["node", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["b", "6", "2"]


#: A page, and a late module that shares one of its modules and has one of its own.
LATE_MODULES = {
    "late": "const waiting = new Map();\nexport function arrived(entry, exported) {\n"
    "  console.log(entry, exported.value());\n}\n",
    "shared": 'export const word = "shared";\nconsole.log("loaded once");\n',
    "own": "export const five = 5;\n",
    "page": 'import { arrived } from "./late.js";\nimport { word } from "./shared.js";\n'
    "console.log(word, Boolean(arrived), LATE);\n",
    "part": 'import { five } from "./own.js";\nimport { word } from "./shared.js";\n'
    "export const value = () => word + five;\n",
}


@needs_node
def test_a_late_script_uses_the_modules_of_the_page(tmp_path: Path) -> None:
    _write(tmp_path, **LATE_MODULES)
    late = join_late(tmp_path, "part.js", "page.js")
    assert "loaded once" not in late
    page = join_modules(tmp_path, "page.js", {"part.js": "wb/part.js?1"})
    # scripts of a page share their constants, as scripts of one context do
    run = (
        "import { createContext, Script } from 'node:vm';\n"
        "const context = createContext({ console });\n"
        f"for (const text of {json.dumps([page, late])}) new Script(text).runInContext(context);\n"
    )
    result = subprocess.run(
        ["node", "--input-type=module", "-e", run], capture_output=True, text=True, check=True
    )
    assert result.stdout.split("\n")[:3] == [
        "loaded once",
        "shared true { 'part.js': 'wb/part.js?1' }",
        "part.js shared5",
    ]


def test_a_late_module_that_the_page_imports_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, **LATE_MODULES)
    with pytest.raises(ModuleError, match=r"shared\.js is late, and page\.js imports it"):
        join_late(tmp_path, "shared.js", "page.js")


def test_a_cycle_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, a='import { b } from "./b.js";\n', b='import { a } from "./a.js";\n')
    with pytest.raises(ModuleError, match=re.escape("a.js → b.js → a.js")):
        join_modules(tmp_path, "a.js")


@pytest.mark.parametrize(
    "line",
    [
        'import * as b from "./b.js";',
        'import b from "./b.js";',
        'import { b } from "b";',
        "export default 1;",
        "export let changing = 1;",
        "export { b };",
        'export * from "./b.js";',
    ],
)
def test_other_forms_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ModuleError, match=r"a\.js: this form cannot be joined"):
        join_modules(_write(tmp_path, a=line + "\n"), "a.js")


def test_comments_are_not_sent() -> None:
    assert not re.search(r"^\s*(/\*|//)", join_modules(STATIC, "page.js"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_no_template_literal_spans_lines(path: Path) -> None:
    """Joining drops indentation and comments by line, which would change such a literal."""
    for line in path.read_text("utf-8").splitlines():
        code = re.sub(r"split\(/.*?/\)", "", line.replace('"`"', ""))
        assert code.count("`") % 2 == 0, line
