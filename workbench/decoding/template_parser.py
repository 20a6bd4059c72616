"""Reads a template: text with holes in braces comes in, parts go out."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from workbench.decoding.template import Gen, Part, Select, White
from workbench.errors import ParseError, WorkbenchError
from workbench.source import Source, Span

_HINT = "write {gen('age', regex='[0-9]+')}, {select(['yes', 'no'])} or {WS}, and {{ for a brace"

#: The names of arguments without one.
_ARGUMENTS = {"gen": ("name",), "select": ("options", "name")}
_MADE = {"gen": Gen, "select": Select}


def parts_of(source: Source) -> Iterator[Part]:
    """The parts of a template.

    Raises: ParseError.
    """
    text, fixed, place = source.text, "", 0
    if half := re.search("[\ud800-\udfff]", text):
        message = "expected a whole character, not one half of a surrogate pair"
        raise ParseError(message, source, Span(*half.span()))
    while place < len(text):
        if text[place] not in "{}" or text[place : place + 2] in ("{{", "}}"):
            fixed += text[place]
            place += 2 if text[place] in "{}" else 1
            continue
        if text[place] == "}":
            raise ParseError(
                "expected a hole before this brace", source, Span(place, place + 1), _HINT
            )
        if fixed:
            yield fixed
        end, call = _hole(source, place)
        yield _part(source, Span(place, end), call)
        fixed, place = "", end
    if fixed:
        yield fixed


def _hole(source: Source, place: int) -> tuple[int, ast.expr]:
    """Where a hole ends, and what it says: up to the first brace that makes it an expression."""
    end = place
    while (end := source.text.find("}", end) + 1) > 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # regexes are full of what Python warns of: '\\d'
                return end, ast.parse(source.text[place + 1 : end - 1].strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    line = source.text[place:].partition("\n")[0]
    raise ParseError("expected a hole", source, Span(place, place + len(line)), _HINT)


def _part(source: Source, span: Span, call: ast.expr) -> Part:
    """What a hole is. Nothing is evaluated: arguments are texts and lists of texts."""
    if isinstance(call, ast.Name) and call.id == "WS":
        return White()
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ParseError("expected gen(…), select(…) or WS", source, span, _HINT)
    made = _MADE.get(call.func.id)
    if made is None:
        raise ParseError(f"there is no {call.func.id!r} in templates", source, span, _HINT)
    names = _ARGUMENTS[call.func.id]
    try:
        given: dict[str, Any] = dict(zip(names, map(_value, call.args), strict=False))
        given |= {argument.arg or "**": _value(argument.value) for argument in call.keywords}
        if any(isinstance(value, tuple) is (key != "options") for key, value in given.items()):
            raise TypeError
        if len(call.args) > len(names) or len(given) < len(call.args) + len(call.keywords):
            raise TypeError  # more than there are, or one of them twice
        part: Part = made(**given)
        return part
    except (TypeError, ValueError):
        raise ParseError("expected other arguments", source, span, _HINT) from None
    except WorkbenchError as error:
        raise ParseError(error.message, source, span, error.hint or _HINT) from None


def _value(node: ast.expr) -> str | tuple[str, ...]:
    """A text, or texts as a tuple. Raises: ValueError for anything else."""
    value = ast.literal_eval(node)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(option, str) for option in value):
        return tuple(value)
    raise ValueError
