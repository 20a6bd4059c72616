"""What is shipped to the browser; no browser needed."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.api import QUICK, STREAMED, Endpoints
from workbench.app.ui.api_page import api_document
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.page import PARTS, document
from workbench.app.ui.page_files import (
    LATE,
    SHEETS,
    join_modules,
    late_script,
    module_names,
    sheet,
)
from workbench.base.resources import STATIC

#: In a separate process, where nothing of it is imported yet.
BUILT = """
import json, sys
from workbench.app import pipeline
from workbench.app.ui import compare_view, handlers, page, questions, runs

imported = [name for name in ("gradio", "torch") if name in sys.modules]
from workbench.app.ui import web_server

imported.append([name for name in ("gradio", "torch") if name in sys.modules])
print(json.dumps(imported))
"""


SKELETONS = sorted(STATIC.glob("*.html"))
FILES = sorted([*STATIC.glob("*.js"), *STATIC.glob("*.css"), *SKELETONS])


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


def test_every_file_is_loaded_and_every_loaded_file_is_there() -> None:
    entries = ("page.js", "replay.js", *LATE)
    scripts = {name for entry in entries for name in module_names(STATIC, entry)}
    assert sorted(scripts) == sorted(path.name for path in STATIC.glob("*.js"))
    replay = {"replay.css"}  # stands in the page a run is taken away as
    assert sorted(SHEETS) == sorted({path.name for path in STATIC.glob("*.css")} - replay)


def test_what_is_sent_is_light() -> None:
    sent = document(Handlers(toy_room())), sheet(), join_modules(STATIC, "page.js")
    assert sum(len(gzip.compress(each.encode())) for each in sent) < 205_000


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


def test_the_document_has_every_part_and_its_opening_as_data() -> None:
    text = document(Handlers(toy_room()))
    for name in PARTS:
        assert text.count(f'<div id="wb-{name}">') == 1
    opening = json.loads(re.findall(r'id="wb-opening">(.*?)</script>', text)[0])
    assert opening["first"]["name"] == opening["gallery"][0]["name"]
    assert "<" not in re.findall(r'id="wb-opening">(.*?)</script>', text)[0]


def test_the_documentation_has_every_endpoint_and_input() -> None:
    text = api_document("https://host.example/<a>/")
    assert "<a>/gradio_api" not in text
    for name in (*QUICK, *STREAMED):
        section = text.partition(f'<section id="{name}">')[2].partition("</section>")[0]
        for parameter in [*signature(getattr(Endpoints, name)).parameters][1:]:
            assert f"<th><code>{parameter}</code>" in section
    assert "Args:" not in text


@pytest.mark.slow
def test_the_handlers_need_no_gradio_and_the_page_no_torch() -> None:
    command = [sys.executable, "-c", BUILT]
    imported = json.loads(subprocess.check_output(command, text=True, cwd=STATIC.parent))
    assert imported == [["gradio"]]
