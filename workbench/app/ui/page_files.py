"""The page's scripts and style sheets, and the versions in its About dialog."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.records import Record
from workbench.base.resources import STATIC

#: The path at which the page's files are served.
FILES = "wb"

SHEETS = (
    "base.css", "grammar.css", "picture.css", "machines.css", "railroad.css", "run.css", "why.css",
    "takeaway.css", "learn.css", "compare.css",
)  # fmt: skip

#: In the order of their dependencies.
SCRIPTS = (
    "core.js", "notations.js", "drafts.js", "share.js", "yours.js", "export.js", "paint.js",
    "names.js", "editor.js", "why.js",
    "camera.js", "drag.js", "glide.js", "graph.js", "machine.js", "stack.js", "find.js", "rows.js",
    "edges.js", "menu.js",
    "shade.js", "strip.js", "callout.js", "chart.js", "search.js", "inspector.js", "totals.js",
    "alarm.js", "branches.js", "walk.js", "stream.js", "questions.js", "panel.js",
    "models.js", "intro.js", "header.js", "tests.js", "problems.js", "phases.js", "outline.js",
    "samples.js", "change.js", "convert.js", "grammar.js", "picture.js", "run.js", "takeaway.js",
    "film.js", "quiz.js", "learn.js",
    "compare-choice.js", "compare-strips.js", "compare-table.js", "compare-exact.js",
    "compare-export.js", "compare.js", "footer.js",
)  # fmt: skip


def sheet() -> str:
    """All style sheets as one text."""
    return _joined(SHEETS)


def script() -> str:
    """All scripts as one text, in their order.

    One file, because scripts that a page adds to itself run as they arrive: separate files ran in
    any order in Firefox, and fifty requests to a distant server are slow.
    """
    return '"use strict";\n' + _joined(SCRIPTS)


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join((STATIC / name).read_text("utf-8") for name in names)


@cache
def head() -> str:
    """The HTML for the page's head: style sheet and script.

    Their addresses contain a hash of the content, so that a browser never uses old versions.
    """
    return (
        f'<link rel="stylesheet" href="{FILES}/page.css?{digest(sheet())}">'
        f'<script src="{FILES}/page.js?{digest(script())}"></script>'
    )


def digest(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_OWN = "grammar-workbench"

#: Labels of the source repository in a project's metadata, preferred ones first.
_SOURCE_LABELS = ("source", "source code", "repository", "homepage")

#: The packages the page depends on, by their names in the package index.
_PACKAGES = ("gradio", "torch", "transformers", "numba", "lark", "graphviz", "pygraphviz")


def about(handlers: Handlers, _: Record) -> Record:
    """Versions of Python and of the packages, and the limits for a grammar."""
    limits = handlers.pipeline.limits
    return {
        "versions": [
            ["grammar workbench", _version(_OWN)],
            ["Python", platform.python_version()],
            *([name, _version(name)] for name in _PACKAGES),
        ],
        "limits": [
            ["seconds a grammar may take", f"{limits.seconds:g}"],
            ["states of an automaton", f"{limits.states:,}"],
        ],
    }


def release() -> Record:
    """The version and the source's address, from the metadata of the installed package.

    Both are empty if the package is not installed; the address also if none is declared.
    """
    try:
        declared = metadata(_OWN)
    except PackageNotFoundError:
        return {"version": "", "source": ""}
    return {
        "version": declared["Version"],
        "source": _source(declared.get_all("Project-URL") or []),
    }


def _source(project_urls: list[str]) -> str:
    """The web address of the source repository among lines such as ``Source, https://…``."""
    pairs = (line.partition(",")[::2] for line in project_urls)
    urls = {label.strip().lower(): url.strip() for label, url in pairs}
    found = (urls[label] for label in _SOURCE_LABELS if label in urls)
    return next((url for url in found if url.startswith(("https://", "http://"))), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
