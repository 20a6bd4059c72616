"""Problem: what is told to an author, and where; an error or advice in, a plain record out."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import SourceError, WorkbenchError
from workbench.pushdown.advice import Advice
from workbench.source import Source, Span


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
