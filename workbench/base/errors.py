"""All errors the library raises on purpose, as one tree.

::

    WorkbenchError
    ├── SourceError            something is wrong at a place in a text
    │   ├── ParseError         the text cannot be read
    │   └── BuildError         it reads well and cannot be built
    ├── LimitError             a budget of ``Limits`` was reached
    ├── VocabularyError        a vocabulary cannot be mapped to bytes, or cannot spell the language
    ├── TokenNotAllowed        a token was taken that the mask forbids
    └── ModelError             a model cannot be loaded or run

The page and the command line catch ``WorkbenchError`` and nothing else: any other
exception is a fault of ours.
"""

from __future__ import annotations

from workbench.base.source import Source, Span


class WorkbenchError(Exception):
    """The root of the tree; ``hint`` is one sentence about the way out, or empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class SourceError(WorkbenchError):
    """Something is wrong at a place in the text a person wrote.

    ``str(error)`` tells in this order: where, what, the line with the place
    underlined, and the way out when we know one. ``kind`` is a stable word for
    programs (for KBNF the categories of its specification: ``syntax``,
    ``bad_escape``, ``bad_regex``, ``unsupported_regex``,
    ``undefined_nonterminal``, ``empty_grammar``, ``invalid_except``).
    """

    def __init__(
        self, message: str, source: Source, span: Span, hint: str = "", kind: str = "syntax"
    ) -> None:
        super().__init__(message, hint)
        self.source = source
        self.span = span
        self.kind = kind

    def __str__(self) -> str:
        line, column = self.source.position(self.span.start)
        told = [
            f"{self.source.name}, line {line}, column {column}: {self.message}",
            self.source.underline(self.span),
        ]
        if self.hint:
            told.append(f"hint: {self.hint}")
        return "\n".join(told)


class ParseError(SourceError):
    """The text cannot be read."""


class BuildError(SourceError):
    """The text reads well, and what it means cannot be built."""


class LimitError(WorkbenchError):
    """A budget was reached; ``budget`` names it as the field of ``Limits`` does."""

    def __init__(self, message: str, budget: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.budget = budget


class VocabularyError(WorkbenchError):
    """A vocabulary cannot be mapped to bytes exactly, or cannot spell the language."""


class TokenNotAllowed(WorkbenchError):  # noqa: N818  # a name of the front door
    """A token was taken which the mask of the state forbids; nothing has changed."""


class ModelError(WorkbenchError):
    """A model cannot be loaded or run."""
