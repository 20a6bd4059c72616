"""Parses EBNF of ISO/IEC 14977 to rules.

Read besides what the standard defines: names with ``_`` and ``-``, ``::=`` and ``:=`` for ``=``,
items without ``,`` between them, rules without an end sign if the next one begins on a new line,
and ``"a" … "z"`` for a range, as in Go's specification. Several words are one name if a rule has
it.

Source: ISO/IEC 14977:1996.
"""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.base.diagnostics import Advice
from workbench.base.source import Span
from workbench.syntax.cursor import Cursor, LexemeNames, Part, checked_bounds
from workbench.syntax.derived_rules import CountRules
from workbench.syntax.ebnf.exceptions import difference_of
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Names,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING
from workbench.syntax.leaves import one_of
from workbench.syntax.ranges import ANY_CHARACTER, intersection

_WORD = r"[^\W\d]\w*+(?:-\w++)*"


def _lexemes(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?:\s++|\(\*(?!\))[\s\S]*?\*\))*
    (?: (?P<DEFINE>::=|:=|=)
      | (?P<STRING>"[^"\r\n]*+"|'[^'\r\n]*+'|`[^`\r\n]*+`)
      | (?P<SPECIAL>\?[^?]*+\?)
      | (?P<NUMBER>\d+)
      | (?P<STAR>\*)
      | (?P<NAME>{name}|<[^\W\d][^<>\r\n]*+>)
      | (?P<RANGE>…|\.\.\.?)
      | (?P<STOP>[;.])
      | (?P<COMMA>,) | (?P<MINUS>[-\u2212\u2013])
      | (?P<LBRACKET>\[|\(/) | (?P<RBRACKET>\]|/\))
      | (?P<LBRACE>\{{|\(:) | (?P<RBRACE>\}}|:\))
      | (?P<LPAR>\((?!\*)) | (?P<RPAR>\))
      | (?P<BAR>[|/!])
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
        re.VERBOSE,
    )


LEXEMES = _lexemes(_WORD)
#: The same, but words in a row are one lexeme: only the parser knows which of them are one name.
LEXEMES_OF_WORDS = _lexemes(rf"{_WORD}(?:[ \t]++{_WORD})*")

LEXEME_NAMES = LexemeNames(
    shown={"LPAR": "(", "RPAR": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{",
           "RBRACE": "}", "BAR": "|", "DEFINE": "=", "STOP": ";"},
    closing={"LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"},
    define="DEFINE",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"'", "string", '"\'" on the same line'),
        (r"\?", "special sequence", "'?'"),
        (r"\(\*", "comment", "'*)'"),
    ),
    foreign=(
        (r"\+", "ISO EBNF writes a repetition in braces", "write x, {x} instead of x+"),
        (r":|→", "expected '='", "a rule is written name = … ;"),
        (r"#|%", "this is not a comment in ISO EBNF", "comments are written (* … *)"),
        (r"\^|~|\$|@|&|\\", "this sign has no meaning outside quotes", "put it between quotes"),
        (r"[‘’‚“”„´«»]", "expected a straight quote", "write \"…\" or '…'"),
    ),
    rewrites=(
        (r":|→", "="),
        (r"#[ \t]*([^\n]*)", r"(* \1 *)"),
        (r'[‘’‚“”„´«»]([^"‘’‚“”„´«»\n]*)[‘’‚“”„´«»]', r'"\1"'),
    ),
)  # fmt: skip

_ITEM = "a string, a rule's name or a bracket"
_HINT = 'write text in quotes, as in "text"'
_RULE_HINT = "a rule is written name = … ;"
#: Before these, a term may be empty.
_ENDS = ("BAR", "COMMA", "STOP", "RPAR", "RBRACKET", "RBRACE", END)


