"""Permutation phrases while a network runs: ``PhraseArrays`` for kernels, ``WrittenSets``.

From the first mark of a phrase to its last, a *written set* is on top of the stack: a symbol for
the elements that were written, numbered after the states of the network. The mark of an element
replaces it. The *guard* of a state is the set of marks that can come first after it. The state is
entered only if one of them is free, so no text leads to a dead end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.automata.nfa import Ints
from workbench.base.kernels import inner, int64, njit
from workbench.pushdown.network import Network, PhraseRule
from workbench.syntax.permutation_phrases import BEGIN, FIRST_ELEMENT, Written

Longs = npt.NDArray[np.int64]

#: The kinds of a guarded state: its phrase ends in it, or it has a guard that is tested; in one of
#: kind ``BEGINS + n`` phrase n of the network begins. Other states have the kind −1.
ENDS, HAS_GUARD, BEGINS = range(3)
#: The columns of ``PhraseArrays.guarded``: the kind of a state; the state after the mark, or the
#: row of the state's guard.
KIND, FOLLOWING = range(2)


class PhraseArrays(NamedTuple):
    """The marks of a network, as arrays for kernels.

    Shape: Q states, W words of 64 bits. ``marks`` (n, 2) int32: the number of an element's mark
           and the state after it; those of state q are ``first[q]:first[q + 1]``. ``guarded``
           (Q, 2) int32, columns ``KIND`` and ``FOLLOWING``; ``guards`` (m, W) int64, sets of marks
           as bits, one for each state of a rule with a phrase. Without phrases all are empty.
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
            rule_guards = guards[row : row + size]
            _find_guards(table, rule.marks, rule.first, rule_guards, *scratch)
            # one of all marks is always free; before and after the phrase there are none
            all_marks = np.bitwise_or.reduce(rule_guards)
            is_tested = rule_guards.any(axis=1) & (rule_guards != all_marks).any(axis=1)
            rule_states = guarded[rule.first : rule.end]
            rule_states[is_tested, KIND] = HAS_GUARD
            rule_states[is_tested, FOLLOWING] = row + np.flatnonzero(is_tested)
            for state, mark, after in rule.marks[rule.marks[:, 1] < FIRST_ELEMENT].tolist():
                guarded[state] = BEGINS + number if mark == BEGIN else ENDS, after
            row += size
        marks = np.concatenate([rule.marks for rule in rules])
        marks = marks[marks[:, 1] >= FIRST_ELEMENT]
        marks = marks[np.argsort(marks[:, 0], kind="stable")]
        first = np.searchsorted(marks[:, 0], np.arange(states + 1)).astype(np.int32)
        return PhraseArrays(
            first, np.ascontiguousarray(marks[:, 1:]), guarded, guards.view(np.int64)
        )


@njit(_nrt=False)
def _find_guards(
    table: Ints, marks: Ints, begin: int, guards: npt.NDArray[np.uint64], scratch: Ints,
    before: Ints,
) -> None:  # fmt: skip
    """Find the marks that can come first after each state of a rule: a search back from each mark.

    Shape: Q states, numbered from ``begin`` on; C columns. ``table`` (Q, C); ``guards`` (Q, W), the
           result; ``scratch`` (2, Q + 1) and ``before`` (Q · C,).
    """
    first, stack = scratch[0], scratch[1]
    _sources(table, begin, first, before)
    for k in range(len(marks)):
        if marks[k, 1] == BEGIN:
            continue
        word, bit = marks[k, 1] >> 6, np.uint64(1) << np.uint64(marks[k, 1] & 63)
        stack[0], top = marks[k, 0] - begin, 1
        guards[stack[0], word] |= bit
        while top > 0:
            top -= 1
            state = stack[top]
            for edge in range(first[state], first[state + 1]):
                source = before[edge]
                if guards[source, word] & bit == 0:
                    guards[source, word] |= bit
                    stack[top] = source
                    top += 1


@inner
def _sources(table: Ints, begin: int, first: Ints, before: Ints) -> None:
    """The states with an edge to each state: those to q are ``before[first[q]:first[q + 1]]``.

    A counting sort: ``first`` counts, then points to the next free entry of each state.
    """
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
    for state in range(len(table), 0, -1):  # the pointers are where the next state begins
        first[state] = first[state - 1]
    first[0] = 0


class WrittenSets:
    """Numbers the written sets of a network's phrases; those of nothing written come first."""

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
        """The number of the set with the element of a mark added to another one."""
        phrase, written = self._sets[number]
        return self._number(phrase, self._phrases[phrase].after(written, mark - FIRST_ELEMENT))

    def free(self, number: int, words: int) -> Longs:
        """The marks that are free after a set, (words,) as bits."""
        phrase, written = self._sets[number]
        marks = self._phrases[phrase].free(written)
        return np.frombuffer(marks.to_bytes(8 * words, "little"), np.int64)
