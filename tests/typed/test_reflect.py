"""Classes of a program: their types, and errors."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import typing
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, NewType, Optional, TypeVar

import pytest

from workbench.base.errors import BuildError, WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.schema.typed.dataclass_grammar import class_tree
from workbench.schema.typed.reflect import reflect

T = TypeVar("T")
Age = NewType("Age", int)


class Colour(enum.Enum):
    RED = 1
    GREEN = object()


class Outer:
    @dataclasses.dataclass
    class Inner:
        x: int


@dataclasses.dataclass
class Base:
    name: str
    count: int = 0


@dataclasses.dataclass(kw_only=True)
class Everything(Base):
    shared: ClassVar[int] = 3
    made: int = dataclasses.field(init=False, repr=False, default=1)
    age: Annotated[Age, "years"]
    size: Final[Literal["s", "l"]] = "s"
    colour: Colour = Colour.GREEN
    inner: Outer.Inner | None = None
    pair: tuple[int, str] = (1, "a")
    none: tuple[()] = ()
    many: typing.List[int] = dataclasses.field(default_factory=list)  # noqa: UP006
    more: list[int] = dataclasses.field(default_factory=lambda: [1])
    friend: Optional[Everything] = None  # noqa: UP045
    ratio: float = float("inf")


def test_the_text_of_a_class() -> None:
    types, classes = reflect(Everything)
    assert (
        types.source.text
        == """\
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal


class Colour(Enum):
    RED = 1
    GREEN = ...


class Outer:
    @dataclass
    class Inner:
        x: int


@dataclass(kw_only=True)
class Everything:
    name: str
    count: int = 0
    age: int
    size: Literal['s', 'l'] = 's'
    colour: Colour = Colour.GREEN
    inner: Outer.Inner | None = None
    pair: tuple[int, str] = (1, 'a')
    none: tuple[()] = ()
    many: list[int] = field(default_factory=list)
    more: list[int] = ...
    friend: Everything | None = None
    ratio: float = inf
"""
    )
    assert classes == {"Colour": Colour, "Outer.Inner": Outer.Inner, "Everything": Everything}


def test_parse_returns_an_instance_of_the_class() -> None:
    typed = class_tree(Everything)
    text = "Everything(name='a', age=3, colour=Colour.GREEN, inner=Outer.Inner(x=1), ratio=2)"
    made = typed.parse(text)
    assert made == Everything(
        name="a", age=Age(3), colour=Colour.GREEN, inner=Outer.Inner(1), ratio=2.0
    )
    assert isinstance(made, Everything)
    assert made.more == [1]  # the default of the class


def test_local_classes_refer_to_each_other() -> None:
    @dataclasses.dataclass
    class Leaf:
        x: int

    @dataclasses.dataclass
    class Tree:
        leaves: list[Leaf]
        parts: list[Tree]

    grammar = Grammar.from_dataclass(Tree)
    assert grammar.parse("Tree(leaves=[Leaf(x=1)], parts=[])") == Tree([Leaf(1)], [])


def test_error_of_post_init() -> None:
    @dataclasses.dataclass
    class Even:
        x: int

        def __post_init__(self) -> None:
            if self.x % 2:
                raise ValueError(f"{self.x} is odd")

    typed = class_tree(Even)
    assert typed.parse("Even(x=2)") == Even(2)
    with pytest.raises(WorkbenchError) as caught:
        typed.parse("Even(x=3)")
    assert str(caught.value) == (
        "Even refused its fields: 3 is odd\nhint: its __post_init__ requires more than its types"
    )


class Bits(enum.Flag):
    A = 1


@dataclasses.dataclass(init=False)
class Silent:
    x: int


@dataclasses.dataclass
class Box(Generic[T]):
    x: T


#: The annotation of a field, and the message.
REFUSED: list[tuple[Any, str]] = [
    (datetime.date, "expected a type whose values are literals or calls of dataclasses, not date"),
    (Any, "expected a type whose values are literals or calls of dataclasses, not Any"),
    (object, "expected a type whose values are literals or calls of dataclasses, not object"),
    (bytes, "expected a type whose values are literals or calls of dataclasses, not bytes"),
    (Callable[[], int], "expected a type whose values are literals or calls of dataclasses, not Callable"),
    (Box[int], "expected a type whose values are literals or calls of dataclasses, not Box"),
    (T, "expected a type whose values are literals or calls of dataclasses, not T"),
    (list, "expected list[…], not list alone"),
    (typing.Dict, "expected Dict[…], not Dict alone"),  # noqa: UP006
    (Bits, "flags have no literals"),
    (Literal[b"a"], "expected texts, whole numbers, True, False, None or members in Literal"),
    (dataclasses.InitVar[int], "an InitVar is not stored, so instances could not be written"),
    (Silent, "a dataclass that makes no __init__ has no constructor calls"),
    ("Nowhere", "an annotation cannot be resolved: name 'Nowhere' is not defined"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "message"), REFUSED, ids=[str(a) for a, _ in REFUSED])
def test_error_types_without_literals(annotation: Any, message: str) -> None:
    cls = dataclasses.make_dataclass("Made", [("x", annotation)])
    with pytest.raises(BuildError) as caught:
        class_tree(cls)
    assert caught.value.message == message
    assert caught.value.kind == "unsupported_type"


def test_error_in_full() -> None:
    cls = dataclasses.make_dataclass("Made", [("when", list[datetime.date])])
    with pytest.raises(BuildError) as caught:
        class_tree(cls)
    assert str(caught.value) == (
        "dataclass, line 1, column 12: "
        "expected a type whose values are literals or calls of dataclasses, not date\n"
        "1 | Made.when: date\n"
        "               ^^^^\n"
        "hint: use str, or Grammar.from_json_schema(pydantic.TypeAdapter(Made))"
    )


def test_error_not_a_dataclass() -> None:
    for wrong in (int, Colour, Base("a")):
        with pytest.raises(BuildError, match="expected a dataclass"):
            class_tree(wrong)  # type: ignore[arg-type]


def test_error_two_classes_with_one_name() -> None:
    other = dataclasses.make_dataclass("Base", [("x", int)])
    cls = dataclasses.make_dataclass("Made", [("a", Base), ("b", other)])
    with pytest.raises(BuildError, match="two classes are called Base"):
        class_tree(cls)


def test_error_unknown_style() -> None:
    with pytest.raises(WorkbenchError, match="unknown style 'yaml'"):
        class_tree(Base, "yaml")
