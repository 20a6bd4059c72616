"""Lark's own module ``common``: a name in, the terminals it is made of out.

They are read from ``common.lark`` of the installed lark, but for those whose regexes look back or
stop early: these are given here as what they match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

from workbench.source import Source, Span
from workbench.syntax.called import called
from workbench.syntax.grammar_tree import Expression
from workbench.syntax.lark.nodes import Definition

_Node = TypeVar("_Node")

#: A string of Lark's ends at the first quote without an odd number of backslashes before it.
_INSTEAD = r"""
ESCAPED_STRING: "\"" /([^"\\\n]|\\.)*/ "\""
_STRING_INNER: /.*/
_STRING_ESC_INNER: /([^\\\n]|\\.)*/
C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
"""
_NAME = re.compile(r"^(\w+)\s*:", re.MULTILINE)


@cache
def common_terminals() -> Mapping[str, Definition]:
    """All terminals of the module by name."""
    from workbench.syntax.lark.reader import read

    theirs = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    given = set(_NAME.findall(_INSTEAD))
    kept = [line for line in theirs.splitlines() if line.split(":")[0].strip() not in given]
    text = "\n".join(kept) + _INSTEAD
    return {one.name: one for one in read(Source(text, "common")).definitions}


def needed(name: str) -> tuple[str, ...]:
    """A terminal of the module and all it is made of, itself first."""
    known = common_terminals()
    names = [name]
    for one in names:  # grows while it is read
        names += [call for call in called(cast("Expression", known[one].body)) if call not in names]
    return tuple(names)


def placed(node: _Node, span: Span) -> _Node:
    """The same node, with all it holds written at one place."""
    return _placed(node, span)  # type: ignore[no-any-return]  # as its kind


def _placed(node: Any, span: Span) -> Any:  # noqa: ANN401  # nodes of every kind
    if isinstance(node, Span):
        return span
    if isinstance(node, tuple):
        return tuple(_placed(part, span) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    held = {field.name: _placed(getattr(node, field.name), span) for field in fields(node)}
    return replace(node, **held)
