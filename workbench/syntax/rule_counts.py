"""How often an item of a rule stands: signs and counts of GBNF and Lark in, bounds out."""

from __future__ import annotations

from workbench.source import Span
from workbench.syntax.cursor import Cursor

#: The least and the greatest number of copies; None where there is no greatest.
Bounds = tuple[int, int | None]

#: By the kinds of their lexemes.
POSTFIX: dict[str, Bounds] = {"STAR": (0, None), "PLUS": (1, None), "OPTIONAL": (0, 1)}
#: Digits of a bound: nobody counts so far, and no machine either.
_DIGITS = 9


def take_bounds(cursor: Cursor) -> Bounds | None:
    """bounds = "*" | "+" | "?" | "{" number "}" | "{" number? "," number? "}", if it comes next.

    Raises: ParseError
    """
    if sign := cursor.take(*POSTFIX):
        return POSTFIX[sign.type]
    count = cursor.take("COUNT")
    if count is None:
        return None
    # xgrammar writes -1 where there is no end
    written = cursor.text(count)[1:-1].replace("-1", "")
    bounds = [bound.strip() for bound in written.split(",")]
    span = Span(count.start, count.end)
    if not any(bounds):
        message = "expected a number of copies in the braces"
        raise cursor.error(message, span, "write {2}, {2,} or {2,5}")
    return checked_bounds(cursor, bounds, span)


def checked_bounds(cursor: Cursor, written: list[str], span: Span) -> Bounds:
    """One number, or two of which either may be missing, as they were written.

    Raises: ParseError
    """
    if not all(len(bound) <= _DIGITS and bound.isdigit() for bound in written if bound):
        message = f"expected bounds of at most {_DIGITS} decimal digits"
        raise cursor.error(message, span, "leave the upper bound out where there is none")
    low = int(written[0] or 0)
    high = low if len(written) == 1 else int(written[1]) if written[1] else None
    if high is not None and high < low:
        message = "expected a lower bound no larger than the upper one"
        raise cursor.error(message, span, "swap the two bounds")
    return low, high
