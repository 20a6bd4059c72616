"""The page's scripts and style sheets in their order, and the content of the page's head."""

from __future__ import annotations

import hashlib
from functools import cache

from workbench.resources import STATIC

#: Where the page's own files are served, relative to its address.
FILES = "wb"

SHEETS = (
    "base.css", "grammar.css", "picture.css", "machines.css", "railroad.css", "run.css", "why.css",
    "takeaway.css", "learn.css", "compare.css",
)  # fmt: skip

#: In the order they need each other.
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
    """All sheets as one."""
    return _joined(SHEETS)


def script() -> str:
    """All scripts as one, in their order.

    One file because scripts that a page adds to itself run as they arrive: files of their
    own ran in any order (seen in Firefox), and fifty requests are slow where the server is far.
    """
    return '"use strict";\n' + _joined(SCRIPTS)


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join((STATIC / name).read_text("utf-8") for name in names)


@cache
def head() -> str:
    """What goes into the page's head: the sheet and the script.

    They are named by their content, so that a browser never keeps those of another version.
    """
    return (
        f'<link rel="stylesheet" href="{FILES}/page.css?{digest(sheet())}">'
        f'<script src="{FILES}/page.js?{digest(script())}"></script>'
    )


def digest(text: str) -> str:
    """A name for exactly this text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
