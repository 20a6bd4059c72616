"""Diagnostics of a source text: errors and advice with their spans, ready to become JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.base.errors import BuildError, SourceError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten

Raised = TypeVar("Raised", bound=SourceError)

#: Kinds of advice that are warnings: some written text is excluded, or a model may never end.
WARNINGS = frozenset(
    {
        "unproductive",
        "unbounded_loop",
        "nullable_complement",
        "unspellable",
        "no_initial_state",
        "no_final_state",
        "misspelt_extension",
        "wrapped_schema",
        "other_notation",
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

    def __repr__(self) -> str:
        span_text = f"{self.span.start}:{self.span.end}"
        return f"Advice({self.kind}, {shorten(repr(self.message), 100)}, {span_text})"

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
    #: A replacement for the text of ``fix_span``, if one is known.
    fix: str | None = None
    #: The text that the fix replaces; None without a fix.
    fix_span: Span | None = None
    #: A stable word for programs: that of the error or advice; empty without a span.
    kind: str = ""
    #: The rule that cannot be read because of the error; None if all rules can be read.
    rule: Span | None = None
    #: A rule that defines the name without a rule that the error reports; empty for other errors.
    missing_rule: str = ""
    #: The keyword of a JSON Schema without which there is no such error; empty for other errors.
    unassertable: str = ""

    def __repr__(self) -> str:
        position = ":".join(map(str, self.position or ()))
        return f"Problem({self.severity} {position}: {shorten(self.message, 80)!r})"

    @staticmethod
    def of(error: WorkbenchError) -> Problem:
        """The problem that an error reports."""
        if not isinstance(error, SourceError):
            return Problem(error.message, error.hint, unassertable=error.unassertable)
        position = error.source.position(error.span.start)
        where = None if error.fix is None else error.fix_span
        return Problem(
            error.message,
            error.hint,
            error.span,
            position,
            fix=error.fix,
            fix_span=where,
            kind=error.kind,
            unassertable=error.unassertable,
        )

    @staticmethod
    def advised(advice: Advice, source: Source) -> Problem:
        """The problem that advice on a text reports."""
        position = source.position(advice.span.start)
        where = None if advice.fix is None else advice.span
        return Problem(
            advice.message,
            advice.hint,
            advice.span,
            position,
            advice.severity,
            advice.fix,
            where,
            advice.kind,
        )


#: A hint for an unknown word, and the intended word, if any.
Meant = tuple[str, str | None]
NOTHING_MEANT: Meant = ("", None)
#: How similar two words have to be, from 0 to 1 (``difflib``): where the word is certainly wrong,
#: and where it may be intended.
SIMILAR, VERY_SIMILAR = 0.6, 0.75


def suggestion(
    word: str,
    names: Iterable[str],
    otherwise: str = "",
    synonyms: Mapping[str, str] | None = None,
    similar: float = SIMILAR,
) -> Meant:
    """The hint for an unknown word, and the intended one, if any.

    ``synonyms`` are the names of other notations in lower case. Without a ``similar`` word the hint
    is ``otherwise``.
    """
    near = nearest(word, names, synonyms, similar)
    return (otherwise, None) if near is None else (f"did you mean {near!r}?", near)


def nearest(
    word: str,
    names: Iterable[str],
    synonyms: Mapping[str, str] | None = None,
    similar: float = SIMILAR,
) -> str | None:
    """The intended known word: the same in other case, a synonym, or the most similar one."""
    from difflib import get_close_matches  # imported on first use: most texts are correct

    folded: dict[str, str] = {}
    for each in names:
        folded.setdefault(each.casefold(), each)
    asked = word.casefold()
    if asked in folded:
        return folded[asked]
    if synonyms and asked in synonyms:
        return synonyms[asked]
    close = get_close_matches(asked, list(folded), n=1, cutoff=similar)
    return folded[close[0]] if close else None


#: Mistakes and their corrections: a pattern of the text, and the replacement of its match.
Rewrites = Sequence[tuple[str, str]]


def with_rewrite(error: Raised, rewrites: Rewrites, start: int, end: int | None = None) -> Raised:
    """The error, with the first rewrite that matches the source at ``start`` as its fix."""
    text = error.source.text
    for pattern, replacement in rewrites:
        match = re.compile(pattern).match(text, start, len(text) if end is None else end)
        if match is not None:
            return error.with_fix(match.expand(replacement), Span(*match.span()))
    return error


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
