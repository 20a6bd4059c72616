"""Leaves of grammar trees, and an error, that several readers make."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.base.diagnostics import suggestion
from workbench.base.errors import BuildError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import Nonterminal, Pattern, Stop
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
