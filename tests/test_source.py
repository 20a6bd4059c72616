"""Base values: source positions, error texts, limits, JSON-safe numbers."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from workbench.base.diagnostics import finite
from workbench.base.errors import BuildError, LimitError, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span, quick_init, replaced

#   text          offset  line, column   because
PLACES = [
    ("abc",       0,      (1, 1),        "the first character"),
    ("abc",       3,      (1, 4),        "the end of a text without line break"),
    ("a\nbc",     2,      (2, 1),        "after a line break"),
    ("a\nbc",     1,      (1, 2),        "the line break belongs to the line it ends"),
    ("a\n",       2,      (1, 2),        "no line begins after the last break"),
    ("a\n\n",     3,      (2, 1),        "of two final breaks the second is on line 2"),
    ("",          0,      (1, 1),        "an empty text has one empty line"),
    ("ä\nö",      2,      (2, 1),        "characters count, not bytes"),
    ("abc",       99,     (1, 4),        "a place past the end is the end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "offset", "place", "because"), PLACES)
def test_an_offset_has_its_line_and_column(
    text: str, offset: int, place: tuple[int, int], because: str
) -> None:
    assert Source(text, "t").position(offset) == place, because


#   text       span          underline                      because
UNDERLINES = [
    ("abc",    Span(1, 2),   "1 | abc\n     ^",              "one character"),
    ("abc",    Span(3, 3),   "1 | abc\n       ^",            "a place after the text has a caret"),
    ("a\nbc",  Span(0, 4),   "1 | a\n    ^",                 "only the line the span begins on"),
    ("\tx",    Span(1, 2),   "1 | \tx\n    \t^",             "tabs keep their width"),
    ("",       Span(0, 0),   "1 | \n    ^",                  "an empty text"),
    ("a\ud800", Span(1, 2),  "1 | a\ufffd\n     ^",         "half a surrogate pair cannot be printed"),
    ("x" * 999, Span(0, 9),  f"1 | {'x' * 160}…\n    {'^' * 9}", "the beginning of a long line"),
    ("x" * 999, Span(500, 999), f"1 | …{'x' * 160}…\n     {' ' * 80}{'^' * 80}", "its middle"),
    ("x" * 999, Span(999, 999), f"1 | …{'x' * 160}\n     {' ' * 160}^", "its end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "span", "underline", "because"), UNDERLINES)
def test_a_span_is_underlined(text: str, span: Span, underline: str, because: str) -> None:
    assert Source(text, "t").underline(span) == underline, because


def test_error_when_a_span_is_backwards() -> None:
    with pytest.raises(ValueError, match="0 <= start <= end, not 2:1"):
        Span(2, 1)


def test_error_text_has_position_message_and_hint() -> None:
    source = Source("start ::= 'a'\nb ::= 'c';", "x.kbnf")
    error = BuildError("expected ';' after the rule", source, Span(13, 14), "end it with ';'")
    assert str(error) == (
        "x.kbnf, line 1, column 14: expected ';' after the rule\n"
        "1 | start ::= 'a'\n"
        "                 ^\n"
        "hint: end it with ';'"
    )
    assert isinstance(error, WorkbenchError)


def test_error_past_a_limit_names_the_budget() -> None:
    with pytest.raises(LimitError, match="needs more than 10 states") as caught:
        Limits(states=10).check("states", 11)
    assert caught.value.budget == "states"


def test_error_for_a_limit_of_zero() -> None:
    with pytest.raises(ValueError, match="expected a number above 0 as 'seconds'"):
        Limits(seconds=0)


def test_finite_replaces_nan_and_infinity_at_every_depth() -> None:
    record = {"a": math.nan, "b": [0.5, (math.inf, {"c": -math.inf})], "d": "nan", "e": True}
    safe = finite(record)
    assert safe == {"a": None, "b": [0.5, [None, {"c": None}]], "d": "nan", "e": True}
    assert json.loads(json.dumps(safe, allow_nan=False)) == safe


@quick_init
@dataclass(frozen=True, slots=True)
class Pair:
    left: int
    right: tuple[int, ...] = ()


def test_a_quick_class_is_a_frozen_dataclass() -> None:
    one = Pair(1)
    assert one == Pair(left=1, right=())
    assert hash(one) == hash(Pair(1))
    assert type(one) is Pair
    assert repr(one) == "Pair(left=1, right=())"
    for name in ("left", "other"):
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(one, name, 2)
    with pytest.raises(TypeError, match="left"):
        Pair()  # type: ignore[call-arg]


def test_a_quick_object_is_copied() -> None:
    one = Pair(1, (2,))
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == copy.copy(one) == one
    assert replaced(one, left=3) == replace(one, left=3) == Pair(3, (2,))
    assert replaced(one, right=()) == Pair(1)
    with pytest.raises(TypeError, match="middle"):
        replaced(one, middle=3)


def test_limits_are_compared_without_their_start() -> None:
    assert Limits().begun() == Limits()
    assert hash(Limits().begun()) == hash(Limits())
    assert Limits().begun() != Limits(states=1)
