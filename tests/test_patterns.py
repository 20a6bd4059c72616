"""Patterns of the package mean the same on every supported Python.

Python before 3.11.5 continues at a wrong place where a copy of a possessive group fails after a
lookahead or a repeated group inside it (https://github.com/python/cpython/issues/106052).
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator

import workbench

_parse = importlib.import_module("re._parser").parse
_POSSESSIVE = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
#: Parts after whose failure the place is wrong: what tries one way after another, or looks around.
_LEAVES_A_PLACE = {"ASSERT", "ASSERT_NOT", "MAX_REPEAT", "MIN_REPEAT"}


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.walk_packages(workbench.__path__, "workbench."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # of an extra
            continue
        for name, value in vars(loaded).items():
            for one in value if isinstance(value, (tuple, list)) else [value]:
                if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                    yield f"{module.name}.{name}", one


def _parts(parsed: object) -> Iterator[tuple[str, object]]:
    """The operations of a parsed pattern with their arguments, from the outside to the inside."""
    if hasattr(parsed, "data"):
        for operation, argument in parsed.data:
            yield str(operation), argument
            yield from _parts(argument)
    elif isinstance(parsed, (tuple, list)):
        for part in parsed:
            yield from _parts(part)


def _may_continue_at_a_wrong_place(pattern: re.Pattern[str]) -> bool:
    return any(
        operation in _POSSESSIVE and _LEAVES_A_PLACE & {inner for inner, _ in _parts(argument)}
        for operation, argument in _parts(_parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    )


def test_the_check_finds_the_fault() -> None:
    assert _may_continue_at_a_wrong_place(re.compile(r"(?:[^*]++|\*(?!\)))*+"))
    assert not _may_continue_at_a_wrong_place(re.compile(r"(?:[^*]++|\\.)*+"))
    fails = sys.version_info < (3, 11, 5)
    assert (re.match(r"(?:[^*]++|\*(?!\)))*+\*\)", "a*)") is None) is fails


def test_no_pattern_may_continue_at_a_wrong_place() -> None:
    found = dict(_patterns())
    assert len(found) > 100
    assert [name for name, one in found.items() if _may_continue_at_a_wrong_place(one)] == []
