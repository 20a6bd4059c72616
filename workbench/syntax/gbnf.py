"""Parses GBNF of llama.cpp, with the macros of xgrammar's EBNF, to a grammar tree.

The additions of xgrammar's EBNF are supported as far as they define a set of texts; macros that
name tokens are rejected. Where the two notations differ, the more permissive one is used: a rule
may continue on a new line anywhere, an alternative may be empty, a repetition may be repeated.

Source: xgrammar 0.2; details that its documentation leaves open were found by experiment.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field, replace
from typing import cast

from workbench.base.diagnostics import suggestion
from workbench.base.errors import BuildError, ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.cursor import NESTING, Cursor, LexemeNames, Part, take_bounds
from workbench.syntax.derived_rules import CountRules, substring_rules, written_parts
from workbench.syntax.free_text import dispatched
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
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, lexemes
from workbench.syntax.leaves import one_of, undefined_rule
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, intersection, normalized
from workbench.syntax.regex.character_classes import without_javascript
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Flags
from workbench.syntax.regex.tree import Characters, Extension, Kind, Look, Regex, asserted
from workbench.syntax.rule_attributes import (
    LanguageOperations,
    RuleOptions,
    apply_options,
    rule_options,
    take_attributes,
)
from workbench.syntax.string_escapes import Escapes

#: A name may contain dots, as in xgrammar, but not begin or end with one: ``.`` alone is any
#: character, as in llama.cpp. Brackets before ``::=`` are the attributes of the rule, other
#: brackets are a class.
LEXEMES = re.compile(
    rf"""(?:[ \t\r\n]++|\#[^\r\n]*+)*+
    (?: (?P<DEFINE>::=)
      | (?P<STRING>"(?:[^"\\\r\n]|\\[^\r\n])*+")
      | (?P<ATTRIBUTES>\[(?=(?:[^]["\r\n]++|"(?:[^"\\\r\n]|\\[^\r\n])*+")*\][ \t]*::=))
      | (?P<CLASS>\[(?:[^\]\\\r\n]|\\[^\r\n])*+\])
      | (?P<COUNT>\{{\s*\d*\s*(?:,\s*(?:-1|\d*)\s*)?\}})
      | (?P<TOKEN>!?<[^<>\s"][^<>\s"]*+>)
      | (?P<LOOKAHEAD>\(=)
      | (?P<LPAR>\() | (?P<RPAR>\))
      | (?P<RBRACKET>\])
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?)
      | (?P<COMMA>,) | (?P<EQUALS>=)
      | (?P<NAME>[\w-]++(?:\.++[\w-]++)*)
      | (?P<DOT>\.)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)


LEXEME_NAMES = LexemeNames(
    shown={"LPAR": "(", "LOOKAHEAD": "(=", "RPAR": ")", "BAR": "|", "DEFINE": "::=",
           "RBRACKET": "]"},
    closing={"LPAR": "RPAR", "LOOKAHEAD": "RPAR", "ATTRIBUTES": "RBRACKET"},
    define="DEFINE",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"\[", "class", "']' on the same line"),
    ),
    foreign=(
        (r"'", "GBNF writes strings in double quotes", "write \"…\" instead of '…'"),
        (r"\{", "expected a number of copies in the braces",
         "write {2}, {2,} or {2,5}; an optional part is (…)?"),
        (r"\}", "this closes nothing", "write {2}, {2,} or {2,5} for a number of copies"),
        (r";", "a rule of GBNF ends where the next one begins", "leave the ';' out"),
        (r":=?|→", "expected '::='", "a rule is written name ::= …"),
        (r"//|/\*|\(\*", "this is not a comment in GBNF",
         "comments are written # … to the end of a line"),
        (r"/", "a regex is not written between slashes", "write the classes themselves: [a-z]+"),
        (r"!", "only a token can be negated with '!'",
         "a class is negated inside its brackets: [^…]"),
        (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
        (r"\^|~|\$|@|%|&", "this sign has no meaning outside quotes", "put it between quotes"),
        (r"\\", "a backslash has a meaning only inside quotes and classes",
         "put the text between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", "strings stand between \" and \""),
    ),
    rewrites=(
        (r"'([^'\"\\\n]*)'", r'"\1"'),
        (r";", ""),
        (r":=?(?!:)|→", "::="),
        (r"//", "#"),
        (r"/\*[ \t]*([^\n]*?)[ \t]*\*/(?=[ \t]*(?:\n|\Z))", r"# \1"),
        (r"\(\*\s*(.*?)\s*\*\)", r"# \1"),
        (r"/((?:[^/\n\"])+)/", r"\1"),
        (r'[‘’‚“”„`´«»]([^"‘’‚“”„`´«»\n]*)[‘’‚“”„`´«»]', r'"\1"'),
    ),
)  # fmt: skip


