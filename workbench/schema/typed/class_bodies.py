"""Reads a dataclass in Python text: its decorator, and its fields with the inherited ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from workbench.base.diagnostics import suggestion
from workbench.base.source import Span
from workbench.schema.typed.annotations import Annotations
from workbench.schema.typed.python_text import Names, dotted
from workbench.schema.typed.python_values import literal_or
from workbench.schema.typed.types import OPAQUE, Field, Record

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
    settings = None
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if names.meant(dotted(call.func if call else decorator) or "") != "dataclasses.dataclass":
            written = dotted(call.func if call else decorator) or ""
            hint, fix = suggestion(written, ("dataclass",), "leave out other decorators")
            target = call.func if call else decorator
            names.text.refuse("expected @dataclass", target, hint, "unsupported_class", fix)
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
        settings = Settings(_is_on(names, given, "kw_only"), hashable)
    return settings


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
    own_fields = (field for field in body.fields.values() if field.name not in inherited)
    _check_order(names, [field for field in own_fields if field.name not in body.keywords])
    span = text.name_span(node)
    return Record(name, tuple(body.fields.values()), settings.hashable, span)


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
    span = names.text.span(statement.target)
    field = Field(word, type_, span=span)
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
        factory = names.meant(dotted(given["default_factory"]) or "")
        field = replace(field, default=FACTORY_DEFAULTS.get(factory, OPAQUE))
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
