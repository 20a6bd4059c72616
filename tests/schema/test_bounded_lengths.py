"""Sets of strings of bounded length, compared with the strings themselves."""

from __future__ import annotations

import itertools

import pytest

from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.schema.bounded_lengths import with_lengths
from workbench.schema.format_strings import format_strings
from workbench.schema.json_literals import literals_machine
from workbench.schema.string_machines import Content, search

_PATTERNS = (
    "^(ab|c)*$",  # a cycle of two characters
    "^a*(bc?|[(]a{2,5}[)])$",  # tails without a cycle: the count matters only near the end
    "^a*[(]b{2,3}[)]a*$",  # an excursion between two cycles
    "^(aa)*b?$",  # some lengths have no string
    "^(aaa)*(bb)*$",
    "^a{2,4}$",  # finite
    "^(a|b{3})?c$",
    "a",  # found anywhere
)
_TEXTS = [
    "".join(letters) for length in range(9) for letters in itertools.product("ab", repeat=length)
] + [
    "".join(letters) for length in range(6) for letters in itertools.product("abc()", repeat=length)
]


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_members_of_all_bounds(pattern: str) -> None:
    content = search(pattern)
    members = [text for text in _TEXTS if content.contains(text)]
    assert members
    for low in range(7):
        for high in (*range(low, 9), None):
            bounded = with_lengths(content, low, high)
            wrong = [
                text
                for text in _TEXTS
                if bounded.contains(text)
                != (
                    content.contains(text)
                    and low <= len(text)
                    and (high is None or len(text) <= high)
                )
            ]
            assert not wrong, (low, high, wrong[:3])
            assert _is_trimmed(bounded.machine), (low, high)


def _is_trimmed(machine: Dfa) -> bool:
    """Whether every state is reachable and leads to a final one."""
    if machine.is_empty:
        return True
    ways = [{*row} - {-1} for row in machine.table.tolist()]
    reached, waiting = {machine.initial}, [machine.initial]
    while waiting:
        for state in ways[waiting.pop()] - reached:
            reached.add(state)
            waiting.append(state)
    alive = {state for state, final in enumerate(machine.finals.tolist()) if final}
    while more := {s for s, targets in enumerate(ways) if targets & alive} - alive:
        alive |= more
    return len(reached) == len(alive) == len(machine)


def _format(name: str) -> Content:
    content = format_strings(name)
    assert content is not None
    return content


#: The most states of a format with a bound: the pairs for which the count no longer matters are one.
_SIZES = (
    ("email", 254, 6_000),
    ("email", 1024, 13_000),
    ("date-time", 64, 5_000),
)


@pytest.mark.parametrize(("name", "high", "most"), _SIZES)
def test_counts_only_where_a_bound_can_be_reached(name: str, high: int, most: int) -> None:
    assert len(with_lengths(_format(name), 0, high).machine) <= most


def test_an_implied_bound_changes_nothing() -> None:
    for name, high in (("uuid", 36), ("ipv4", 15), ("ipv6", 45), ("date", 10)):
        content = _format(name)
        assert with_lengths(content, 0, high) is content
        assert with_lengths(content, 1, None) is content


def test_boundaries_of_an_address() -> None:
    content = _format("email")
    for local, accepted in ((245, True), (246, False)):
        text = "a" * local + "@b.example"  # 10 characters from the @ on
        assert len(text) == local + 10
        assert with_lengths(content, 0, 255).contains(text) is accepted


def test_literals_have_only_the_columns_that_differ() -> None:
    machine = literals_machine(with_lengths(_format("email"), 0, 254))
    columns = {column.tobytes() for column in machine.table.T.copy()}
    assert len(columns) + 2 >= machine.table.shape[1]
    assert machine.accepts(b'"a@b.c"')
    assert not machine.accepts(b'"a@"')
    assert not machine.accepts('"ä@b.c"'.encode())


def test_error_when_the_states_exceed_the_limit() -> None:
    with pytest.raises(LimitError) as caught:
        with_lengths(_format("uri"), 0, 2_083, Limits(states=10_000))
    assert caught.value.budget == "states"
