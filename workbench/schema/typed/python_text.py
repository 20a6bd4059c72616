"""Python text as a syntax tree with spans, never executed.

A pasted definition often lacks its imports, so the supported names of dataclasses, enum and typing
are defined until an import or a class redefines them.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import NoReturn

from workbench.base.cached_property import cached_property
from workbench.base.diagnostics import nearest, suggestion
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.schema.pydantic_models import (
    STRING_MODULES,
    adapter_hint,
    is_pydantic_source,
    source_hint,
)
from workbench.schema.typed.types import Definition

#: The most characters of a definition; a text of this length is read in 0.2 to 0.3 s.
MAX_DEFINITION_LENGTH = 100_000
_CLASS = re.compile(r"class[\s\\]+(\w+)")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")

#: A syntax node with a position.
_Located = ast.expr | ast.stmt | ast.alias | ast.keyword


@dataclass(frozen=True, eq=False)
class PythonText:
    """A Python text, with the spans of its syntax nodes."""

    source: Source

    @cached_property
    def module(self) -> ast.Module:
        """Its syntax tree.

        Raises: ParseError of kind ``syntax`` if it is not valid Python.
        """
        if len(self.source.text) > MAX_DEFINITION_LENGTH:
            self.refuse(
                f"expected a definition of at most {MAX_DEFINITION_LENGTH:,} characters",
                Span(MAX_DEFINITION_LENGTH, len(self.source.text)),
                "shorten it",
            )
        whole = Span(0, len(self.source.text))
        try:
            return _parse(self.source.text)
        except SyntaxError as error:
            start = self._offset(error.lineno or 1, 0) + max(0, (error.offset or 1) - 1)
            start = min(start, whole.end)
            what = f"expected Python: {error.msg.lower()}"
            self.refuse(what, Span(start, min(start + 1, whole.end)))
        except UnicodeEncodeError as error:
            half = Span(error.start, error.end)
            self.refuse("expected text, not half of a surrogate pair", half)
        except ValueError as error:
            self.refuse(f"expected Python: {str(error).lower()}", whole)
        except (RecursionError, MemoryError):
            self.refuse("expected Python with less nesting", whole)

    @cached_property
    def _lines(self) -> list[tuple[int, str]]:
        """The offset and the text of each line, with Python's definition of a line."""
        return [(line.start(), line[1]) for line in _LINE.finditer(self.source.text)]

    def _offset(self, line: int, column: int) -> int:
        """The character offset of a line, counted from 1, and a column in bytes of UTF-8."""
        if line > len(self._lines):
            return len(self.source.text)
        start, text = self._lines[line - 1]
        return start + len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def span(self, node: _Located) -> Span:
        """The span of an expression or a statement."""
        start = self._offset(node.lineno, node.col_offset)
        assert node.end_lineno is not None, "only nodes without a parser lack it"
        end = self._offset(node.end_lineno, node.end_col_offset or 0)
        return Span(start, end)

    def name_span(self, node: ast.ClassDef) -> Span:
        """The span of a class's name."""
        # searched in the text, because node.name is normalized (NFKC)
        match = _CLASS.match(self.source.text, self._offset(node.lineno, node.col_offset))
        return self.span(node) if match is None else Span(*match.span(1))

    def text(self, node: _Located) -> str:
        """The text of a node."""
        span = self.span(node)
        return self.source.text[span.start : span.end]

    def refuse(
        self,
        message: str,
        where: _Located | Span,
        hint: str = "",
        kind: str = "syntax",
        fix: str | None = None,
    ) -> NoReturn:
        """Reports an error; ``fix`` replaces the text there.

        Raises: ParseError, always.
        """
        span = where if isinstance(where, Span) else self.span(where)
        raise ParseError(message, self.source, span, hint, kind, fix)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as an invalid escape in a docstring of the text
        return ast.parse(text)


def dotted(node: ast.expr) -> str | None:
    """A name such as ``a.b.c`` as text; None for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


#: The names that may be imported, by module.
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
    """The meaning of the names of a text, as far as it has been read."""

    text: PythonText
    #: Imported names and their origins: ``t`` is ``typing``, ``Opt`` is ``typing.Optional``.
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
    #: Every class of the text by its dotted name, including those not yet read.
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    #: Type aliases and their annotations: ``Tags = list[str]``.
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    #: The number of types read.
    read: int = 0
    #: The definitions of the classes read so far.
    definitions: dict[str, Definition] = field(default_factory=dict)

    def meant(self, name: str) -> str:
        """``t.Optional`` → ``typing.Optional``; a name that is not imported is unchanged."""
        head, dot, rest = name.partition(".")
        return self.imported.get(head, head) + dot + rest

    def class_named(self, name: str, owner: str) -> str | None:
        """The dotted name of the class that ``name`` refers to inside ``owner`` (empty: module)."""
        inner = f"{owner}.{name}"
        return inner if inner in self.classes else name if name in self.classes else None

    def read_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Record the names of an import.

        Raises: ParseError of kind ``unsupported_import`` for unsupported names.
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
                self._refuse_import(statement, name)
            self.imported[name.asname or name.name] = origin

    def _refuse_import(self, statement: ast.Import | ast.ImportFrom, name: ast.alias) -> NoReturn:
        """The error for an import that is not known.

        Raises: ParseError of kind ``unsupported_import``.
        """
        text = self.text
        message = f"expected an import from dataclasses, enum or typing, not {name.name}"
        otherwise = "no module is imported here: copy the definition into the text"
        span, word, choices = text.span(name), name.name, tuple(_MODULES)
        if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            if statement.module in _MODULES:
                choices = KNOWN_IMPORTS[_MODULES[statement.module]]
            elif nearest(statement.module, _MODULES) is not None:
                word = statement.module
                start = text.source.text.index(word, text.span(statement).start)
                span = Span(start, start + len(word))
        module = getattr(statement, "module", None) or name.name
        if module in STRING_MODULES:
            otherwise = adapter_hint("CLASS")
        if is_pydantic_source(text.source.text):
            otherwise = source_hint(text.source.text)
            if name.name == "BaseModel":  # its classes have the next fix
                error = ParseError(message, text.source, span, otherwise, "unsupported_import")
                raise error.with_fix("from dataclasses import dataclass", text.span(statement))
        hint, fix = suggestion(word, choices, otherwise)
        as_name = fix if name.asname is None or span != text.span(name) else None
        text.refuse(message, span, hint, "unsupported_import", as_name)
