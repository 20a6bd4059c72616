"""Truncated JSON: how deep objects and arrays may be nested comes in, a regex goes out.

JSON without a schema is context-free; with constant limits on nesting it is regular::

    wb.Grammar.from_regex(json_regex(objects=2, arrays=2))

The example ``json_truncated`` of the gallery is one, written over several lines.

Source: Koo et al. 2024, section 5.1: the limits are its k_O and k_A.
"""

from __future__ import annotations

from functools import cache

from workbench.limits import LIMITS, Limits

#: JSON's white space between any two signs, as much as one likes.
SPACE = r"[ \t\n\r]*"
_STRING = (
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2}'
    r'|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))*"'
)
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_SCALAR = rf"{_STRING}|{_NUMBER}|true|false|null"


def json_regex(*, objects: int, arrays: int, space: str = SPACE, limits: Limits = LIMITS) -> str:
    """A regex for JSON values whose objects and arrays are nested at most so deep.

    ``space`` is a regex for what may stand between signs; the empty one makes compact JSON.

    Cost:   the value inside is written twice at each level: compact, 226 characters for scalars,
            3,958 for one object and one array, 51,230 for two of each.
    Raises: LimitError past ``limits.unrolled`` characters; ValueError for depths below 0.
    """
    if objects < 0 or arrays < 0:
        raise ValueError(f"expected depths of 0 or more, not {objects} and {arrays}")

    @cache
    def value(objects: int, arrays: int) -> str:
        options = [_SCALAR]
        if objects:
            pair = rf"{_STRING}{space}:{space}{value(objects - 1, arrays)}"
            options.append(_listed(r"\{", pair, r"\}", space))
        if arrays:
            options.append(_listed(r"\[", value(objects, arrays - 1), r"\]", space))
        text = f"(?:{'|'.join(options)})"
        limits.check("unrolled", len(text), "allow fewer objects or arrays inside one another")
        return text

    return f"{space}{value(objects, arrays)}{space}"


def _listed(opening: str, item: str, closing: str, space: str) -> str:
    """Items with commas between, or none at all."""
    return rf"{opening}{space}(?:{item}(?:{space},{space}{item})*{space})?{closing}"
