"""Assembling: the automata of rules in, one network with one table and one numbering out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.flat import Classes, Ints
from workbench.kernel import njit
from workbench.limits import Limits
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.written_in import called


def assembled(names: Sequence[str], rules: Mapping[int, Dfa], limits: Limits) -> Network:
    """All automata in one numbering; the rules that are still called are renumbered in order.

    Raises: LimitError where the table takes more than ``limits.megabytes``.
    """
    reached = [0]
    for rule in reached:  # grows while it is read
        reached.extend(other for other in called(rules[rule]) if other not in reached)
    order = sorted(reached)
    machines = [rules[old] for old in order]
    symbols = np.array([*range(CALLS), *(CALLS + old for old in order)])
    # a class of the whole is a class in every rule: told apart by the rules' own classes alone
    classes, width = np.zeros(len(symbols), np.uint16), 1
    for machine in machines:
        width = _tell_apart(classes, width, machine.classes[symbols], machine.table.shape[1])
    sizes = [len(machine) for machine in machines]
    offsets = np.cumsum([0, *sizes]).tolist()
    limits.check("megabytes", 4 * offsets[-1] * width / 2**20)
    table = np.full((offsets[-1], width), DEAD, np.int32)
    for machine, offset in zip(machines, offsets, strict=False):
        _place(table, offset, classes, machine.classes[symbols], machine.table)
    return Network(
        names=tuple(names[old] for old in order),
        initials=tuple(at + one.initial for one, at in zip(machines, offsets, strict=False)),
        start=0,
        classes=classes,
        table=table,
        finals=np.concatenate([machine.finals for machine in machines]),
        owner=np.repeat(np.arange(len(order), dtype=np.int32), sizes),
    )


@njit(cache=True, nogil=True)
def _tell_apart(classes: Classes, count: int, own: Classes, width: int) -> int:
    """Split ``count`` classes of symbols by ``width`` others; how many there are, in order."""
    numbers, made = np.full((count, width), -1, np.int32), 0
    for symbol in range(len(classes)):
        one, other = classes[symbol], own[symbol]
        if numbers[one, other] < 0:
            numbers[one, other] = made
            made += 1
        classes[symbol] = numbers[one, other]
    return made


@njit(cache=True, nogil=True)
def _place(table: Ints, offset: int, classes: Classes, own: Classes, part: Ints) -> None:
    """Write the edges of one rule into the table of all, which is empty there."""
    lives = np.zeros(part.shape[1], np.bool_)
    for row in part:
        for source in range(len(row)):
            lives[source] |= row[source] >= 0
    written = 0
    for symbol in range(len(classes)):
        column, source = classes[symbol], own[symbol]
        if column < written:
            continue
        written += 1
        if not lives[source]:  # the calls of most other rules
            continue
        for state in range(len(part)):
            target = part[state, source]
            if target >= 0:
                table[offset + state, column] = target + offset
