"""Sets of strings as automata over the atoms of an alphabet.

The code points are divided into atoms that the automaton need not distinguish, so its tables are
small; two automata are combined over the common refinement of their alphabets. ``json_literals``
turns the result into an automaton over the bytes of JSON string literals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata import operations
from workbench.automata.code_points import SURROGATES
from workbench.automata.determinize import nothing
from workbench.automata.minimize import minimize
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.limits import LIMITS, Limits
from workbench.syntax.ranges import MAX_CODE_POINT, Ranges

#: A set of code points that no automaton over an alphabet distinguishes.
Atom = int


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The code points divided into ranges, each of which belongs to one atom.

    Surrogates are not characters: they belong to the range before them and are never accepted.
    """

    #: The first code point of each range; the first range starts at 0.
    starts: tuple[int, ...] = (0,)
    #: The atom of each range; atoms are numbered in order of first occurrence.
    atoms: tuple[Atom, ...] = (0,)

    @property
    def size(self) -> int:
        """The number of atoms."""
        return max(self.atoms) + 1

    def atom(self, code: int) -> Atom:
        """The atom of a code point."""
        return self.atoms[bisect_right(self.starts, code) - 1]

    def uniform(self, low: int, high: int) -> Atom | None:
        """The atom of all code points from ``low`` to ``high``; None if they differ."""
        first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high) - 1
        atom = self.atoms[first]
        return atom if all(other == atom for other in self.atoms[first + 1 : last + 1]) else None

    def pieces(self) -> Iterable[tuple[int, int, Atom]]:
        """The first and last code point and the atom of each range."""
        ends = (*(start - 1 for start in self.starts[1:]), MAX_CODE_POINT)
        return zip(self.starts, ends, self.atoms, strict=True)

    def atoms_of(self, ranges: Ranges) -> tuple[Atom, ...]:
        """The atoms of a set; it must be a union of atoms."""
        found: set[Atom] = set()
        for low, high in ranges:
            first, last = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high)
            found.update(self.atoms[first:last])
        return tuple(sorted(found))


#: The alphabet with a single atom.
ONE_ATOM = Alphabet()


def alphabet_of(sets: Iterable[Ranges]) -> Alphabet:
    """The coarsest alphabet in which each of the sets is a union of atoms."""
    return _alphabet_of(tuple(dict.fromkeys(sets)))


@lru_cache(maxsize=512)
def _alphabet_of(sets: tuple[Ranges, ...]) -> Alphabet:
    cuts = {0}
    for ranges in sets:
        for low, high in ranges:
            cuts.update((_before_surrogates(low), _before_surrogates(high + 1)))
    starts = sorted(cut for cut in cuts if cut <= MAX_CODE_POINT)
    place = {start: at for at, start in enumerate(starts)}
    marks = [0] * len(starts)
    for number, ranges in enumerate(sets):
        for low, high in ranges:
            first = place[_before_surrogates(low)]
            last = place.get(_before_surrogates(high + 1), len(starts))
            for at in range(first, last):
                marks[at] |= 1 << number
    return _numbered(starts, marks)


def _before_surrogates(code: int) -> int:
    """Moves a boundary inside the surrogates to their end, so that they do not form a range."""
    first, last = SURROGATES
    return last + 1 if first <= code <= last else code


def _numbered(starts: list[int], marks: list[int] | list[tuple[int, int]]) -> Alphabet:
    """Ranges with equal marks are one atom; adjacent ranges of one atom are merged."""
    numbers: dict[object, Atom] = {}
    atoms = [numbers.setdefault(mark, len(numbers)) for mark in marks]
    kept = [at for at in range(len(atoms)) if at == 0 or atoms[at] != atoms[at - 1]]
    return Alphabet(tuple(starts[at] for at in kept), tuple(atoms[at] for at in kept))


