"""Parses the EBNF of W3C recommendations to rules.

Strings and classes have no escapes; a character is ``#x9``. Numbers of productions (``[12]``) and
constraints (``[WFC: …]``, ``[ VC: … ]``) are skipped. A name may have angle brackets, as in BNF.

Source: Extensible Markup Language (XML) 1.0, section 6.
"""

from __future__ import annotations

import re

from workbench.base.diagnostics import Advice
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.syntax.cursor import NESTING, Cursor, LexemeNames, Part, take_bounds
from workbench.syntax.derived_rules import CountRules
from workbench.syntax.ebnf.exceptions import difference_of
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Names,
    Nonterminal,
    Rule,
    Sequence,
)
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING
from workbench.syntax.leaves import one_of
from workbench.syntax.ranges import (
    ANY_CHARACTER,
    MAX_CODE_POINT,
    difference,
    intersection,
    normalized,
)

LEXEMES = re.compile(
    rf"""(?:\s++|/\*[\s\S]*?\*/)*
    (?: (?P<DEFINE>::=)
      | (?P<STRING>"[^"\r\n]*+"|'[^'\r\n]*+')
      | (?P<CHARACTER>\#x[0-9A-Fa-f]+)
      | (?P<CONSTRAINT>\[\s*[A-Za-z]{{2,4}}\s*:\s[^\]]*+\])
      | (?P<CLASS>\[[^\]\r\n]++\])
      | (?P<NAME>[A-Za-z_][\w.]*+(?:-[\w.]++)*|<[A-Za-z_][^<>\r\n]*+>)
      | (?P<LPAR>\() | (?P<RPAR>\))
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?) | (?P<MINUS>-)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)

LEXEME_NAMES = LexemeNames(
    shown={"LPAR": "(", "RPAR": ")", "BAR": "|", "DEFINE": "::="},
    closing={"LPAR": "RPAR"},
    define="DEFINE",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"'", "string", '"\'" on the same line'),
        (r"\[", "class", "']' on the same line"),
        (r"/\*", "comment", "'*/'"),
    ),
    foreign=(
        (r";", "a rule of W3C EBNF ends where the next one begins", "leave the ';' out"),
        (r":=|=|:|→", "expected '::='", "a rule is written name ::= …"),
        (r",", "W3C EBNF writes one item after the other without a sign", "leave the ',' out"),
        (r"//|\(\*", "this is not a comment in W3C EBNF", "comments are written /* … */"),
        (r"#", "a character is written #x and its number", "write for example #x9, or \"#\""),
        (r"\{|\}", "W3C EBNF writes a repetition with a sign after it",
         "write (…)* instead of {…}"),
        (r"\^|~|\$|@|%|&|!|\.|/|\\", "this sign has no meaning outside quotes",
         "put it between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "write \"…\" or '…'"),
    ),
    rewrites=(
        (r";", ""),
        (r":=|=|:(?!:)|→", "::="),
        (r",", ""),
        (r"//[ \t]*([^\n]*)", r"/* \1 */"),
        (r"\(\*\s*(.*?)\s*\*\)", r"/* \1 */"),
        (r'[‘’‚“”„`´«»]([^"‘’‚“”„`´«»\n]*)[‘’‚“”„`´«»]', r'"\1"'),
    ),
)  # fmt: skip

_ITEM = "a string, a character, a class, a rule's name or a bracket"
_HINT = 'write text in quotes, as in "text"'
_RULE_HINT = "a rule is written name ::= …"
_NUMBER = re.compile(r"\[\s*\d+[A-Za-z]*\s*\]")
_MEMBER = re.compile(r"#x([0-9A-Fa-f]+)|[\s\S]")
#: The most digits of a number.
_MAX_DIGITS = 12


class W3cReader:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source
        self.notes: list[Advice] = []
        self.special: dict[str, list[tuple[str, Span]]] = {}
        pairs = zip(cursor.kinds, cursor.kinds[1:], strict=False)
        names = Names(
            _name(cursor.text(cursor.part(index)))
            for index, (kind, following) in enumerate(pairs)
            if kind == "NAME" and following == "DEFINE"
        )
        self.counts = CountRules(names.fresh)

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
            raise cursor.unexpected("at least one rule", 'write for example: greeting ::= "hello"')
        return [*rules.values(), *self.counts.rules]

    def _rule(self) -> Rule:
        """rule = number? name "::=" choice constraint*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        if cursor.ahead("CLASS") and self._at_rule():
            cursor.skip("CLASS")
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        cursor.expect("DEFINE", "'::='", _RULE_HINT)
        if cursor.ahead(END) or self._at_rule():
            raise cursor.unexpected("something", 'write "" for the empty text')
        body = self._choice(cursor.starts[cursor.at])
        end = cursor.since(start)
        while cursor.skip("CONSTRAINT"):
            pass
        if not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("'|', another item or the next rule", _HINT)
        return Rule(_name(cursor.text(name)), body, Span(name.start, name.end), end)

    def _at_rule(self) -> bool:
        cursor = self.cursor
        is_numbered = cursor.ahead("CLASS") and _NUMBER.fullmatch(cursor.text(cursor.here))
        by = 1 if is_numbered else 0
        return cursor.ahead("NAME", by=by) and cursor.ahead("DEFINE", by=by + 1)

    def _choice(self, start: int) -> Expression:
        """choice = sequence ("|" sequence)*."""
        options = [self._sequence()]
        while self.cursor.skip("BAR"):
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.cursor.since(start))

    def _sequence(self) -> Expression:
        """sequence = difference*, with constraints between."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        items: list[Expression] = []
        while not cursor.ahead("BAR", "RPAR", END) and not self._at_rule():
            if not cursor.skip("CONSTRAINT"):
                items.append(self._difference())
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _difference(self) -> Expression:
        """difference = item ("-" item)*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        item = self._item()
        while cursor.skip("MINUS"):
            item = difference_of(item, self._item(), cursor.since(start))
        return item

    def _item(self) -> Expression:
        """item = atom ("?" | "*" | "+")*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
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
        """atom = string | character | class | name | "(" choice ")"."""
        cursor = self.cursor
        part = cursor.take("STRING", "CHARACTER", "CLASS", "NAME", "LPAR")
        if part is None:
            raise cursor.no_item(_ITEM, _HINT)
        span, text = Span(part.start, part.end), cursor.text(part)
        match part.type:
            case "STRING":
                cursor.check_length(part)
                self._note_backslash(text, span)
                return Literal(text[1:-1].encode(), span)
            case "CHARACTER":
                return Literal(chr(self._code(text[2:], span)).encode(), span)
            case "CLASS":
                self._note_backslash(text, span)
                return self._class(part)
            case "NAME":
                return Nonterminal(_name(text), span)
        cursor.enter(part)
        body = self._choice(cursor.starts[cursor.at])
        cursor.leave("'|' or another item", _HINT)
        return body

    def _code(self, digits: str, span: Span) -> int:
        code = int(digits, 16) if len(digits.lstrip("0")) <= _MAX_DIGITS else MAX_CODE_POINT + 1
        if code > MAX_CODE_POINT or 0xD800 <= code <= 0xDFFF:
            message = f"expected the code point of a character, not #x{digits[:12]}"
            hint = "the highest character is #x10FFFF, and #xD800 to #xDFFF are surrogates"
            raise self.cursor.error(message, span, hint, "bad_escape")
        return code

    def _class(self, part: Part) -> Expression:
        """class = "[" "^"? (character ("-" character)?)+ "]"; "-" at either end is itself."""
        span = Span(part.start, part.end)
        inside = self.cursor.text(part)[1:-1]
        negated = len(inside) > 1 and inside.startswith("^")
        begin = span.start + 1 + negated
        members = [
            (match[1], match[0], Span(begin + match.start(), begin + match.end()))
            for match in _MEMBER.finditer(inside[negated:])
        ]
        pieces: list[tuple[int, int]] = []
        index = 0
        while index < len(members):
            low = high = self._member(*members[index])
            if index + 2 < len(members) and members[index + 1][1] == "-":
                high = self._member(*members[index + 2])
                whole = members[index][2].to(members[index + 2][2])
                index += 2
                if high < low:
                    raise self._bad_range(inside, whole)
            pieces.append((low, high))
            index += 1
        ranges = normalized(pieces)
        ranges = difference(ANY_CHARACTER, ranges) if negated else ranges
        return one_of(intersection(ANY_CHARACTER, ranges), span)

    def _member(self, digits: str | None, text: str, span: Span) -> int:
        return ord(text) if digits is None else self._code(digits, span)

    def _bad_range(self, inside: str, span: Span) -> ParseError:
        if re.search(r"[\s\"]", inside):
            message = "brackets hold a class of characters, and this range is from high to low"
            return self.cursor.error(message, span, "write (…)? for an optional part")
        message = "expected a range from a lower to a higher character"
        return self.cursor.error(message, span, "swap the two ends")

    def _note_backslash(self, text: str, span: Span) -> None:
        if escape := re.search(r"\\[nrtfx]", text):
            message = f"a backslash is itself in W3C EBNF: {escape[0]} is two characters"
            hint = "write #xA for a line feed, #x9 for a tab, #xD for a carriage return"
            self.notes.append(Advice(message, span, "backslash", hint))


def _name(text: str) -> str:
    return text[1:-1].strip() if text.startswith("<") else text


def is_w3c(source: Source) -> bool:
    """Whether a text is W3C EBNF rather than ISO's: ``::=``, and no repetition in braces."""
    bare = re.sub(r"""/\*[\s\S]*?\*/|\(\*[\s\S]*?\*\)|"[^"\n]*"|'[^'\n]*'""", " ", source.text)
    return "::=" in bare and not re.search(r"\{", re.sub(r"\[[^\]\n]*\]", " ", bare))
