"""Python text becomes syntax that is only looked at: a Source in, nodes and their places out."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from workbench.errors import ParseError
from workbench.source import Source, Span

#: Characters of a definition; a text of so many classes or fields is read in 0.2 to 0.3 s.
LONGEST = 100_000
_CLASS = re.compile(r"class[\s\\]+(\w+)")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True, eq=False)
class PythonText:
    """A text of Python's, whose nodes have places in it."""

    source: Source

    @cached_property
    def module(self) -> ast.Module:
        """What stands in it.

        Raises: ParseError of kind ``syntax`` where Python could not read it.
        """
        if len(self.source.text) > LONGEST:
            self.refuse(
                f"expected a definition of at most {LONGEST:,} characters",
                Span(LONGEST, len(self.source.text)),
                "shorten it",
            )
        whole = Span(0, len(self.source.text))
        try:
            return _parsed(self.source.text)
        except SyntaxError as error:
            start = self._offset(error.lineno or 1, 0) + max(0, (error.offset or 1) - 1)
            start = min(start, whole.end)
            what = f"expected Python: {error.msg.lower()}"
            self.refuse(what, Span(start, min(start + 1, whole.end)))
        except UnicodeEncodeError as error:
            half = Span(error.start, error.end)
            self.refuse("expected text, and half of a surrogate pair is none", half)
        except ValueError as error:
            self.refuse(f"expected Python: {str(error).lower()}", whole)
        except (RecursionError, MemoryError):
            self.refuse("expected Python that is nested less", whole)

    @cached_property
    def _lines(self) -> list[tuple[int, str]]:
        """Where each line begins, and what stands in it, lines counted as Python does."""
        return [(line.start(), line[1]) for line in _LINE.finditer(self.source.text)]

    def _offset(self, line: int, column: int) -> int:
        """The character at a line, counted from 1, and a column in bytes of UTF-8."""
        if line > len(self._lines):
            return len(self.source.text)
        start, text = self._lines[line - 1]
        return start + len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def span(self, node: ast.AST) -> Span:
        """The place of an expression or a statement."""
        start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Span(start, end)

    def name_span(self, node: ast.ClassDef) -> Span:
        """The place of a class's name."""
        # looked for as it is written: node.name is what Unicode makes of it
        found = _CLASS.match(self.source.text, self._offset(node.lineno, node.col_offset))
        return self.span(node) if found is None else Span(*found.span(1))

    def text(self, node: ast.AST) -> str:
        """What is written there."""
        span = self.span(node)
        return self.source.text[span.start : span.end]

    def refuse(
        self, message: str, where: ast.AST | Span, hint: str = "", kind: str = "syntax"
    ) -> NoReturn:
        """Say that this cannot be read.

        Raises: ParseError, always.
        """
        span = where if isinstance(where, Span) else self.span(where)
        raise ParseError(message, self.source, span, hint, kind)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a \d in somebody's docstring is not our business
        return ast.parse(text)


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` as text; None for what is no such name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None
