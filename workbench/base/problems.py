"""Diagnostics of a source text: errors and advice with their spans, ready to become JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import BuildError, SourceError, WorkbenchError
from workbench.base.source import Source, Span

#: Kinds of advice that are warnings: some written text is excluded, or a model may never end.
WARNINGS = frozenset(
    {
        "unproductive",
        "unbounded_loop",
        "nullable_complement",
        "unspellable",
        "no_initial_state",
        "no_final_state",
    }
)


@dataclass(frozen=True, slots=True)
class Advice:
    """A warning or a note on a span of a grammar."""

    message: str
    #: The part of the grammar's text.
    span: Span
    #: A stable word for programs: one of ``WARNINGS``, or a note such as ``unreachable_rule``,
    #: ``nullable_first_match``, ``conflict``, ``ambiguous``, ``duplicate_alternative``.
    kind: str
    #: One sentence on what to do.
    hint: str
    #: A replacement for the text of ``span``; None if only the author can decide.
    fix: str | None = None

    @property
    def severity(self) -> str:
        """``warning`` for a probable mistake, ``note`` for information."""
        return "warning" if self.kind in WARNINGS else "note"


class AdvisedBuildError(BuildError):
    """A BuildError with all other advice on the text, so that an author can fix all of it."""

    #: The advice, in the order of the text.
    notes: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or advice, with its span and position if it has one."""

    message: str
    hint: str = ""
    #: None for a problem of the whole text, such as an exceeded limit.
    span: Span | None = None
    #: Line and column of the start of ``span``, both from 1.
    position: tuple[int, int] | None = None
    #: ``error``; ``warning`` or ``note`` if the grammar can be used.
    severity: str = "error"
    #: A replacement for the text of ``span``, if one is known.
    fix: str | None = None

    @staticmethod
    def of(error: WorkbenchError) -> Problem:
        """The problem that an error reports."""
        if not isinstance(error, SourceError):
            return Problem(error.message, error.hint)
        position = error.source.position(error.span.start)
        return Problem(error.message, error.hint, error.span, position)

    @staticmethod
    def advised(advice: Advice, source: Source) -> Problem:
        """The problem that advice on a text reports."""
        position = source.position(advice.span.start)
        return Problem(
            advice.message, advice.hint, advice.span, position, advice.severity, advice.fix
        )


def finite(value: Any) -> Any:  # noqa: ANN401  # whatever a record holds
    """A copy of a JSON value with None for nan and infinities at every depth."""
    match value:
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value
