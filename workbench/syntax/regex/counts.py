"""Counts of a regex: the reader stands at ``*``, ``+``, ``?`` or ``{``, the bounds come out."""

from __future__ import annotations

from workbench.syntax.regex.reader import Reader

#: From how many copies to how many; None where there is no end.
Bounds = tuple[int, int | None]

#: Digits of a count: more is a typing error, and no machine holds so many copies.
_COUNT_DIGITS = 7
_SIGNS: dict[str, Bounds] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def take_count(reader: Reader) -> Bounds | None:
    """The bounds of the repetition that comes next, if one does.

    EBNF: ``"*" | "+" | "?" | "{" n "}" | "{" n "," m? "}"``, and in Python ``"{," m? "}"``
    Raises: ParseError where braces hold no count and cannot be text, or counts run backwards.
    """
    sign = reader.peek()
    if sign in _SIGNS:
        reader.at += 1
        return _SIGNS[sign]
    return _braces(reader) if sign == "{" else None


def at_count(reader: Reader) -> bool:
    """Whether a ``{`` comes next that begins a count, or has to in this dialect."""
    if not reader.ahead("{"):
        return False
    if not reader.rules.lenient_braces:
        return True
    start = reader.at
    found = _braces(reader)
    reader.at = start
    return found is not None


def _braces(reader: Reader) -> Bounds | None:
    start = reader.at
    reader.at += 1
    low = _number(reader)
    comma = reader.take(",")
    high = _number(reader) if comma else low
    lenient = reader.rules.lenient_braces
    if reader.take("}") and (low or (comma and lenient)):
        return _bounds(reader, start, low, high)
    if lenient:
        reader.at = start
        return None
    raise reader.fail(
        "expected a count such as '{2}', '{2,}' or '{2,5}'",
        reader.span(start),
        r"a brace itself is written '\{'",
    )


def _number(reader: Reader) -> str:
    if not reader.rules.lenient_braces:
        reader.skip_blanks()
    digits = reader.take_all_of("0123456789", len(reader.text))
    if not reader.rules.lenient_braces:
        reader.skip_blanks()
    return digits


def _bounds(reader: Reader, start: int, low: str, high: str) -> Bounds:
    if max(len(low.lstrip("0")), len(high.lstrip("0"))) > _COUNT_DIGITS:
        raise reader.fail(f"expected a count of at most {_COUNT_DIGITS} digits", reader.span(start))
    least, most = int(low or 0), int(high) if high else None
    if most is not None and most < least:
        raise reader.fail(
            f"expected counts in order, not {least} before {most}",
            reader.span(start),
            f"write '{{{most},{least}}}'",
        )
    return least, most
