"""The parameter of a rule in llguidance's Lark: ``incr([0:2])`` and conditions, read and computed.

A parameter is a number of 64 bits; ``_`` is all of it, ``[2:4]`` two of its bits.
Source: llguidance, docs/parametric.md.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from workbench.source import Span
from workbench.syntax.cursor import NESTING, Cursor
from workbench.syntax.lark.nodes import Call

BITS = 64
_MASK = (1 << BITS) - 1
_HINT = "write for example incr([0:2]), set_bit(3) or _"

#: What the functions that give a parameter take: bits, a bit's number, a number, a condition.
_VALUES = {
    "bits": "", "number": "", "set_bit": "k", "clear_bit": "k", "bit_and": "v", "bit_or": "v",
    "incr": "b", "decr": "b",
}  # fmt: skip
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_CONDITIONS = {
    "true": "", "bit_clear": "k", "bit_set": "k", "is_ones": "b", "is_zeros": "b",
    "and": "cc", "or": "cc", "not": "c",
    **dict.fromkeys(_COMPARED, "bv"),
    **{f"bit_count_{name}": "bv" for name in _COMPARED},
}  # fmt: skip


def read_value(cursor: Cursor) -> Call:
    """What a rule is called with, after ``::``.

    Raises: ParseError
    """
    call = _read(cursor, 0)
    whole = call.function == "bits" and call.arguments == (0, BITS)
    if call.function not in _VALUES or (call.function == "bits" and not whole):
        raise cursor.error("expected a value for the parameter", call.span, _HINT)
    return call


def read_condition(cursor: Cursor) -> Call:
    """What an alternative depends on, after ``%if``.

    Raises: ParseError
    """
    call = _read(cursor, 0)
    if call.function not in _CONDITIONS:
        raise cursor.error("expected a condition", call.span, "write for example lt([0:2], 3)")
    return call


def _read(cursor: Cursor, deep: int) -> Call:
    """call = number | "_" | "[" number ":" number "]" | name ("(" call ("," call)* ")")?."""
    start = cursor.here.start
    if number := cursor.take("NUMBER"):
        value = _number(cursor, cursor.text(number), cursor.since(start))
        return Call("number", (value,), cursor.since(start))
    if cursor.take("LBRACKET"):
        ends = [cursor.expect("NUMBER", "a bit's number", _HINT)]
        cursor.expect("COLON", "':' between two bits", _HINT)
        ends.append(cursor.expect("NUMBER", "a bit's number", _HINT))
        cursor.expect("RBRACKET", "']'", _HINT)
        span = cursor.since(start)
        low, high = (_number(cursor, cursor.text(end), span) for end in ends)
        if not low < high <= BITS:
            message = f"expected a range of bits from 0 to {BITS}, the lower one first"
            raise cursor.error(message, span, "write for example [0:2]")
        return Call("bits", (low, high), span)
    name = cursor.text(cursor.expect("NAME", "a function of the parameter", _HINT))
    if name == "_":
        return Call("bits", (0, BITS), cursor.since(start))
    return _checked(cursor, Call(name, _arguments(cursor, deep), cursor.since(start)))


def _arguments(cursor: Cursor, deep: int) -> tuple[Call, ...]:
    arguments: list[Call] = []
    if cursor.take("LPAR"):
        if deep == NESTING:
            raise cursor.error("functions are nested too deeply", cursor.span, "write fewer")
        while not cursor.take("RPAR"):
            arguments.append(_read(cursor, deep + 1))
            if not cursor.take("COMMA") and not cursor.ahead("RPAR"):
                raise cursor.unexpected("',' or ')'", _HINT)
    return tuple(arguments)


def _number(cursor: Cursor, text: str, span: Span) -> int:
    value = int(text, 16) if text.startswith("0x") else int(text[:BITS])
    if value > _MASK or len(text) > BITS:
        raise cursor.error(f"expected a number of {BITS} bits", span, "write a smaller one")
    return value


def _checked(cursor: Cursor, call: Call) -> Call:
    """A call of a function that exists, with what it takes."""
    takes = _VALUES.get(call.function, _CONDITIONS.get(call.function))
    if takes is None or call.function in ("bits", "number"):
        raise cursor.error(f"there is no function {call.function!r}", call.span, _HINT)
    given = call.arguments
    if len(given) != len(takes) or not all(map(_fits, given, takes)):
        wanted = ", ".join(_TAKEN[one] for one in takes) or "nothing"
        raise cursor.error(f"{call.function} takes {wanted}", call.span, _HINT)
    return call


_TAKEN = {"k": "a bit's number", "v": "a number", "b": "a range of bits", "c": "a condition"}


def _fits(given: Call | int, taken: str) -> bool:
    assert isinstance(given, Call), "numbers are calls of 'number'"
    match taken:
        case "k":
            number = given.arguments[0] if given.function == "number" else BITS
            return isinstance(number, int) and number < BITS
        case "v":
            return given.function == "number"
        case "b":
            return given.function == "bits"
        case _:
            return given.function in _CONDITIONS


def value(call: Call, parameter: int) -> int:
    """What a call makes of the parameter."""
    if call.function == "number":
        return _plain(call)
    if call.function == "bits":
        return parameter
    (argument,) = (one for one in call.arguments if isinstance(one, Call))
    match call.function:
        case "set_bit":
            return parameter | 1 << _plain(argument)
        case "clear_bit":
            return parameter & ~(1 << _plain(argument))
        case "bit_and":
            return parameter & _plain(argument)
        case "bit_or":
            return parameter | _plain(argument)
    low, high = _ends(argument)
    held = _bits(argument, parameter)
    if call.function == "incr":
        return parameter if held == (1 << high - low) - 1 else parameter + (1 << low)
    return parameter if held == 0 else parameter - (1 << low)


def holds(call: Call, parameter: int) -> bool:
    """Whether a condition holds of the parameter."""
    given = [one for one in call.arguments if isinstance(one, Call)]
    name = call.function
    match name:
        case "true":
            return True
        case "and":
            return holds(given[0], parameter) and holds(given[1], parameter)
        case "or":
            return holds(given[0], parameter) or holds(given[1], parameter)
        case "not":
            return not holds(given[0], parameter)
        case "bit_clear" | "bit_set":
            return bool(parameter >> _plain(given[0]) & 1) is (name == "bit_set")
    held = _bits(given[0], parameter)
    if name == "is_zeros":
        return held == 0
    if name == "is_ones":
        low, high = _ends(given[0])
        return held == (1 << high - low) - 1
    compared = held.bit_count() if name.startswith("bit_count_") else held
    return _COMPARED[name.removeprefix("bit_count_")](compared, _plain(given[1]))


def _plain(call: Call) -> int:
    (number,) = call.arguments
    assert isinstance(number, int), "a number"
    return number


def _ends(call: Call) -> tuple[int, int]:
    low, high = call.arguments
    assert isinstance(low, int), "a bit's number"
    assert isinstance(high, int), "a bit's number"
    return low, high


def _bits(call: Call, parameter: int) -> int:
    low, high = _ends(call)
    return parameter >> low & (1 << high - low) - 1
