"""Makers of instances: calls of the classes themselves, or records where only a text was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.errors import ParseError, WorkbenchError
from workbench.source import Source
from workbench.typed.fitting import parse_call
from workbench.typed.types import OPAQUE, Enumeration, Field, Record, Types


@dataclass(frozen=True, slots=True, eq=False)
class ClassMaker:
    """Calls the classes a program holds; their ``__post_init__`` is run, as in any call."""

    classes: Mapping[str, type]

    def instance(self, record: Record, given: Mapping[str, object]) -> object:
        """An instance.

        Raises: WorkbenchError where the class refuses what it is given.
        """
        try:
            return self.classes[record.name](**given)
        except Exception as error:  # whatever __post_init__ of a stranger's class raises
            what = f"{record.name} refused its fields: {error}"
            raise WorkbenchError(what, "its __post_init__ requires more than its types") from error

    def member(self, owner: Enumeration, name: str) -> object:
        return self.classes[owner.name][name]  # type: ignore[index]  # it is an Enum


@dataclass(frozen=True, slots=True)
class MadeMember:
    """A member of an enumeration that was only read."""

    owner: str
    name: str

    def __repr__(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class MadeInstance:
    """An instance of a dataclass that was only read; its fields are its attributes.

    Law: ``repr`` of it is a text the grammar accepts, if all defaults in it are literals.
    """

    __type: str
    __fields: tuple[tuple[str, object], ...]

    def __getattr__(self, name: str) -> object:
        for field, value in self.__fields:
            if field == name:
                return value
        raise AttributeError(f"{self.__type} has no field {name!r}")

    def __repr__(self) -> str:
        return f"{self.__type}({', '.join(f'{name}={value!r}' for name, value in self.__fields)})"


@dataclass(frozen=True, slots=True, repr=False)
class Unread:
    """A default whose text is no value of the field's type; it stands for itself."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class RecordMaker:
    """Makes records; what a text leaves out is filled in from the defaults."""

    types: Types

    def instance(self, record: Record, given: Mapping[str, object]) -> MadeInstance:
        values = (
            (one.name, given[one.name] if one.name in given else self._default(one))
            for one in record.fields
        )
        return MadeInstance(record.name, tuple(values))

    def member(self, owner: Enumeration, name: str) -> MadeMember:
        return MadeMember(owner.name, name)

    def _default(self, field: Field) -> object:
        text = field.default or OPAQUE
        try:
            return parse_call(self.types, self, Source(text, "default"), field.type)
        except ParseError:
            return Unread(text)
