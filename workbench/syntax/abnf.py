"""Parses ABNF to a grammar tree.

Rule names and strings ignore case (``%s"…"`` does not), and the core rules are defined unless the
grammar defines them. A rule ends where the next ``name =`` begins; how lines are indented is not
checked. Numbers are Unicode code points: ``%xE9`` is é, two bytes in UTF-8. A grammar of bytes,
such as ``obs-text = %x80-FF`` of HTTP, means something else above ``%x7F``, and a note says so.
The lists ``1#element`` of HTTP are read.

Source: RFC 5234; RFC 7405 (``%s`` and ``%i``); RFC 9110, section 5.6.1 (lists).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Sequence as Row
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.base.diagnostics import Advice
from workbench.base.errors import BuildError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.cursor import Cursor, LexemeNames, Part, checked_bounds
from workbench.syntax.derived_rules import CountRules
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    all_called,
    calls,
    choice,
    renamed,
    sequence,
    with_span,
)
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, lexemes
from workbench.syntax.leaves import (
    check_descriptions,
    first_rule,
    ignoring_case,
    one_of,
    undefined_rule,
)
from workbench.syntax.ranges import ANY_CHARACTER, MAX_CODE_POINT, intersection

LEXEMES = re.compile(
    rf"""(?:[ \t\r\n]++|;[^\r\n]*+)*+
    (?: (?P<DEFINE>=/?)
      | (?P<STRING>(?:%[sSiI])?"[^"\r\n]*+")
      | (?P<NUMBER>%[xXdDbB][0-9A-Za-z.-]*+)
      | (?P<PROSE><[^<>\r\n]*+>)
      | (?P<REPEAT>\d*[*\#]\d*|\d+)
      | (?P<LPAR>\() | (?P<RPAR>\)) | (?P<LBRACKET>\[) | (?P<RBRACKET>\])
      | (?P<SLASH>/(?![/*]))
      | (?P<NAME>[A-Za-z][\w-]*+)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)

LEXEME_NAMES = LexemeNames(
    shown={"LPAR": "(", "RPAR": ")", "LBRACKET": "[", "RBRACKET": "]", "SLASH": "/", "DEFINE": "="},
    closing={"LPAR": "RPAR", "LBRACKET": "RBRACKET"},
    define="DEFINE",
    unclosed=(
        (r'(?:%[si])?"', "string", "'\"' on the same line"),
        (r"<", "prose value", "'>' on the same line"),
    ),
    foreign=(
        (r"\|", "alternatives of ABNF are separated by '/'", "write / instead of |"),
        (r"::=|:=|:", "expected '='", "a rule is written name = …"),
        (r"'", "ABNF writes strings in double quotes", "write \"…\" instead of '…'"),
        (r"\+", "ABNF writes a repetition before its element", "write 1*x instead of x+"),
        (r"\?", "ABNF writes an optional part in brackets", "write [x] instead of x?"),
        (r"\{|\}", "ABNF writes a repetition before its element", "write *x, or 2*5x"),
        (r",", "ABNF writes one element after the other without a sign", "leave the ',' out"),
        (r"//|/\*|\(\*", "this is not a comment in ABNF",
         "comments are written ; … to the end of a line"),
        (r"%", "expected a number or a string after '%'",
         'write %x41, %d65, %b1000001, %x41-5A or %s"text"'),
        (r"-|~|\^|&|!|\$|@|\\", "this sign has no meaning outside quotes", "put it between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "strings stand between \" and \""),
    ),
    rewrites=(
        (r"\|", "/"),
        (r"::=|:=|:", "="),
        (r"'([^'\"\\\n]*)'", r'"\1"'),
        (r",", ""),
        (r"//", ";"),
        (r'[‘’‚“”„`´«»]([^"‘’‚“”„`´«»\n]*)[‘’‚“”„`´«»]', r'"\1"'),
    ),
)  # fmt: skip

#: RFC 5234, appendix B.1.
_CORE = Source(
    r"""
ALPHA  = %x41-5A / %x61-7A
BIT    = "0" / "1"
CHAR   = %x01-7F
CR     = %x0D
CRLF   = CR LF
CTL    = %x00-1F / %x7F
DIGIT  = %x30-39
DQUOTE = %x22
HEXDIG = DIGIT / "A" / "B" / "C" / "D" / "E" / "F"
HTAB   = %x09
LF     = %x0A
LWSP   = *(WSP / CRLF WSP)
OCTET  = %x00-FF
SP     = %x20
VCHAR  = %x21-7E
WSP    = SP / HTAB
""",
    "core rules",
)

#: Base, digits, and their name, by the letter after ``%``.
_BASES = {
    "x": (16, "0-9A-Fa-f", "hexadecimal digits"),
    "d": (10, "0-9", "decimal digits"),
    "b": (2, "01", "digits 0 and 1"),
}
_ITEM = "a string, a number, a rule's name or a bracket"
_HINT = 'write text in quotes, as in "text"'
_RULE_HINT = "a rule is written name = …"
#: The most digits of a number.
_MAX_DIGITS = 24


@dataclass(frozen=True, slots=True, eq=False)
class AbnfGrammar:
    """The rules of a text, and what its reader says about them."""

    tree: GrammarTree
    notes: tuple[Advice, ...]


@dataclass(slots=True, eq=False)
class _Definition:
    """A rule and the alternatives that ``=/`` adds to it."""

    name: str
    name_span: Span
    span: Span
    #: The bodies, first that of ``=``.
    bodies: list[Expression] = field(default_factory=list)
    #: Whether a rule with ``=`` is among them.
    is_defined: bool = False


class _Reader:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = cursor.source
        #: By name in small letters.
        self.definitions: dict[str, _Definition] = {}
        self.prose: dict[str, list[tuple[str, Span]]] = {}
        self.notes: list[Advice] = []
        pairs = zip(cursor.kinds, cursor.kinds[1:], strict=False)
        names = [
            cursor.text(cursor.part(index))
            for index, (kind, following) in enumerate(pairs)
            if kind == "NAME" and following == "DEFINE"
        ]
        #: The first spelling of each rule's name.
        self.spellings = {name.lower(): name for name in reversed(names)}
        self.names = Names(names)
        self.counts = CountRules(self.names.fresh)
        self._rule_name = ""

    def rules(self) -> list[Rule]:
        """grammar = rule+."""
        cursor = self.cursor
        while not cursor.ahead(END):
            self._rule()
        if not self.definitions:
            raise cursor.unexpected("at least one rule", 'write for example: greeting = "hello"')
        for name, definition in self.definitions.items():
            if not definition.is_defined and name.upper() in CORE_NAMES:
                core = self.core_rule(name.upper(), definition.name_span)
                definition.bodies.insert(0, core.body)
                definition.is_defined = True
        return [
            Rule(each.name, choice(each.bodies, each.span), each.name_span, each.span)
            for each in self.definitions.values()
        ]

    def _rule(self) -> None:
        """rule = name ("=" | "=/") alternation, on a new line."""
        cursor = self.cursor
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        sign = cursor.expect("DEFINE", "'='", _RULE_HINT)
        self._check_new_line(name)
        spelled, name_span = cursor.text(name), Span(name.start, name.end)
        self._rule_name = spelled.lower()
        if cursor.ahead(END) or self._at_rule():
            raise cursor.unexpected("something", 'write "" for the empty text')
        body = self._alternation(cursor.starts[cursor.at])
        if not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("'/', another element or the next rule", _HINT)
        span = cursor.since(name.start)
        definition = self.definitions.setdefault(
            self._rule_name, _Definition(self.spellings[self._rule_name], name_span, span)
        )
        if cursor.text(sign) == "=":
            if definition.is_defined:
                line, _ = self.source.position(definition.span.start)
                message = f"the rule {spelled!r} is already written in line {line}"
                error = cursor.error(message, name_span, "write =/ to add alternatives to it")
                raise error.with_fix("=/", Span(sign.start, sign.end))
            definition.is_defined = True
            definition.bodies.insert(0, body)
        else:
            definition.bodies.append(body)

    def _check_new_line(self, name: Part) -> None:
        start = self.source.text.rfind("\n", 0, name.start) + 1
        if self.source.text[start : name.start].strip():
            span = Span(name.start, name.end)
            raise self.cursor.error("expected the rule on a new line", span, _RULE_HINT)

    def _at_rule(self) -> bool:
        kinds, index = self.cursor.kinds, self.cursor.at
        return kinds[index] == "NAME" and kinds[index + 1] == "DEFINE"

    def _alternation(self, start: int) -> Expression:
        """alternation = concatenation ("/" concatenation)*."""
        options = [self._concatenation()]
        while self.cursor.skip("SLASH"):
            options.append(self._concatenation())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.cursor.since(start))

    def _concatenation(self) -> Expression:
        """concatenation = repetition+."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        items = [self._repetition()]
        while not cursor.ahead("SLASH", "RPAR", "RBRACKET", END) and not self._at_rule():
            items.append(self._repetition())
        return sequence(items, cursor.since(start))

    def _repetition(self) -> Expression:
        """repetition = (number | number? ("*" | "#") number?)? element."""
        cursor = self.cursor
        sign = cursor.take("REPEAT")
        if sign is None:
            return self._element()
        written, span = cursor.text(sign), Span(sign.start, sign.end)
        if self._at_rule() or cursor.starts[cursor.at] != sign.end:
            message = f"expected the element that {written!r} repeats, directly after it"
            raise cursor.error(message, span, "write for example 1*DIGIT")
        mark = "#" if "#" in written else "*"
        # `1*3`: two bounds; `3`: one
        low, high = checked_bounds(cursor, written.split(mark), span)
        item = self._element()
        span = cursor.since(sign.start)
        if mark == "#":
            return self._list(item, low, high, span)
        return self.counts.repetition(item, low, high, span)

    def _list(self, item: Expression, low: int, high: int | None, span: Span) -> Expression:
        """``n#m element``: elements with commas between them (RFC 9110, section 5.6.1)."""
        blanks = Nonterminal(self.spellings.get("ows", "OWS"), span)
        comma = Sequence((blanks, Literal(b",", span), blanks, item), span)
        if high == 0:
            return Sequence((), span)
        others = self.counts.repetition(
            comma, max(low - 1, 0), None if high is None else high - 1, span
        )
        whole = Sequence((item, others), span)
        return whole if low else Repetition(whole, 0, 1, span)

    def _element(self) -> Expression:
        """element = name | "(" alternation ")" | "[" alternation "]" | string | number | prose."""
        cursor = self.cursor
        part = None if self._at_rule() else cursor.take(
            "NAME", "STRING", "NUMBER", "PROSE", "LPAR", "LBRACKET"
        )  # fmt: skip
        if part is None:
            raise cursor.unexpected(_ITEM, _HINT)
        span = Span(part.start, part.end)
        match part.type:
            case "NAME":
                return self._call(cursor.text(part), span)
            case "STRING":
                return self._string(part)
            case "NUMBER":
                return self._number(part)
            case "PROSE":
                return self._prose_value(part)
        cursor.enter(part)
        body = self._alternation(cursor.starts[cursor.at])
        cursor.leave("'/' or another element", _HINT)
        return body if part.type == "LPAR" else Repetition(body, 0, 1, cursor.since(part.start))

    def _call(self, name: str, span: Span) -> Nonterminal:
        spelled = self.spellings.get(name.lower())
        core = name.upper() if spelled is None and name.upper() in CORE_NAMES else name
        return Nonterminal(spelled or core, span)

    def _string(self, part: Part) -> Expression:
        cursor, span = self.cursor, Span(part.start, part.end)
        cursor.check_length(part)
        written = cursor.text(part)
        text = written[written.index('"') + 1 : -1]
        for offset, character in enumerate(text, part.end - 1 - len(text)):
            if not " " <= character <= "~":
                message = "strings of ABNF have printable ASCII characters only"
                hint = f"write this character as %x{ord(character):X}, outside the quotes"
                raise cursor.error(message, Span(offset, offset + 1), hint)
        if written[:2].lower() == "%s" or not re.search("[A-Za-z]", text):
            return Literal(text.encode(), span)
        return ignoring_case(text, span)

    def _number(self, part: Part) -> Expression:
        """number = "%x" digits ("-" digits | ("." digits)*), or the same with "%d" or "%b"."""
        cursor, span = self.cursor, Span(part.start, part.end)
        letter, written = cursor.text(part)[1].lower(), cursor.text(part)[2:]
        base, digits, name = _BASES[letter]
        if not re.fullmatch(rf"[{digits}]+(?:-[{digits}]+|(?:\.[{digits}]+)*)", written):
            hint = "write for example %x41, %x41-5A or %x0D.0A"
            raise cursor.error(f"expected {name} after '%{letter}'", span, hint)
        codes = [
            int(number, base) if len(number.lstrip("0")) <= _MAX_DIGITS else 0x1000000
            for number in re.split(r"[.-]", written)
        ]
        for code in codes:
            self._check_code(code, span, in_range="-" in written)
        self._note_bytes(codes, span)
        if "-" not in written:
            return Literal("".join(map(chr, codes)).encode(), span)
        low, high = codes
        if low > high:
            error = cursor.error("expected a range from a lower to a higher number", span,
                                 "swap the two ends")  # fmt: skip
            raise error.with_fix(f"%{letter}{'-'.join(reversed(written.split('-')))}")
        return one_of(intersection(ANY_CHARACTER, ((low, high),)), span)

    def _check_code(self, code: int, span: Span, *, in_range: bool) -> None:
        is_surrogate = 0xD800 <= code <= 0xDFFF
        if code > MAX_CODE_POINT or (is_surrogate and not in_range):
            what = f"U+{code:04X}" if code <= 0xFFFFFF else "this number"
            message = f"expected the code point of a character, not {what}"
            hint = (
                "surrogates are halves of UTF-16; write the code point itself, such as %x1F600"
                if is_surrogate
                else "the highest code point is %x10FFFF"
            )
            raise self.cursor.error(message, span, hint, "bad_escape")

    def _note_bytes(self, codes: list[int], span: Span) -> None:
        if any(0x80 <= code <= 0xFF for code in codes) and max(codes) <= 0xFF:
            message = "numbers are Unicode code points: above 7F a character has several bytes"
            hint = "where the standard means bytes, write the characters that they encode"
            self.notes.append(Advice(message, span, "code_points", hint))

    def core_rule(self, name: str, span: Span) -> Rule:
        """A core rule at a span; what it calls may be defined by the grammar."""
        rule = with_span(_core_rules()[name], span)
        body = renamed(rule.body, lambda called: self.spellings.get(called.lower(), called))
        return replace(rule, body=body)

    def _prose_value(self, part: Part) -> Expression:
        """prose = "<" … ">": a rule's name, or a description that nothing can read."""
        span, text = Span(part.start, part.end), self.cursor.text(part)[1:-1].strip()
        if text.lower() in self.spellings or text.upper() in CORE_NAMES:
            return self._call(text, span)
        self.prose.setdefault(self._rule_name, []).append((text, span))
        return one_of((), span)


@cache
def _core_rules() -> dict[str, Rule]:
    cursor = Cursor.of(_CORE, lexemes(_CORE.text, pattern=LEXEMES), LEXEME_NAMES, None)
    return {rule.name: rule for rule in _Reader(cursor).rules()}


#: The names of the core rules.
CORE_NAMES = frozenset(re.findall(r"(?m)^\w+", _CORE.text))


def parse_abnf(source: Source, clock: Clock | None = None, start: str = "start") -> AbnfGrammar:
    """The rules of a grammar in source order, then the core rules that they call.

    ``start`` is the rule from which prose values must not be reached.

    Cost:   linear in the text.
    Raises: ParseError of kind ``syntax``, ``bad_escape`` or ``unsupported`` (a prose value);
            BuildError of kind ``undefined_nonterminal``; LimitError.
    Source: RFC 5234, section 4.
    """
    cursor = Cursor.of(source, lexemes(source.text, pattern=LEXEMES), LEXEME_NAMES, clock)
    reader = _Reader(cursor)
    rules = [*reader.rules(), *reader.counts.rules]
    rules += _called_core_rules(reader, rules)
    _check_defined(source, reader, rules)
    bodies = {rule.name: rule.body for rule in rules}
    start = start_of(rules, start)
    reached = {start, *all_called(Nonterminal(start, Span(0, 0)), bodies)}
    prose = {reader.spellings[name]: values for name, values in reader.prose.items()}
    notes = [*reader.notes, *check_descriptions(source, "prose value", "<>", prose, reached)]
    tree = GrammarTree(tuple(rules), source, calling="{name} = {called}")
    return AbnfGrammar(tree, tuple(notes))


def start_of(rules: Row[Rule], start: str) -> str:
    """The rule with a name, whatever its case; for the default ``start`` the first rule."""
    names = {rule.name.lower(): rule.name for rule in reversed(rules)}
    return names.get(start.lower()) or first_rule(rules, start)


def _called_core_rules(reader: _Reader, rules: Iterable[Rule]) -> list[Rule]:
    """The core rules that are called and not defined, at the place of the first call."""
    added: dict[str, Rule] = {}
    waiting = [call for rule in rules for call in calls(rule.body)]
    while waiting:
        call = waiting.pop(0)
        is_core = call.name in CORE_NAMES and call.name.lower() not in reader.spellings
        if is_core and call.name not in added:
            added[call.name] = reader.core_rule(call.name, call.span)
            waiting += calls(added[call.name].body)
    return list(added.values())


def _check_defined(source: Source, reader: _Reader, rules: list[Rule]) -> None:
    """Check that every called and every extended rule is defined.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first undefined one.
    """
    for definition in reader.definitions.values():
        if not definition.is_defined:
            message = f"'=/' extends the rule {definition.name!r}, which is not written"
            kind = "undefined_nonterminal"
            raise BuildError(message, source, definition.name_span, "write = for it", kind)
    names = {rule.name for rule in rules}
    for rule in rules:
        for call in calls(rule.body):
            if call.name not in names:
                otherwise = f"add a line  {call.name} = …"
                raise undefined_rule(source, call, [*names, *CORE_NAMES], otherwise)
