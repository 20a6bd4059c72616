"""A grammar, a regex, a JSON Schema or a dataclass in plain words, with source spans.

::

    import workbench as wb

    print(wb.in_words(wb.Grammar.from_regex("(foo)+d")))
    # in this order
    #   one or more times: a group: the text 'foo'
    #   then the letter 'd'

A part that has one part is one line with it. A schema is described keyword by keyword, and a
dataclass field by field, not by the rules made from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from workbench.analysis.sentences import (
    Wording,
    in_order,
    led,
    listed,
    one_of,
    quoted,
    spelled,
    times,
)
from workbench.automata.class_descriptions import expected
from workbench.base.arguments import checked
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import check_time_budget, time_budget
from workbench.base.source import Span
from workbench.base.visible_text import count_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax import grammar_tree as rules
from workbench.syntax.grammar_tree import Expression, GrammarTree, Stop
from workbench.syntax.ranges import Ranges, size
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.extensions import label_of
from workbench.syntax.regex.tree import Kind, LookKind, Regex

_STOPS = {
    Stop.ANYWHERE: "text that matches the regex",
    Stop.FIRST_MATCH: "text up to the end of the first match of the regex",
    Stop.BEFORE_MATCH: "text without a match of the regex",
}

_LOOKS = {
    LookKind.AHEAD: "what follows has to begin with",
    LookKind.NOT_AHEAD: "what follows must not begin with",
    LookKind.BEHIND: "what precedes has to end with",
    LookKind.NOT_BEHIND: "what precedes must not end with",
}
_POSITIONS = {
    LookKind.BOUNDARY: "a word begins or ends here",
    LookKind.INSIDE: "no word begins or ends here",
    LookKind.START: "the text begins here",
    LookKind.LINE_START: "a line begins here",
    LookKind.END: "the text ends here",
    LookKind.LINE_END: "a line ends here",
}


#: Named groups that define a language, with what it is (``syntax.regex.extensions``).
_EXTENSIONS = {
    "QUOTED_TEXT": "a text in double quotes, in one line, with at least one visible character",
    "UNQUOTED_TEXT": "a text without quotes, in one line, as a plain scalar of YAML",
}
_DELIMITER = "DELIMITER"


@checked
def in_words(grammar: Grammar) -> Wording:
    """What a grammar accepts, in words; each line has the span it describes.

    Raises: LimitError for a grammar that is nested too deeply, and past its ``limits.seconds``.
    """
    try:
        with time_budget(grammar.limits.seconds):
            if grammar.regex is not None:
                return replace(_regex(grammar.regex), span=grammar.regex.span)
            assert grammar.tree is not None, "a grammar has a tree or a regex"
            return _of_values(grammar) or _rules(grammar.tree, grammar.start)
    except RecursionError:
        raise LimitError(
            "is nested too deeply to be put into words", "stack_depth", "name its parts as rules"
        ) from None


def _of_values(grammar: Grammar) -> Wording | None:
    """A schema or a dataclass in its own terms; None for others."""
    from workbench.analysis import types_in_words

    if grammar.notation is Notation.JSON_SCHEMA:
        return types_in_words.of_schema(grammar.source)
    if grammar.notation is Notation.DATACLASS:
        try:
            return types_in_words.of_dataclasses(grammar.source)
        except ParseError:  # it was a class and no text
            return None
    return None


def _rules(tree: GrammarTree, start: str) -> Wording:
    written = tree.written or tree.rules
    wordings = tuple(led(f"'{rule.name}'", rule.span, _expression(rule.body)) for rule in written)
    count = count_of(len({rule.name for rule in written}), "rule")
    whole = Span(0, len(tree.source.text))
    return Wording(whole, f"{count}; a text is what the rule '{start}' describes", wordings)


# -- rules -----------------------------------------------------------------------------------------


def _expression(node: Expression) -> Wording:
    """An expression of a rule as a noun phrase."""
    check_time_budget()
    match node:
        case rules.Literal(value=value, span=span):
            return Wording(span, spelled(value.decode("utf-8", "backslashreplace")))
        case rules.Pattern(regex=inner, stop=stop, span=span):
            return _pattern(_regex(inner), stop, span)
        case rules.Substrings(value=value, span=span):
            what = quoted(value.decode("utf-8", "backslashreplace"))
            return Wording(span, f"any piece of the text {what}, also nothing")
        case rules.Except(span=span):
            return Wording(span, _without(node))
        case rules.Automaton(label=label, span=span):
            return Wording(span, f"one of the texts called '{label}'")
        case rules.Nonterminal(name=name, span=span):
            return Wording(span, f"the rule '{name}'")
        case rules.Sequence(items=items, span=span):
            return in_order(span, map(_expression, items))
        case rules.Choice(options=options, span=span):
            return one_of(span, map(_expression, options))
        case rules.Repetition(item=item, low=low, high=high, span=span):
            return led(times(low, high), span, _expression(item))


def _pattern(inner: Wording, stop: Stop, span: Span) -> Wording:
    """A regex terminal; one that may match anywhere is what it matches."""
    if stop is Stop.ANYWHERE:
        return replace(inner, span=span)
    return led(_STOPS[stop], span, inner)


def _without(node: rules.Except) -> str:
    most = "" if node.limit is None else f" of at most {count_of(node.limit, 'byte')}"
    excepted = node.excepted
    if isinstance(excepted, rules.Literal):
        what = spelled(excepted.value.decode("utf-8", "backslashreplace"))
        return f"a text{most} in which {what} does not occur"
    return f"a text{most} in which no '{excepted.name}' occurs"


# -- regexes ---------------------------------------------------------------------------------------


def _regex(node: Regex) -> Wording:
    """A regex as a noun phrase."""
    check_time_budget()
    match node:
        case regex.Characters(ranges=ranges, span=span):
            return Wording(span, _characters(ranges))
        case regex.Bytes(ranges=ranges, span=span):
            return Wording(span, _bytes(ranges))
        case regex.Concat(parts=parts, span=span):
            return in_order(span, _sequence_parts(parts))
        case regex.Alternate(options=options, span=span):
            return one_of(span, map(_regex, options))
        case regex.Repeat(part=part, low=low, high=high, span=span):
            return led(times(low, high), span, _regex(part))
        case regex.Group(part=part, name=name, span=span):
            label = label_of(node)
            if label is not None:
                return Wording(span, label.what)
            if name in _EXTENSIONS:
                return Wording(span, _EXTENSIONS[name])
            if isinstance(part, regex.Extension) and name == part.kind:
                return replace(_regex(part), span=span)
            if name == _DELIMITER:
                return replace(_regex(part), span=span)
            return led("a group" if name is None else f"the group '{name}'", span, _regex(part))
        case regex.Extension():
            return _extension(node)
        case regex.Look(kind=kind, part=part, span=span):
            if kind in _POSITIONS:
                return Wording(span, _POSITIONS[kind])
            return led(_LOOKS[kind], span, _regex(part))


def _extension(node: regex.Extension) -> Wording:
    parts, span = node.parts, node.span
    match node.kind:
        case Kind.SUBSTRING_OF:
            return Wording(span, f"any piece of {_letters_text(parts)}, also nothing")
        case Kind.TEXT_UNTIL:
            return Wording(
                span,
                f"any text up to and with the first {_letters_text(parts).removeprefix('the ')}",
            )
        case Kind.DELIMITED_SUBSEQUENCE_OF:
            delimiter, *items = map(_regex, parts)
            lead = f"one or more of these, in this order, with {delimiter.sentence} between them"
            return Wording(span, lead, (*delimiter.children, *items))
        case Kind.ASSERTED:
            return replace(_regex(parts[0]), span=span)


def _sequence_parts(parts: Sequence[Regex]) -> Iterator[Wording]:
    """The parts of a sequence; letters in a row are one text."""
    for kind, group in groupby(parts, _kind_of_letter):
        row = list(group)
        if kind and len(row) > 1:
            yield Wording(row[0].span.to(row[-1].span), _letters_text(row))
        else:
            yield from map(_regex, row)


def _kind_of_letter(part: Regex) -> int:
    """1 for a single character, 2 for a letter in either case, 0 for other parts."""
    if not isinstance(part, regex.Characters) or size(part.ranges) not in range(1, 5):
        return 0
    characters = {chr(code) for low, high in part.ranges for code in range(low, high + 1)}
    if len(characters) == 1:
        return 1
    return 2 if len({character.casefold() for character in characters}) == 1 else 0


def _letters_text(parts: Sequence[Regex]) -> str:
    """The text of letters in a row, or of an extension."""
    letters = [chr(part.ranges[-1][-1]) for part in parts if isinstance(part, regex.Characters)]
    if all(_kind_of_letter(part) == 1 for part in parts):
        return spelled("".join(letters))
    return f"{spelled(''.join(letters).casefold())} in small or capital letters"


def _characters(ranges: Ranges) -> str:
    if not ranges:
        return "a character of an empty set, so no text"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return spelled(chr(ranges[0][0]))
    return expected([ranges])


def _bytes(ranges: Ranges) -> str:
    if not ranges:
        return "a byte of an empty set, so no text"
    names = [
        f"0x{low:02X}" if low == high else f"0x{low:02X} to 0x{high:02X}" for low, high in ranges
    ]
    return f"the byte {listed(names)}"
