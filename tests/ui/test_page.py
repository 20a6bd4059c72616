"""What is shipped to the browser, and the page as Gradio sees it; no browser needed."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.app.ui.page_files import LATE, join_modules, late_script, module_names
from workbench.base.resources import STATIC


def aside(code: str) -> list[str]:
    """The words some code prints, in a separate process: Gradio's warnings must not fail the tests."""
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=STATIC.parent
    )
    return reported.stdout.split()


SKELETONS = sorted(STATIC.glob("*.html"))
FILES = sorted([*STATIC.glob("*.js"), *STATIC.glob("*.css"), *SKELETONS])


@pytest.mark.parametrize("path", SKELETONS, ids=lambda path: path.name)
@pytest.mark.parametrize("sign", ["{{", "${", "`", "\\", "<script"])
def test_nothing_in_a_skeleton_would_be_evaluated(path: Path, sign: str) -> None:
    assert sign not in path.read_text("utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_fetched_from_elsewhere(path: Path) -> None:
    addresses = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", path.read_text("utf-8"))
    # a name space; and inside a Space the address that a visitor sees, which the page gets from the environment
    known = ("www.w3.org", "https://huggingface.co")
    assert [a for a in addresses if not a.endswith(known)] == []
    if path.suffix == ".css":
        assert "@import" not in path.read_text("utf-8")


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_nothing_typed_can_become_markup(path: Path) -> None:
    text = path.read_text("utf-8")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in text


@pytest.mark.slow
def test_every_file_is_loaded_and_every_loaded_file_is_there() -> None:
    entries = ("page.js", "replay.js", *LATE)
    scripts = {name for entry in entries for name in module_names(STATIC, entry)}
    assert sorted(scripts) == sorted(path.name for path in STATIC.glob("*.js"))
    reported = aside("from workbench.app.ui.page_files import SHEETS; print(*SHEETS)")
    replay = {"replay.css"}  # stands in the page a run is taken away as
    assert sorted(reported) == sorted({path.name for path in STATIC.glob("*.css")} - replay)


def test_what_is_sent_is_light() -> None:
    skeletons = b"".join(path.read_bytes() for path in SKELETONS)
    sheets = b"".join(path.read_bytes() for path in STATIC.glob("*.css"))
    sent = skeletons + sheets + join_modules(STATIC, "page.js").encode()
    assert len(gzip.compress(sent)) < 160_000  # Gradio's part is larger; 500 KB for all


@pytest.mark.parametrize("entry", LATE)
def test_a_late_script_is_light(entry: str) -> None:
    assert len(gzip.compress(late_script(entry).encode())) < 20_000


def test_no_line_is_longer_than_120_columns() -> None:
    long = [
        f"{path.name}:{number}"
        for path in STATIC.glob("*.js")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert long == []


@pytest.mark.slow
def test_the_page_is_built_with_its_events() -> None:
    reported = aside(
        "from tests.ui.toy import toy_room; from workbench.app.ui.handlers import Handlers;"
        "from workbench.app.ui.page import build; page = build(Handlers(toy_room()));"
        "print(*[fn.api_name for fn in page.fns.values() if fn.api_visibility == 'public'])"
    )
    assert sorted(reported) == [
        "check", "compare", "compile", "draw", "explain", "generate", "mask", "samples",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_page_is_up_before_torch_is_wanted() -> None:
    code = (
        "import sys, workbench.app.ui.page, workbench.app.ui.serve; print('torch' in sys.modules)"
    )
    assert aside(code) == ["False"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "workbench.app.ui.handlers",
        "workbench.app.ui.runs",
        "workbench.app.ui.compare_view",
        "workbench.app.pipeline",
    ],
)
def test_the_handlers_need_no_gradio(module: str) -> None:
    code = f"import sys, {module}; print('gradio' in sys.modules, 'torch' in sys.modules)"
    assert aside(code) == ["False", "False"]