@lru_cache(maxsize=512)
def common_refinement(
    left: Alphabet, right: Alphabet
) -> tuple[Alphabet, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The coarsest alphabet finer than both; for each of its atoms, the atoms in both."""
    starts = sorted({*left.starts, *right.starts})
    pairs = [(left.atom(start), right.atom(start)) for start in starts]
    found = _numbered(starts, pairs)
    ordered = list(dict.fromkeys(pairs))
    return (
        found,
        np.array([a for a, _ in ordered], np.intp),
        np.array([b for _, b in ordered], np.intp),
    )


_SURROGATE = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A set of strings, without quotes or escapes: an automaton whose symbols are atoms.

    Shape: ``machine.classes`` (atoms of the alphabet,).
    """

    alphabet: Alphabet
    machine: Dfa
    #: Whether its JSON literals contain printable ASCII without escapes only.
    unescaped: bool = False

    def contains(self, text: str) -> bool:
        """Whether a string is a member; a string with a lone surrogate never is."""
        here, rows, classes = self.machine.initial, self.machine.table, self.machine.classes
        for character in text:
            code = ord(character)
            if code in _SURROGATE:
                return False
            here = int(rows[here, classes[self.alphabet.atom(code)]])
            if here == DEAD:
                return False
        return bool(self.machine.finals[here])

    @property
    def is_empty(self) -> bool:
        """Whether the set is empty."""
        return self.machine.is_empty


def intersection(left: Content, right: Content, limits: Limits = LIMITS) -> Content:
    """The strings in both sets."""
    return _product(left, right, operations.intersection, limits)


def union(left: Content, right: Content, limits: Limits = LIMITS) -> Content:
    """The strings in at least one of two sets."""
    return _product(left, right, operations.union, limits)


def difference(left: Content, right: Content, limits: Limits = LIMITS) -> Content:
    """The strings of the left set that are not in the right one."""
    return _product(left, right, operations.difference, limits)


def concatenation(left: Content, right: Content, limits: Limits = LIMITS) -> Content:
    """The strings of the left set, each followed by one of the right set."""
    return _product(left, right, operations.concatenation, limits)


def complement(content: Content, limits: Limits = LIMITS) -> Content:
    """The strings that are not in a set."""
    return replace(content, machine=operations.complement(content.machine, limits))


def _product(
    left: Content, right: Content, operation: Callable[[Dfa, Dfa, Limits], Dfa], limits: Limits
) -> Content:
    alphabet, atoms_left, atoms_right = common_refinement(left.alphabet, right.alphabet)
    made = operation(_over(left.machine, atoms_left), _over(right.machine, atoms_right), limits)
    return Content(alphabet, made, left.unescaped or right.unescaped)


def _over(machine: Dfa, atoms: npt.NDArray[np.intp]) -> Dfa:
    """The same automaton over a finer alphabet."""
    return Dfa(machine.classes[atoms], machine.table, machine.finals, machine.initial)


@lru_cache(maxsize=256)
def of_lengths(low: int, high: int | None) -> Content:
    """The strings of ``low`` to ``high`` characters."""
    if high is not None and high < low:
        return Content(ONE_ATOM, nothing(1))
    last = low if high is None else high
    table = np.arange(1, last + 2, dtype=np.int32)[:, None]
    table[-1] = last if high is None else DEAD
    return Content(ONE_ATOM, Dfa(np.zeros(1, np.uint16), table, np.arange(last + 1) >= low))


@lru_cache(maxsize=512)
def uniform_run(content: Content) -> tuple[int, int | None, Content | None] | None:
    """Recognizes the strings of ``low`` to ``high`` characters of one character class.

    Returns ``low``, ``high`` and all strings over the class (None if it contains every
    character); None for all other sets.
    """
    machine, states = content.machine, len(content.machine)
    reads = machine.table != DEAD
    kind = reads[0]
    onward = np.minimum(np.arange(1, states + 1), states - 1)
    continues = bool(reads[-1].any())
    if (
        machine.initial != 0
        or (reads[: states if continues else -1] != kind).any()
        or (machine.table != np.where(reads, onward[:, None], DEAD)).any()
    ):
        return None
    low = int(machine.finals.argmax())
    if not machine.finals[low:].all():
        return None
    high = None if continues else states - 1
    if kind.all():
        return low, high, None
    star = Dfa(
        machine.classes, np.where(kind, 0, DEAD).astype(np.int32)[None], np.ones(1, np.bool_)
    )
    return low, high, replace(content, machine=star)


def of_words(words: Iterable[str], limits: Limits = LIMITS) -> Content:
    """Exactly these strings."""
    words = sorted(words)
    codes = sorted({ord(character) for word in words for character in word})
    alphabet = alphabet_of(((code, code),) for code in codes)
    column = {chr(code): alphabet.atom(code) for code in codes}
    rows: list[dict[int, State]] = [{}]
    ends = set()
    for word in words:
        here = 0
        for character in word:
            there = rows[here].get(column[character])
            if there is None:
                there = rows[here][column[character]] = len(rows)
                rows.append({})
            here = there
        ends.add(here)
    limits.check("states", len(rows))
    table = np.full((len(rows), alphabet.size), DEAD, np.int32)
    for state, row in enumerate(rows):
        for atom, target in row.items():
            table[state, atom] = target
    finals = np.isin(np.arange(len(rows)), list(ends))
    classes = np.arange(alphabet.size, dtype=np.uint16)
    return Content(alphabet, minimize(Dfa(classes, table, finals), limits))


def with_lengths(content: Content, low: int, high: int | None, limits: Limits = LIMITS) -> Content:
    """The members of ``low`` to ``high`` characters.

    A state is a pair of a state of the set's automaton and the number of characters read, capped
    at the bound.

    Cost:   edges × lengths, vectorized by numpy.
    Raises: LimitError past ``limits.states`` states.
    """
    machine, states = content.machine, len(content.machine)
    if is_finite(content) and (high is None or not has_member(content, high + 1, None)):
        high, low = None, min(low, states)  # all members are shorter
    last = low if high is None else high
    limits.check("states", last, "lower the bounds of the string's length")
    sources, targets = _ways(machine)
    kept = np.zeros((last + 1, states), np.bool_)
    kept[0, machine.initial] = True
    for length in range(last):
        kept[length + 1, targets[kept[length, sources]]] = True
    if high is None:
        while (new := ~kept[last, targets] & kept[last, sources]).any():
            kept[last, targets[new]] = True
    else:
        kept[last] &= machine.finals
    for length in range(last - 1, -1, -1):
        going = np.zeros(states, np.bool_)
        going[sources[kept[length + 1, targets]]] = True
        kept[length] &= going | machine.finals if length >= low else going
    count = int(kept.sum())
    limits.check("states", count, "lower the bounds of the string's length")
    if not kept[0, machine.initial]:
        return replace(content, machine=nothing(len(machine.classes)))
    numbers = np.full((last + 2, states + 1), DEAD, np.int32)
    numbers[:-1, :-1][kept] = np.arange(count)
    if high is None:
        numbers[-1] = numbers[-2]
    at, state = np.nonzero(kept)
    table = numbers[at[:, None] + 1, machine.table[state]]
    finals = machine.finals[state] & (at >= low)
    return replace(content, machine=Dfa(machine.classes, table, finals))


def _ways(machine: Dfa) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The source and the target state of each edge."""
    sources, columns = np.nonzero(machine.table != DEAD)
    return sources, machine.table[sources, columns].astype(np.intp)


def has_member(content: Content, low: int, high: int | None) -> bool:
    """Whether some member has from ``low`` to ``high`` characters.

    Cost: the number of edges for each length, until a set of states repeats: bounds may be of any
          size.
    """
    machine = content.machine
    sources, targets = _ways(machine)
    here = np.zeros(len(machine), np.bool_)
    here[machine.initial] = True
    seen: dict[bytes, int] = {}
    ends: list[bool] = []
    while (key := here.tobytes()) not in seen:
        length = seen[key] = len(ends)
        ends.append(bool((here & machine.finals).any()))
        if high is not None and length > high:
            return False
        if ends[-1] and length >= low:
            return True
        there = np.zeros(len(machine), np.bool_)
        there[targets[here[sources]]] = True
        here = there
    # from this length on the sets of states repeat with a fixed period
    first = seen[key]
    cycle = len(ends) - first
    for length in range(first, len(ends)):
        reached = length + -((length - low) // cycle) * cycle
        if ends[length] and (high is None or reached <= high):
            return True
    return False


def is_finite(content: Content) -> bool:
    """Whether a set is finite: its automaton has no cycle (topological sort)."""
    targets = [{t for t in row if t != DEAD} for row in content.machine.table.tolist()]
    waits = [0] * len(targets)
    for row in targets:
        for target in row:
            waits[target] += 1
    ready = [state for state, count in enumerate(waits) if not count]
    for state in ready:  # grows during the iteration
        for target in targets[state]:
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    return len(ready) == len(targets)


def members(content: Content) -> Iterator[str]:
    """The members of a finite set."""
    if content.is_empty:
        return
    characters: dict[int, list[tuple[int, int]]] = {}
    for low, high, atom in content.alphabet.pieces():
        characters.setdefault(int(content.machine.classes[atom]), []).append((low, high))
    rows = content.machine.table.tolist()

    def onward(state: State, text: str) -> Iterator[tuple[State, str]]:
        for its_class, target in enumerate(rows[state]):
            if target != DEAD:
                yield from ((target, text + c) for c in _characters(characters[its_class]))

    if content.machine.finals[content.machine.initial]:
        yield ""
    waiting = [onward(content.machine.initial, "")]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        if content.machine.finals[step[0]]:
            yield step[1]
        waiting.append(onward(*step))


def _characters(ranges: list[tuple[int, int]]) -> Iterator[str]:
    for low, high in ranges:
        yield from (chr(code) for code in range(low, high + 1) if code not in _SURROGATE)
