"""Permutation phrases while a network runs: ``PhraseArrays`` for kernels, ``WrittenSets``.

A rule with a phrase has a *written set* on the stack, from its first mark to its last: a symbol
after the states of the network, for the elements that were written. A mark of an element replaces
it. A state of the rule is *guarded* if some of the marks that can follow in it may not be free:
it is entered only if one of them is (``PhraseArrays.guards``), so no text leads to a dead end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.nfa import Ints
from workbench.base.kernels import inner, int64, njit
from workbench.pushdown.network import Network, PhraseRule
from workbench.syntax.permutation_phrases import (
    BEGIN,
    FIRST_ELEMENT,
    PermutationPhrase,
    Written,
)

Longs = npt.NDArray[np.int64]

#: The kinds of a guarded state: a phrase ends in it, it has a guard; from ``BEGINS`` on, the number
#: of the phrase that begins in it.
ENDS, HAS_GUARD, BEGINS = range(3)
#: The columns of ``PhraseArrays.guarded``: the kind of a state; the state after the mark, or the
#: row of its guard.
KIND, FOLLOWING = range(2)


class PhraseArrays(NamedTuple):
    """The marks of a network, as arrays for kernels.

    Shape: Q states, W words of 64 bits. ``marks`` (n, 2) int32: the number of an element's mark
           and the state after it; those of state q are ``first[q]:first[q + 1]``. ``guarded``
           (Q, 2) int32, columns ``KIND`` and ``FOLLOWING``; ``guards`` (m, W) int64, sets of marks,
           one for each state of a rule with a phrase.
           Without phrases all are empty.
    """

    first: Ints
    marks: Ints
    guarded: Ints
    guards: Longs

    @staticmethod
    def none() -> PhraseArrays:
        """Empty arrays."""
        rows = np.empty((0, 2), np.int32)
        return PhraseArrays(np.empty(0, np.int32), rows, rows, np.empty((0, 0), np.int64))

    @staticmethod
    def of(network: Network) -> PhraseArrays:
        """The arrays of a network."""
        rules, states = network.phrases, len(network)
        if not rules:
            return PhraseArrays.none()
        words = max((rule.phrase.marks + 63) // 64 for rule in rules)
        guarded = np.full((states, 2), -1, np.int32)
        guards = np.zeros((sum(rule.end - rule.first for rule in rules), words), np.uint64)
        row = 0
        for number, rule in enumerate(rules):
            size = rule.end - rule.first
            table = np.ascontiguousarray(network.table[rule.first : rule.end])
            scratch = np.empty((2, size + 1), np.int32), np.empty(table.size, np.int32)
            _guard(table, rule.marks, rule.first, number, row, guarded, guards, *scratch)
            row += size
        marks = np.concatenate([rule.marks for rule in rules])
        marks = marks[marks[:, 1] >= FIRST_ELEMENT]
        marks = marks[np.argsort(marks[:, 0], kind="stable")]
        first = np.searchsorted(marks[:, 0], np.arange(states + 1)).astype(np.int32)
        return PhraseArrays(
            first, np.ascontiguousarray(marks[:, 1:]), guarded, guards.view(np.int64)
        )


@njit()
def _guard(
    table: Ints, marks: Ints, begin: int, phrase: int, row: int, guarded: Ints,
    guards: npt.NDArray[np.uint64], space: Ints, before: Ints,
) -> None:  # fmt: skip
    """Write the guards of a rule, whose states are numbered from ``begin``, from ``row`` on.

    A guard is the set of marks that can come first after a state. There is none where all can,
    since one of them is always free, and none before and after the phrase.
    """
    first, stack = space[0], space[1]
    _sources(table, begin, first, before)
    for k in range(len(marks)):
        if marks[k, 1] == BEGIN:
            continue
        word, bit = marks[k, 1] >> 6, np.uint64(1) << np.uint64(marks[k, 1] & 63)
        stack[0], top = marks[k, 0] - begin, 1
        guards[row + stack[0], word] |= bit
        while top > 0:
            top -= 1
            state = stack[top]
            for edge in range(first[state], first[state + 1]):
                source = row + before[edge]
                if guards[source, word] & bit == 0:
                    guards[source, word] |= bit
                    stack[top] = before[edge]
                    top += 1
    for word in range(guards.shape[1]):
        everything = np.uint64(0)
        for state in range(len(table)):
            everything |= guards[row + state, word]
        for state in range(len(table)):
            if guards[row + state, word] != everything:
                guarded[begin + state, KIND], guarded[begin + state, FOLLOWING] = 0, row + state
    for state in range(len(table)):
        has_marks = False
        for word in range(guards.shape[1]):
            has_marks |= guards[row + state, word] != 0
        is_guarded = guarded[begin + state, KIND] >= 0 and has_marks
        guarded[begin + state, KIND] = HAS_GUARD if is_guarded else -1
    for k in range(len(marks)):
        if marks[k, 1] < FIRST_ELEMENT:
            kind = BEGINS + phrase if marks[k, 1] == BEGIN else ENDS
            guarded[marks[k, 0], KIND], guarded[marks[k, 0], FOLLOWING] = kind, marks[k, 2]


@inner
def _sources(table: Ints, begin: int, first: Ints, before: Ints) -> None:
    """The states with an edge to each state: those to q are ``before[first[q]:first[q + 1]]``."""
    first[:] = 0
    for state in range(len(table)):
        last = int64(-1)
        for column in range(table.shape[1]):
            target = int64(table[state, column])
            if target >= 0 and target != last:
                first[target - begin + 1] += 1
                last = target
    for state in range(len(table)):
        first[state + 1] += first[state]
    for state in range(len(table)):
        last = int64(-1)
        for column in range(table.shape[1]):
            target = int64(table[state, column])
            if target >= 0 and target != last:
                before[first[target - begin]] = state
                first[target - begin] += 1
                last = target
    for state in range(len(table), 0, -1):
        first[state] = first[state - 1]
    first[0] = 0


class WrittenSets:
    """The sets of elements written until now, numbered, those of nothing written first."""

    def __init__(self, rules: Sequence[PhraseRule]) -> None:
        self._phrases = [rule.phrase for rule in rules]
        self._numbers: dict[tuple[int, Written], int] = {}
        self._sets: list[tuple[int, Written]] = []
        for number, phrase in enumerate(self._phrases):
            self._number(number, phrase.initial)

    def __len__(self) -> int:
        return len(self._sets)

    def _number(self, phrase: int, written: Written) -> int:
        key = phrase, written
        number = self._numbers.setdefault(key, len(self._sets))
        if number == len(self._sets):
            self._sets.append(key)
        return number

    def after(self, number: int, mark: int) -> int:
        """The number of a set with one more element, that of a mark."""
        phrase, written = self._sets[number]
        return self._number(phrase, self._phrases[phrase].after(written, mark - FIRST_ELEMENT))

    def free(self, number: int, words: int) -> Longs:
        """The marks that can follow a set, (words,) as bits."""
        phrase, written = self._sets[number]
        marks = self._phrases[phrase].free(written)
        return np.frombuffer(marks.to_bytes(8 * words, "little"), np.int64)

    def phrase(self, number: int) -> tuple[PermutationPhrase, Written]:
        """The phrase of a set, and what is written."""
        phrase, written = self._sets[number]
        return self._phrases[phrase], written
