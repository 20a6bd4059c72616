"""The page's own scripts and sheets: which, in what order, and what stands in the page's head."""

from __future__ import annotations

import hashlib
from functools import cache

from workbench.resources import STATIC

#: Where the page's own files are served, relative to its address.
FILES = "wb"

SHEETS = (
    "base.css", "grammar.css", "picture.css", "machines.css", "railroad.css", "run.css", "why.css", "takeaway.css",
    "learn.css",
)  # fmt: skip

#: In the order they need each other.
SCRIPTS = (
    "core.js", "drafts.js", "share.js", "yours.js", "export.js", "colour.js", "paint.js",
    "editor.js", "why.js",
    "camera.js", "graph.js", "machine.js", "stack.js", "find.js", "rows.js", "edges.js", "menu.js",
    "together.js",
    "shade.js", "strip.js", "chart.js", "search.js", "inspector.js", "totals.js", "alarm.js",
    "branches.js", "walk.js", "stream.js", "questions.js", "panel.js",
    "models.js", "intro.js", "header.js", "tests.js", "problems.js", "phases.js", "outline.js",
    "samples.js", "grammar.js", "picture.js", "run.js", "takeaway.js",
    "film.js", "quiz.js", "learn.js", "footer.js",
)  # fmt: skip


@cache
def head() -> str:
    """What goes into the page's head: the sheets, then the scripts in order."""
    # named by their content, so that a browser never keeps a file of another version
    digest = hashlib.sha256()
    for name in (*SHEETS, *SCRIPTS):
        digest.update((STATIC / name).read_bytes())
    version = digest.hexdigest()[:12]
    sheets = "".join(f'<link rel="stylesheet" href="{FILES}/{n}?{version}">' for n in SHEETS)
    return sheets + "".join(f'<script src="{FILES}/{n}?{version}"></script>' for n in SCRIPTS)
