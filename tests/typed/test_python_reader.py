"""Definitions as text: their types, and the spans of errors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span
from workbench.schema.typed.python_reader import read_types
from workbench.schema.typed.types import (
    Dict,
    Enumeration,
    Field,
    Kind,
    Many,
    Named,
    OneOf,
    Plain,
    Record,
    Scalar,
    Tuple,
    Type,
    Types,
    Union,
)

INT, STR, NONE = Plain(Scalar.INT), Plain(Scalar.STR), Plain(Scalar.NONE)


def _read(text: str, root: str = "") -> Types:
    return read_types(Source(text, "dataclass"), root)


#: Text before the class, the annotation of its field, its type, and the reason.
ANNOTATIONS: list[tuple[str, str, Type, str]] = [
    ("", "int | str | None", Union((INT, STR, NONE)), "bars are read flat"),
    ("", "int | int", INT, "each type once"),
    ("", "Optional[Union[int, None]]", Union((INT, NONE)), "unions in unions are one"),
    ("import typing as t", "t.List[t.Optional[int]]", Many(Kind.LIST, Union((INT, NONE))), "renamed"),
    ("from typing import Optional as Opt", "Opt[int]", Union((INT, NONE)), "renamed"),
    ("from typing_extensions import Literal as L", "L[1]", OneOf((1,)), "its other home"),
    ("", "'list[\"A\"]'", Many(Kind.LIST, Named("A")), "quotes in quotes"),
    ("", "Tuple[int, ...]", Many(Kind.TUPLE, INT), "an ellipsis"),
    ("", "tuple[()]", Tuple(()), "no item"),
    ("", "Dict[str, FrozenSet[int]]", Dict(STR, Many(Kind.FROZENSET, INT)), "typing's names"),
    ("", "Literal[1, Literal['a', 1], None]", OneOf((1, "a", None)), "literals in literals"),
    ("Names = list[str]", "Names | None", Union((Many(Kind.LIST, STR), NONE)), "an alias"),
    ("Names: TypeAlias = 'list[str]'", "Names", Many(Kind.LIST, STR), "an alias that says so"),
    ("Age = NewType('Age', int)", "Age", INT, "a new type is replaced by its base type"),
    ("class list:\n  class A: pass", "Annotated[int, print()]", INT, "what it is annotated with is not read"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "annotation", "meant", "why"), ANNOTATIONS)
def test_an_annotation(before: str, annotation: str, meant: Type, why: str) -> None:
    types = _read(f"{before}\n@dataclass\nclass A:\n    x: {annotation}\n")
    assert types.definitions["A"] == Record("A", (Field("x", meant),)), why


def test_several_classes_in_one_text() -> None:
    types = _read("""
'''Of shapes.'''
from __future__ import annotations
import dataclasses, enum
from enum import auto

class Colour(str, enum.Enum):
    "Of what colour."
    RED = "r"
    GREEN = NAVY = auto()
    def mixed(self): ...

class Size(enum.StrEnum):
    LARGE = auto()
    ODD = object()

@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

@dataclasses.dataclass
class Shape(Point):
    class Side:
        pass
    colour: Colour = Colour.RED
    y: int = dataclasses.field(default=1)
    at: Point = Point(x=1)
    made: int = 1 + 1
    names: list[str] = dataclasses.field(default_factory=list)
    more: list[str] = dataclasses.field(default_factory=lambda: ["a"])
