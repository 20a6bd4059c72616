"""Dfa: steps and runs."""

from __future__ import annotations

import pytest

from tests.automata.machines import machine
from workbench.base.dfa import DEAD

#   text        end is      accepted    because
RUNS = [
    ("",        "alive",    False,      "nothing read yet"),
    ("foo",     "alive",    False,      "d is missing"),
    ("food",    "final",    True,       "one round"),
    ("foofood", "final",    True,       "two rounds"),
    ("for",     "dead",     False,      "r is never read"),
    ("foodd",   "dead",     False,      "nothing follows the end"),
    ("é",       "dead",     False,      "no byte of it is read"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "end", "accepted", "because"), RUNS)
def test_a_run_ends_dead_final_or_alive(text: str, end: str, accepted: bool, because: str) -> None:
    dfa = machine("(foo)+d")
    state = dfa.run(text.encode())
    kind = "dead" if state == DEAD else "final" if dfa.finals[state] else "alive"
    assert kind == end, because
    assert dfa.accepts(text.encode()) is accepted


def test_a_run_continues_from_any_state() -> None:
    dfa = machine("(foo)+d")
    assert dfa.run(b"ood", dfa.run(b"foof")) == dfa.run(b"foofood")
    assert dfa.step(dfa.initial, ord("o")) == DEAD


def test_tables_are_read_only() -> None:
    dfa = machine("ab")
    for array in (dfa.classes, dfa.table, dfa.finals):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_types_of_the_tables() -> None:
    dfa = machine("[é-ж]+")
    assert [str(array.dtype) for array in (dfa.classes, dfa.table, dfa.finals)] == [
        "uint16",
        "int32",
        "bool",
    ]
    assert dfa.classes.shape == (256,)
    assert dfa.table.shape == (len(dfa), int(dfa.classes.max()) + 1)
    assert dfa.table.flags.c_contiguous
