"""Rules for a terminal of JSON strings; each set of characters is named once."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Row
from dataclasses import dataclass, field

from workbench.automata.dfa import Dfa
from workbench.errors import LimitError
from workbench.export.from_machine import machine_regex, machine_rules
from workbench.export.json_characters import json_character
from workbench.export.json_contents import json_contents
from workbench.export.names import Names
from workbench.limits import Limits
from workbench.source import Span
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Nonterminal, Sequence
from workbench.syntax.ranges import size
from workbench.syntax.regex.class_text import members
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Ranges, Regex, Repeat

#: The regex of a content has at most so many characters.
_REGEX = 600
#: A set of fewer characters names its rule.
_FEW = 100

#: Rules by their names.
Rules = Row[tuple[str, Expression]]


@dataclass(frozen=True, slots=True, eq=False)
class JsonStrings:
    """The strings of one text."""

    names: Names
    #: Takes rules, and gives the call of the first.
    written: Callable[[Rules, Span], Nonterminal]
    repeated: Callable[[Expression, int, int | None, Span], Expression]
    #: A regex as terminals of the notation.
    terminal: Callable[[Regex, Span], Expression]
    limits: Limits
    _characters: dict[Ranges, Nonterminal] = field(default_factory=dict)

    def expression(self, machine: Dfa, span: Span) -> Expression | None:
        """The texts of a machine, None where they are no JSON strings spelled as anybody likes.

        A string of 3 to 255 letters has 256 states by what it says, and 2,553 by its spellings.
        """
        found = json_contents(machine)
        if found is None:
            return None
        content, quoted = found
        try:
            regex = machine_regex(content, _REGEX, self.limits)
        except LimitError:
            regex = None
        if regex is not None:
            body = self._of(regex, span)
        else:
            rules = machine_rules(content, self.names.series("content"), span, self._character)
            body = self.written(rules, span)
        quote = Literal(b'"', span)
        return Sequence((quote, body, quote), span) if quoted else body

    def _of(self, regex: Regex, span: Span) -> Expression:
        """The regex of a content, each set of characters as the rule of their spellings."""
        match regex:
            case Concat(parts):
                return Sequence(tuple(self._of(part, span) for part in parts), span)
            case Alternate(options):
                return Choice(tuple(self._of(option, span) for option in options), span)
            case Repeat(part, low, high):
                return self.repeated(self._of(part, span), low, high, span)
            case Characters(ranges):
                return self._character(ranges, span)
            case _:
                raise AssertionError("machines have no other parts")

    def _character(self, ranges: Ranges, span: Span) -> Nonterminal:
        if ranges not in self._characters:
            wanted = f"character {members(ranges)}" if size(ranges) < _FEW else "character"
            body = self.terminal(json_character(ranges), span)
            self._characters[ranges] = self.written([(self.names.fresh(wanted), body)], span)
        return self._characters[ranges]
