"""Reads the text of dataclasses as types, without executing it: decorators and fields too.

Supported are imports from dataclasses, enum and typing, type aliases, ``Enum`` classes and
dataclasses, also nested ones. Methods are ignored, except those that change the constructor, which
are errors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from workbench.base.errors import ParseError, suggestion
from workbench.base.source import Source, Span
from workbench.schema.pydantic_models import source_hint
from workbench.schema.typed.annotations import Annotations, read_enumeration
from workbench.schema.typed.python_text import Names, PythonText, dotted, literal_or
from workbench.schema.typed.type_printer import type_text
from workbench.schema.typed.types import (
    OPAQUE,
    Definition,
    Dict,
    Enumeration,
    Field,
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
    for one in definitions.values():
        for field in one.fields if isinstance(one, Record) else ():
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
            known = [name for name, _ in owner.members] if isinstance(owner, Enumeration) else []
            hint, fix = suggestion(value.name, known)
            span = type_.span
            written = f".{value.name}"
            start = text.source.text.find(written, span.start, span.end) + 1
            if fix is not None and start:
                span = Span(start, start + len(value.name))
            text.refuse(message, span, hint, "undefined_name", fix)


def _check_hashable(text: PythonText, definitions: Mapping[str, Definition], type_: Type) -> None:
    """Checks that all values of the type, and the values in them, are hashable."""
    seen: set[str] = set()
    waiting = [type_]
    for one in waiting:  # grows during the iteration
        for part in inside(one):
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
                waiting += _held(text, definitions.get(part.name), type_)


def _held(text: PythonText, definition: Definition | None, type_: Type) -> list[Type]:
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
    records = [name for name, one in names.definitions.items() if isinstance(one, Record)]
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
        if found := names.class_named(base, owner):
            _define(names, found, (*waiting, name))
    if any(names.meant(base).startswith("enum.") for base in bases):
        names.definitions[name] = read_enumeration(names, node, name)
    elif (set_to := dataclass_settings(names, node)) is not None:
        known = (names.definitions.get(names.class_named(base, owner) or "") for base in bases)
        parents = [parent for parent in known if isinstance(parent, Record)]
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


# -- class bodies ---------------------------------------------------------------------------------
# Reads a dataclass in Python text: its decorator, and its fields with the inherited ones.


#: Methods that change the constructor's parameters or result.
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
#: The results of known factories, as Python text.
FACTORY_DEFAULTS = {
    "list": "[]", "dict": "{}", "set": "set()", "frozenset": "frozenset()", "tuple": "()",
    "str": "''", "int": "0", "float": "0.0", "bool": "False",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the decorator that matter here."""

    kw_only: bool
    hashable: bool


def dataclass_settings(names: Names, node: ast.ClassDef) -> Settings | None:
    """The settings of ``@dataclass``; None for a class without a decorator.

    Raises: ParseError of kind ``unsupported_class``.
    """
    found = None
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if names.meant(dotted(call.func if call else decorator) or "") != "dataclasses.dataclass":
            written = dotted(call.func if call else decorator) or ""
            hint, fix = suggestion(written, ("dataclass",), "leave out other decorators")
            place = call.func if call else decorator
            names.text.refuse("expected @dataclass", place, hint, "unsupported_class", fix)
        given = _keywords(names, call) if call else {}
        if not _is_on(names, given, "init", otherwise=True):
            names.text.refuse(
                "a dataclass that makes no __init__ has no constructor calls",
                given["init"],
                kind="unsupported_class",
            )
        hashable = (
            _is_on(names, given, "frozen")
            or _is_on(names, given, "unsafe_hash")
            or not _is_on(names, given, "eq", otherwise=True)  # hashed by identity
        )
        found = Settings(_is_on(names, given, "kw_only"), hashable)
    return found


def read_record(
    names: Names, node: ast.ClassDef, name: str, parents: Sequence[Record], settings: Settings
) -> Record:
    """The fields of a dataclass, inherited ones first; a redeclared field keeps its position.

    Raises: ParseError
    """
    text = names.text
    if len(node.bases) != len(parents):
        text.refuse(
            f"expected {name} to derive from dataclasses of the text alone",
            node.bases[0],
            "write the fields it inherits into it",
            "unsupported_class",
        )
    body = _Body(names, name, settings.kw_only)
    for parent in reversed(parents):  # as in dataclasses: the first parent takes precedence
        body.fields.update({field.name: field for field in parent.fields})
    inherited = set(body.fields)
    for statement in node.body:
        body.take(statement)
    own = (field for field in body.fields.values() if field.name not in inherited)
    _check_order(names, [field for field in own if field.name not in body.keywords])
    place = text.name_span(node)
    return Record(name, tuple(body.fields.values()), settings.hashable, place)


