"""Reads the text of dataclasses as types, without executing it.

Supported are imports from dataclasses, enum and typing, type aliases, ``Enum`` classes and
dataclasses, also nested ones. Methods are ignored, except those that change the constructor, which
are errors.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Mapping

from workbench.base.diagnostics import suggestion
from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.schema.pydantic_models import source_hint
from workbench.schema.typed.annotations import read_enumeration
from workbench.schema.typed.class_bodies import dataclass_settings, read_record
from workbench.schema.typed.python_printer import type_text
from workbench.schema.typed.python_text import Names, PythonText, dotted
from workbench.schema.typed.types import (
    Definition,
    Dict,
    Enumeration,
    Kind,
    Many,
    Member,
    Named,
    OneOf,
    Record,
    Type,
    Types,
    inside,
)


def check(text: PythonText, definitions: Mapping[str, Definition]) -> None:
    """Checks that named classes and members exist and that items of sets and keys are hashable.

    Raises: ParseError of kind ``undefined_name`` or ``unsupported_type``.
    """
    for definition in definitions.values():
        for field in definition.fields if isinstance(definition, Record) else ():
            for part in inside(field.type):
                match part:
                    case Named(name=name) if name not in definitions:
                        hint = f"write @dataclass above {name}"
                        message = f"{name} is neither a dataclass nor an Enum"
                        text.refuse(message, part.span, hint, "unsupported_type")
                    case OneOf(values=values):
                        _check_members(text, definitions, part, values)
                    case Many(kind=Kind.SET | Kind.FROZENSET, item=item) | Dict(key=item):
                        _check_hashable(text, definitions, item)


def _check_members(
    text: PythonText,
    definitions: Mapping[str, Definition],
    type_: OneOf,
    values: tuple[str | int | Member | None, ...],
) -> None:
    for value in values:
        if not isinstance(value, Member):
            continue
        owner = definitions.get(value.owner)
        if not isinstance(owner, Enumeration) or value.name not in dict(owner.members):
            message = f"{value.owner} has no member {value.name}"
            names = [name for name, _ in owner.members] if isinstance(owner, Enumeration) else []
            hint, fix = suggestion(value.name, names)
            span = type_.span
            written = f".{value.name}"
            start = text.source.text.find(written, span.start, span.end) + 1
            if fix is not None and start:
                span = Span(start, start + len(value.name))
            text.refuse(message, span, hint, "undefined_name", fix)


def _check_hashable(text: PythonText, definitions: Mapping[str, Definition], type_: Type) -> None:
    """Checks that all values of the type, and the values in them, are hashable."""
    seen: set[str] = set()
    waiting = deque([type_])
    while waiting:
        current = waiting.popleft()
        for part in inside(current):
            if isinstance(part, Dict) or (
                isinstance(part, Many) and part.kind in (Kind.LIST, Kind.SET)
            ):
                text.refuse(
                    f"items of sets and keys have to be hashable, and {type_text(part)} is not",
                    type_.span,
                    "use tuple, or frozenset",
                    "unsupported_type",
                )
            if isinstance(part, Named) and part.name not in seen:
                seen.add(part.name)
                waiting += _hashed_types(text, definitions.get(part.name), type_)


def _hashed_types(text: PythonText, definition: Definition | None, type_: Type) -> list[Type]:
    """The types of the fields of a dataclass whose instances are hashed."""
    if not isinstance(definition, Record):
        return []  # members are hashable; ``check`` reports names that are not defined
    if not definition.hashable:
        text.refuse(
            f"items of sets and keys have to be hashable, and {definition.name} is not",
            type_.span,
            f"write @dataclass(frozen=True) above {definition.name}",
            "unsupported_type",
        )
    return [field.type for field in definition.fields]


def read_types(source: Source, root: str = "") -> Types:
    """The definitions of a text; the root is the dataclass of that name, or the last one.

    Raises: ParseError of kind ``syntax``, ``unsupported_type``, ``undefined_name``,
            ``unsupported_import``, ``unsupported_statement``, ``unsupported_class`` or
            ``no_dataclass``.
    """
    text = PythonText(source)
    try:
        return _read(Names(text), root)
    except RecursionError:
        text.refuse("expected a definition with less nesting", Span(0, len(source.text)))


def _read(names: Names, root: str) -> Types:
    text, source = names.text, names.text.source
    body = text.module.body
    _note_classes(names, body)
    for statement in body:
        _note(names, statement)
    for name in list(names.classes):
        _define(names, name, ())
    records = [
        name for name, definition in names.definitions.items() if isinstance(definition, Record)
    ]
    if not records:
        hint = "write @dataclass above a class with annotated fields, as in  age: int"
        text.refuse("expected a dataclass", Span(0, len(source.text)), hint, "no_dataclass")
    if root and root not in records:
        hint, _ = suggestion(root, records, f"there are {', '.join(records)}")
        text.refuse(f"there is no dataclass {root}", Span(0, 0), hint, "no_dataclass")
    check(text, names.definitions)
    # the last one in the text: ``definitions`` has base classes first
    last = max(records, key=lambda name: (names.classes[name].end_lineno, -name.count(".")))
    return Types(root or last, names.definitions, source)


def _note_classes(names: Names, body: list[ast.stmt], owner: str = "") -> None:
    """Find all classes first, because an annotation may name a class that is defined later."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            name = f"{owner}.{statement.name}" if owner else statement.name
            if name in names.classes:
                names.text.refuse(
                    f"there are two classes {name}", names.text.name_span(statement), "rename one"
                )
            names.classes[name] = statement
            _note_classes(names, statement.body, name)


