"""Sets of strings as automata over the atoms of an alphabet.

The code points are divided into atoms that the automaton need not distinguish, so its tables are
small; two automata are combined over the common refinement of their alphabets. ``json_literals``
turns the result into an automaton over the bytes of JSON string literals.

``search`` makes the set of a ``pattern``. Anchors at its ends say which characters may surround the
match; other assertions are compiled by ``automata.lookaround``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from workbench.automata import operations
from workbench.automata.code_points import ONE_ATOM, Alphabet, alphabet_of, common_refinement
from workbench.automata.determinize import nothing
from workbench.automata.lookaround import atom_nfa, sets_of
from workbench.automata.minimize import minimize
from workbench.automata.small_dfa import smallest
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import NO_SPAN, Source
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import (
    Characters,
    Concat,
    Group,
    Look,
    LookKind,
    Regex,
    Repeat,
    asserted,
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
        state, rows, classes = self.machine.initial, self.machine.table, self.machine.classes
        for character in text:
            code = ord(character)
            if code in _SURROGATE:
                return False
            state = int(rows[state, classes[self.alphabet.atom(code)]])
            if state == DEAD:
                return False
        return bool(self.machine.finals[state])

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
    machine = operation(_over(left.machine, atoms_left), _over(right.machine, atoms_right), limits)
    return Content(alphabet, machine, left.unescaped or right.unescaped)


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
        current = 0
        for character in word:
            target = rows[current].get(column[character])
            if target is None:
                target = rows[current][column[character]] = len(rows)
                rows.append({})
            current = target
        ends.add(current)
    limits.check("states", len(rows))
    table = np.full((len(rows), alphabet.size), DEAD, np.int32)
    for state, row in enumerate(rows):
        for atom, target in row.items():
            table[state, atom] = target
    finals = np.isin(np.arange(len(rows)), list(ends))
    classes = np.arange(alphabet.size, dtype=np.uint16)
    return Content(alphabet, minimize(Dfa(classes, table, finals), limits))


def has_member(content: Content, low: int, high: int | None, limits: Limits = LIMITS) -> bool:
    """Whether some member has from ``low`` to ``high`` characters.

    Cost:   the number of states at each length, until a set of states repeats.
    Raises: LimitError above ``limits.seconds``, or if no set repeats below ``limits.states``
            characters.
    """
    machine = content.machine
    # an infinite set has a member in every range of as many lengths as there are states
    if (high is None or high - low >= len(machine)) and not is_finite(content):
        return True
    clock = limits.clock()
    states = np.array([machine.initial])
    seen: dict[bytes, int] = {}
    ends: list[bool] = []
    while (key := states.tobytes()) not in seen:
        clock.check()
        length = seen[key] = len(ends)
        limits.check("states", length, "lower the bounds of the string's length")
        ends.append(bool(machine.finals[states].any()))
        if high is not None and length > high:
            return False
        if ends[-1] and length >= low:
            return True
        targets = np.unique(machine.table[states])
        states = targets[targets != DEAD]
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
    targets = [set(row.tolist()) - {DEAD} for row in content.machine.table]
    waits = [0] * len(targets)
    for row in targets:
        for target in row:
            waits[target] += 1
    ready = [state for state, count in enumerate(waits) if not count]
    sorted_count = 0
    while ready:
        sorted_count += 1
        for target in targets[ready.pop()]:
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    return sorted_count == len(targets)


def members(content: Content) -> Iterator[str]:
    """The members of a finite set."""
    if content.is_empty:
        return
    characters: dict[int, list[tuple[int, int]]] = {}
    for low, high, atom in content.alphabet.pieces():
        characters.setdefault(int(content.machine.classes[atom]), []).append((low, high))
    rows = table_rows(content.machine.table)

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


# -- patterns --------------------------------------------------------------------------------------

_ANYTHING = Repeat(Characters(ANY_CHARACTER, NO_SPAN), 0, None, NO_SPAN)


@lru_cache(maxsize=512)
def search(pattern: str, limits: Limits = LIMITS) -> Content:
    """The strings in which a pattern is found at some position.

    Raises: ParseError if the pattern cannot be parsed or is not regular, with a span in the
            pattern; LimitError if its automaton is too large.
    Source: JSON Schema 2020-12 Validation, section 6.3.3; ECMA-262, section 22.2.
    """
    source = Source(pattern, "pattern")
    regex = parse_regex(source, dialect=Dialect.ECMA, searched=True, clock=limits.clock())
    whole = _whole(asserted(regex) or regex)
    alphabet = alphabet_of(sets_of(whole))
    return Content(alphabet, smallest(atom_nfa(whole, alphabet, thompson, limits), limits))


def _whole(regex: Regex) -> Regex:
    """The regex of the whole strings in which a regex is found."""
    parts = _parts(regex)
    first, last = 0, len(parts)
    while first < last and _is_anchor(parts[first], LookKind.START):
        first += 1
    while first < last and _is_anchor(parts[last - 1], LookKind.END):
        last -= 1
    before = () if first else (_ANYTHING,)
    after = () if last < len(parts) else (_ANYTHING,)
    return Concat((*before, *parts[first:last], *after), NO_SPAN)


def _parts(regex: Regex) -> list[Regex]:
    """The parts of a concatenation, groups removed."""
    match regex:
        case Concat(parts):
            return [inner for part in parts for inner in _parts(part)]
        case Group(part):
            return _parts(part)
        case _:
            return [regex]


def _is_anchor(regex: Regex, kind: LookKind) -> bool:
    return isinstance(regex, Look) and regex.kind is kind
