"""An ``Enum`` in a text becomes an Enumeration; its values are read as literals or not at all."""

from __future__ import annotations

import ast

from workbench.typed.names import Names
from workbench.typed.python_text import dotted
from workbench.typed.types import OPAQUE, Enumeration
from workbench.typed.values import literal_or

_BASES = {"enum.Enum": "Enum", "enum.IntEnum": "IntEnum", "enum.StrEnum": "StrEnum"}
_MIXED_IN = ("str", "int", "float")


def enumeration(names: Names, node: ast.ClassDef, name: str) -> Enumeration:
    """The members of a class that derives from ``Enum``, aliases among them.

    Raises: ParseError of kind ``unsupported_class``.
    """
    text, place = names.text, names.text.name_span(node)
    bases = tuple(_base(names, base) for base in node.bases)
    members: dict[str, str] = {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                words = [_word(names, target) for target in targets]
                # one value, also where it is auto() and has several names
                members |= dict.fromkeys(words, _value(names, value, words[0], members, bases))
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                text.refuse("expected members, as in  RED = 1", statement, kind="unsupported_class")
    if not members:
        hint = "give it members, as in  RED = 1"
        text.refuse(f"{name} has no members, so no value", place, hint, "unsupported_class")
    return Enumeration(name, tuple(members.items()), bases, place)


def _word(names: Names, target: ast.expr) -> str:
    if isinstance(target, ast.Name) and not target.id.startswith("_"):
        return target.id
    return names.text.refuse("expected a member, as in  RED = 1", target, kind="unsupported_class")


def _base(names: Names, base: ast.expr) -> str:
    written = dotted(base) or ""
    meant = names.meant(written)
    if meant in _BASES or written in _MIXED_IN:
        return _BASES.get(meant, written)
    return names.text.refuse(
        f"expected Enum, IntEnum or StrEnum, not {names.text.text(base)}",
        base,
        "flags have no literals: use set of an Enum" if "Flag" in meant else "",
        "unsupported_class",
    )


def _value(
    names: Names, value: ast.expr, member: str, before: dict[str, str], bases: tuple[str, ...]
) -> str:
    """The value of a member as text."""
    if isinstance(value, ast.Call) and names.meant(dotted(value.func) or "") == "enum.auto":
        if "StrEnum" in bases:
            return repr(member.lower())
        numbers = [int(known) for known in before.values() if known.lstrip("-").isdigit()]
        return str(numbers[-1] + 1 if numbers else 1)
    try:
        known = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return OPAQUE  # calls write a member by its name; only JSON asks for its value
    return literal_or(repr(known), OPAQUE)
