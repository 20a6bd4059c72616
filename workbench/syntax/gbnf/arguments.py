"""Arguments of xgrammar's macros: lexemes in, values with their places out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from workbench.source import Span
from workbench.syntax.cursor import Cursor
from workbench.syntax.gbnf.escapes import ESCAPES
from workbench.syntax.kbnf.escapes import Unescaped
from workbench.syntax.kbnf.scanner import Part


@dataclass(frozen=True, slots=True)
class Value:
    """An argument: a string, a name (``true`` too), or several in brackets."""

    held: Unescaped | str | tuple[Value, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """What stands between the brackets of a macro."""

    macro: str
    span: Span
    plain: list[Value] = field(default_factory=list)
    named: dict[str, Value] = field(default_factory=dict)


def take_arguments(cursor: Cursor, name: Part, example: str) -> Arguments:
    """arguments = "(" (argument ("," argument)*)? ")"; argument = (name "=")? value.

    Raises: ParseError
    """
    hint = f"write for example {example}"
    bracket = cursor.expect("LPAR", "'('", hint)
    cursor.enter(bracket)
    given = Arguments(cursor.text(name), Span(name.start, name.end))
    while not cursor.ahead("RPAR"):
        if cursor.ahead("NAME") and cursor.ahead("EQUALS", by=1):
            key = cursor.expect("NAME", "a name", hint)
            cursor.take("EQUALS")
            given.named[cursor.text(key)] = _value(cursor, hint)
        else:
            given.plain.append(_value(cursor, hint))
        if not cursor.take("COMMA") and not cursor.ahead("RPAR"):
            raise cursor.unexpected("',' or ')'", hint)
    cursor.leave("',' or ')'", hint)
    return replace(given, span=cursor.since(name.start))


def _value(cursor: Cursor, hint: str) -> Value:
    """value = string | name | "(" (value ("," value)*)? ")"."""
    start = cursor.here.start
    if part := cursor.take("STRING"):
        inside = Span(part.start + 1, part.end - 1)
        return Value(ESCAPES.unescaped(cursor.source, inside), Span(part.start, part.end))
    if part := cursor.take("NAME"):
        return Value(cursor.text(part), Span(part.start, part.end))
    bracket = cursor.expect("LPAR", "a string, a name or '('", hint)
    cursor.enter(bracket)
    held: list[Value] = []
    while not cursor.ahead("RPAR"):
        held.append(_value(cursor, hint))
        if not cursor.take("COMMA") and not cursor.ahead("RPAR"):
            raise cursor.unexpected("',' or ')'", hint)
    cursor.leave("',' or ')'", hint)
    return Value(tuple(held), cursor.since(start))
