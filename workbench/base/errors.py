"""The exceptions of the library.

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

from typing import Any, Self

from workbench.base.source import Source, Span


class WorkbenchError(Exception):
    """The base class of all errors of the library; any other exception is a bug."""

    #: The keyword of a JSON Schema without which there is no such error (``unasserted``), if known.
    unassertable: str = ""

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
        error = LimitError(self.message, self.budget, self.hint)
        error.unassertable = self.unassertable
        return error


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
