"""Packages that only parts of the library need, and the extra that installs each.

``numpy``, ``numba``, ``lark`` and a few small packages are always installed: they serve grammars,
masks and the commands about them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from workbench.base.errors import WorkbenchError

#: The extra that installs a package, by the name under which it is imported.
EXTRAS = {
    "torch": "models",
    "transformers": "models",
    "safetensors": "models",
    "gradio": "app",
    "starlette": "app",
    "anyio": "app",
    "graphviz": "app",
    "pygraphviz": "app",
    "railroad": "app",
    "pandas": "data",
    "pyarrow": "data",
    "tqdm": "data",
    "datasets": "datasets",
    "matplotlib": "plots",
    "ray": "ray",
}


class MissingPackageError(WorkbenchError):
    """A package of an extra is not installed."""

    def __init__(self, package: str) -> None:
        extra = EXTRAS[package]
        super().__init__(
            f"this needs the package {package}",
            f"pip install 'grammar-workbench[{extra}]', or '.[{extra}]' in a checkout",
        )


def imported(package: str) -> Any:  # noqa: ANN401  # a module
    """A package of an extra, imported when it is needed.

    Raises: MissingPackageError if it is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise missing_package(error) from error


def missing_package(error: ModuleNotFoundError) -> Exception:
    """The error that names the extra of a missing package; any other error as it is."""
    package = (error.name or "").partition(".")[0]
    return MissingPackageError(package) if package in EXTRAS else error