ESCAPES = Escapes(
    {
        **{sign: sign for sign in string.punctuation if sign != "_"},
        "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b",
        "0": "\0",
    },
    pairs=False,
    hint="the escapes are \\n \\r \\t \\\\ \\\" \\xHH \\uHHHH \\UHHHHHHHH",
)  # fmt: skip


def class_ranges(source: Source, bracketed: Span) -> Ranges:
    """The characters of a class; ``-`` at either end, or after a range, is itself.

    A range from a higher to a lower character has none, as in llama.cpp.

    Raises: ParseError for such a range in a class that has quotes, blanks, ``#x`` or no other
            characters.
    """
    negated = source.text.startswith("^", bracketed.start + 1)
    ranges = _written_ranges(source, bracketed)
    kept = [(low, high) for low, high, *_ in ranges if low <= high]
    if not ranges:
        message = "expected at least one character in the class"
        hint = "any character is written '.'" if negated else 'the empty text is written ""'
        raise ParseError(message, source, bracketed, hint)
    wrong = next(((first, last) for low, high, first, last in ranges if low > high), None)
    text = _text(source, bracketed)
    is_quoted, is_ebnf = re.search(r"[\s\"]", text) is not None, "#x" in text
    if wrong is not None and not negated and (is_quoted or is_ebnf or not kept):
        raise _reversed_range(source, *wrong, is_quoted=is_quoted)
    characters = normalized(kept)
    if negated:
        return difference(ANY_CHARACTER, characters)
    return intersection(ANY_CHARACTER, characters)


def _reversed_range(source: Source, low: Span, high: Span, *, is_quoted: bool) -> ParseError:
    """The error for a range from a higher to a lower character, which is probably a mistake."""
    if is_quoted:
        message = "brackets hold a class of characters, and this range is from high to low"
        hint = "write (…)? for an optional part, or swap the two ends of the range"
        return ParseError(message, source, low.to(high), hint)
    message = "expected a range from a lower to a higher character"
    error = ParseError(message, source, low.to(high), "swap the two ends")
    return error.with_fix(f"{_text(source, high)}-{_text(source, low)}")


def _written_ranges(source: Source, bracketed: Span) -> list[tuple[int, int, Span, Span]]:
    """The ranges of a class with the spans of their ends; one character is a range of itself."""
    start, end = bracketed.start + 1, bracketed.end - 1
    start += source.text.startswith("^", start, end)
    members = list(ESCAPES.characters(source, Span(start, end)))
    ranges: list[tuple[int, int, Span, Span]] = []
    index = 0
    while index < len(members):
        low, span = members[index]
        high, last = low, span
        # a dash that was escaped begins no range
        if index + 2 < len(members) and source.text[members[index + 1][1].start] == "-":
            high, last = members[index + 2]
            index += 2
        ranges.append((low, high, span, last))
        index += 1
    return ranges


def reversed_ranges(source: Source, bracketed: Span) -> list[Span]:
    """The ranges of a class from a higher to a lower character; llama.cpp reads nothing there."""
    ranges = _written_ranges(source, bracketed)
    return [first.to(last) for low, high, first, last in ranges if low > high]


