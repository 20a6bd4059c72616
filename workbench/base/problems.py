"""Problems as JSON records: an error or a piece of advice with its place in the text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import SourceError, WorkbenchError
from workbench.base.source import Source, Span

#: What keeps texts out that the author has written, or keeps a model in.
WARNINGS = frozenset({"unproductive", "unbounded_loop", "nullable_complement", "unspellable"})


@dataclass(frozen=True, slots=True)
class Advice:
    """Something an author may want to know, at its place."""

    message: str
    span: Span
    #: A stable word for programs: one of ``WARNINGS``, or a note such as ``unreachable_rule``,
    #: ``nullable_first_match``, ``conflict``, ``ambiguous``, ``duplicate_alternative``.
    kind: str
    hint: str
    #: What could stand at ``span`` instead; None where that is the author's to decide.
    fix: str | None = None

    @property
    def severity(self) -> str:
        """``warning`` for what will hardly do what was meant, ``note`` for what is good to know."""
        return "warning" if self.kind in WARNINGS else "note"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to tell the author, at its place where it has one."""

    message: str
    hint: str = ""
    #: Where; None for what concerns the whole (a budget).
    span: Span | None = None
    #: Line and column of its beginning, both from 1.
    position: tuple[int, int] | None = None
    #: ``error``; ``warning`` or ``note`` where the grammar can be used as it is.
    severity: str = "error"
    #: What could stand at ``span`` instead, where that is known.
    fix: str | None = None

    @staticmethod
    def of(error: WorkbenchError) -> Problem:
        """What an error says, with its place in the text."""
        if not isinstance(error, SourceError):
            return Problem(error.message, error.hint)
        position = error.source.position(error.span.start)
        return Problem(error.message, error.hint, error.span, position)

    @staticmethod
    def advised(advice: Advice, source: Source) -> Problem:
        """A piece of advice on a text."""
        position = source.position(advice.span.start)
        return Problem(
            advice.message, advice.hint, advice.span, position, advice.severity, advice.fix
        )


def finite(value: Any) -> Any:  # noqa: ANN401  # whatever a record holds
    """The value with None for nan and the infinities, however deep they stand in it."""
    match value:
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value
