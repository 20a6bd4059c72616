"""xgrammar's macros: ``Regex("…")``, ``Substring("…")``, ``TagDispatch(…)`` and their arguments.

Macros that name tokens are refused: a grammar here is a language of texts. Source: xgrammar 0.2;
what its documentation leaves open was tried on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.cursor import Cursor
from workbench.syntax.gbnf.gbnf_lexer import ESCAPES
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
)
from workbench.syntax.kbnf.kbnf_lexer import Part
from workbench.syntax.ranges import ANY_CHARACTER, intersection
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Flags
from workbench.syntax.regex.searched import without_anchors
from workbench.syntax.regex.tree import Characters, Regex
from workbench.syntax.rule_attributes import LanguageOperations


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


#: How a macro is written.
MACROS = {
    "Regex": 'Regex("[a-z]+")',
    "Substring": 'Substring("one", "two")',
    "TagDispatch": 'TagDispatch(("<tag>", rule))',
}
#: Macros that name tokens.
OF_TOKENS = frozenset({"Token", "ExcludeToken", "TokenTagDispatch"})
#: What stands in a JSON string as it is: all but the quote, the backslash and controls.
_IN_JSON = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF))
_BOOLEANS = {"true": True, "false": False}


def regex_of(source: Source, given: Arguments, clock: Clock | None) -> Pattern:
    """``Regex("…", flags="is", json_string=true)``.

    Classes and cases are those of ASCII. Without flags ``.`` is any character, with flags only
    under ``s``. ``json_string`` leaves the characters that stand in a JSON string as they are.

    Raises: ParseError
    """
    _check_named(source, given, "flags", "json_string")
    if len(given.plain) != 1:
        raise _wrong(source, given, "one string")
    written = _string(source, given, given.plain[0])
    letters = _string(source, given, given.named["flags"]).text if "flags" in given.named else "s"
    if unknown := set(letters) - set("isu"):
        span = given.named["flags"].span
        message = f"the flag {min(unknown)!r} cannot be read"
        raise ParseError(message, source, span, "the flags are i, s and u", "unsupported")
    flags = Flags(ignorecase="i" in letters, dotall="s" in letters, ascii=True)
    plain = without_anchors(written)
    tree = parse_regex(source, flags=flags, written=plain, clock=clock)
    if _boolean(source, given, "json_string", default=False):
        tree = _in_json(tree)
    told = "".join(sorted(set(letters) & set("is")))
    text = f"(?{told}:{plain.text})" if told else plain.text
    return Pattern(tree, Stop.ANYWHERE, text, given.span)


def _in_json(node: Regex) -> Regex:
    """A regex with none but the characters that stand in a JSON string as they are."""
    if isinstance(node, Characters):
        return Characters(intersection(node.ranges, _IN_JSON), node.span)
    return node.rebuild(_in_json)


def chunks_of(source: Source, given: Arguments) -> tuple[str, ...]:
    """``Substring("…", "…")``: the chunks whose pieces are meant.

    Raises: ParseError
    """
    _check_named(source, given)
    if not given.plain:
        raise _wrong(source, given, "at least one string")
    return tuple(_string(source, given, value).text for value in given.plain)


def tag_dispatch(source: Source, given: Arguments, beyond: LanguageOperations | None) -> Expression:
    """``TagDispatch(("tag", rule), excludes=("…",), loop_after_dispatch=false)``.

    Free text in which a tag is followed by its rule, and then free text again; without
    ``loop_after_dispatch`` nothing follows the rule. What is excluded is in no free text.

    Raises: ParseError; LimitError.
    """
    _check_named(source, given, "excludes", "loop_after_dispatch")
    tags = [_tag(source, given, value) for value in given.plain]
    excluded = [text.encode() for text in _excluded(source, given)]
    words = [tag for tag, _ in tags] + excluded
    _check_apart(source, given, words)
    if beyond is None:
        hint = "read the grammar by Grammar.from_gbnf"
        raise ParseError("TagDispatch cannot be read", source, given.span, hint, "unsupported")
    span = given.span
    anything = _anything(span)
    free: Expression = Repetition(_any_character(span), 0, None, span)
    if words:
        some = _one_of(words, span)
        machine = beyond.but(None, Sequence((anything, some, anything), span), {})
        free = Automaton(machine, "free text", span)
    options: list[Expression] = []
    for tag, rule in tags:
        # up to the first tag or excluded word there is, where that is this tag
        first = Automaton(beyond.shortest(Sequence((anything, some), span), {}), "…", span)
        ending = Sequence((anything, Literal(tag, span)), span)
        machine = beyond.both((first, ending), {})
        label = f"free text, then {tag.decode()!r}"
        options.append(Sequence((Automaton(machine, label, span), rule), span))
    if not options:
        return free
    dispatched = options[0] if len(options) == 1 else Choice(tuple(options), span)
    if _boolean(source, given, "loop_after_dispatch", default=True):
        return Sequence((Repetition(dispatched, 0, None, span), free), span)
    return Choice((free, dispatched), span)


def _any_character(span: Span) -> Pattern:
    return Pattern(Characters(ANY_CHARACTER, span), Stop.ANYWHERE, "(?s:.)", span)


def _anything(span: Span) -> Expression:
    return Repetition(_any_character(span), 0, None, span)


def _one_of(words: list[bytes], span: Span) -> Expression:
    literals = tuple(Literal(word, span) for word in words)
    return literals[0] if len(literals) == 1 else Choice(literals, span)


def _tag(source: Source, given: Arguments, value: Value) -> tuple[bytes, Nonterminal]:
    """``("tag", rule)``."""
    held = value.held
    if not isinstance(held, tuple) or len(held) != 2 or not isinstance(held[1].held, str):
        message = "expected a tag and a rule's name in brackets"
        raise ParseError(message, source, value.span, f"write for example {MACROS['TagDispatch']}")
    tag = _string(source, given, held[0]).text.encode()
    if not tag:
        raise ParseError("expected a tag that is not empty", source, held[0].span, "write a text")
    return tag, Nonterminal(held[1].held, held[1].span)


def _excluded(source: Source, given: Arguments) -> list[str]:
    value = given.named.get("excludes")
    if value is None:
        return []
    values = value.held if isinstance(value.held, tuple) else (value,)
    texts = [_string(source, given, one).text for one in values]
    if not all(texts):
        raise ParseError("expected texts that are not empty", source, value.span, "leave it out")
    return texts


def _check_apart(source: Source, given: Arguments, words: list[bytes]) -> None:
    """No tag or excluded text is in another: which of them is found is then not said."""
    for place, word in enumerate(words):
        for other in words[:place] + words[place + 1 :]:
            if word in other:
                message = f"{word.decode()!r} is in {other.decode()!r}: which one is found?"
                hint = "give tags and excluded texts that are not in one another"
                raise ParseError(message, source, given.span, hint, "unsupported")


def _boolean(source: Source, given: Arguments, name: str, *, default: bool) -> bool:
    value = given.named.get(name)
    if value is None:
        return default
    if isinstance(value.held, str) and value.held in _BOOLEANS:
        return _BOOLEANS[value.held]
    raise ParseError("expected true or false", source, value.span, f"write {name}=true")


def _string(source: Source, given: Arguments, value: Value) -> Unescaped:
    if isinstance(value.held, Unescaped):
        return value.held
    hint = f"write for example {MACROS[given.macro]}"
    raise ParseError("expected a string", source, value.span, hint)


def _check_named(source: Source, given: Arguments, *names: str) -> None:
    for name, value in given.named.items():
        if name not in names:
            message = f"{given.macro} has no argument {name!r} that can be read"
            hint = f"it has {', '.join(names)}" if names else "leave it out"
            raise ParseError(message, source, value.span, hint, "unsupported")


def _wrong(source: Source, given: Arguments, wanted: str) -> ParseError:
    hint = f"write for example {MACROS[given.macro]}"
    return ParseError(f"{given.macro} takes {wanted}", source, given.span, hint)
