"""Parses the right sides of Lark rules, and the parameters of llguidance's rules.

The docstring of each parsing method is the rule of the notation that it parses: Lark with the
additions of llguidance. A parameter is a number of 64 bits; ``_`` is all of them, ``[2:4]`` two.

Source: llguidance, docs/parametric.md.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

from workbench.base.diagnostics import suggestion
from workbench.base.errors import ParseError
from workbench.base.source import Span
from workbench.syntax.cursor import (
    NESTING,
    POSTFIX,
    Bounds,
    Cursor,
    Part,
    checked_bounds,
    take_bounds,
)
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence
from workbench.syntax.kbnf.kbnf_lexer import END, LEXEMES_PER_CHECK
from workbench.syntax.lark.lark_lexer import character_range, json_value, regex, string
from workbench.syntax.lark.lark_tree import (
    Body,
    Call,
    Complement,
    Guarded,
    Indexed,
    Intersection,
    LarkGrammar,
    Nested,
    Schema,
    TemplateUse,
    chunks_of,
)

BITS = 64
_MASK = (1 << BITS) - 1
_HINT = "write for example incr([0:2]), set_bit(3) or _"

#: The argument types of value functions: b bits, k a bit's number, v a number, c a condition.
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
    """The argument of a parametric rule, after ``::``.

    Raises: ParseError
    """
    call = _read(cursor, 0)
    whole = call.function == "bits" and call.arguments == (0, BITS)
    if call.function not in _VALUES or (call.function == "bits" and not whole):
        raise cursor.error("expected a value for the parameter", call.span, _HINT)
    return call


def read_condition(cursor: Cursor) -> Call:
    """The condition of an alternative, after ``%if``.

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
    return _check(cursor, Call(name, _arguments(cursor, deep), cursor.since(start)))


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


def _check(cursor: Cursor, call: Call) -> Call:
    """A call, checked for its name and argument types."""
    takes = _VALUES.get(call.function, _CONDITIONS.get(call.function))
    if takes is None or call.function in ("bits", "number"):
        hint, fix = suggestion(call.function, [*_VALUES, *_CONDITIONS], _HINT)
        start = call.span.start
        error = cursor.error(f"there is no function {call.function!r}", call.span, hint)
        raise error.with_fix(fix, Span(start, start + len(call.function)))
    arguments = call.arguments
    if len(arguments) != len(takes) or not all(map(_fits, arguments, takes)):
        wanted = ", ".join(_TAKEN[kind] for kind in takes) or "nothing"
        raise cursor.error(f"{call.function} takes {wanted}", call.span, _HINT)
    return call


_TAKEN = {"k": "a bit's number", "v": "a number", "b": "a range of bits", "c": "a condition"}


def _fits(argument: Call | int, taken: str) -> bool:
    assert isinstance(argument, Call), "numbers are calls of 'number'"
    match taken:
        case "k":
            number = argument.arguments[0] if argument.function == "number" else BITS
            return isinstance(number, int) and number < BITS
        case "v":
            return argument.function == "number"
        case "b":
            return argument.function == "bits"
        case _:
            return argument.function in _CONDITIONS


def argument_value(call: Call, parameter: int) -> int:
    """The value of a call for a parameter."""
    if call.function == "number":
        return _plain(call)
    if call.function == "bits":
        return parameter
    (argument,) = (value for value in call.arguments if isinstance(value, Call))
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
    number = _bits(argument, parameter)
    if call.function == "incr":
        return parameter if number == (1 << high - low) - 1 else parameter + (1 << low)
    return parameter if number == 0 else parameter - (1 << low)


def condition_holds(call: Call, parameter: int) -> bool:
    """Whether a condition holds of the parameter."""
    arguments = [argument for argument in call.arguments if isinstance(argument, Call)]
    name = call.function
    match name:
        case "true":
            return True
        case "and":
            return condition_holds(arguments[0], parameter) and condition_holds(
                arguments[1], parameter
            )
        case "or":
            return condition_holds(arguments[0], parameter) or condition_holds(
                arguments[1], parameter
            )
        case "not":
            return not condition_holds(arguments[0], parameter)
        case "bit_clear" | "bit_set":
            return bool(parameter >> _plain(arguments[0]) & 1) is (name == "bit_set")
    number = _bits(arguments[0], parameter)
    if name == "is_zeros":
        return number == 0
    if name == "is_ones":
        low, high = _ends(arguments[0])
        return number == (1 << high - low) - 1
    compared = number.bit_count() if name.startswith("bit_count_") else number
    return _COMPARED[name.removeprefix("bit_count_")](compared, _plain(arguments[1]))


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


