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
from workbench.base.kernels import njit
from workbench.pushdown.network import Network, PhraseRule
from workbench.syntax.permutation_phrases import (
    BEGIN,
    END,
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
           (Q, 2) int32, columns ``KIND`` and ``FOLLOWING``; ``guards`` (m, W) int64, sets of marks.
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
        guards = np.empty((0, words), np.int64)
        for number, rule in enumerate(rules):
            rows, row_of = _guards(network, rule, words)
            with_guard = np.flatnonzero(row_of >= 0)
            guarded[rule.first + with_guard, KIND] = HAS_GUARD
            guarded[rule.first + with_guard, FOLLOWING] = len(guards) + row_of[with_guard]
            guards = np.concatenate([guards, rows])
            for mark, kind in ((BEGIN, BEGINS + number), (END, ENDS)):
                its = rule.marks[rule.marks[:, 1] == mark]
                guarded[its[:, 0]] = np.stack([np.full(len(its), kind), its[:, 2]], axis=1)
        marks = np.concatenate([rule.marks for rule in rules])
        marks = marks[marks[:, 1] >= FIRST_ELEMENT]
        marks = marks[np.argsort(marks[:, 0], kind="stable")]
        first = np.searchsorted(marks[:, 0], np.arange(states + 1)).astype(np.int32)
        return PhraseArrays(first, np.ascontiguousarray(marks[:, 1:]), guarded, guards)


def _guards(network: Network, rule: PhraseRule, words: int) -> tuple[Longs, Ints]:
    """The guards of a rule, and the one of each of its states, −1 for none.

    A guard is the set of marks that can come first after a state. There is none where all can,
    since one of them is always free, and none before and after the phrase.
    """
    size, marks = rule.end - rule.first, rule.marks - [rule.first, 0, rule.first]
    sources, columns = (network.table[rule.first : rule.end] >= 0).nonzero()
    targets = network.table[rule.first + sources, columns] - rule.first
    by_target = np.argsort(targets, kind="stable")
    before = sources[by_target].astype(np.int32)
    first = np.searchsorted(targets[by_target], np.arange(size + 1)).astype(np.int32)
    following = np.zeros((size, words), np.uint64)
    inner = marks[marks[:, 1] != BEGIN].astype(np.int32)
    _spread_back(first, before, inner, following, np.empty(size, np.int32))
    everything = np.bitwise_or.reduce(following, axis=0)
    has_guard = (following != everything).any(axis=1) & (following != 0).any(axis=1)
    # the marks themselves, not the states before the phrase: it begins with nothing written
    rows, row_of = np.unique(following[has_guard], axis=0, return_inverse=True)
    guards = np.full(size, -1, np.int32)
    guards[has_guard] = row_of.reshape(-1)
    return rows.view(np.int64), guards


@njit()
def _spread_back(
    first: Ints, before: Ints, marks: Ints, following: npt.NDArray[np.uint64], stack: Ints
) -> None:
    """Add each mark to its state and to all states from which that is reached without a mark."""
    for k in range(len(marks)):
        word, bit = marks[k, 1] >> 6, np.uint64(1) << np.uint64(marks[k, 1] & 63)
        stack[0], top = marks[k, 0], 1
        following[marks[k, 0], word] |= bit
        while top > 0:
            top -= 1
            state = stack[top]
            for edge in range(first[state], first[state + 1]):
                if following[before[edge], word] & bit == 0:
                    following[before[edge], word] |= bit
                    stack[top] = before[edge]
                    top += 1


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
