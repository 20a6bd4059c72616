"""Parameters of llguidance's Lark: values of calls, and conditions."""

from __future__ import annotations

import pytest

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.cursor import Cursor
from workbench.syntax.lark.lark_lexer import LEXEME_NAMES, lark_lexemes
from workbench.syntax.lark.right_sides import (
    argument_value,
    condition_holds,
    read_condition,
    read_value,
)


def cursor(text: str) -> Cursor:
    source = Source(text, "grammar")
    return Cursor.of(source, lark_lexemes(source), LEXEME_NAMES, None)


#   call             of        is         because
VALUES = [
    ("7",             3,       7,         "a number"),
    ("0x1F",          3,       31,        "a number by sixteens"),
    ("_",             3,       3,         "the parameter itself"),
    ("set_bit(2)",    0b1,     0b101,     "a bit"),
    ("clear_bit(0)",  0b101,   0b100,     "a bit less"),
    ("bit_and(6)",    0b101,   0b100,     "and"),
    ("bit_or(6)",     0b001,   0b111,     "or"),
    ("incr([2:4])",   0b0111,  0b1011,    "some of the bits count up"),
    ("incr([0:2])",   0b0111,  0b0111,    "and stop at their end"),
    ("decr([2:4])",   0b1011,  0b0111,    "some count down"),
    ("decr([2:4])",   0b0011,  0b0011,    "and stop at nought"),
    ("incr(_)",       41,      42,        "all of them"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "of", "wanted"), [r[:3] for r in VALUES], ids=[r[3] for r in VALUES]
)
def test_value_of_a_call(text: str, of: int, wanted: int) -> None:
    assert argument_value(read_value(cursor(text)), of) == wanted


#   condition                            holds of      and not of     because
CONDITIONS = [
    ("true",                             [0, 1],       [],            "always"),
    ("true()",                           [0],          [],            "in brackets too"),
    ("bit_set(1)",                       [2, 3],       [0, 1],        "a bit"),
    ("bit_clear(1)",                     [0, 1],       [2, 3],        "no bit"),
    ("is_ones([1:3])",                   [6, 7],       [2, 4],        "all of some bits"),
    ("is_zeros([1:3])",                  [0, 1, 8],    [2, 4],        "none of them"),
    ("eq([1:3], 2)",                     [4, 5],       [2, 6],        "equal"),
    ("ne(_, 2)",                         [1],          [2],           "not equal"),
    ("lt(_, 2)",                         [1],          [2, 3],        "below"),
    ("le(_, 2)",                         [2],          [3],           "not above"),
    ("gt(_, 2)",                         [3],          [2],           "above"),
    ("ge(_, 2)",                         [2],          [1],           "not below"),
    ("bit_count_eq([0:3], 2)",           [3, 5, 11],   [1, 7],        "number of bits"),
    ("and(bit_set(0), not(bit_set(1)))", [1],          [0, 3],        "both"),
    ("or(eq(_, 1), eq(_, 2))",           [1, 2],       [0, 3],        "either"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "yes", "no"), [row[:3] for row in CONDITIONS], ids=[row[3] for row in CONDITIONS]
)
def test_when_a_condition_holds(text: str, yes: list[int], no: list[int]) -> None:
    condition = read_condition(cursor(text))
    assert [condition_holds(condition, one) for one in (*yes, *no)] == [True] * len(yes) + [
        False
    ] * len(no)


#   text                   message                    because
ERRORS = [
    ("bit_set(1)",         "a value",              "a condition is no value"),
    ("[0:2]",              "a value",              "bits alone are none either"),
    ("set_bit(64)",        "takes a bit's number", "a bit that is not there"),
    ("set_bit()",          "takes a bit's number", "nothing given"),
    ("incr([2:2])",        "the lower one first",  "no bits"),
    ("incr([0:65])",       "from 0 to 64",         "too many bits"),
    (str(2**64),           "of 64 bits",           "a number too large"),
    ("nothing(1)",         "no function",          "no such function"),
    ("incr(" * 200,        "nested too deeply",    "functions of functions"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [r[:2] for r in ERRORS], ids=[r[2] for r in ERRORS])
def test_error_when_it_is_no_value(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_value(cursor(text))
    assert message in caught.value.message