""")
    assert types.root == "Shape"
    assert list(types.definitions.values()) == [
        # auto() after a text counts from 1
        Enumeration("Colour", (("RED", "'r'"), ("GREEN", "1"), ("NAVY", "1")), ("str", "Enum")),
        Enumeration("Size", (("LARGE", "'large'"), ("ODD", "...")), ("StrEnum",)),
        Record("Point", (Field("x", INT), Field("y", INT, "0")), hashable=True),
        Record(
            "Shape",
            (
                Field("x", INT),
                Field("y", INT, "1"),
                Field("colour", Named("Colour"), "Colour.RED"),
                Field("at", Named("Point"), "Point(x=1)"),
                Field("made", INT, "..."),
                Field("names", Many(Kind.LIST, STR), "[]"),
                Field("more", Many(Kind.LIST, STR), "..."),
            ),
        ),
    ]


def test_the_root_is_named_or_the_last() -> None:
    text = "@dataclass\nclass A:\n  class B:\n    pass\n@dataclass\nclass C(A): pass\n"
    assert _read(text).root == "C"
    assert _read(text, "A").root == "A"
    # a derived class may precede its base; nested classes come first
    assert _read("@dataclass\nclass A:\n  @dataclass\n  class B: pass\n").root == "A"


def test_spans_of_types() -> None:
    text = "@dataclass\r\nclass É:\r\n    é: 'int' | list[str]\r\n"
    record = _read(text).definitions["É"]
    assert isinstance(record, Record)
    (field,) = record.fields
    assert isinstance(field.type, Union)

    def there(span: Span) -> str:
        return text[span.start : span.end]

    assert there(record.span) == "É"
    assert there(field.span) == "é"
    assert there(field.type.span) == "'int' | list[str]"
    assert [there(one.span) for one in field.type.options] == ["'int'", "list[str]"]


A = "@dataclass\nclass A:\n  "
#: A text, the kind of its error, the marked text, and the message.
WRONG = [
    ("", "no_dataclass", "", "expected a dataclass"),
    ("class C(Enum):\n  A = 1", "no_dataclass", "class C(Enum):\n  A = 1", "expected a dataclass"),
    ("x = (", "syntax", "(", "expected Python: '(' was never closed"),
    ("\0", "syntax", "\0", "expected Python: source code string cannot contain null bytes"),
    ("a\ud800", "syntax", "\ud800", "expected text, not half of a surrogate pair"),
    ("import os", "unsupported_import", "os", "expected an import from dataclasses, enum or typing, not os"),
    ("from . import typing", "unsupported_import", "typing", "expected an import from dataclasses, enum or typing, not typing"),
    ("from typing import *", "unsupported_import", "*", "expected an import from dataclasses, enum or typing, not *"),
    ("print('x')", "unsupported_statement", "print('x')", "expected imports, type aliases, enumerations and dataclasses"),
    ("x = f()", "unsupported_statement", "x = f()", "expected imports, type aliases, enumerations and dataclasses"),
    ("def f(): pass", "unsupported_statement", "def f(): pass", "expected imports, type aliases, enumerations and dataclasses"),
    ("class A:\n  x: int", "unsupported_class", "A", "expected a dataclass or an Enum, and A is neither"),
    ("class A(NamedTuple):\n  x: int", "unsupported_class", "A", "expected a dataclass or an Enum, and A is neither"),
    ("@dataclass(init=False)\nclass A: pass", "unsupported_class", "False", "a dataclass that makes no __init__ has no constructor calls"),
    ("@total_ordering\n" + A + "x: int", "unsupported_class", "total_ordering", "expected @dataclass"),
    ("@dataclass\nclass A(B): pass", "unsupported_class", "B", "expected A to derive from dataclasses of the text alone"),
    ("@dataclass\nclass A(Generic[T]): pass", "unsupported_class", "Generic[T]", "expected A to derive from dataclasses of the text alone"),
    ("@dataclass\nclass A(A): pass", "syntax", "A", "A derives from itself"),
    (A + "pass\nclass A: pass", "syntax", "A", "there are two classes A"),
    (A + "def __post_init__(self): pass", "unsupported_class", "def", "__post_init__ would change the constructor, and no code is executed here"),
    ("class O: pass\n@dataclass\nclass A(O): pass", "unsupported_class", "O", "expected A to derive from dataclasses of the text alone"),
    ("class O: pass\n" + A + "x: list[O]", "unsupported_type", "O", "O is neither a dataclass nor an Enum"),
    ("class O: pass\n" + A + "x: set[O]", "unsupported_type", "O", "O is neither a dataclass nor an Enum"),
    ("@dataclass(**SETTINGS)\nclass A: pass", "unsupported_class", "dataclass(**SETTINGS)", "expected keywords that are written out"),
    ("@dataclass(frozen=YES)\nclass A: pass", "unsupported_class", "YES", "expected frozen=True or frozen=False"),
    (A + "x: int = field(**more)", "unsupported_class", "field(**more)", "expected keywords that are written out"),
    ("@dataclass\nclass \ufb01:\n x: int\nclass fi: pass", "syntax", "fi", "there are two classes fi"),
    (A + "x = 1", "unsupported_statement", "x = 1", "expected a field, as in  age: int"),
    (A + "x: int = 1\n  y: int", "syntax", "y", "y has no default but follows x, which has one"),
    (A + "x: list[int] = []", "syntax", "[]", "a mutable default would be shared by all instances"),
    (A + "x: InitVar[int]", "unsupported_type", "InitVar[int]", "an InitVar is not stored, so instances could not be written"),
    (A + "x: Date", "undefined_name", "Date", "the type Date is not defined"),
    (A + "x: list['Date']", "undefined_name", "'Date'", "the type Date is not defined"),
    (A + "x: typing.Sequence[int]", "unsupported_type", "typing.Sequence", "expected int, float, bool, str, None, list, tuple, dict, set, a Literal, an Enum or a dataclass, not typing.Sequence"),
    (A + "x: np.ndarray", "unsupported_type", "np.ndarray", "expected int, float, bool, str, None, list, tuple, dict, set, a Literal, an Enum or a dataclass, not np.ndarray"),
    (A + "x: list", "unsupported_type", "list", "expected list[…], not list alone"),
    (A + "x: list[int, str]", "unsupported_type", "list[int, str]", "expected one type between the brackets of list"),
    (A + "x: dict[str]", "unsupported_type", "dict[str]", "expected two types between the brackets of dict"),
    (A + "x: int[str]", "unsupported_type", "int[str]", "expected int without brackets"),
    (A + "x: A[str]", "unsupported_type", "A[str]", "generic classes are not supported"),
    (A + "x: Literal[1.5]", "unsupported_type", "1.5", "expected texts, whole numbers, True, False, None or members in Literal"),
    (A + "x: 'int |'", "unsupported_type", "'int |'", "expected a type in quotes, not 'int |'"),
    (A + "x: 5", "unsupported_type", "5", "expected a type, not 5"),
    (A + "x: f()", "unsupported_type", "f()", "expected a type, not f()"),
    (A + "x: set[list[int]]", "unsupported_type", "list[int]", "items of sets and keys have to be hashable, and list[int] is not"),
    (A + "x: dict['A', int]", "unsupported_type", "'A'", "items of sets and keys have to be hashable, and A is not"),
    ("T = list['T']\n" + A + "x: T", "unsupported_type", "'T'", "the alias T refers to itself"),
    ("class C(Flag):\n  A = 1\n" + A + "x: C", "unsupported_class", "Flag", "expected Enum, IntEnum or StrEnum, not Flag"),
    ("class C(Enum): pass", "unsupported_class", "C", "C has no members, so no value"),
    ("class C(Enum):\n  A: int", "unsupported_class", "A: int", "expected members, as in  RED = 1"),
    ("class C(Enum):\n  A = 1\n" + A + "x: Literal[C.B]", "undefined_name", "Literal[C.B]", "C has no member B"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "place", "message"), WRONG)
def test_error_with_span(text: str, kind: str, place: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        _read(text)
    span = caught.value.span
    assert (caught.value.message, caught.value.kind) == (message, kind)
    assert text[span.start : span.end] == place


def test_error_in_full() -> None:
    with pytest.raises(ParseError) as caught:
        _read("@dataclass\nclass A:\n    when: list[datetime]\n")
    assert str(caught.value) == (
        "dataclass, line 3, column 16: expected int, float, bool, str, None, list, tuple, "
        "dict, set, a Literal, an Enum or a dataclass, not datetime\n"
        "3 |     when: list[datetime]\n"
        "                   ^^^^^^^^\n"
        "hint: use str"
    )


#: Texts that would take too much time or memory without limits.
LARGE = [
    ("@dataclass\nclass A:\n  x: " + "list[" * 150 + "int" + "]" * 150, "brackets in brackets"),
    ("@dataclass\nclass A:\n  x: " + "|".join(["int"] * 5000), "bars"),
    ("@dataclass\nclass A:\n  x: " + "-" * 50_000 + "1", "signs"),
    ("@dataclass\nclass A:\n  x: " + ".".join("a" * 40_000), "dots"),
    ("A0 = int\n" + "".join(f"A{i} = tuple[A{i - 1}, A{i - 1}]\n" for i in range(1, 40))
     + "@dataclass\nclass A:\n  x: A39", "aliases of aliases"),
    ("".join(f"@dataclass\nclass C{i}(C{i + 1}): pass\n" for i in range(2000))
     + "@dataclass\nclass C2000: pass\n", "parents of parents"),
    ("#" * 100_001, "a text without end"),
]  # fmt: skip


def _error_of(text: str) -> str | None:
    """The error of a text; None if it is valid."""
    try:
        _read(text)
    except ParseError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("text", "why"), LARGE)
def test_large_texts(text: str, why: str) -> None:
    assert _error_of(text) != "", why


@given(st.data())
def test_damaged_texts(data: st.DataObject) -> None:
    text = (
        "from enum import Enum\nclass C(Enum):\n  A = 1\n@dataclass(frozen=True)\nclass P:\n"
        "  x: int = 1\n  y: 'list[P] | None' = field(default=None)\n  z: Literal['a', C.A] = 'a'\n"
    )
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 6)))
        text = (
            text[:start] + data.draw(st.text("CPxy()[]{}:=,.'|@# \n1é*", max_size=4)) + text[end:]
        )
    assert _error_of(text) != ""


def test_nothing_is_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    act = f"__import__('pathlib').Path({str(touched)!r}).touch()"
    before = set(sys.modules)
    texts = [
        act,
        f"import antigravity\n{A}x: int",
        f"@{act}\n{A}x: int",
        f"@dataclass({act})\nclass A: pass",
        f"class A({act}): pass",
        f"{A}x: {act}",
        f"{A}x: int = {act}",
        f"{A}x: Annotated[int, {act}]",
        f"{A}x: {act!r}",
        f"{A}x: list[int] = field(default_factory=lambda: {act})",
        f"{A}def f(self): {act}",
        f"class C(Enum):\n  A = {act}\n{A}x: C",
    ]
    for text in texts:
        assert _error_of(text) != ""
    assert not touched.exists()
    assert "antigravity" not in set(sys.modules) - before


def test_error_pydantic_hints_at_its_schema() -> None:
    with pytest.raises(ParseError) as raised:
        read_types(Source("from pydantic import BaseModel\n", "dataclass"))
    assert "model_json_schema()" in raised.value.hint
