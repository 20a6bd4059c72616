"""The machines of newline tokens by the column of the line they begin, for Lark's ``Indenter``.

A newline token is as long as it can be: no text that continues it to a longer newline token may
follow. So the text after it begins with a terminal that does not continue it, with ignored text
that does not, or with nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import nothing
from workbench.automata.graphs import reachable
from workbench.automata.minimize import smallest_of
from workbench.automata.nfa import BYTES, coaccessible
from workbench.automata.operations import (
    concatenation,
    difference,
    intersection,
    literals,
    some_bytes,
    union,
)
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import Limits
from workbench.syntax.rule_attributes import LineStart

_NEWLINE, _BLANK, _TAB = b"\n \t"


def line_starts(
    newline: Dfa, ignored: Dfa, terminals: Sequence[Dfa], tab: int, limits: Limits
) -> tuple[LineStart, ...]:
    """The newline tokens that begin a line at column 0, 1, … up to ``limits.columns``.

    A blank counts one column and a tab ``tab``, wherever they are after the last line feed.

    ``ignored``    any number of ignored texts.
    ``terminals``  the terminals that may follow, but the newline itself.

    Nothing is returned if some texts of a terminal continue a newline token, and some do not.

    Raises: LimitError
    Source: lark 1.3, ``lark/indenter.py``.
    """
    tab = min(tab, limits.columns + 1)  # further to the right every column is too far
    ends = [int(state) for state in np.flatnonzero(newline.finals)]
    follow = {}
    for end in ends:
        after = _ignored_after(newline, end, ignored, terminals, limits)
        if after is None:
            return ()
        follow[end] = after
    tokens = _by_column(newline, ends, tab, limits)
    return tuple(
        LineStart(
            *(
                tuple(
                    (tokens[end][column], after[kind])
                    for end, after in follow.items()
                    if not tokens[end][column].is_empty and not after[kind].is_empty
                )
                for kind in range(len(LineStart._fields))
            )
        )
        for column in range(limits.columns + 1)
    )


def ended_tokens(newline: Dfa, terminals: Sequence[Dfa], limits: Limits) -> Dfa:
    """The newline tokens that no first byte of another terminal continues to a longer one.

    So a comment that is part of a newline token ends at a line break also where the token is
    dropped, between brackets.
    """
    first = np.any([_first_bytes(machine)[:BYTES] for machine in terminals], axis=0)
    columns = np.unique(newline.classes[:BYTES][first])
    continued = (newline.table[:, columns] != DEAD).any(axis=1)
    ended = replace(newline, finals=newline.finals & ~continued)
    return intersection(ended, newline, limits)  # the smallest machine


def _by_column(
    newline: Dfa, ends: Sequence[State], tab: int, limits: Limits
) -> dict[State, list[Dfa]]:
    """The newline tokens that lead to each final state, by the column of the line they begin."""
    clock = limits.clock()
    pairs = list(enumerate(newline.classes.tolist()))
    # a line feed, a blank and a tab each have a separate class here
    kinds = list(dict.fromkeys((its_class, _moves(byte, tab)) for byte, its_class in pairs))
    classes = np.array(
        [kinds.index((symbol, _moves(byte, tab))) for byte, symbol in pairs], np.uint16
    )
    # a state of the token at each count: none yet, 0, 1, … and more than the limit
    counts = np.arange(limits.columns + 3)
    limits.check("states", len(newline) * len(counts))
    table = np.full((len(newline), len(counts), len(kinds)), DEAD, np.int32)
    for column, (its_class, step) in enumerate(kinds):
        then = np.where(counts > 0, np.minimum(counts + step, counts[-1]), 0)
        targets = newline.table[:, its_class, None]
        reached = targets * len(counts) + (np.ones_like(counts) if step < 0 else then)
        table[:, :, column] = np.where(targets == DEAD, DEAD, reached)
    rows = table.reshape(-1, len(kinds))
    start = newline.initial * len(counts)

    def successors(state: State) -> set[State]:
        clock.check()
        return set(rows[state].tolist()) - {DEAD}

    kept = list(reachable([start], successors))
    numbers = np.full(len(rows) + 1, DEAD, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    rows = numbers[rows[kept]]  # the initial state is 0 now
    sources, columns = np.nonzero(rows != DEAD)
    edges = np.stack([columns, columns, rows[sources, columns]], 1).astype(np.int32)
    first = np.searchsorted(sources, np.arange(len(rows) + 1)).astype(np.int32)
    no_epsilons = np.empty(0, np.int32), np.zeros(len(rows) + 1, np.int32)
    machines: dict[State, list[Dfa]] = {end: [] for end in ends}
    for end, count in product(ends, counts[1:-1]):  # the machines differ in their final states
        clock.check()
        finals = np.arange(len(rows)) == numbers[end * len(counts) + count]
        alive = coaccessible(edges, first, *no_epsilons, finals)
        if not alive[0]:
            machines[end].append(nothing(len(classes)))
            continue
        numbered = np.where(alive, np.cumsum(alive, dtype=np.int32) - 1, DEAD)
        table = np.append(numbered, DEAD)[rows[alive]].astype(np.int32)
        machines[end].append(smallest_of(classes, table, finals[alive]))
    return machines


def _moves(byte: int, tab: int) -> int:
    """By how many columns a byte moves the next one; -1 for a line feed."""
    return {_NEWLINE: -1, _BLANK: 1, _TAB: tab}.get(byte, 0)


def _ignored_after(
    newline: Dfa, end: State, ignored: Dfa, terminals: Sequence[Dfa], limits: Limits
) -> tuple[Dfa, Dfa, Dfa] | None:
    """The ignored text between a newline token and another terminal, another newline, the end."""
    empty = literals([b""], limits)
    more = difference(Dfa(newline.classes, newline.table, newline.finals, end), empty, limits)
    if more.is_empty:
        return ignored, ignored, ignored
    continued = union(more, concatenation(more, some_bytes(), limits), limits)
    between = difference(ignored, continued, limits)
    some = difference(between, empty, limits)
    prefixes = Dfa(more.classes, more.table, np.ones(len(more), np.bool_), more.initial)
    either = difference(union(continued, prefixes, limits), empty, limits)
    begin = _first_bytes(more)
    texts = []
    for kind in (terminals, [newline]):
        others = (machine for machine in kind if (_first_bytes(machine) & begin).any())
        if all(intersection(machine, either, limits).is_empty for machine in others):
            texts.append(between)  # no text continues the newline token
        elif all(difference(machine, continued, limits).is_empty for machine in kind):
            texts.append(some)  # every text does
        else:
            return None
    return texts[0], texts[1], between


def _first_bytes(dfa: Dfa) -> npt.NDArray[np.bool_]:
    """For each byte whether a text begins with it."""
    return np.asarray(dfa.table[dfa.initial][dfa.classes] != DEAD)
