"""The page's scripts and style sheets, and the versions in its About dialog."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version

from workbench.app.ui.bundle import join_modules
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.records import Record
from workbench.base.resources import STATIC

#: The path at which the page's files are served.
FILES = "wb"

SHEETS = (
    "base.css", "grammar.css", "picture.css", "machines.css", "railroad.css", "run.css", "why.css",
    "takeaway.css", "learn.css", "compare.css",
)  # fmt: skip

#: The module that mounts the page's parts; it imports all others.
SCRIPT = "page.js"


def sheet() -> str:
    """All style sheets as one text."""
    return "\n".join((STATIC / name).read_text("utf-8") for name in SHEETS)


def script() -> str:
    """All modules as one script, each after those it imports."""
    return join_modules(STATIC, SCRIPT)


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
