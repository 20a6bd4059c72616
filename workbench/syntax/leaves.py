"""What several readers share: leaves of grammar trees, the start rule, names and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Row

from workbench.base.diagnostics import Advice, suggestion
from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import Nonterminal, Pattern, Rule, Stop
from workbench.syntax.ranges import Ranges, normalized
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters, Concat


def one_of(ranges: Ranges, span: Span) -> Pattern:
    """One character out of a set; no text for the empty set."""
    return Pattern(Characters(ranges, span), Stop.ANYWHERE, class_text(ranges), span)


def ignoring_case(text: str, span: Span) -> Pattern:
    """A text, not empty, whose letters of ASCII may be upper or lower case."""
    characters = [
        Characters(normalized([(ord(case),) * 2 for case in _cases(character)]), span)
        for character in text
    ]
    regex = characters[0] if len(text) == 1 else Concat(tuple(characters), span)
    return Pattern(regex, Stop.ANYWHERE, f"(?ai:{re.escape(text)})", span)


def _cases(character: str) -> str:
    return character.lower() + character.upper() if character.isascii() else character


def undefined_rule(
    source: Source, call: Nonterminal, names: Iterable[str], otherwise: str
) -> BuildError:
    """The error for a call of a rule that is not written."""
    hint, fix = suggestion(call.name, names, otherwise)
    message = f"the rule {call.name!r} is not written"
    return BuildError(message, source, call.span, hint, "undefined_nonterminal", fix)


def first_rule(rules: Row[Rule], start: str) -> str:
    """The rule with a name, or for the default ``start`` the first rule."""
    is_default = start == "start" and all(rule.name != start for rule in rules)
    return rules[0].name if is_default else start


#: The descriptions in prose of each rule, with their spans.
Descriptions = Mapping[str, Row[tuple[str, Span]]]


def check_descriptions(
    source: Source, what: str, signs: str, descriptions: Descriptions, reached: Iterable[str]
) -> Iterator[Advice]:
    """Notes on the descriptions in rules that the start rule does not reach.

    ``signs``    around a description.
    ``reached``  the rules that the start rule reaches.

    Raises: ParseError for a description in one of them.
    """
    reached = frozenset(reached)
    for name, values in descriptions.items():
        for text, span in values:
            shown = f"the {what} {signs[0]}{text}{signs[-1]}"
            if name in reached:
                message = f"{shown} is a description that cannot be read"
                hint = f"write the rule that it describes, or leave it out of {name!r}"
                raise ParseError(message, source, span, hint, "unsupported")
            message = f"{shown} is left out: the start rule does not use it"
            hint = "write the rule that it describes, to use it"
            yield Advice(message, span, "description", hint)
