"""The instances that texts denote, and the errors of other texts."""

from __future__ import annotations

import time
from copy import copy

import pytest

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.schema.typed.dataclass_grammar import text_tree

TEXT = """
class Colour(Enum):
    RED = 1
    GREEN = 2

@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0

@dataclass
class Shape:
    at: Point
    colour: Colour | Literal["none"] = Colour.RED
    size: int | float = 1
    sides: list["Shape"] | tuple["Shape", ...] = ()
    names: dict[str, set[int]] = field(default_factory=dict)
    other: int = None
    made: int = round(1.5)
"""
SHAPES = text_tree(Source(TEXT, "dataclass"))

REST = "sides=(), names={}, other=None, made=round(1.5))"
#: A text, its value, and the reason.
READ = [
    (
        "Shape(at=Point(x=1))",
        f"Shape(at=Point(x=1.0, y=0.0), colour=Colour.RED, size=1, {REST}",
        "defaults as they are written, also those that are no value of their type",
    ),
    (
        "Shape(size=2, at=Point(y=3, x=-0.0))",
        f"Shape(at=Point(x=-0.0, y=3.0), colour=Colour.RED, size=2, {REST}",
        "keywords in any order",
    ),
    (
        "Shape(at=Point(x=1), colour=<Colour.GREEN: 2>, size=2.0)",
        f"Shape(at=Point(x=1.0, y=0.0), colour=Colour.GREEN, size=2.0, {REST}",
        "the repr of a member",
    ),
    (
        "Shape(at=Point(x=10000000000000000000000001), colour='none')",
        f"Shape(at=Point(x=10000000000000000000000001, y=0.0), colour='none', size=1, {REST}",
        "a whole number no float is equal to",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "why"), READ)
def test_values_of_texts(text: str, expected: str, why: str) -> None:
    assert repr(SHAPES.parse(text)) == expected, why


def test_fields_may_have_any_name() -> None:
    text = "@dataclass\nclass A:\n    _type: int\n    _fields: str = 'a'\n    __own: int = 3\n"
    made = text_tree(Source(text, "A")).parse("A(_type=1, _A__own=4)")
    assert repr(made) == "A(_type=1, _fields='a', _A__own=4)"
    assert (made._type, made._fields) == (1, "a")  # type: ignore[attr-defined]
    assert copy(made) == made


def test_a_record_has_its_fields() -> None:
    made = SHAPES.parse("Shape(at=Point(x=1), names={'a': {1, 1}})")
    assert made == SHAPES.parse(b"Shape(names={'a': {1}}, at=Point(y=0, x=1.0))")
    assert made.at.x == 1.0  # type: ignore[attr-defined]
    assert made.names == {"a": {1}}  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="Shape has no field 'z'"):
        _ = made.z  # type: ignore[attr-defined]


#: A text, the marked part, and the message.
WRONG = [
    ("3", "3", "expected Shape"),
    ("Point(x=1)", "Point(x=1)", "expected Shape"),
    ("Shape(Point(x=1))", "Shape(Point(x=1))", "expected Shape"),
    ("Shape()", ")", "expected at= in Shape(…)"),
    ("Shape(at=Point(x='1'))", "'1'", "expected float"),
    ("Shape(at=Point(x=1), z=1)", "1", "Shape has no field z"),
    ("Shape(at=Point(x=1), colour=Colour.BLUE)", "Colour.BLUE", "expected Colour | Literal['none']"),
    ("Shape(at=Point(x=1), sides=[Shape(at=1)])", "1", "expected Point"),
    ("Shape(at=Point(x=1), names={'a': {'b'}})", "'b'", "expected int"),
    ("Shape(at=Point(x=True))", "True", "expected float"),
    ("Shape(at=__import__('os'))", "__import__('os')", "expected Point"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "piece", "message"), WRONG)
def test_error_with_span(text: str, piece: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        SHAPES.parse(text)
    error = caught.value
    assert (error.message, error.kind) == (message, "mismatch")
    assert text[error.span.start : error.span.end] == piece
    assert error.span.start == text.rindex(piece)


@pytest.mark.parametrize("value", ["0", "1", "1.0", "'True'", "None"])
def test_names_are_not_numbers(value: str) -> None:
    words = text_tree(Source("@dataclass\nclass T:\n  x: Literal[True, False]\n", "dataclass"))
    assert repr(words.parse("T(x=False)")) == "T(x=False)"
    with pytest.raises(ParseError, match="expected Literal"):
        words.parse(f"T(x={value})")


def test_options_that_fail_late_are_tried_once() -> None:
    # each level has two options that both accept it up to the innermost error
    text = "@dataclass\nclass T:\n  x: 'tuple[T] | tuple[T, ...] | None'\n"
    deep = text_tree(Source(text, "dataclass"))
    started = time.perf_counter()
    with pytest.raises(ParseError):
        deep.parse("T(x=(" * 60 + "T(x=1)" + ",))" * 60)
    assert time.perf_counter() - started < 1  # 2⁶⁰ combinations
