"""What is shipped to the browser, and the page as Gradio sees it; no browser needed."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workbench.app.ui.page_files import (
    LATE,
    join_modules,
    late_script,
    module_names,
    sheet,
    skeleton,
)
from workbench.base.resources import STATIC

#: In a separate process: Gradio's warnings must not fail the tests.
BUILT = """
import json, sys
from workbench.app import pipeline
from workbench.app.ui import compare_view, handlers, runs

known = {"handlers": [name for name in ("gradio", "torch") if name in sys.modules]}
from workbench.app.ui import page, page_files, serve

known["page"] = [name for name in ("gradio", "torch") if name in sys.modules]
from tests.ui.toy import toy_room

built = page.build(handlers.Handlers(toy_room()))
events = [event.api_name for event in built.fns.values() if event.api_visibility == "public"]
told = {"imported": known, "events": events, "kept": built.delete_cache}
print(json.dumps(told | {"sheets": page_files.SHEETS}))
"""


@pytest.fixture(scope="module")
def built() -> Any:
    """What a new process says of the page."""
    command = [sys.executable, "-c", BUILT]
    return json.loads(subprocess.check_output(command, text=True, cwd=STATIC.parent))


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
def test_every_file_is_loaded_and_every_loaded_file_is_there(built: Any) -> None:
    entries = ("page.js", "replay.js", *LATE)
    scripts = {name for entry in entries for name in module_names(STATIC, entry)}
    assert sorted(scripts) == sorted(path.name for path in STATIC.glob("*.js"))
    replay = {"replay.css"}  # stands in the page a run is taken away as
    assert sorted(built["sheets"]) == sorted({path.name for path in STATIC.glob("*.css")} - replay)


def test_what_is_sent_is_light() -> None:
    skeletons = "".join(skeleton(path.stem) for path in SKELETONS)
    sent = skeletons + sheet() + join_modules(STATIC, "page.js")
    assert len(gzip.compress(sent.encode())) < 191_000  # Gradio's part is larger; 500 KB for all


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
def test_the_page_is_built_with_its_events(built: Any) -> None:
    assert sorted(built["events"]) == [
        "check", "compare", "compile", "draw", "explain", "generate", "mask", "samples",
    ]  # fmt: skip


@pytest.mark.slow
def test_files_of_gradio_are_deleted(built: Any) -> None:
    assert built["kept"] == [600, 600]


@pytest.mark.slow
def test_the_handlers_need_no_gradio_and_the_page_no_torch(built: Any) -> None:
    assert built["imported"] == {"handlers": [], "page": ["gradio"]}
