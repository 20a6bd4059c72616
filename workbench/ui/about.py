"""Names and versions for the page's footer and its About dialog."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, metadata, version

from workbench.ui.handlers import Handlers
from workbench.ui.records import Record

_OWN = "grammar-workbench"

#: Labels under which a project's metadata names its source repository, the best first.
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
    """The version, and the address of the source as the installed metadata declares it.

    Both are empty where the package is not installed; the address also where none is declared.
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
