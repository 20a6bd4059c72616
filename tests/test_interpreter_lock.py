"""No call holds the interpreter's lock for long: other threads answer other visitors meanwhile.

Python code gives the lock away every few milliseconds; a function written in C, such as ``tolist``,
keeps it until it returns. So large arrays are converted in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.automata.machines import machine
from workbench.automata.code_points import fold
from workbench.automata.determinize import determinize, explore, trimmed
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import NfaBuilder, int_array
from workbench.automata.operations import first_match, intersection
from workbench.automata.regex_program import Program
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa, table_rows
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.constraint.engine.compose_pda import RelativeMachine
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.parser import parse_regex


class Watched(np.ndarray):
    """An array that records how many numbers each call of ``tolist`` converts."""

    largest = 0

    def tolist(self) -> Any:  # as of numpy
        Watched.largest = max(Watched.largest, self.size)
        return super().tolist()


def watched(dfa: Dfa) -> Dfa:
    Watched.largest = 0
    return Dfa(dfa.classes, dfa.table.view(Watched), dfa.finals, dfa.initial)


def into_program(dfa: Dfa) -> None:
    program = Program()
    program.add_placeholder(dfa)
    program.set_machine(0, dfa)


#   what reads the table of a machine row by row
READERS: list[Callable[[Dfa], object]] = [
    minimize,
    lambda dfa: trimmed(dfa.classes, dfa.table, dfa.finals, dfa.initial),
    lambda dfa: intersection(dfa, dfa),
    first_match,
    fold,
    lambda dfa: NfaBuilder().copy(dfa),
    into_program,
]


@pytest.mark.parametrize("read", READERS)
def test_a_table_is_converted_row_by_row(read: Callable[[Dfa], object]) -> None:
    dfa = machine("[a-c]{1,300}d|[a-c]*(x|yz)")
    read(watched(dfa))
    assert Watched.largest <= max(dfa.table.shape[1], len(dfa)) < dfa.table.size


def test_the_table_of_a_network_is_converted_row_by_row() -> None:
    network = Grammar.from_kbnf("start ::= 'a' start? 'b' | #'[a-z]{1,300}';").network
    _ = network.calling, network.goes_on, network.returns  # kernels refuse the watched array
    object.__setattr__(network, "table", network.table.view(Watched))
    Watched.largest = 0
    relative = RelativeMachine(network, LIMITS)
    for byte_class in range(relative.table.shape[1]):
        relative.grow(relative.at(network.initial), byte_class)
    assert Watched.largest == network.table.shape[1]


def test_rows_are_converted_once() -> None:
    table = np.array([[1, 2], [3, -1]], np.int32)
    rows = table_rows(table)
    assert (rows[0], rows[-1], rows[1]) == ((1, 2), (3, -1), (3, -1))
    assert rows[0] is rows[0]


@pytest.mark.parametrize("count", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_numbers_are_converted_in_parts(count: int) -> None:
    made = int_array(range(count))
    assert made.dtype == np.int32
    assert np.array_equal(made, np.arange(count))


def test_a_determinization_leaves_no_lists_behind() -> None:
    nfa = thompson(parse_regex(Source(r"(\p{L}|x)*a(\p{L}|x){2}", "regex")))
    determinize(nfa)
    assert not vars(nfa).keys() & {"edges", "epsilons"}
    with pytest.raises(LimitError):
        determinize(nfa, Limits(seconds=1e-9))
    assert not vars(nfa).keys() & {"edges", "epsilons"}


def test_the_clock_is_checked_while_a_machine_is_trimmed() -> None:
    count = 3_000

    def step(node: int) -> list[int | None]:
        return [node + 1 if node < count else None]

    classes = np.zeros(256, np.uint16)
    with pytest.raises(LimitError, match="seconds"):
        trimmed(
            classes,
            np.arange(1, count + 1, dtype=np.int32).reshape(-1, 1) % count,
            np.ones(count, np.bool_),
            0,
            Limits(seconds=1e-9).clock(),
        )
    assert len(explore(0, step, lambda node: node == count, classes)) == count + 1


@pytest.mark.parametrize("pattern", ["[a-f]+x", r"\p{Lu}*", "a|[0-9]{3}", "é", "(ab|a[^b]){2}"])
def test_the_bytes_in_use_of_a_lazy_machine(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = LazyDfa(thompson(parse_regex(Source(pattern, "regex"))))
    # it sorts all edges as texts, in one call
    monkeypatch.setattr(np, "unique", lambda *_, **__: pytest.fail("np.unique was called"))
    used = lazy.used_bytes
    monkeypatch.undo()
    whole = machine(pattern)
    reads = np.asarray((whole.table >= 0).any(axis=0))
    assert used == set(np.flatnonzero(reads[whole.classes]).tolist())
