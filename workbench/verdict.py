"""Verdict: what a grammar says of a text, as a value; a person reads it as one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.automata.describe import describe
from workbench.syntax.regex.tree import Ranges


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a grammar says of a text.

    Unit: ``offset`` counts characters of the text, ``byte`` its UTF-8 bytes.
    """

    accepted: bool
    #: The first character after which nothing can be accepted; None where the text is accepted
    #: or only ends too early.
    offset: int | None
    byte: int | None
    #: The characters that were possible at the place of failure (or at the end).
    expected: Ranges
    #: Whether the text could have ended there.
    may_end: bool
    #: The rules that were being read there, the outermost first (of one way to read it).
    rules: tuple[str, ...]

    @property
    def incomplete(self) -> bool:
        """Whether the text is the beginning of an accepted one, and not accepted itself."""
        return not self.accepted and self.offset is None

    def __str__(self) -> str:
        if self.accepted:
            return "accepted"
        wanted = describe(self.expected) if self.expected else ""
        ending = "the end" if self.may_end else ""
        expected = " or ".join(part for part in (wanted, ending) if part)
        where = "ends too early" if self.offset is None else f"fails at column {self.offset + 1}"
        return f"{where}: expected {expected}"


def character_start(data: bytes, position: int) -> int:
    """The last place up to ``position`` at which a character begins (or the text ends)."""
    start = position
    while start > 0 and (
        data[start] & 0xC0 == 0x80 if start < len(data) else _is_cut(data[max(0, start - 4) :])
    ):
        start -= 1
    return start


def _is_cut(tail: bytes) -> bool:
    """Whether a text ends inside a character."""
    return any(
        tail[-back] >= lead for back, lead in ((1, 0xC0), (2, 0xE0), (3, 0xF0)) if len(tail) >= back
    )
