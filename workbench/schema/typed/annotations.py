"""Reads annotations and enumerations in Python text as types."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from workbench.base.diagnostics import VERY_SIMILAR, suggestion
from workbench.base.source import Span
from workbench.schema.pydantic_models import STRING_TYPES
from workbench.schema.typed.python_text import KNOWN_IMPORTS, Names, dotted
from workbench.schema.typed.python_values import literal_or
from workbench.schema.typed.types import (
    OPAQUE,
    Dict,
    Enumeration,
    Kind,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Scalar,
    Tuple,
    Type,
    Union,
)

_BASES = {"enum.Enum": "Enum", "enum.IntEnum": "IntEnum", "enum.StrEnum": "StrEnum"}
_MIXED_IN = ("str", "int", "float")


def read_enumeration(names: Names, node: ast.ClassDef, name: str) -> Enumeration:
    """The members of a class that derives from ``Enum``, including aliases.

    Raises: ParseError of kind ``unsupported_class``.
    """
    text, span = names.text, names.text.name_span(node)
    bases = tuple(_base(names, base) for base in node.bases)
    members: dict[str, str] = {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                words = [_word(names, target) for target in targets]
                # one value, also for auto() with several names
                members |= dict.fromkeys(words, _value(names, value, words[0], members, bases))
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                text.refuse("expected members, as in  RED = 1", statement, kind="unsupported_class")
    if not members:
        hint = "give it members, as in  RED = 1"
        text.refuse(f"{name} has no members, so no value", span, hint, "unsupported_class")
    return Enumeration(name, tuple(members.items()), bases, span)


def _word(names: Names, target: ast.expr) -> str:
    if isinstance(target, ast.Name) and not target.id.startswith("_"):
        return target.id
    return names.text.refuse("expected a member, as in  RED = 1", target, kind="unsupported_class")


def _base(names: Names, base: ast.expr) -> str:
    written = dotted(base) or ""
    meant = names.meant(written)
    if meant in _BASES or written in _MIXED_IN:
        return _BASES.get(meant, written)
    message = f"expected Enum, IntEnum or StrEnum, not {names.text.text(base)}"
    if "Flag" in meant:
        hint, fix = "flags have no literals: use set of an Enum", None
    else:
        hint, fix = suggestion(written, [*_BASES.values(), *_MIXED_IN])
    return names.text.refuse(message, base, hint, "unsupported_class", fix)


def _value(
    names: Names, value: ast.expr, member: str, before: dict[str, str], bases: tuple[str, ...]
) -> str:
    """The value of a member as text."""
    if isinstance(value, ast.Call) and names.meant(dotted(value.func) or "") == "enum.auto":
        if "StrEnum" in bases:
            return repr(member.lower())
        numbers = [int(text) for text in before.values() if text.lstrip("-").isdigit()]
        return str(numbers[-1] + 1 if numbers else 1)
    try:
        constant = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return OPAQUE  # calls write a member by its name; only JSON needs its value
    return literal_or(repr(constant), OPAQUE)


#: The most types of one text; the types of an alias are counted for each use.
MAX_TYPES = 10_000
_SCALARS = {scalar.value: scalar for scalar in Scalar}
_KINDS = {
    **{kind.value: kind for kind in Kind},
    "typing.List": Kind.LIST,
    "typing.Set": Kind.SET,
    "typing.FrozenSet": Kind.FROZENSET,
    "typing.Tuple": Kind.TUPLE,
}
#: Hints for types that have no literals.
REPLACEMENTS = {
    **dict.fromkeys(STRING_TYPES, "use str"),
    "complex": "use tuple[float, float]",
    "object": "name the types it may have, as in int | str",
    "Any": "name the types it may have, as in int | str",
    "Sequence": "use list or tuple",
    "Mapping": "use dict",
}
#: The replacements among them that can be written for the name alone.
_REPLACING = ("str", "list", "dict", "tuple[float, float]")
#: The names of types that need no definition.
TYPE_NAMES = (
    "int", "float", "bool", "str", "None", "list", "tuple", "dict", "set", "frozenset", "Literal",
    "Optional", "Union", "Annotated", "Final", "ClassVar", "KW_ONLY",
)  # fmt: skip
#: Names of types elsewhere, in lower case.
_SYNONYMS = {
    "string": "str", "text": "str", "char": "str", "integer": "int", "long": "int",
    "boolean": "bool", "double": "float", "number": "float", "array": "list", "vector": "list",
    "map": "dict", "object": "dict", "null": "None",
}  # fmt: skip
_USUAL = "int, float, bool, str, None, list, tuple, dict, set, a Literal, an Enum or a dataclass"


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """Reads the annotations of one class."""

    names: Names
    #: The dotted name of the class; empty outside classes.
    owner: str = ""
    #: The aliases that are being expanded, the outermost first.
    within: tuple[str, ...] = ()
    _forms: dict[str, Callable[[ast.Subscript, Sequence[ast.expr]], Type]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._forms.update(
            {
                "typing.Optional": self._optional,
                "typing.Union": self._union,
                "typing.Literal": self._literal,
                "typing.Annotated": self._first,
                "typing.Final": self._first,
                "dict": self._dict,
                "typing.Dict": self._dict,
            }
        )

    def type(self, node: ast.expr) -> Type:
        """The type of an annotation.

        Raises: ParseError of kind ``unsupported_type`` or ``undefined_name``.
        """
        self.names.read += 1
        if self.names.read > MAX_TYPES:  # aliases of aliases can expand exponentially
            self._refuse(node, f"the definitions expand to more than {MAX_TYPES:,} types")
        span = self.names.text.span(node)
        match node:
            case ast.Constant(value=None):
                return Plain(Scalar.NONE, span)
            case ast.Constant(value=str(quoted)):
                return self._string_annotation(node, quoted)
            case ast.BinOp(op=ast.BitOr()):
                return union_of((self.type(node.left), self.type(node.right)), span)
            case ast.Subscript():
                inner = node.slice
                arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return self._subscript(node, arguments)
            case ast.Name() | ast.Attribute() if name := dotted(node):
                return self._class_type(node, name)
        return self._refuse(node, f"expected a type, not {self.names.text.text(node)}")

    def _string_annotation(self, node: ast.expr, text: str) -> Type:
        """``"Person"``: an annotation written as a string, for a class defined later."""
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._refuse(node, f"expected a type in quotes, not {text!r}")
        for each in ast.walk(inner):  # all nodes get the span of the string
            if isinstance(each, ast.expr):
                ast.copy_location(each, node)
        return self.type(inner)

    def _class_type(self, node: ast.expr, name: str) -> Type:
        names, span = self.names, self.names.text.span(node)
        if class_name := names.class_named(name, self.owner):
            return Named(class_name, span)
        if name in self.within:
            self._refuse(
                node, f"the alias {name} refers to itself", "write a dataclass with a field of it"
            )
        if (alias := names.aliases.get(name)) is not None:
            reading = Annotations(names, "", (*self.within, name))
            return replace(reading.type(alias), span=span)
        meant = names.meant(name)
        if meant in _SCALARS:
            return Plain(_SCALARS[meant], span)
        if meant == "dict" or meant in _KINDS or meant in self._forms:
            of = "[str, int]" if meant in ("dict", "typing.Dict") else "[str]"
            hint = f"write the types in brackets: {name}{of}"
            fixed = (
                self._replace_name(node, name, name + of)
                if meant in _KINDS or "ict" in of
                else None
            )
            self._refuse(node, f"expected {name}[…], not {name} alone", hint, fixed)
        if meant == "dataclasses.InitVar":
            self._refuse_init_var(node)
        return self._unknown(node, name, meant)

    def _unknown(self, node: ast.expr, name: str, meant: str) -> NoReturn:
        owner, dot, last = name.rpartition(".")
        if last in REPLACEMENTS:
            fix = REPLACEMENTS[last].removeprefix("use ").partition(" or ")[0]
            fixed = self._replace_name(node, name, fix) if fix in _REPLACING else None
            self._refuse(node, f"expected {_USUAL}, not {name}", REPLACEMENTS[last], fixed)
        module = self.names.imported.get(owner, "")
        choices = KNOWN_IMPORTS.get(module, ()) if dot else self._names_of_types()
        if "." in meant:
            hint, near = suggestion(last, choices, "use str, or a dataclass of its parts")
            fixed = self._replace_name(node, name, near and owner + dot + near)
            self._refuse(node, f"expected {_USUAL}, not {name}", hint, fixed)
        otherwise = f"define {name} in the text as a dataclass or an Enum"
        hint, near = suggestion(name, choices, otherwise, _SYNONYMS, VERY_SIMILAR)
        message, fixed = f"the type {name} is not defined", self._replace_name(node, name, near)
        self.names.text.refuse(message, node, hint, "undefined_name", fixed)

    def _names_of_types(self) -> tuple[str, ...]:
        """All names that an annotation may have here."""
        names = self.names
        return (*names.classes, *names.aliases, *TYPE_NAMES)

    def _replace_name(self, node: ast.expr, name: str, meant: str | None) -> str | None:
        """The text of a node, which may be in quotes, with one name in the place of another."""
        if meant is None:
            return None
        pattern = rf"(?<![\w.]){re.escape(name)}(?!\w)"
        fixed, count = re.subn(pattern, meant, self.names.text.text(node))
        return fixed if count == 1 else None

    def _subscript(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        name = dotted(node.value)
        meant = self.names.meant(name) if name else ""
        if meant in self._forms:
            return self._forms[meant](node, arguments)
        if meant in _KINDS:
            return self._collection(node, _KINDS[meant], arguments)
        if meant == "dataclasses.InitVar":
            self._refuse_init_var(node)
        if name and self.names.class_named(name, self.owner):
            self._refuse(
                node, "generic classes are not supported", "write the class once for each type"
            )
        if meant in _SCALARS or name in self.names.aliases:
            self._refuse(node, f"expected {name} without brackets")
        return self._unknown(node.value, name or self.names.text.text(node.value), meant or ".")

    def _collection(self, node: ast.Subscript, kind: Kind, arguments: Sequence[ast.expr]) -> Type:
        """``list[T]``, ``set[T]``, ``tuple[T, ...]``, ``tuple[A, B]``, ``tuple[()]``."""
        span = self.names.text.span(node)
        match arguments:
            case [item, ast.Constant(value=end)] if kind is Kind.TUPLE and end is ...:
                return Many(kind, self.type(item), span)
            case [ast.Tuple(elts=[])] if kind is Kind.TUPLE:
                return Tuple((), span)
            case _ if kind is Kind.TUPLE:
                return Tuple(tuple(map(self.type, arguments)), span)
            case [item]:
                return Many(kind, self.type(item), span)
        return self._refuse(node, f"expected one type between the brackets of {kind.value}")

    def _dict(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        if len(arguments) != 2:
            self._refuse(node, "expected two types between the brackets of dict", "dict[str, int]")
        key, value = map(self.type, arguments)
        return Dict(key, value, self.names.text.span(node))

    def _optional(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        if len(arguments) != 1:
            self._refuse(node, "expected one type between the brackets of Optional")
        span = self.names.text.span(node)
        return union_of((self.type(arguments[0]), Plain(Scalar.NONE, span)), span)

    def _union(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        return union_of(tuple(map(self.type, arguments)), self.names.text.span(node))

    def _first(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        """``Annotated[T, …]`` and ``Final[T]`` mean ``T``."""
        return replace(self.type(arguments[0]), span=self.names.text.span(node))

    def _literal(self, node: ast.Subscript, arguments: Sequence[ast.expr]) -> Type:
        values = tuple(value for argument in arguments for value in self._values(argument))
        unique = tuple({repr(value): value for value in values}.values())
        return OneOf(unique, self.names.text.span(node))

    def _values(self, node: ast.expr) -> tuple[str | int | Member | None, ...]:
        """The values of one argument of a ``Literal``."""
        match node:
            case ast.Constant(value=None | str() | int() as value):  # bool is an int
                return (value,)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return (-value,)
            case ast.Subscript(value=form) if self.names.meant(dotted(form) or "") == (
                "typing.Literal"
            ):
                inner = self.type(node)
                return inner.values if isinstance(inner, OneOf) else ()
            case ast.Attribute(value=owner, attr=member) if name := dotted(owner):
                if class_name := self.names.class_named(name, self.owner):
                    return (Member(class_name, member),)
        return self._refuse(
            node, "expected texts, whole numbers, True, False, None or members in Literal"
        )

    def _refuse_init_var(self, node: ast.expr) -> NoReturn:
        self._refuse(
            node,
            "an InitVar is not stored, so instances could not be written",
            "make it a field",
        )

    def _refuse(
        self, node: ast.expr, message: str, hint: str = "", fix: str | None = None
    ) -> NoReturn:
        self.names.text.refuse(message, node, hint, "unsupported_type", fix)


def union_of(options: Sequence[Type], span: Span) -> Type:
    """The flat union of types without duplicates; a single type is returned unchanged."""
    flat = [
        part
        for option in options
        for part in (option.options if isinstance(option, Union) else (option,))
    ]
    unique = tuple({repr(part): part for part in flat}.values())  # 1 == True in Python
    return replace(unique[0], span=span) if len(unique) == 1 else Union(unique, span)
