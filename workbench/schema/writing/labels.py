"""Labels: a set of strings or numbers in; what pictures and explanations call it out."""

from __future__ import annotations

import json
from collections.abc import Collection
from fractions import Fraction

from workbench.schema.numbers.numbers import Numbers
from workbench.schema.numbers.pieces import Piece
from workbench.schema.strings.texts import Texts
from workbench.schema.values import Later

#: The most strings or numbers a label lists.
_LISTED = 3


def texts_label(texts: Texts, later: Later | None = None) -> str:
    """``string``, ``string of 1 to 5 characters``, ``date``; ``later`` is the set it is part of."""
    if texts.words is not None:
        return _listed([json.dumps(word, ensure_ascii=False) for word in sorted(texts.words)])
    told = "string"
    members = (later and later.node.members) or {}
    if texts.content is not None and "format" in members:
        told = str(members["format"].value)
    if texts.content is not None and "pattern" in members:
        told += f" with {members['pattern'].value}"
    if texts.content is None or not {"minLength", "maxLength"}.isdisjoint(members):
        told += _lengths(texts.low, texts.high)
    if texts.without:
        names = [json.dumps(word, ensure_ascii=False) for word in sorted(texts.without)]
        told += f" but {_listed(names)}"
    return told


def _lengths(low: int, high: int | None) -> str:
    if high is None:
        return f" of {_characters(low)} or more" if low else ""
    if low == high:
        return f" of {_characters(high)}"
    return f" of {low:,} to {_characters(high)}" if low else f" of at most {_characters(high)}"


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"


def numbers_label(numbers: Numbers) -> str:
    """``number``, ``integer from 0 to 10``, ``multiple of 5``, ``1, 2 or 3``."""
    points = [piece.point for piece in numbers.pieces]
    if all(point is not None for point in points):
        return _listed([_number(point) for point in points if point is not None])
    return _listed([_piece(piece) for piece in numbers.pieces])


def _piece(piece: Piece) -> str:
    if piece.point is not None:
        return _number(piece.point)
    told = "number"
    if not piece.grid.is_everything:
        whole = piece.grid.step == 1 and piece.grid.period == 1 and not piece.grid.between
        multiple = len(piece.grid.members) == 1 and not piece.grid.between
        step = piece.grid.step * piece.grid.period
        told = "integer" if whole else f"multiple of {_number(step)}" if multiple else "number"
    low, high = piece.low, piece.high
    if low is not None:
        told += f" above {_number(low.number)}" if low.after else f" from {_number(low.number)}"
    if high is not None:
        told += f" to {_number(high.number)}" if high.after else f" below {_number(high.number)}"
    return told


def _number(number: Fraction) -> str:
    """A number as JSON writes it; JSON's numbers are decimal fractions."""
    return str(number) if number.denominator == 1 else f"{float(number):g}"


def _listed(words: Collection[str]) -> str:
    """``a``, ``a or b``, ``a, b, c, …``."""
    shown = [*words][:_LISTED]
    if len(words) > _LISTED:
        return ", ".join([*shown, "…"])
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