ITEM = "a string, a regex, a rule's name or a bracket"
ITEM_HINT = 'write text in quotes, as in "text"'
RULE_HINT = "a rule is written name: …"
#: Kinds of lexemes before which an alternative ends; it also ends before a definition.
_ENDS = ("BAR", "RPAR", "RBRACKET", "RBRACE", "ALIAS", "IF", "AND", "COMMA", END)
STATEMENTS = ("STATEMENT", "OPTIONS", "INDENTER")
_AFTER_SEQUENCE = frozenset((*_ENDS, *STATEMENTS))
_AFTER_BODY = frozenset(("AND", "ALIAS", "IF"))
_BEFORE_DEFINITION = frozenset(("NAME", "MODIFIER"))
#: What repeats an item.
_AFTER_ATOM = frozenset((*POSTFIX, "COUNT", "TILDE"))
#: What follows the name of a definition.
_AFTER_NAME = frozenset(("LBRACE", "ATTRIBUTES", "PARAMETER", "PRIORITY", "COLON"))
#: Without one of these after it, a name or a string is an item.
_CHANGES_ITEM = _AFTER_NAME | _AFTER_ATOM | {"RANGE"}


class Bodies:
    """Recursive descent over the right side of a rule."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source

    def grammar(self, end: str = END) -> LarkGrammar:
        """The grammar inside ``%lark { }``; implemented by the parser of statements."""
        raise NotImplementedError

    def choice(self) -> Body:
        """choice = alternative ("|" alternative)*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        options = [self._alternative()]
        while cursor.skip("BAR"):
            options.append(self._alternative())
        if len(options) == 1:
            return options[0]
        return Choice(cast("tuple[Expression, ...]", tuple(options)), cursor.since(start))

    def _alternative(self) -> Body:
        """alternative = both ("->" name)? ("%if" condition)?."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        body = self._sequence()
        if cursor.kinds[cursor.at] not in _AFTER_BODY:
            return body
        body = self._both(body, start)
        if cursor.take("ALIAS"):  # the name of a node in Lark's trees, without effect on texts
            cursor.expect("NAME", "a name", "an alias is written -> name")
        if cursor.take("IF"):
            return Guarded(body, read_condition(cursor), cursor.since(start))
        return body

    def _both(self, first: Body, start: int) -> Body:
        """both = sequence ("&" sequence)*, after the first sequence."""
        cursor = self.cursor
        parts = [first]
        while sign := cursor.take("AND"):
            if cursor.ahead("AND", "BAR", "RPAR", END):
                raise cursor.unexpected(ITEM, "'&' joins two terminals")
            if sign.start == start:
                span = Span(sign.start, sign.end)
                raise cursor.error("expected something before '&'", span, ITEM_HINT)
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Intersection(tuple(parts), cursor.since(start))

    def _sequence(self) -> Body:
        """sequence = item*."""
        cursor, text = self.cursor, self.source.text
        kinds, starts, ends = cursor.kinds, cursor.starts, cursor.ends
        start = starts[cursor.at]
        items: list[Body] = []
        while (kind := kinds[index := cursor.at]) not in _AFTER_SEQUENCE:
            # names and strings are the most frequent items; ``item`` reads them too
            is_simple = kinds[index + 1] not in _CHANGES_ITEM and index % LEXEMES_PER_CHECK
            if is_simple and kind == "NAME":
                cursor.at = index + 1
                items.append(
                    Nonterminal(text[starts[index] : ends[index]], Span(starts[index], ends[index]))
                )
            elif is_simple and kind == "STRING":
                cursor.at = index + 1
                items.append(self._text(Span(starts[index], ends[index])))
            elif kind in _BEFORE_DEFINITION and self.at_definition():
                break
            else:
                items.append(self.item())
        if len(items) == 1:
            return items[0]
        span = cursor.since(start) if items else Span(start, start)
        return Sequence(cast("tuple[Expression, ...]", tuple(items)), span)

    def at_definition(self) -> bool:
        """Whether a definition begins here, on a new line."""
        cursor = self.cursor
        kinds, index = cursor.kinds, cursor.at
        if kinds[index] not in _BEFORE_DEFINITION:
            return False
        if kinds[index] == "NAME" and kinds[index + 1] not in _AFTER_NAME:
            return False
        if index and kinds[index - 1] != "LBRACE" and not self._new_line(cursor.ends[index - 1]):
            return False
        if kinds[index] == "NAME" and kinds[index + 1] == "COLON":
            return True
        by = 1 + cursor.ahead("MODIFIER")
        if cursor.ahead("LBRACE", by=by):  # a template's parameters
            by += 1
            while cursor.ahead("NAME", by=by):
                by += 1 + cursor.ahead("COMMA", by=by + 1)
            by += cursor.ahead("RBRACE", by=by)
        if cursor.ahead("ATTRIBUTES", by=by):
            return True
        if cursor.ahead("PARAMETER", by=by):
            by += 2
        by += cursor.ahead("PRIORITY", by=by)
        return cursor.ahead("COLON", by=by)

    def _new_line(self, start: int) -> bool:
        return self.source.text.find("\n", start, self.cursor.starts[self.cursor.at]) >= 0

    def item(self) -> Body:
        """item = "~" item | atom ("*" | "+" | "?" | count | "~" number (".." number)?)*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        signs = 0
        while cursor.kinds[cursor.at] == "TILDE":
            cursor.skip("TILDE")
            signs += 1
            self._check_stacked(signs, start)
        item = self._atom()
        for _ in range(signs):
            item = Complement(item, cursor.since(start))
        stacked = 0
        while cursor.kinds[cursor.at] in _AFTER_ATOM and (bounds := self._bounds()) is not None:
            stacked += 1
            self._check_stacked(stacked, start)
            item = Repetition(cast("Expression", item), *bounds, cursor.since(start))
        return item

    def _check_stacked(self, stacked: int, start: int) -> None:
        if stacked > NESTING:
            span = self.cursor.since(start)
            raise self.cursor.error("too many signs at one item", span, "one is enough")

    def _bounds(self) -> Bounds | None:
        """bounds = ``cursor.take_bounds`` | "~" number (".." number)?, if they come next."""
        cursor = self.cursor
        if not (cursor.ahead("TILDE") and cursor.ahead("NUMBER", by=1)):
            return take_bounds(cursor)
        start = cursor.here.start
        cursor.skip("TILDE")
        numbers = [cursor.expect("NUMBER", "a number", "write ~2 or ~2..5")]
        if cursor.take("RANGE"):
            numbers.append(cursor.expect("NUMBER", "a number", "write ~2..5"))
        return checked_bounds(
            cursor, [cursor.text(number) for number in numbers], cursor.since(start)
        )

    def _atom(self) -> Body:
        """atom = terminal | name | "(" choice ")" | "[" choice "]" | an inline grammar."""
        cursor = self.cursor
        kind = cursor.kinds[cursor.at]
        part = cursor.take(kind) if kind in _READ else None
        if part is None:
            raise self._no_atom()
        return _READ[kind](self, part)

    def _call(self, name: Part) -> Body:
        """called = name | name "{" choice ("," choice)* "}" | name "::" call."""
        cursor = self.cursor
        text, span = cursor.text(name), Span(name.start, name.end)
        if brace := cursor.take("LBRACE"):
            cursor.enter(brace)
            arguments = [self.choice()]
            while cursor.take("COMMA"):
                arguments.append(self.choice())
            cursor.leave("',' or '}'", "a template is used as in name{a, b}")
            return TemplateUse(text, tuple(arguments), cursor.since(name.start))
        if cursor.take("PARAMETER"):
            return Indexed(text, read_value(cursor), cursor.since(name.start))
        return Nonterminal(text, span)

    def _string(self, part: Part) -> Body:
        cursor, span = self.cursor, Span(part.start, part.end)
        if cursor.skip("RANGE"):
            cursor.check_length(span)
            high = cursor.expect("STRING", "a string", 'write for example "a".."z"')
            return character_range(self.source, span, Span(high.start, high.end))
        return self._text(span)

    def _text(self, span: Span) -> Body:
        self.cursor.check_length(span)
        return string(self.source, span)

    def _regex(self, part: Part) -> Body:
        return regex(self.source, Span(part.start, part.end), self.cursor.clock)

    def _group(self, part: Part) -> Body:
        self.cursor.enter(part)
        body = self.choice()
        self.cursor.leave("'|' or another item", ITEM_HINT)
        return body

    def _option(self, part: Part) -> Body:
        body = self._group(part)
        return Repetition(cast("Expression", body), 0, 1, self.cursor.since(part.start))

    def _schema(self, part: Part) -> Body:
        value = self.cursor.expect("OBJECT", "a schema", "write %json { … }")
        return Schema(Span(value.start, value.end))

    def _pieces(self, part: Part) -> Body:
        value = self.cursor.expect("OBJECT", "an object", 'write %regex {"substring_chars": "…"}')
        span = self.cursor.since(part.start)
        value_span = Span(value.start, value.end)
        return chunks_of(self.source, json_value(self.source, value), value_span, span)

    def _nest(self, part: Part) -> Body:
        cursor = self.cursor
        brace = cursor.expect("LBRACE", "'{'", "write %lark { start: … }")
        cursor.enter(brace)
        grammar = self.grammar("RBRACE")
        cursor.leave("a rule or '}'", "write %lark { start: … }")
        return Nested(grammar, cursor.since(part.start))

    def _no_atom(self) -> ParseError:
        """The error for a missing item."""
        cursor = self.cursor
        if cursor.ahead("SUBGRAMMAR"):
            return cursor.refused(
                f"the grammar {cursor.text(cursor.here)}",
                cursor.span,
                "there is only this one; write its rules into %lark { … }",
            )
        if (
            cursor.ahead("COLON", "PRIORITY")
            and cursor.at
            and cursor.kinds[cursor.at - 1] == "NAME"
        ):
            return cursor.error(
                "expected the rule at the beginning of a line", cursor.span, RULE_HINT
            )
        return cursor.no_item(ITEM, ITEM_HINT)


_READ: dict[str, Callable[[Bodies, Part], Body]] = {
    "NAME": Bodies._call,
    "STRING": Bodies._string,
    "REGEX": Bodies._regex,
    "LPAR": Bodies._group,
    "LBRACKET": Bodies._option,
    "JSON": Bodies._schema,
    "PIECES": Bodies._pieces,
    "NESTED": Bodies._nest,
}
