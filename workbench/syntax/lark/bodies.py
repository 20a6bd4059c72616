"""Bodies of rules in Lark: lexemes in, expressions out, names not yet resolved.

Each method's docstring is its own rule of the notation, that of Lark with llguidance's additions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from workbench.errors import ParseError
from workbench.source import Span
from workbench.syntax.cursor import NESTING, Cursor
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence
from workbench.syntax.kbnf.scanner import END, Part
from workbench.syntax.lark.calls import read_condition, read_value
from workbench.syntax.lark.literals import character_range, regex, string
from workbench.syntax.lark.nodes import (
    Applied,
    Body,
    Both,
    Guarded,
    Indexed,
    LarkGrammar,
    Nested,
    Not,
    Schema,
)
from workbench.syntax.lark.pieces import chunks_of
from workbench.syntax.rule_counts import Bounds, checked_bounds, take_bounds

ITEM = "a string, a regex, a rule's name or a bracket"
ITEM_HINT = 'write text in quotes, as in "text"'
RULE_HINT = "a rule is written name: …"
#: What an alternative ends before, but for the next definition.
_ENDS = ("BAR", "RPAR", "RBRACKET", "RBRACE", "ALIAS", "IF", "AND", "COMMA", END)
STATEMENTS = ("STATEMENT", "OPTIONS")


class Bodies:
    """Recursive descent over what stands after the colon of a rule."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source

    def grammar(self, end: str = END) -> LarkGrammar:
        """What ``%lark { }`` holds; read by whoever reads statements."""
        raise NotImplementedError

    def choice(self) -> Body:
        """choice = alternative ("|" alternative)*."""
        cursor = self.cursor
        start = cursor.here.start
        options = [self._alternative()]
        while cursor.take("BAR"):
            options.append(self._alternative())
        if len(options) == 1:
            return options[0]
        return Choice(cast("tuple[Expression, ...]", tuple(options)), cursor.since(start))

    def _alternative(self) -> Body:
        """alternative = both ("->" name)? ("%if" condition)?."""
        cursor = self.cursor
        start = cursor.here.start
        body = self._both()
        if cursor.take("ALIAS"):  # it names a node of Lark's trees, and no text
            cursor.expect("NAME", "a name", "an alias is written -> name")
        if cursor.take("IF"):
            return Guarded(body, read_condition(cursor), cursor.since(start))
        return body

    def _both(self) -> Body:
        """both = sequence ("&" sequence)*."""
        cursor = self.cursor
        start = cursor.here.start
        parts = [self._sequence()]
        while sign := cursor.take("AND"):
            if cursor.ahead("AND", "BAR", "RPAR", END):
                raise cursor.unexpected(ITEM, "'&' joins two terminals")
            if sign.start == start:
                span = Span(sign.start, sign.end)
                raise cursor.error("expected something before '&'", span, ITEM_HINT)
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Both(tuple(parts), cursor.since(start))

    def _sequence(self) -> Body:
        """sequence = item*."""
        cursor = self.cursor
        start = cursor.here.start
        items: list[Body] = []
        while not self._at_end_of_sequence():
            items.append(self.item())
        if len(items) == 1:
            return items[0]
        span = cursor.since(start) if items else Span(start, start)
        return Sequence(cast("tuple[Expression, ...]", tuple(items)), span)

    def _at_end_of_sequence(self) -> bool:
        return self.cursor.ahead(*_ENDS, *STATEMENTS) or self.at_definition()

    def at_definition(self) -> bool:
        """Whether a definition begins here, in a line of its own."""
        cursor = self.cursor
        before = cursor.parts[cursor.at - 1]
        if not cursor.ahead("NAME", "MODIFIER"):
            return False
        if cursor.at and before.type != "LBRACE" and not self._new_line(before.end):
            return False
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
        return "\n" in self.source.text[start : self.cursor.here.start]

    def item(self) -> Body:
        """item = "~" item | atom ("*" | "+" | "?" | count | "~" number (".." number)?)*."""
        cursor = self.cursor
        start = cursor.here.start
        signs = 0
        while cursor.take("TILDE"):
            signs += 1
            self._check_stacked(signs, start)
        item = self._atom()
        for _ in range(signs):
            item = Not(item, cursor.since(start))
        stacked = 0
        while (bounds := self._bounds()) is not None:
            stacked += 1
            self._check_stacked(stacked, start)
            item = Repetition(cast("Expression", item), *bounds, cursor.since(start))
        return item

    def _check_stacked(self, stacked: int, start: int) -> None:
        if stacked > NESTING:
            span = self.cursor.since(start)
            raise self.cursor.error("too many signs at one item", span, "one is enough")

    def _bounds(self) -> Bounds | None:
        """bounds = those of ``rule_counts`` | "~" number (".." number)?, if it comes next."""
        cursor = self.cursor
        if not (cursor.ahead("TILDE") and cursor.ahead("NUMBER", by=1)):
            return take_bounds(cursor)
        start = cursor.here.start
        cursor.take("TILDE")
        numbers = [cursor.expect("NUMBER", "a number", "write ~2 or ~2..5")]
        if cursor.take("RANGE"):
            numbers.append(cursor.expect("NUMBER", "a number", "write ~2..5"))
        return checked_bounds(cursor, [cursor.text(one) for one in numbers], cursor.since(start))

    def _atom(self) -> Body:
        """atom = terminal | name | "(" choice ")" | "[" choice "]" | an inline grammar."""
        cursor = self.cursor
        if part := cursor.take("NAME"):
            return self._called(part)
        if part := cursor.take(*_READ):
            return _READ[part.type](self, part)
        raise self._no_atom()

    def _called(self, name: Part) -> Body:
        """called = name | name "{" choice ("," choice)* "}" | name "::" call."""
        cursor = self.cursor
        text, span = cursor.text(name), Span(name.start, name.end)
        if brace := cursor.take("LBRACE"):
            cursor.enter(brace)
            arguments = [self.choice()]
            while cursor.take("COMMA"):
                arguments.append(self.choice())
            cursor.leave("',' or '}'", "a template is used as in name{a, b}")
            return Applied(text, tuple(arguments), cursor.since(name.start))
        if cursor.take("PARAMETER"):
            return Indexed(text, read_value(cursor), cursor.since(name.start))
        return Nonterminal(text, span)

    def _string(self, part: Part) -> Body:
        cursor = self.cursor
        cursor.check_length(part)
        span = Span(part.start, part.end)
        if cursor.take("RANGE"):
            high = cursor.expect("STRING", "a string", 'write for example "a".."z"')
            return character_range(self.source, span, Span(high.start, high.end))
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
        return chunks_of(self.source, value, span)

    def _nested(self, part: Part) -> Body:
        cursor = self.cursor
        brace = cursor.expect("LBRACE", "'{'", "write %lark { start: … }")
        cursor.enter(brace)
        grammar = self.grammar("RBRACE")
        cursor.leave("a rule or '}'", "write %lark { start: … }")
        return Nested(grammar, cursor.since(part.start))

    def _no_atom(self) -> ParseError:
        """The error where an item has to stand and none does."""
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
            and cursor.parts[cursor.at - 1].type == "NAME"
        ):
            return cursor.error(
                "expected the rule at the beginning of a line", cursor.span, RULE_HINT
            )
        return cursor.no_item(ITEM, ITEM_HINT)


_READ: dict[str, Callable[[Bodies, Part], Body]] = {
    "STRING": Bodies._string,
    "REGEX": Bodies._regex,
    "LPAR": Bodies._group,
    "LBRACKET": Bodies._option,
    "JSON": Bodies._schema,
    "PIECES": Bodies._pieces,
    "NESTED": Bodies._nested,
}
