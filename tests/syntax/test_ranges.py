"""Set algebra on ranges, against Python's own sets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.syntax import ranges
from workbench.syntax.ranges import ANY_CHARACTER, Ranges

SETS = st.frozensets(st.integers(0, 40))


def of(members: frozenset[int]) -> Ranges:
    return ranges.normalized((member, member) for member in members)


def members(pieces: Ranges) -> set[int]:
    return {member for low, high in pieces for member in range(low, high + 1)}


@given(SETS, SETS)
def test_operations_on_ranges_equal_those_on_sets(
    left: frozenset[int], right: frozenset[int]
) -> None:
    pairs: list[tuple[Callable[[Ranges, Ranges], Ranges], frozenset[int]]] = [
        (ranges.union, left | right),
        (ranges.intersection, left & right),
        (ranges.difference, left - right),
        (ranges.symmetric_difference, left ^ right),
    ]
    for operation, wanted in pairs:
        assert operation(of(left), of(right)) == of(wanted)
    assert members(of(left)) == left
    assert ranges.size(of(left)) == len(left)
    assert [m for m in range(42) if ranges.contains(of(left), m)] == sorted(left)


def test_normalized_sorts_and_joins() -> None:
    assert ranges.normalized([(5, 9), (0, 1), (2, 3), (8, 12), (14, 14)]) == (
        (0, 3), (5, 12), (14, 14),
    )  # fmt: skip


def test_what_is_outside_never_holds_surrogates() -> None:
    outside = ranges.difference(ANY_CHARACTER, ((0xD000, 0xD7FF),))
    assert outside == ((0, 0xCFFF), (0xE000, 0x10FFFF))
    assert ranges.difference(ANY_CHARACTER, ANY_CHARACTER) == ()


@pytest.mark.parametrize(("member", "inside"), [(0, True), (0xD800, False), (0x10FFFF, True)])
def test_any_character_leaves_out_surrogates(member: int, inside: bool) -> None:
    assert ranges.contains(ANY_CHARACTER, member) is inside
