"""Packages that only parts of the library need, and the extra that installs each.

``numpy``, ``numba``, ``lark`` and a few small packages are always installed: they serve grammars,
masks and the commands about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

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
    with extras_named():
        return import_module(package)


@contextmanager
def extras_named() -> Iterator[None]:
    """Name the extra of a package that the block imports and that is not installed.

    Raises: MissingPackageError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise_named(error)


def raise_named(error: ModuleNotFoundError) -> NoReturn:
    """Raise a MissingPackageError for a package of an extra, else the error itself."""
    package = (error.name or "").partition(".")[0]
    if package in EXTRAS:
        raise MissingPackageError(package) from error
    raise error