def _text(source: Source, span: Span) -> str:
    return source.text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class Value:
    """An argument: a string, a name (``true`` too), or several in brackets."""

    content: Unescaped | str | tuple[Value, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The arguments of a macro."""

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
    arguments = Arguments(cursor.text(name), Span(name.start, name.end))
    while not cursor.ahead("RPAR"):
        if cursor.ahead("NAME") and cursor.ahead("EQUALS", by=1):
            key = cursor.expect("NAME", "a name", hint)
            cursor.take("EQUALS")
            arguments.named[cursor.text(key)] = _value(cursor, hint)
        else:
            arguments.plain.append(_value(cursor, hint))
        if not cursor.take("COMMA") and not cursor.ahead("RPAR"):
            raise cursor.unexpected("',' or ')'", hint)
    cursor.leave("',' or ')'", hint)
    return replace(arguments, span=cursor.since(name.start))


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
    values: list[Value] = []
    while not cursor.ahead("RPAR"):
        values.append(_value(cursor, hint))
        if not cursor.take("COMMA") and not cursor.ahead("RPAR"):
            raise cursor.unexpected("',' or ')'", hint)
    cursor.leave("',' or ')'", hint)
    return Value(tuple(values), cursor.since(start))


#: An example of each macro.
MACROS = {
    "Regex": 'Regex("[a-z]+")',
    "Substring": 'Substring("one", "two")',
    "TagDispatch": 'TagDispatch(("<tag>", rule))',
}
#: Macros that name tokens.
OF_TOKENS = frozenset({"Token", "ExcludeToken", "TokenTagDispatch"})
#: The characters that need no escape in a JSON string: not quote, backslash and controls.
_IN_JSON = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF))
_BOOLEANS = {"true": True, "false": False}


def regex_of(source: Source, arguments: Arguments, clock: Clock | None) -> Pattern:
    """``Regex("…", flags="is", json_string=true)``.

    Classes and cases are those of ASCII. Without ``flags``, ``.`` is any character; with ``flags``
    only if ``s`` is among them. ``json_string`` keeps only characters that JSON strings do not
    escape.

    Raises: ParseError
    """
    _check_named(source, arguments, "flags", "json_string")
    if len(arguments.plain) != 1:
        raise _wrong(source, arguments, "one string")
    written = _string(source, arguments, arguments.plain[0])
    letters = (
        _string(source, arguments, arguments.named["flags"]).text
        if "flags" in arguments.named
        else "s"
    )
    if unknown := set(letters) - set("isu"):
        span = arguments.named["flags"].span
        message = f"the flag {min(unknown)!r} cannot be read"
        raise ParseError(message, source, span, "the flags are i, s and u", "unsupported")
    flags = Flags(ignorecase="i" in letters, dotall="s" in letters, ascii=True)
    plain = without_javascript(written)
    tree = parse_regex(source, flags=flags, written=plain, clock=clock)
    if _boolean(source, arguments, "json_string", default=False):
        tree = _in_json(tree)
    inline_flags = "".join(sorted(set(letters) & set("is")))
    text = f"(?{inline_flags}:{plain.text})" if inline_flags else plain.text
    return Pattern(tree, Stop.ANYWHERE, text, arguments.span)


def _in_json(node: Regex) -> Regex:
    """The regex restricted to characters that need no escape in a JSON string."""
    if isinstance(node, Characters):
        return Characters(intersection(node.ranges, _IN_JSON), node.span)
    if isinstance(node, Look):
        return node
    if (inner := asserted(node)) is not None:
        return Extension(Kind.ASSERTED, (_in_json(inner),), node.span)
    return node.rebuild(_in_json)


def chunks_of(source: Source, arguments: Arguments) -> tuple[str, ...]:
    """The chunks of ``Substring("…", "…")``.

    Raises: ParseError
    """
    _check_named(source, arguments)
    if not arguments.plain:
        raise _wrong(source, arguments, "at least one string")
    return tuple(_string(source, arguments, value).text for value in arguments.plain)


def tag_dispatch(
    source: Source, arguments: Arguments, operations: LanguageOperations | None
) -> Expression:
    """``TagDispatch(("tag", rule), excludes=("…",), loop_after_dispatch=false)``.

    Free text in which each tag is followed by its rule, and then free text again; without
    ``loop_after_dispatch`` nothing follows the rule. Excluded texts do not occur in free text.

    Raises: ParseError; LimitError.
    """
    _check_named(source, arguments, "excludes", "loop_after_dispatch")
    tags = [_tag(source, arguments, value) for value in arguments.plain]
    excluded = [text.encode() for text in _excluded_texts(source, arguments)]
    words = [tag for tag, _ in tags] + excluded
    _check_apart(source, arguments, words)
    if operations is None:
        hint = "read the grammar by Grammar.from_gbnf"
        raise ParseError("TagDispatch cannot be read", source, arguments.span, hint, "unsupported")
    loop = _boolean(source, arguments, "loop_after_dispatch", default=True)
    return dispatched(tags, excluded, arguments.span, operations, loop=loop)


def _tag(source: Source, arguments: Arguments, value: Value) -> tuple[bytes, Nonterminal]:
    """``("tag", rule)``."""
    content = value.content
    if (
        not isinstance(content, tuple)
        or len(content) != 2
        or not isinstance(content[1].content, str)
    ):
        message = "expected a tag and a rule's name in brackets"
        raise ParseError(message, source, value.span, f"write for example {MACROS['TagDispatch']}")
    tag = _string(source, arguments, content[0]).text.encode()
    if not tag:
        raise ParseError(
            "expected a tag that is not empty", source, content[0].span, "write a text"
        )
    return tag, Nonterminal(content[1].content, content[1].span)


def _excluded_texts(source: Source, arguments: Arguments) -> list[str]:
    value = arguments.named.get("excludes")
    if value is None:
        return []
    values = value.content if isinstance(value.content, tuple) else (value,)
    texts = [_string(source, arguments, argument).text for argument in values]
    if not all(texts):
        raise ParseError("expected texts that are not empty", source, value.span, "leave it out")
    return texts


def _check_apart(source: Source, arguments: Arguments, words: list[bytes]) -> None:
    """Check that no tag or excluded text is part of another: the first match would be ambiguous."""
    for index, word in enumerate(words):
        for other in words[:index] + words[index + 1 :]:
            if word in other:
                message = f"{word.decode()!r} is in {other.decode()!r}: which one is found?"
                hint = "give tags and excluded texts that are not in one another"
                raise ParseError(message, source, arguments.span, hint, "unsupported")


def _boolean(source: Source, arguments: Arguments, name: str, *, default: bool) -> bool:
    value = arguments.named.get(name)
    if value is None:
        return default
    if isinstance(value.content, str) and value.content in _BOOLEANS:
        return _BOOLEANS[value.content]
    raise ParseError("expected true or false", source, value.span, f"write {name}=true")


def _string(source: Source, arguments: Arguments, value: Value) -> Unescaped:
    if isinstance(value.content, Unescaped):
        return value.content
    hint = f"write for example {MACROS[arguments.macro]}"
    raise ParseError("expected a string", source, value.span, hint)


def _check_named(source: Source, arguments: Arguments, *names: str) -> None:
    for name, value in arguments.named.items():
        if name not in names:
            message = f"{arguments.macro} has no argument {name!r} that can be read"
            otherwise = f"it has {', '.join(names)}" if names else "leave it out"
            hint, fix = suggestion(name, names, otherwise)
            start = source.text.rindex(name, 0, value.span.start)
            error = ParseError(message, source, value.span, hint, "unsupported")
            raise error.with_fix(fix, Span(start, start + len(name)))


def _wrong(source: Source, arguments: Arguments, wanted: str) -> ParseError:
    hint = f"write for example {MACROS[arguments.macro]}"
    return ParseError(f"{arguments.macro} takes {wanted}", source, arguments.span, hint)


_ITEM = "a string, a class, a rule's name or a bracket"
_HINT = 'write text in quotes, as in "text"'
_RULE_HINT = "a rule is written name ::= …"


class Reader:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, cursor: Cursor, operations: LanguageOperations | None) -> None:
        self.cursor = cursor
        self.source = cursor.source
        self.operations = operations
        pairs = zip(cursor.kinds, cursor.kinds[1:], strict=False)
        #: The names of all rules.
        self.defined = {
            cursor.text(cursor.part(index))
            for index, (kind, following) in enumerate(pairs)
            if kind == "NAME" and following in ("DEFINE", "ATTRIBUTES")
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
        rules: dict[str, Rule] = {}
        while not cursor.ahead(END):
            rule = self._rule()
            if rule.name in rules:
                line, _ = self.source.position(rules[rule.name].span.start)
                raise cursor.error(
                    f"the rule {rule.name!r} is already written in line {line}",
                    rule.name_span,
                    "write its alternatives in one rule, with '|' between them",
                )
            rules[rule.name] = rule
        if not rules:
            raise cursor.unexpected("at least one rule", 'write for example: root ::= "a"')
        return [*rules.values(), *self.more, *self.counts.rules]

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
        body = self._choice(cursor.starts[cursor.at])
        if not cursor.ahead(END) and not self._at_rule():
            raise cursor.unexpected("'|', another item or the next rule", _HINT)
        called = Span(name.start, name.end)
        return Rule(cursor.text(name), body, called, cursor.since(name.start))

    def _at_rule(self) -> bool:
        kinds, index = self.cursor.kinds, self.cursor.at
        return kinds[index] == "NAME" and kinds[index + 1] in ("DEFINE", "ATTRIBUTES")

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
        while self.cursor.skip("BAR"):
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.cursor.since(start))

    def _sequence(self) -> Expression:
        """sequence = (item)*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        items: list[Expression] = []
        while not cursor.ahead("BAR", "RPAR", END) and not self._at_rule():
            if cursor.ahead("LOOKAHEAD"):
                self._skip_assertion()
            else:
                items.append(self._item())
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _skip_assertion(self) -> None:
        """assertion = "(=" choice ")": states what follows; reads nothing.

        xgrammar uses it to compute masks faster, and does not reject texts that violate it.
        """
        cursor = self.cursor
        cursor.enter(cursor.expect("LOOKAHEAD", "'(='", _HINT))
        self._choice(cursor.starts[cursor.at])
        cursor.leave("'|' or another item", _HINT)

    def _item(self) -> Expression:
        """item = atom bounds*."""
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
                return self._call(part)
        cursor.enter(part)
        body = self._choice(cursor.starts[cursor.at])
        cursor.leave("'|' or another item", _HINT)
        return body

    def _string(self, part: Part) -> Literal:
        self.cursor.check_length(part)
        text = ESCAPES.unescaped(self.source, Span(part.start + 1, part.end - 1)).text
        return Literal(text.encode(), Span(part.start, part.end))

    def _call(self, name: Part) -> Expression:
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
    cursor = Cursor.of(source, lexemes(source.text, pattern=LEXEMES), LEXEME_NAMES, clock)
    reader = Reader(cursor, operations)
    rules = reader.rules()
    _check_called(source, rules)
    if reader.options:
        rules = _AttributeRules(source, rules, reader.options, operations).rules()
    return GrammarTree(
        tuple(rules), source, counted="{{{low},{high}}}", calling="{name} ::= {called}"
    )


def _check_called(source: Source, rules: list[Rule]) -> None:
    """Check that every called rule is defined.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first undefined one.
    """
    names = {rule.name for rule in rules}
    for rule in rules:
        for call in calls(rule.body):
            if call.name not in names:
                if not re.search(r"\w", call.name):
                    message = f"GBNF has no exception: {call.name!r} is read as a rule's name"
                    hint = "write a class without the characters, such as [ac-z]"
                    raise BuildError(message, source, call.span, hint, "undefined_nonterminal")
                macros = MACROS if source.text.startswith("(", call.span.end) else ()
                otherwise = f"add a line  {call.name} ::= …"
                raise undefined_rule(source, call, [*names, *macros], otherwise)


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
            raise self._refusal(f"{chosen.name} of a rule that calls itself", chosen)
        if self.operations is None:
            raise self._refusal(f"the attribute {chosen.name!r}", chosen)
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

    def _refusal(self, what: str, chosen: RuleOptions) -> ParseError:
        message, hint = f"{what} cannot be read", "a rule is cut short whose texts need no stack"
        return ParseError(message, self.source, chosen.span, hint, "unsupported")
