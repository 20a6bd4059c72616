"""Parses GBNF to a grammar tree.

GBNF is the notation of llama.cpp. The additions of xgrammar's EBNF are supported as far as they
define a set of texts. Where the two differ, the more permissive one is used: a rule may continue
on a new line anywhere, an alternative may be empty, a repetition may be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import cast

from workbench.base.errors import BuildError, ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.cursor import NESTING, Cursor, take_bounds
from workbench.syntax.derived_rules import CountRules, substring_rules, written_parts
from workbench.syntax.gbnf.gbnf_lexer import ESCAPES, LEXEME_NAMES, LEXEMES, class_ranges
from workbench.syntax.gbnf.macros import (
    MACROS,
    OF_TOKENS,
    chunks_of,
    regex_of,
    tag_dispatch,
    take_arguments,
)
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Rule,
    Sequence,
    Stop,
    all_called,
    calls,
    without_unused,
)
from workbench.syntax.kbnf.kbnf_lexer import END, Part, lexemes
from workbench.syntax.ranges import ANY_CHARACTER, Ranges
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters
from workbench.syntax.rule_attributes import (
    LanguageOperations,
    RuleOptions,
    apply_options,
    rule_options,
    take_attributes,
)

_ITEM = "a string, a class, a rule's name or a bracket"
_HINT = 'write text in quotes, as in "text"'
_RULE_HINT = "a rule is written name ::= …"


class Reader:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, cursor: Cursor, operations: LanguageOperations | None) -> None:
        self.cursor = cursor
        self.source = cursor.source
        self.operations = operations
        pairs = zip(cursor.parts, cursor.parts[1:], strict=False)
        #: The names of all rules.
        self.defined = {
            cursor.text(name)
            for name, sign in pairs
            if name.type == "NAME" and sign.type in ("DEFINE", "ATTRIBUTES")
        }
        self.names = Names(self.defined)
        self.counts = CountRules(self.names.fresh)
        #: Rules generated for macros.
        self.more: list[Rule] = []
        #: The options of rules with attributes.
        self.options: dict[str, RuleOptions] = {}

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
        return [*known.values(), *self.more, *self.counts.rules]

    def _rule(self) -> Rule:
        """rule = name attributes? "::=" choice."""
        cursor = self.cursor
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        if cursor.ahead("ATTRIBUTES"):
            chosen = rule_options(self.source, take_attributes(cursor, self._attribute_value))
            if not chosen.plain:
                self.options[cursor.text(name)] = chosen
        cursor.expect("DEFINE", "'::='", _RULE_HINT)
        if cursor.ahead(END) or self._at_rule():
            raise cursor.unexpected("something", 'write "" for the empty text')
        body = self._choice(cursor.here.start)
        if not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("'|', another item or the next rule", _HINT)
        called = Span(name.start, name.end)
        return Rule(cursor.text(name), body, called, cursor.since(name.start))

    def _at_rule(self) -> bool:
        return self.cursor.ahead("NAME") and self.cursor.ahead("DEFINE", "ATTRIBUTES", by=1)

    def _attribute_value(self) -> object:
        """value = number | string."""
        if number := self.cursor.take("NAME"):
            return self.cursor.text(number)
        part = self.cursor.expect(
            "STRING", "a number or a string", "write for example [max_chars=9]"
        )
        return self._string(part)

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
            if ahead := cursor.take("LOOKAHEAD"):
                self._skip_assertion(ahead)
            else:
                items.append(self._item())
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _skip_assertion(self, bracket: Part) -> None:
        """assertion = "(=" choice ")": states what follows; reads nothing.

        xgrammar uses it to compute masks faster, and does not reject texts that violate it.
        """
        self.cursor.enter(bracket)
        self._choice(self.cursor.here.start)
        self.cursor.leave("'|' or another item", _HINT)

    def _item(self) -> Expression:
        """item = atom bounds*."""
        cursor = self.cursor
        start = cursor.here.start
        item = self._atom()
        stacked = 0
        while (bounds := take_bounds(cursor)) is not None:
            stacked += 1
            if stacked > NESTING:
                span = cursor.since(start)
                raise cursor.error("too many repetitions of one item", span, "one is enough")
            item = self.counts.repetition(item, *bounds, cursor.since(start))
        return item

    def _atom(self) -> Expression:
        """atom = string | class | "." | name | "(" choice ")"."""
        cursor = self.cursor
        part = cursor.take("STRING", "CLASS", "DOT", "NAME", "LPAR")
        if part is None:
            raise self.cursor.no_item(_ITEM, _HINT)
        span = Span(part.start, part.end)
        match part.type:
            case "STRING":
                return self._string(part)
            case "CLASS":
                return one_of(class_ranges(self.source, span), span)
            case "DOT":
                return one_of(ANY_CHARACTER, span)
            case "NAME":
                return self._called(part)
        cursor.enter(part)
        body = self._choice(cursor.here.start)
        cursor.leave("'|' or another item", _HINT)
        return body

    def _string(self, part: Part) -> Literal:
        self.cursor.check_length(part)
        text = ESCAPES.unescaped(self.source, Span(part.start + 1, part.end - 1)).text
        return Literal(text.encode(), Span(part.start, part.end))

    def _called(self, name: Part) -> Expression:
        """called = name | macro arguments."""
        cursor = self.cursor
        text, span = cursor.text(name), Span(name.start, name.end)
        if text in self.defined or not cursor.ahead("LPAR"):
            return Nonterminal(text, span)
        if text in OF_TOKENS:
            hint = "a grammar here is a language of texts, whatever the vocabulary: write its text"
            raise cursor.refused(f"the macro {text}()", span, hint)
        if text not in MACROS:
            return Nonterminal(text, span)
        given = take_arguments(cursor, name, MACROS[text])
        if text == "Regex":
            regex = regex_of(self.source, given, cursor.clock)
            return self.counts.pattern(regex, written_parts(self.source, regex))
        if text == "TagDispatch":
            return tag_dispatch(self.source, given, self.operations)
        leaf, rules = substring_rules(
            chunks_of(self.source, given), self.names.fresh("piece"), given.span
        )
        self.more += rules
        return leaf


def one_of(ranges: Ranges, span: Span) -> Pattern:
    """One character out of a set."""
    return Pattern(Characters(ranges, span), Stop.ANYWHERE, class_text(ranges), span)


def parse_gbnf(
    source: Source, clock: Clock | None = None, operations: LanguageOperations | None = None
) -> GrammarTree:
    """The rules of a grammar in source order; the start rule is usually ``root``.

    Rules generated for macros and large counts are last. ``operations`` implements lazy rules and
    ``TagDispatch``.

    Cost:   linear in the text, except for macros.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (syntax that does not define a set of texts); BuildError for a lazy
            rule that needs a stack; LimitError.
    Source: llama.cpp, grammars/README.md; xgrammar 0.2, "EBNF".
    """
    reader = Reader(
        Cursor.of(source, lexemes(source.text, LEXEMES), LEXEME_NAMES, clock), operations
    )
    rules = reader.rules()
    _check_called(source, rules)
    if reader.options:
        rules = _AttributeRules(source, rules, reader.options, operations).rules()
    return GrammarTree(tuple(rules), source, counted="{{{low},{high}}}")


def _check_called(source: Source, rules: list[Rule]) -> None:
    """Check that every called rule is defined.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first undefined one.
    """
    names = {rule.name for rule in rules}
    for rule in rules:
        for call in calls(rule.body):
            if call.name not in names:
                near = get_close_matches(call.name, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"add a line  {call.name} ::= …"
                message = f"the rule {call.name!r} is not written"
                kind = "undefined_nonterminal"
                raise BuildError(message, source, call.span, hint, kind)


@dataclass(slots=True, eq=False)
class _AttributeRules:
    """Replaces rules with attributes by automata."""

    source: Source
    source_rules: list[Rule]
    options: dict[str, RuleOptions]
    operations: LanguageOperations | None
    bodies: dict[str, Expression] = field(init=False)
    terminals: dict[str, Expression] = field(default_factory=dict)
    #: Rules that became part of an automaton.
    absorbed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bodies = {rule.name: rule.body for rule in self.source_rules}

    def rules(self) -> list[Rule]:
        """The rules, with an automaton for each body with attributes."""
        rules = [
            replace(rule, body=self._terminal(rule.name)) if rule.name in self.options else rule
            for rule in self.source_rules
        ]
        # keep the first rule and "root": one of them is usually the start
        return without_unused(rules, self.absorbed - {"root", self.source_rules[0].name})

    def _terminal(self, name: str, callers: tuple[str, ...] = ()) -> Expression:
        if name in self.terminals:
            return self.terminals[name]
        chosen, body = self.options[name], self.bodies[name]
        if name in callers:
            raise self._refused(f"{chosen.name} of a rule that calls itself", chosen)
        if self.operations is None:
            raise self._refused(f"the attribute {chosen.name!r}", chosen)
        rules = {
            called: self._terminal(called, (*callers, name))
            if called in self.options
            else self.bodies[called]
            for called in all_called(body, self.bodies)
        }
        self.absorbed.update(rules)
        end = cast("Expression | None", chosen.end)
        self.terminals[name] = apply_options(
            body, end, chosen, name, self.operations, lambda _: rules
        )
        return self.terminals[name]

    def _refused(self, what: str, chosen: RuleOptions) -> ParseError:
        message, hint = f"{what} cannot be read", "a rule is cut short whose texts need no stack"
        return ParseError(message, self.source, chosen.span, hint, "unsupported")
