"""xgrammar's macros: ``Regex("…")``, ``Substring("…")``, ``TagDispatch(…)`` and their arguments.

Macros that name tokens are rejected: a grammar is a set of texts.

Source: xgrammar 0.2; details that its documentation leaves open were found by experiment.
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
    plain = without_anchors(written)
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
    excluded = [text.encode() for text in _excluded(source, arguments)]
    words = [tag for tag, _ in tags] + excluded
    _check_apart(source, arguments, words)
    if operations is None:
        hint = "read the grammar by Grammar.from_gbnf"
        raise ParseError("TagDispatch cannot be read", source, arguments.span, hint, "unsupported")
    span = arguments.span
    anything = _anything(span)
    free: Expression = Repetition(_any_character(span), 0, None, span)
    if words:
        some = _one_of(words, span)
        machine = operations.but(None, Sequence((anything, some, anything), span), {})
        free = Automaton(machine, "free text", span)
    options: list[Expression] = []
    for tag, rule in tags:
        # free text up to the first tag or excluded word, if that is this tag
        first = Automaton(operations.shortest(Sequence((anything, some), span), {}), "…", span)
        ending = Sequence((anything, Literal(tag, span)), span)
        machine = operations.both((first, ending), {})
        label = f"free text, then {tag.decode()!r}"
        options.append(Sequence((Automaton(machine, label, span), rule), span))
    if not options:
        return free
    dispatched = options[0] if len(options) == 1 else Choice(tuple(options), span)
    if _boolean(source, arguments, "loop_after_dispatch", default=True):
        return Sequence((Repetition(dispatched, 0, None, span), free), span)
    return Choice((free, dispatched), span)


def _any_character(span: Span) -> Pattern:
    return Pattern(Characters(ANY_CHARACTER, span), Stop.ANYWHERE, "(?s:.)", span)


def _anything(span: Span) -> Expression:
    return Repetition(_any_character(span), 0, None, span)


def _one_of(words: list[bytes], span: Span) -> Expression:
    literals = tuple(Literal(word, span) for word in words)
    return literals[0] if len(literals) == 1 else Choice(literals, span)


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


def _excluded(source: Source, arguments: Arguments) -> list[str]:
    value = arguments.named.get("excludes")
    if value is None:
        return []
    values = value.content if isinstance(value.content, tuple) else (value,)
    texts = [_string(source, arguments, one).text for one in values]
    if not all(texts):
        raise ParseError("expected texts that are not empty", source, value.span, "leave it out")
    return texts


def _check_apart(source: Source, arguments: Arguments, words: list[bytes]) -> None:
    """Check that no tag or excluded text is part of another: the first match would be ambiguous."""
    for place, word in enumerate(words):
        for other in words[:place] + words[place + 1 :]:
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
            hint = f"it has {', '.join(names)}" if names else "leave it out"
            raise ParseError(message, source, value.span, hint, "unsupported")


def _wrong(source: Source, arguments: Arguments, wanted: str) -> ParseError:
    hint = f"write for example {MACROS[arguments.macro]}"
    return ParseError(f"{arguments.macro} takes {wanted}", source, arguments.span, hint)
