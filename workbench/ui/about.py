"""What runs here: in comes nothing, out come names and versions for the page's About sheet."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from workbench.ui.handlers import Handlers
from workbench.ui.records import Record

#: What the page stands on, by the names the package index knows.
_PACKAGES = ("gradio", "torch", "transformers", "numba", "lark", "graphviz", "pygraphviz")


def about(handlers: Handlers, _: Record) -> Record:
    """Names and versions of what runs here, and what holds for strangers' texts."""
    limits = handlers.pipeline.limits
    return {
        "versions": [
            ["grammar workbench", _version("grammar-workbench")],
            ["Python", platform.python_version()],
            *([name, _version(name)] for name in _PACKAGES),
        ],
        "limits": [
            ["seconds a grammar may take", f"{limits.seconds:g}"],
            ["states of an automaton", f"{limits.states:,}"],
        ],
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
