"""The texts of a terminal, as a regex over characters or as a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.automata.fold import CharacterFsa, fold
from workbench.errors import BuildError, LimitError
from workbench.export.from_machine import machine_regex
from workbench.export.terms import plain, text
from workbench.limits import Limits
from workbench.pushdown.terminals import excepted_strings, terminal_machine
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Automaton, Except, Expression, Literal, Pattern, Stop
from workbench.syntax.regex.labels import labels_in
from workbench.syntax.regex.tree import Regex
from workbench.syntax.shapes import shape
from workbench.syntax.tree_printer import Leaf

#: The lowest byte that begins a character of several.
_LEADS = 0xC0


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """What the terminals of one grammar read."""

    #: The notation that is written, for messages.
    title: str
    source: Source
    #: The rules by name; ``except!`` may name one that no text reaches.
    rules: Mapping[str, Expression]
    limits: Limits
    #: Whether the notation's regexes know terminal labels.
    labels: bool
    _folded: dict[object, CharacterFsa] = field(default_factory=dict)

    def regex(self, leaf: Leaf) -> Regex | None:
        """The regex of a terminal as its author wrote it; None where only its machine says it.

        Raises: BuildError for what is no text in UTF-8, and for labels that cannot be written.
        """
        if isinstance(leaf, Literal):
            return text(self._decoded(leaf))
        if not isinstance(leaf, Pattern):
            return None
        made = plain(leaf.regex) if leaf.stop is Stop.ANYWHERE else None
        label = next(labels_in(leaf.regex), None)
        if label is not None and (made is None or not self.labels):
            what = f"the label {label[0].name}, which represents one token"
            if self.labels:
                what += ", in addition to parts that only a machine can express"
            raise self.refused(what, leaf.span, "write a regex of the texts you mean")
        return made

    def folded(self, leaf: Leaf) -> CharacterFsa:
        """The machine of a terminal over characters; bytes that are none stand apart in it."""
        assert not isinstance(leaf, Literal), "it has no machine"
        key = id(leaf.machine) if isinstance(leaf, Automaton) else shape(leaf)
        if key not in self._folded:
            machine = terminal_machine(leaf, self.rules, self.source, self.limits)
            self._folded[key] = fold(machine)
        return self._folded[key]

    def is_nullable(self, leaf: Leaf) -> bool:
        """Whether a terminal may read nothing."""
        if isinstance(leaf, Literal):
            return not leaf.value
        folded = self.folded(leaf)
        return folded.initial in folded.finals

    def excepted(self, leaf: Except) -> tuple[bytes, ...]:
        return excepted_strings(leaf, self.rules, self.source, self.limits)

    def short(self, leaf: Leaf, most: int) -> Regex | None:
        """The texts of a terminal's machine as a regex of at most ``most`` characters.

        None where there is no such, or the time is over: rules are written without search.
        """
        try:
            return machine_regex(self.folded(leaf), most, self.limits)
        except LimitError:
            return None

    def refused(self, what: str, span: Span, hint: str) -> BuildError:
        """The error of what the notation cannot say."""
        message = f"{self.title} cannot say {what}"
        return BuildError(message, self.source, span, hint, "unsupported_export")

    def _decoded(self, leaf: Literal) -> str:
        try:
            return leaf.value.decode()
        except UnicodeDecodeError:
            what = f"the bytes {leaf.value!r}, which are not valid UTF-8"
            raise self.refused(what, leaf.span, "write whole characters") from None


def cuts_characters(folded: CharacterFsa) -> bool:
    """Whether a machine may begin or end inside a character."""
    return bool(folded.raw)


def begins_inside(folded: CharacterFsa) -> bool:
    """Whether a text of a machine may begin with a byte that goes on a character."""
    first = (ranges for state, ranges, _ in folded.raw if state == folded.initial)
    return any(low < _LEADS for ranges in first for low, _ in ranges)
