"""The exceptions of the library, and diagnostics: errors and advice with spans, as JSON.

::

    WorkbenchError
    ├── SourceError            an error at a span of a source text
    │   ├── ParseError         the text cannot be parsed
    │   └── BuildError         it can be parsed but not built
    ├── LimitError             a budget of ``Limits`` was reached
    ├── VocabularyError        a vocabulary cannot be mapped to bytes, or to the language
    ├── TokenNotAllowed        the mask forbids the token
    ├── ModelError             a model cannot be loaded or run
    ├── ArgumentTypeError      an argument has the wrong type; also a TypeError
    └── ArgumentValueError     an argument has a wrong value; also a ValueError

The page and the command line catch only ``WorkbenchError``: any other exception is a bug.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten


class WorkbenchError(Exception):
    """The base class of all errors of the library; any other exception is a bug."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        #: What was expected and what was found, without the hint.
        self.message = message
        #: One sentence on how to fix it, or empty.
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """The attributes: ``args`` are not the arguments of subclasses."""
        return type(self).__new__, (type(self), *self.args), vars(self)


class SourceError(WorkbenchError):
    """An error at a span of a source text.

    ``str(error)`` has the position, the message, the line with the span underlined, and the hint
    if there is one. ``kind`` is a stable word for programs (for KBNF the categories of its
    specification: ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex``,
    ``undefined_nonterminal``, ``empty_grammar``, ``invalid_except``).
    """

    def __init__(
        self,
        message: str,
        source: Source,
        span: Span,
        hint: str = "",
        kind: str = "syntax",
        fix: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        #: The source text.
        self.source = source
        #: Where the error is in it.
        self.span = span
        #: A stable word for programs.
        self.kind = kind
        #: A replacement for the text of ``fix_span``; None if only the author can decide.
        self.fix = fix
        #: The text that the fix replaces: that of ``span`` unless another one is given.
        self.fix_span = span

    def with_fix(self, fix: str | None, span: Span | None = None) -> Self:
        """The error with a replacement for the text of ``span``, or of the span of the error."""
        self.fix = fix
        self.fix_span = self.span if span is None else span
        return self

    def __str__(self) -> str:
        line, column = self.source.position(self.span.start)
        lines = [
            f"{self.source.name}, line {line}, column {column}: {self.message}",
            self.source.underline(self.span),
        ]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class ParseError(SourceError):
    """The text cannot be parsed."""


class BuildError(SourceError):
    """The text can be parsed, but no machine can be built from it."""


class LimitError(WorkbenchError):
    """A limit was exceeded."""

    def __init__(self, message: str, budget: str, hint: str = "") -> None:
        super().__init__(message, hint)
        #: The name of its field in ``Limits``.
        self.budget = budget

    def copy(self) -> LimitError:
        """The same error without its traceback, which keeps the variables of all its frames."""
        return LimitError(self.message, self.budget, self.hint)


class EndedError(Exception):
    """The work was ended from outside: its result is no longer needed.

    No ``WorkbenchError``: it says nothing about a grammar, so no result that is kept may hold it.
    """


class VocabularyError(WorkbenchError):
    """A vocabulary cannot be mapped to bytes exactly, or cannot encode the language."""


class TokenNotAllowed(WorkbenchError):  # noqa: N818  # part of the public API
    """The mask of the state forbids the token; the state has not changed."""


class ModelError(WorkbenchError):
    """A model cannot be loaded or run."""


class ArgumentTypeError(WorkbenchError, TypeError):
    """An argument of a public function has the wrong type."""


class ArgumentValueError(WorkbenchError, ValueError):
    """An argument of a public function has a value that it does not take."""


# -- diagnostics ----------------------------------------------------------------------------------
# Diagnostics of a source text: errors and advice with their spans, ready to become JSON.


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
        place = f"{self.span.start}:{self.span.end}"
        return f"Advice({self.kind}, {shorten(repr(self.message), 100)}, {place})"

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

    def __repr__(self) -> str:
        place = ":".join(map(str, self.position or ()))
        return f"Problem({self.severity} {place}: {shorten(self.message, 80)!r})"

    @staticmethod
    def of(error: WorkbenchError) -> Problem:
        """The problem that an error reports."""
        if not isinstance(error, SourceError):
            return Problem(error.message, error.hint)
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
    known: Iterable[str],
    otherwise: str = "",
    synonyms: Mapping[str, str] | None = None,
    similar: float = SIMILAR,
) -> Meant:
    """The hint for an unknown word, and the intended one, if any.

    ``synonyms`` are the names of other notations in lower case. Without a ``similar`` word the hint
    is ``otherwise``.
    """
    near = nearest(word, known, synonyms, similar)
    return (otherwise, None) if near is None else (f"did you mean {near!r}?", near)


def nearest(
    word: str,
    known: Iterable[str],
    synonyms: Mapping[str, str] | None = None,
    similar: float = SIMILAR,
) -> str | None:
    """The intended known word: the same in other case, a synonym, or the most similar one."""
    from difflib import get_close_matches  # imported on first use: most texts are correct

    folded: dict[str, str] = {}
    for each in known:
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
