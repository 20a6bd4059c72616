"""Instances become the constructor calls that make them: a value in, its canonical text out.

It is what ``repr`` writes, but for members of enumerations, which are written by their names.
"""

from __future__ import annotations

import dataclasses
from enum import Enum

from workbench.typed.types import OPAQUE
from workbench.typed.values import literal_or


def call_name(cls: type) -> str:
    """The name a class is called by where it is defined: without the function around it."""
    return cls.__qualname__.rpartition("<locals>.")[2]


def written(value: object) -> str:
    """A value as Python text; a dataclass as a call with all keywords its constructor takes."""
    if isinstance(value, Enum):
        return f"{call_name(type(value))}.{value.name}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = (
            f"{field.name}={written(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
            if field.init
        )
        return f"{call_name(type(value))}({', '.join(given)})"
    if type(value) is list:
        return f"[{', '.join(map(written, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(written, value))}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return f"{{{', '.join(f'{written(k)}: {written(v)}' for k, v in value.items())}}}"
    if type(value) is set and value:
        return f"{{{', '.join(map(written, value))}}}"
    if type(value) is frozenset and value:
        return f"frozenset({{{', '.join(map(written, value))}}})"
    return repr(value)


def default_text(value: object) -> str:
    """The text of a default, opaque where it is not made of literals and calls."""
    return literal_or(written(value), OPAQUE)
