"""GBNF text becomes a grammar tree, or an error a person understands.

GBNF is the notation of llama.cpp; what xgrammar's EBNF has besides is read too, as far as it is
a language of texts. Where the two differ the wider one is read: a rule may go on in a new line
anywhere, an alternative may be empty, a repetition may be repeated.
"""

from __future__ import annotations

from workbench.errors import ParseError
from workbench.limits import Clock
from workbench.source import Source, Span
from workbench.syntax.class_text import class_text
from workbench.syntax.cursor import NESTING, Cursor
from workbench.syntax.gbnf_escapes import class_ranges, literal
from workbench.syntax.gbnf_lexemes import LEXEMES, SIGNS
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
)
from workbench.syntax.kbnf_scanner import END, Part, lexemes
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex_tree import Characters, Ranges

_POSTFIX: dict[str, tuple[int, int | None]] = {
    "STAR": (0, None), "PLUS": (1, None), "OPTIONAL": (0, 1),
}  # fmt: skip
_ITEM = "a string, a class, a rule's name or a bracket"
_ITEM_HINT = 'text stands between quotes, as in "text"'
_RULE_HINT = "a rule is written name ::= …"
#: Digits of a bound: nobody counts so far, and no machine either.
_DIGITS = 9


def parse_gbnf(source: Source, clock: Clock | None = None) -> GrammarTree:
    """The rules of a grammar, in the order they were written; the start rule is usually ``root``.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (what no machine over texts can be made of, by its name); LimitError.
    Source: llama.cpp, grammars/README.md; xgrammar 0.2, "EBNF".
    """
    reader = _Reader(Cursor.of(source, lexemes(source.text, LEXEMES), SIGNS, clock))
    return GrammarTree(tuple(reader.rules()), source)


class _Reader:
    """Recursive descent; each method's docstring is its own rule of the notation."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source

    def rules(self) -> list[Rule]:
        """grammar = rule+."""
        cursor = self.cursor
        known: dict[str, Rule] = {}
        while not cursor.ahead(END):
            rule = self._rule()
            if rule.name in known:
                line, _ = self.source.position(known[rule.name].span.start)
                raise cursor.error(
                    f"the rule {rule.name!r} is already written in line {line}",
                    rule.name_span,
                    "write its alternatives in one rule, with '|' between them",
                )
            known[rule.name] = rule
        if not known:
            raise cursor.unexpected("at least one rule", 'write for example: root ::= "a"')
        return list(known.values())

    def _rule(self) -> Rule:
        """rule = name "::=" choice."""
        cursor = self.cursor
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        cursor.expect("DEFINE", "'::='", _RULE_HINT)
        if cursor.ahead(END) or self._at_rule():
            raise cursor.unexpected("something", 'write "" for the empty text')
        body = self._choice(cursor.here.start)
        if not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("'|', another item or the next rule", _ITEM_HINT)
        called = Span(name.start, name.end)
        return Rule(cursor.text(name), body, called, cursor.since(name.start))

    def _at_rule(self) -> bool:
        return self.cursor.ahead("NAME") and self.cursor.ahead("DEFINE", "ATTRIBUTES", by=1)

    def _choice(self, start: int) -> Expression:
        """choice = sequence ("|" sequence)*."""
        options = [self._sequence()]
        while self.cursor.take("BAR"):
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.cursor.since(start))

    def _sequence(self) -> Expression:
        """sequence = (item)*."""
        cursor = self.cursor
        start = cursor.here.start
        items: list[Expression] = []
        while not cursor.ahead("BAR", "RPAR", END) and not self._at_rule():
            items.append(self._item())
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _item(self) -> Expression:
        """item = atom ("*" | "+" | "?" | count)*."""
        cursor = self.cursor
        start = cursor.here.start
        item = self._atom()
        stacked = 0
        while sign := cursor.take("STAR", "PLUS", "OPTIONAL", "COUNT"):
            stacked += 1
            if stacked > NESTING:
                raise cursor.error(
                    "too many repetitions of one item", cursor.since(start), "one is enough"
                )
            low, high = self._count(sign) if sign.type == "COUNT" else _POSTFIX[sign.type]
            item = Repetition(item, low, high, cursor.since(start))
        return item

    def _count(self, count: Part) -> tuple[int, int | None]:
        """count = "{" number "}" | "{" number? "," number? "}"."""
        span = Span(count.start, count.end)
        bounds = [bound.strip() for bound in self.cursor.text(count)[1:-1].split(",")]
        if not any(bounds):
            message = "expected a number of copies in the braces"
            raise self.cursor.error(message, span, "write {2}, {2,} or {2,5}")
        if max(map(len, bounds)) > _DIGITS:
            message = f"expected a bound below 10^{_DIGITS}"
            raise self.cursor.error(message, span, "leave the upper bound out where there is none")
        low = int(bounds[0] or 0)
        high = low if len(bounds) == 1 else int(bounds[1]) if bounds[1] else None
        if high is not None and high < low:
            message = "expected a lower bound no larger than the upper one"
            raise self.cursor.error(message, span, f"write {{{high},{low}}}")
        return low, high

    def _atom(self) -> Expression:
        """atom = string | class | "." | name | "(" choice ")"."""
        cursor = self.cursor
        part = cursor.take("STRING", "CLASS", "DOT", "NAME", "LPAR")
        if part is None:
            raise self._no_atom()
        span = Span(part.start, part.end)
        match part.type:
            case "STRING":
                value = literal(self.source, Span(part.start + 1, part.end - 1))
                return Literal(value.encode(), span)
            case "CLASS":
                return one_of(class_ranges(self.source, span), span)
            case "DOT":
                return one_of(ANY_CHARACTER, span)
            case "NAME":
                return Nonterminal(cursor.text(part), span)
        cursor.enter(part)
        body = self._choice(cursor.here.start)
        cursor.leave("'|' or another item", _ITEM_HINT)
        return body

    def _no_atom(self) -> ParseError:
        """The error where an item has to stand and none does."""
        cursor = self.cursor
        if cursor.ahead("TOKEN"):
            return cursor.refused(
                f"the token {cursor.text(cursor.here)}",
                cursor.span,
                "a grammar here is a language of texts, whatever the vocabulary: write its text",
            )
        if cursor.ahead("STAR", "PLUS", "OPTIONAL", "COUNT"):
            sign = cursor.text(cursor.here)
            return cursor.error(
                f"expected something before '{sign}'", cursor.span, f'write for example "a"{sign}'
            )
        return cursor.unexpected(_ITEM, _ITEM_HINT)


def one_of(ranges: Ranges, span: Span) -> Pattern:
    """One character out of a set."""
    return Pattern(Characters(ranges, span), Stop.ANYWHERE, class_text(ranges), span)
