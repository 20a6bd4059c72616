"""Names in a text of Python's: in comes a name as it is written, out comes what it stands for.

A pasted piece often comes without its imports, so the names a definition wants stand for
themselves until an import or a class says otherwise.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from workbench.typed.python_text import PythonText
from workbench.typed.types import Definition

#: What may be imported, by module.
KNOWN = {
    "dataclasses": ("dataclass", "field", "KW_ONLY", "InitVar"),
    "enum": ("Enum", "IntEnum", "StrEnum", "auto", "unique", "Flag", "IntFlag"),
    "typing": (
        "Annotated", "ClassVar", "Dict", "Final", "FrozenSet", "List", "Literal", "NewType",
        "Optional", "Set", "Tuple", "TypeAlias", "Union",
    ),
    "__future__": ("annotations",),
}  # fmt: skip
_MODULES = {"typing_extensions": "typing", **{module: module for module in KNOWN}}


@dataclass(slots=True, eq=False)
class Names:
    """What the names of a text stand for, as far as it has been read."""

    text: PythonText
    #: What a written name stands for: ``t`` for ``typing``, ``Opt`` for ``typing.Optional``.
    imported: dict[str, str] = field(
        default_factory=lambda: {
            **{module: module for module in KNOWN},
            **{name: f"{module}.{name}" for module, names in KNOWN.items() for name in names},
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
                origin = f"{module}.{name.name}" if name.name in KNOWN.get(module, ()) else ""
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
