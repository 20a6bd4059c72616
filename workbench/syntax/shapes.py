"""Shapes: a node of a tree in, the same without its places out: equal shapes are written alike."""

from __future__ import annotations

from dataclasses import fields

from workbench.syntax.grammar_tree import Expression
from workbench.syntax.regex.tree import Regex

#: A node's kind and what it holds, nested; two nodes with one shape have one language.
Shape = tuple[object, ...]


def shape(node: Expression | Regex) -> Shape:
    """What a node says, wherever it is written."""
    return _shape(node)


def _shape(node: object) -> Shape:
    # every field of a node but its place; what is held is a node, nodes in a tuple, or plain
    held = (getattr(node, field.name) for field in fields(node) if field.name != "span")  # type: ignore[arg-type]
    return (type(node).__name__, *map(_held, held))


def _held(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_held, value))
    # what compares by identity, such as the machine of an ``Automaton``, stands for itself
    if hasattr(value, "__dataclass_fields__") and type(value).__eq__ is not object.__eq__:
        return _shape(value)
    return value
