"""Python text as syntax that is read and not executed; names in it.

A pasted piece often comes without its imports, so the names a definition wants stand for
themselves until an import or a class says otherwise.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.schema.typed.types import Definition

#: Characters of a definition; a text of so many classes or fields is read in 0.2 to 0.3 s.
MAX_DEFINITION_LENGTH = 100_000
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
        if len(self.source.text) > MAX_DEFINITION_LENGTH:
            self.refuse(
                f"expected a definition of at most {MAX_DEFINITION_LENGTH:,} characters",
                Span(MAX_DEFINITION_LENGTH, len(self.source.text)),
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


#: What may be imported, by module.
KNOWN_IMPORTS = {
    "dataclasses": ("dataclass", "field", "KW_ONLY", "InitVar"),
    "enum": ("Enum", "IntEnum", "StrEnum", "auto", "unique", "Flag", "IntFlag"),
    "typing": (
        "Annotated", "ClassVar", "Dict", "Final", "FrozenSet", "List", "Literal", "NewType",
        "Optional", "Set", "Tuple", "TypeAlias", "Union",
    ),
    "__future__": ("annotations",),
}  # fmt: skip
_MODULES = {"typing_extensions": "typing", **{module: module for module in KNOWN_IMPORTS}}


@dataclass(slots=True, eq=False)
class Names:
    """What the names of a text stand for, as far as it has been read."""

    text: PythonText
    #: What a written name stands for: ``t`` for ``typing``, ``Opt`` for ``typing.Optional``.
    imported: dict[str, str] = field(
        default_factory=lambda: {
            **{module: module for module in KNOWN_IMPORTS},
            **{
                name: f"{module}.{name}"
                for module, names in KNOWN_IMPORTS.items()
                for name in names
            },
        }
    )
    #: Every class of the text by its dotted name, those further down too.
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    #: ``Tags = list[str]``: the annotation a name stands for.
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    #: How many types have been read.
    read: int = 0
    #: What the classes read so far have become.
    definitions: dict[str, Definition] = field(default_factory=dict)

    def meant(self, name: str) -> str:
        """``t.Optional`` → ``typing.Optional``; a name nobody imported stands for itself."""
        head, dot, rest = name.partition(".")
        return self.imported.get(head, head) + dot + rest

    def class_named(self, name: str, owner: str) -> str | None:
        """The dotted name of a class called so inside the class ``owner`` (empty: outside all)."""
        inner = f"{owner}.{name}"
        return inner if inner in self.classes else name if name in self.classes else None

    def read_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Remember what an import brings.

        Raises: ParseError of kind ``unsupported_import`` for what brings nothing we know.
        """
        for name in statement.names:
            origin = name.name
            if isinstance(statement, ast.ImportFrom):
                module = _MODULES.get(statement.module or "", "") if not statement.level else ""
                origin = (
                    f"{module}.{name.name}" if name.name in KNOWN_IMPORTS.get(module, ()) else ""
                )
            else:
                origin = _MODULES.get(name.name, "")
            if not origin:
                pydantic = "pydantic" in (getattr(statement, "module", None) or name.name)
                self.text.refuse(
                    f"expected an import from dataclasses, enum or typing, not {name.name}",
                    name,
                    "write a dataclass, or paste the output of model_json_schema() as a JSON Schema"
                    if pydantic
                    else "nothing is imported here: put the definition itself into the text",
                    "unsupported_import",
                )
            self.imported[name.asname or name.name] = origin