@dataclass(slots=True, eq=False)
class _Body:
    """The fields declared by the statements of a dataclass up to now."""

    names: Names
    owner: str
    #: Whether the following fields are keyword-only.
    kw_only: bool
    fields: dict[str, Field] = dataclass_field(default_factory=dict)
    keywords: set[str] = dataclass_field(default_factory=set)

    def take(self, statement: ast.stmt) -> None:
        """Read one statement: a field, a method, a nested class or a docstring.

        Raises: ParseError of kind ``unsupported_statement`` or ``unsupported_class``.
        """
        match statement:
            case ast.AnnAssign(target=ast.Name(id=word)):
                if word.startswith("__") and not word.endswith("__"):  # as Python mangles it
                    word = f"_{self.owner.rpartition('.')[2].lstrip('_')}{word}"
                self._declare(statement, word)
            case ast.FunctionDef(name=method) | ast.AsyncFunctionDef(name=method):
                if method in _CONSTRUCTORS:
                    start = self.names.text.span(statement).start
                    self.names.text.refuse(
                        f"{method} would change the constructor, and no code is executed here",
                        Span(start, start + len("def")),
                        "leave it out, or give the class to Grammar.from_dataclass",
                        "unsupported_class",
                    )
            case ast.ClassDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                self.names.text.refuse(
                    "expected a field, as in  age: int",
                    statement,
                    "a name without an annotation is not a field of a dataclass",
                    "unsupported_statement",
                )

    def _declare(self, statement: ast.AnnAssign, word: str) -> None:
        if self.names.meant(dotted(statement.annotation) or "") == "dataclasses.KW_ONLY":
            self.kw_only = True
        elif not _is_class_var(self.names, statement.annotation):
            field, keyword = _field(self.names, self.owner, statement, word, self.kw_only)
            if field is None:
                self.fields.pop(word, None)
            else:
                self.fields[word] = field
            if keyword:
                self.keywords.add(word)


def _check_order(names: Names, fields: Iterable[Field]) -> None:
    """Checks that fields without a default precede those with one, as Python requires.

    Raises: ParseError of kind ``syntax``.
    """
    with_default = ""
    for field in fields:
        if field.default is not None:
            with_default = field.name
        elif with_default:
            names.text.refuse(
                f"{field.name} has no default but follows {with_default}, which has one",
                field.span,
                "put it first, or write @dataclass(kw_only=True)",
            )


def _is_class_var(names: Names, annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        written = annotation.value.partition("[")[0].strip()
    else:
        node = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        written = dotted(node) or ""
    return names.meant(written) == "typing.ClassVar"


def _field(
    names: Names, owner: str, statement: ast.AnnAssign, word: str, kw_only: bool
) -> tuple[Field | None, bool]:
    """A field (None if it is not a parameter of the constructor); whether it is keyword-only."""
    value = statement.value
    type_ = Annotations(names, owner).type(statement.annotation)
    place = names.text.span(statement.target)
    field = Field(word, type_, span=place)
    if value is None:
        return field, kw_only
    if not isinstance(value, ast.Call) or (
        names.meant(dotted(value.func) or "") != "dataclasses.field"
    ):
        return replace(field, default=_default(names, value)), kw_only
    given = _keywords(names, value)
    if not _is_on(names, given, "init", otherwise=True):
        return None, kw_only
    kw_only = _is_on(names, given, "kw_only", otherwise=kw_only)
    if "default" in given:
        field = replace(field, default=_default(names, given["default"]))
    elif "default_factory" in given:
        made = names.meant(dotted(given["default_factory"]) or "")
        field = replace(field, default=FACTORY_DEFAULTS.get(made, OPAQUE))
    return field, kw_only


def _default(names: Names, node: ast.expr) -> str:
    """A default as text; ``OPAQUE`` if it is not made of supported literals and calls.

    Raises: ParseError for mutable defaults, which Python rejects.
    """
    if isinstance(node, ast.List | ast.Dict | ast.Set):
        names.text.refuse(
            "a mutable default would be shared by all instances",
            node,
            "write field(default_factory=list)",
        )
    return literal_or(names.text.text(node), OPAQUE)


def _keywords(names: Names, call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call of ``dataclass`` or ``field``; others are errors.

    Raises: ParseError of kind ``unsupported_class``.
    """
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if len(given) != len(call.args) + len(call.keywords):
        message = "expected keywords that are written out"
        names.text.refuse(message, call, "write name=value for each", "unsupported_class")
    return given


def _is_on(
    names: Names, given: Mapping[str, ast.expr], word: str, *, otherwise: bool = False
) -> bool:
    """Whether a setting is on.

    Raises: ParseError of kind ``unsupported_class``.
    """
    match given.get(word):
        case None:
            return otherwise
        case ast.Constant(value=bool(value)):
            return value
        case node:
            return names.text.refuse(
                f"expected {word}=True or {word}=False", node, "", "unsupported_class"
            )