class IsoReader:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source
        self.notes: list[Advice] = []
        #: The special sequences of each rule.
        self.special: dict[str, list[tuple[str, Span]]] = {}
        #: The words of the names of all rules.
        self.defined = self._defined_names()
        self.most_words = max((len(words) for words in self.defined), default=1)
        self.counts = CountRules(Names(map(" ".join, self.defined)).fresh)
        self._rule_name = ""

    def _defined_names(self) -> set[tuple[str, ...]]:
        cursor = self.cursor
        return {
            tuple(self._words(index))
            for index, (kind, following) in enumerate(pairwise(cursor.kinds))
            if (kind, following) == ("NAME", "DEFINE")
        }

    def _words(self, last: int) -> list[str]:
        """The words of the name before ``=`` whose last word is given: those in its line."""
        cursor, first = self.cursor, last
        while first and cursor.kinds[first - 1] == "NAME" and not self._is_new_line(first):
            first -= 1
        return [_word(cursor.text(cursor.part(index))) for index in range(first, last + 1)]

    def _is_new_line(self, index: int) -> bool:
        """Whether only white space and comments are before a lexeme in its line."""
        before = self.cursor.ends[index - 1] if index else 0
        return not index or "\n" in self.source.text[before : self.cursor.starts[index]]

    def rules(self) -> list[Rule]:
        """grammar = rule+."""
        cursor = self.cursor
        rules: dict[str, Rule] = {}
        while not cursor.ahead(END):
            rule = self._rule()
            if rule.name in rules:
                line, _ = self.source.position(rules[rule.name].span.start)
                message = f"the rule {rule.name!r} is already written in line {line}"
                hint = "write its alternatives in one rule, with '|' between them"
                raise cursor.error(message, rule.name_span, hint)
            rules[rule.name] = rule
        if not rules:
            raise cursor.unexpected("at least one rule", 'write for example: greeting = "hello" ;')
        return [*rules.values(), *self.counts.rules]

    def _rule(self) -> Rule:
        """rule = name+ "=" choice (";" | ".")?."""
        cursor = self.cursor
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        words = [_word(cursor.text(name))]
        while part := cursor.take("NAME"):
            words.append(_word(cursor.text(part)))
        name_span = cursor.since(name.start)
        cursor.expect("DEFINE", "'='", _RULE_HINT)
        self._rule_name = " ".join(words)
        body = self._choice(cursor.starts[cursor.at])
        if not cursor.take("STOP") and not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("',', '|', ';' or another item", _HINT)
        return Rule(self._rule_name, body, name_span, cursor.since(name.start))

    def _at_rule(self) -> bool:
        cursor, index = self.cursor, self.cursor.at
        if cursor.kinds[index] != "NAME" or not self._is_new_line(index):
            return False
        while cursor.kinds[index + 1] == "NAME" and not self._is_new_line(index + 1):
            index += 1
        return cursor.kinds[index + 1] == "DEFINE"

    def _choice(self, start: int) -> Expression:
        """choice = sequence ("|" sequence)*."""
        options = [self._sequence()]
        while self.cursor.skip("BAR"):
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.cursor.since(start))

    def _sequence(self) -> Expression:
        """sequence = term? (","? term)*; a term between two signs may be empty."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        items: list[Expression] = []
        while True:
            if not cursor.ahead(*_ENDS) and not self._at_rule():
                items.append(self._term())
            elif not cursor.skip("COMMA"):
                break
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _term(self) -> Expression:
        """term = factor ("-" factor?)?; without the second factor the empty text is excepted."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        factor = self._factor()
        if not (sign := cursor.take("MINUS")):
            return factor
        if cursor.ahead(*_ENDS) or self._at_rule():
            return difference_of(
                factor, Sequence((), Span(sign.start, sign.end)), cursor.since(start)
            )
        return difference_of(factor, self._factor(), cursor.since(start))

    def _factor(self) -> Expression:
        """factor = (number "*")? primary."""
        cursor = self.cursor
        number = cursor.take("NUMBER")
        if number is None:
            return self._primary()
        span = Span(number.start, number.end)
        low, high = checked_bounds(cursor, [cursor.text(number)], span)
        cursor.expect("STAR", "'*' after a number", "write for example 3 * digit")
        return self.counts.repetition(self._primary(), low, high, cursor.since(number.start))

    def _primary(self) -> Expression:
        """primary = "[" choice "]" | "{" choice "}" | "(" choice ")" | string | name | special."""
        cursor = self.cursor
        part = cursor.take("STRING", "NAME", "SPECIAL", "LBRACKET", "LBRACE", "LPAR")
        if part is None:
            hint = (
                "write {x} for any number of x, 3 * x for three" if cursor.ahead("STAR") else _HINT
            )
            raise cursor.unexpected(_ITEM, hint)
        span = Span(part.start, part.end)
        match part.type:
            case "STRING":
                return self._string(part)
            case "NAME":
                return self._call(part)
            case "SPECIAL":
                text = " ".join(cursor.text(part)[1:-1].split())
                self.special.setdefault(self._rule_name, []).append((text, span))
                return one_of((), span)
        cursor.enter(part)
        body = self._choice(cursor.starts[cursor.at])
        cursor.leave("',', '|' or another item", _HINT)
        if part.type == "LPAR":
            return body
        high = None if part.type == "LBRACE" else 1
        return Repetition(body, 0, high, cursor.since(part.start))

    def _string(self, part: Part) -> Expression:
        """string, or string ("…" | "..") string: a range."""
        cursor, span = self.cursor, Span(part.start, part.end)
        cursor.check_length(part)
        text = cursor.text(part)[1:-1]
        if not cursor.skip("RANGE"):
            return Literal(text.encode(), span)
        end = cursor.expect("STRING", "a string", 'write for example "a" … "z"')
        last, span = cursor.text(end)[1:-1], cursor.since(part.start)
        if len(text) != 1 or len(last) != 1:
            message = "expected one character at each end of the range"
            raise cursor.error(message, span, 'write for example "a" … "z"')
        if text > last:
            message = "expected a range from a lower to a higher character"
            raise cursor.error(message, span, "swap the two ends")
        return one_of(intersection(ANY_CHARACTER, ((ord(text), ord(last)),)), span)

    def _call(self, first: Part) -> Nonterminal:
        """The longest row of words that is the name of a rule; one word without such a row."""
        cursor = self.cursor
        words, ends = [_word(cursor.text(first))], [first.end]
        while len(words) < self.most_words and cursor.ahead("NAME", by=len(words) - 1):
            part = cursor.part(cursor.at + len(words) - 1)
            words.append(_word(cursor.text(part)))
            ends.append(part.end)
        count = next(
            (size for size in range(len(words), 0, -1) if tuple(words[:size]) in self.defined), 1
        )
        for _ in range(count - 1):
            cursor.skip("NAME")
        return Nonterminal(" ".join(words[:count]), Span(first.start, ends[count - 1]))


def _word(text: str) -> str:
    return text[1:-1].strip() if text.startswith("<") else text
