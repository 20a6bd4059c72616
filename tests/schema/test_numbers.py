"""Sets of numbers and their numerals compared with decimal arithmetic."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.schema.numbers import NumberSet

N = NumberSet
SETS = {
    "everything": N.everything(),
    "nothing": N.nothing(),
    "integers": N.integers(),
    "from 0": N.interval(0),
    "above 0": N.interval(0, open_low=True),
    "below 0": N.interval(None, 0, open_high=True),
    "integers from 0": N.integers() & N.interval(0),
    "a port": N.integers() & N.interval(0, 65535),
    "a percentage": N.integers() & N.interval(1, 100),
    "both signs": N.integers() & N.interval(-12, 105),
    "fractions": N.interval(0.5, 3, open_high=True),
    "fractions of both signs": N.interval(-1.25, 0.05),
    "multiples of 3": N.multiples(3),
    "cents": N.multiples(0.01),
    "cents above a half": N.multiples(0.01) & N.interval(0.5, open_low=True),
    "multiples of 1.5": N.multiples(1.5) & N.interval(-6),
    "multiples of 2 or 3": N.multiples(2) | N.multiples(3),
    "no integer": ~N.integers(),
    "integers that are no multiples of 4": N.integers() & ~N.multiples(4),
    "some": N.of([1, 2, 0.5, -3, 0, 100, 1000, 1e-7]),
    "all but some": ~N.of([1, 0.5, -20]),
    "pieces": N.interval(1, 2) | N.interval(5, 7, open_low=True) | N.of([9.5]),
    "very large": N.interval(Decimal("1e20")),
    "very small": N.interval(Decimal("-1e-5"), Decimal("1e-5")),
}
ODD = ["0", "-0", "0.0", "-0.00", "1", "1.0", "1.000", "65535", "65536", "100.0", "99.99", "-12.0"]
#: Numerals of ``type: integer``.
PLAIN = re.compile(r"0|-?[1-9][0-9]*")
NO_NUMERALS = [
    "",
    "-",
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "1.e1",
    "1e",
    "1e+",
    "--1",
    "1 ",
    "0x1",
]

digits = st.text("0123456789", min_size=1, max_size=3)
plain = st.builds(
    lambda sign, whole, part: sign + whole + (f".{part}" if part else ""),
    st.sampled_from(["", "-"]),
    st.integers(0, 120_000).map(str) | st.integers(0, 12).map(str),
    st.just("") | digits,
)
scientific = st.builds(
    lambda sign, first, part, mark, power: (
        f"{sign}{first}{'.' + part if part else ''}{mark}{power}"
    ),
    st.sampled_from(["", "-"]),
    st.integers(1, 9),
    st.just("") | digits,
    st.sampled_from(["e", "E", "e+", "e-", "e+0", "E-0"]),
    st.integers(0, 22),
)


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=30)
@given(st.data())
def test_numerals_of_members_only(name: str, data: st.DataObject) -> None:
    numbers = SETS[name]
    machine = numbers.machine()
    text = data.draw(plain | st.sampled_from(ODD))
    read = PLAIN.fullmatch(text) if numbers.digits_only else True
    assert machine.accepts(text.encode()) is (bool(read) and numbers.contains(Decimal(text)))
    text = data.draw(scientific)
    if machine.accepts(text.encode()):
        assert numbers.contains(Decimal(text))


#: Sets without grids: they accept exponents as Python writes them.
DENSE = ["everything", "from 0", "above 0", "fractions", "fractions of both signs", "some",
         "all but some", "pieces", "very large", "very small"]  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
@settings(max_examples=30)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_output_of_python(name: str, number: float) -> None:
    numbers = SETS[name]
    assert numbers.machine().accepts(json.dumps(number).encode()) is numbers.contains(number)


@pytest.mark.parametrize("name", SETS)
def test_invalid_numerals(name: str) -> None:
    machine = SETS[name].machine()
    assert not [text for text in NO_NUMERALS if machine.accepts(text.encode())]


@settings(max_examples=60)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_every_numeral_is_a_number(text: str) -> None:
    text = re.sub("[^-+.eE0-9]", "1", text)  # digits of other scripts
    assert N.everything().machine().accepts(text.encode())
    number = Decimal(text)
    assert N.interval(0).machine().accepts(text.encode()) is (number >= 0)
    assert N.interval(0, open_low=True).machine().accepts(text.encode()) is (number > 0)


values = st.integers(-40, 40).map(lambda n: Fraction(n, 20))
sets = st.recursive(
    st.one_of(
        st.builds(N.of, st.lists(values, max_size=3)),
        st.builds(
            lambda low, high, a, b: N.interval(low, high, open_low=a, open_high=b),
            st.none() | values, st.none() | values, st.booleans(), st.booleans(),
        ),
        st.builds(N.multiples, st.sampled_from([1, 2, 3, Fraction(1, 2), Fraction(3, 20)])),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=5,
)  # fmt: skip
#: Also numbers between two of the values.
SAMPLE = [Fraction(n, 80) for n in range(-200, 201)] + [Fraction(7**9), Fraction(-(6**9))]


@pytest.mark.slow
@settings(max_examples=40)
@given(sets, sets)
def test_set_operations(left: NumberSet, right: NumberSet) -> None:
    both, either, other = left & right, left | right, ~left
    for number in SAMPLE:
        a, b = left.contains(number), right.contains(number)
        assert both.contains(number) is (a and b)
        assert either.contains(number) is (a or b)
        assert other.contains(number) is not a


@settings(max_examples=40)
@given(sets)
def test_emptiness_and_members(numbers: NumberSet) -> None:
    finite = numbers.finite(1_000)
    assert (numbers & ~numbers).is_empty
    assert (numbers | ~numbers) == N.everything()
    if finite is not None:
        assert all(map(numbers.contains, finite))
        assert set(finite) >= {n for n in SAMPLE if numbers.contains(n)}
        assert numbers.is_empty is (not finite)
    if numbers.is_empty:
        assert numbers.machine().is_empty
    elif finite != ():
        assert not numbers.machine().is_empty


@settings(max_examples=30)
@given(sets)
def test_machines_of_combined_sets(numbers: NumberSet) -> None:
    machine = numbers.machine(Limits(states=1_000_000))  # a multiple of a multiple needs many
    for number in SAMPLE[:-2]:
        text = f"{Decimal(number.numerator) / Decimal(number.denominator):f}"
        assert machine.accepts(text.encode()) is numbers.contains(number), text


@pytest.mark.parametrize(
    ("numbers", "members"),
    [
        (N.of([3, 1, 1.0]), (1, 3)),
        (N.multiples(3) & N.interval(1, 6, open_low=True, open_high=True), (3,)),
        (N.multiples(3) & N.interval(3, 6, open_low=True), (6,)),
        (N.integers() & N.interval(-1, 1.5), (-1, 0, 1)),
        (N.integers() & N.interval(0, 1, open_low=True, open_high=True), ()),
        (N.multiples(0.25) & N.interval(0, 0.5), (0, Fraction(1, 4), Fraction(1, 2))),
        (N.interval(0, 1), None),
        (N.interval(1, 0), ()),
        (N.interval(0, 0, open_high=True), ()),
        (N.integers() & N.interval(0), None),
        (N.integers() & N.interval(0, 1000), None),
    ],
)
def test_members_of_a_finite_set_of_numbers(
    numbers: NumberSet, members: tuple[Fraction, ...] | None
) -> None:
    assert numbers.finite(10) == members


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_infinities_and_nan(number: float) -> None:
    assert not N.everything().contains(number)


def test_floats_mean_their_decimals() -> None:
    assert N.multiples(0.01).contains(19.99)
    assert N.interval(0.1).contains(Decimal("0.1"))


@pytest.mark.parametrize("step", [7, 1024, 86_400, 100_000, "0.125", "2.5", "0.05"])
def test_the_machine_of_multiples_reads_their_numerals(step: int | str) -> None:
    numbers = N.multiples(Decimal(step))
    machine = numbers.machine()
    for k in range(-300, 300, 7):
        for more in ("0", "1", "-0.1", "0.025", str(Decimal(step) / 2)):
            number = Decimal(step) * k + Decimal(more)
            assert machine.accepts(f"{number:f}".encode()) is numbers.contains(number)


INTEGERS = N.integers()
#   numbers                              1.0    because
SPELLED = [
    (INTEGERS & N.interval(0, 9),        False, "the author said integer"),
    (INTEGERS & N.of([0, 1, 2]),         False, "so of listed numbers too"),
    (INTEGERS & ~N.of([7]),              False, "whatever is taken away"),
    (INTEGERS | N.nothing(),             False, "an option without numbers says nothing of them"),
    (INTEGERS & N.interval(0) | INTEGERS & N.interval(None, -9), False, "both options are integers"),
    (INTEGERS | N.everything(),          True,  "one option is a number"),
    (INTEGERS | N.of([0.5]),             True,  "some are no integers"),
    (N.of([1, 2]),                       True,  "listed numbers have every spelling"),
    (N.multiples(1),                     True,  "a number that happens to be whole"),
    (~~INTEGERS,                         True,  "a complement is one of values"),
]  # fmt: skip


@pytest.mark.parametrize(("numbers", "with_point", "because"), SPELLED)
def test_integers_have_digits_only(numbers: NumberSet, with_point: bool, because: str) -> None:
    machine = numbers.machine()
    assert numbers.contains(Decimal("1.0"))
    assert machine.accepts(b"1")
    assert machine.accepts(b"1.0") is with_point, because
    assert not machine.accepts(b"-0") or with_point


@pytest.mark.parametrize("bound", [1.7976931348623157e308, 5e-324])
def test_bounds_of_floats(bound: float) -> None:
    machine = N.interval(-bound, bound).machine()
    assert machine.accepts(repr(bound).encode())
    assert machine.accepts(repr(-bound).encode())
    digits, _, power = repr(bound).partition("e")
    written = [f"{digits}1e{power}", f"9.9e{power}", f"1e{int(power) + 1}", f"1.0E0{power[1:]}0"]
    for more in (*written, *(f"2e{sign}{n}" for sign in "+-" for n in range(0, 4000, 7))):
        number = Decimal(more)
        assert machine.accepts(more.encode()) is (abs(number) <= Decimal(repr(bound))), more


def test_error_period_too_long() -> None:
    with pytest.raises(LimitError, match="a period of more than"):
        N.multiples(1) & ~N.multiples(Decimal("1.0000001"))


def test_error_too_many_digits() -> None:
    with pytest.raises(LimitError, match="states"):
        N.multiples(1_000_003).machine()


@pytest.mark.parametrize("number", [Decimal("1e999999999"), 10**1001, Decimal("-1e-99999999")])
def test_error_huge_exponent(number: Decimal | int) -> None:
    with pytest.raises(LimitError, match="digits"):
        N.interval(number)


def test_machines_are_cached() -> None:
    assert N.interval(3).machine() is N.interval(3.0).machine()
