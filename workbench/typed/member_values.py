"""Members of enumerations as JSON: their values where all are scalars there, else their names."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from workbench.typed.types import Definition, Enumeration, Member


def member_values(one: Enumeration) -> dict[str, object]:
    """The JSON value of each member by its name."""
    try:
        values = {name: ast.literal_eval(text) for name, text in one.members}
    except (ValueError, SyntaxError):
        return {name: name for name, _ in one.members}
    if all(map(_is_json, values.values())):
        return values
    return {name: name for name in values}


def _is_json(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def json_of(value: str | int | Member | None, definitions: Mapping[str, Definition]) -> object:
    """A value of a ``Literal`` as JSON."""
    if not isinstance(value, Member):
        return value
    owner = definitions[value.owner]
    assert isinstance(owner, Enumeration), "checked when it was read"
    return member_values(owner)[value.name]