def _note(names: Names, statement: ast.stmt) -> None:
    """One statement outside all classes: an import, an alias, a docstring."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            names.read_import(statement)
        case ast.ClassDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
            names.meant(dotted(call.func) or "") == "typing.NewType" and len(call.args) == 2
        ):
            names.aliases[name] = call.args[1]
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if not isinstance(
            value, ast.Call
        ):
            names.aliases[name] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if (
            names.meant(dotted(statement.annotation) or "") == "typing.TypeAlias"
        ):
            names.aliases[name] = value
        case _:
            names.text.refuse(
                "expected imports, type aliases, enumerations and dataclasses",
                statement,
                "the text is never executed: leave out other statements",
                "unsupported_statement",
            )


def _define(names: Names, name: str, waiting: tuple[str, ...]) -> None:
    """Read one class, after its base classes."""
    node, text = names.classes[name], names.text
    if name in names.definitions:
        return
    if name in waiting:
        text.refuse(f"{name} derives from itself", text.name_span(node))
    owner = name.rpartition(".")[0]
    bases = [dotted(base) or "" for base in node.bases]
    for base in bases:
        if class_name := names.class_named(base, owner):
            _define(names, class_name, (*waiting, name))
    if any(names.meant(base).startswith("enum.") for base in bases):
        names.definitions[name] = read_enumeration(names, node, name)
    elif (set_to := dataclass_settings(names, node)) is not None:
        definitions = (
            names.definitions.get(names.class_named(base, owner) or "") for base in bases
        )
        parents = [parent for parent in definitions if isinstance(parent, Record)]
        names.definitions[name] = read_record(names, node, name, parents, set_to)
    elif node.bases or not all(_harmless(statement) for statement in node.body):
        message = f"expected a dataclass or an Enum, and {name} is neither"
        hint = "write @dataclass above it, or Enum in brackets after its name"
        for parent in node.bases:
            if not names.class_named(dotted(parent) or "", owner):
                hint, fix = suggestion(dotted(parent) or "", ("Enum", "IntEnum", "StrEnum"), hint)
                if fix is not None:
                    text.refuse(message, parent, hint, "unsupported_class", fix)
        start = text.span(node).start
        indent = " " * (start - text.source.text.rfind("\n", 0, start) - 1)
        error = ParseError(message, text.source, text.name_span(node), hint, "unsupported_class")
        fields = any(isinstance(statement, ast.AnnAssign) for statement in node.body)
        if bases == ["BaseModel"] or bases == ["pydantic.BaseModel"]:
            error.hint = source_hint(text.source.text)
            head = text.source.text.index(")", text.span(node.bases[0]).end) + 1
            raise error.with_fix(f"@dataclass\n{indent}class {node.name}", Span(start, head))
        decorated = f"@dataclass\n{indent}" if fields and not node.bases else None
        raise error.with_fix(decorated, Span(start, start))


def _harmless(statement: ast.stmt) -> bool:
    """Whether a statement is allowed in a class that only contains other classes."""
    return isinstance(statement, ast.ClassDef | ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
