"""Descriptions in words: a sentence with a source span, and the sentences of its parts.

The functions make the phrases that regexes, rules and schemas share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.automata.class_descriptions import spoken
from workbench.base.source import Span
from workbench.base.visible_text import printable, shorten

#: The longest text that is quoted in full.
_MAX_QUOTED = 60


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """What a part of a grammar means."""

    span: Span
    sentence: str
    children: tuple[Wording, ...] = ()

    def __repr__(self) -> str:
        return f"Wording({shorten(self.sentence, 60)!r})"

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{wording.sentence}" for depth, wording in self.walk())

    def walk(self) -> Iterator[tuple[int, Wording]]:
        """Every part with its depth, a part before its parts."""
        stack = [(0, self)]
        while stack:
            depth, wording = stack.pop()
            yield depth, wording
            stack.extend((depth + 1, child) for child in reversed(wording.children))


def led(lead: str, span: Span, inner: Wording) -> Wording:
    """A part that has one part, as one line: ``one or more times: the text 'foo'``."""
    return Wording(span, f"{lead}: {inner.sentence}", inner.children)


def quoted(text: str) -> str:
    """A text in quotes, in one line."""
    shown = shorten(text.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍"), _MAX_QUOTED)
    return f"'{printable(shown)}'"


def listed(names: Sequence[str], last: str = "or") -> str:
    """``a, b or c``."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def spelled(text: str) -> str:
    """A text, or one character with its kind."""
    if not text:
        return "nothing"
    if len(text) > 1:
        return f"the text {quoted(text)}"
    name = spoken(text)
    if not name.startswith("'"):
        return name if name.startswith("a ") else f"the character {name}"
    kind = "letter" if text.isalpha() else "digit" if text.isdigit() else "character"
    return f"the {kind} {name}"


def in_order(span: Span, parts: Iterable[Wording]) -> Wording:
    """Parts one after the other."""
    wordings = tuple(parts)
    if not wordings:
        return Wording(span, "nothing")
    if len(wordings) == 1:
        return replace(wordings[0], span=span)
    first, *others = wordings
    then = (replace(wording, sentence=f"then {wording.sentence}") for wording in others)
    return Wording(span, "in this order", (first, *then))


def one_of(span: Span, options: Iterable[Wording]) -> Wording:
    """One of several parts."""
    wordings = tuple(options)
    first, *others = wordings
    either = (replace(wording, sentence=f"or {wording.sentence}") for wording in others)
    return Wording(span, f"one of these {len(wordings)}", (first, *either))


def times(low: int, high: int | None) -> str:
    """The bounds of a repetition in words."""
    if high is None:
        usual = {0: "zero or more times", 1: "one or more times"}
        return usual.get(low, f"{low:,} or more times")
    if high == 0:
        return "never"
    if (low, high) in ((0, 1), (1, 1)):
        return "optional" if low == 0 else "once"
    if low == high:
        return f"exactly {low:,} times"
    return f"up to {high:,} times" if low == 0 else f"{low:,} to {high:,} times"
