"""Computes a short regex of an automaton, by state elimination.

States are removed one by one; the paths through a removed state become edges between its
neighbours. The next state to remove is the one that lengthens the regex least.

The regex constructors in this module (``concat``, ``either``, ``repeat``, …) simplify, and all
nodes have the same empty span, so that nodes compare equal if they are printed alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from workbench.base.limits import Clock, check_time_budget
from workbench.base.source import NO_SPAN
from workbench.syntax.ranges import Ranges, union
from workbench.syntax.regex.extensions import label_of
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.tree import Alternate, Bytes, Characters, Concat, Group, Regex, Repeat

#: The language of the empty text, and the language without texts.
EMPTY = Concat((), NO_SPAN)
NOTHING = Characters((), NO_SPAN)

#: The most parts of a sequence whose adjacent copies are combined into a count.
_MAX_ROW = 16
#: Adjacent copies of letters are combined if they are more characters than this.
_MAX_COPIED_LETTERS = 16


def one_of(ranges: Ranges) -> Regex:
    """One character of a set."""
    return Characters(ranges, NO_SPAN)


def text(characters: str) -> Regex:
    """Exactly this text."""
    parts = [one_of(((ord(c), ord(c)),)) for c in characters]
    return parts[0] if len(parts) == 1 else Concat(tuple(parts), NO_SPAN)


def plain(regex: Regex) -> Regex | None:
    """A copy of a regex without spans and without groups that have no label.

    None if it contains what not every dialect can express: bytes, extensions.
    """
    match regex:
        case Characters(ranges) | Bytes(ranges):
            is_text = isinstance(regex, Characters) or not ranges or ranges[-1][1] < 0x80
            return one_of(ranges) if is_text else None
        case Concat(parts) | Alternate(parts):
            inner = [copy for part in parts if (copy := plain(part)) is not None]
            if len(inner) < len(parts):
                return None
            return concat(*inner, rows=False) if isinstance(regex, Concat) else either(*inner)
        case Repeat(part, low, high):
            copy = plain(part)
            return None if copy is None else repeat(copy, low, high)
        case Group(part, name):
            label = label_of(regex)
            return plain(part) if label is None else Group(label.regex(NO_SPAN), name, NO_SPAN)
        case _:
            return None


def concat(*parts: Regex, rows: bool = True) -> Regex:
    """The parts in sequence; with ``rows``, adjacent copies are combined into a count."""
    flat: list[Regex] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if rows and flat and (both := _join(flat[-1], piece)) is not None:
                flat[-1] = both
            else:
                flat.append(piece)
    if rows:
        flat = _rows_counted(flat)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat), NO_SPAN)


def either(*options: Regex) -> Regex:
    """Any one of the options; sets of characters become one set, the empty text a ``?``."""
    flat: dict[Regex, None] = {}
    sets: list[Ranges] = []
    optional = False
    for option in options:
        for part in option.options if isinstance(option, Alternate) else (option,):
            optional |= part == EMPTY
            if isinstance(part, Characters):
                sets.append(part.ranges)
                flat.setdefault(NOTHING)  # the position of the set
            elif part != EMPTY:
                flat.setdefault(part)
    together = one_of(union(*sets)) if sets else NOTHING
    kept = [together if part == NOTHING else part for part in flat]
    kept = [part for part in kept if part != NOTHING]
    if not kept:
        return EMPTY if optional else NOTHING
    choice = kept[0] if len(kept) == 1 else Alternate(tuple(kept), NO_SPAN)
    return repeat(choice, 0, 1) if optional else choice


def factored(*options: Regex) -> Regex:
    """As ``either``, with common first and last parts of the options written once."""
    return either(*_group(_group(list(options), _first, concat), _last, _before))


def _group(
    options: list[Regex],
    cut: Callable[[Regex], tuple[Regex, Regex]],
    join: Callable[[Regex, Regex], Regex],
) -> list[Regex]:
    """Options with a common part combined: the part, and a choice of their remainders."""
    groups: dict[Regex, dict[Regex, None]] = {}
    for option in options:
        for part in option.options if isinstance(option, Alternate) else (option,):
            shared, rest = cut(part)
            groups.setdefault(shared, {})[rest] = None
    return [
        join(shared, factored(*rests) if len(rests) > 1 else next(iter(rests)))
        for shared, rests in groups.items()
    ]


def _first(regex: Regex) -> tuple[Regex, Regex]:
    """The first part and the remainder."""
    if isinstance(regex, Concat) and regex.parts:
        return regex.parts[0], concat(*regex.parts[1:])
    return regex, EMPTY


def _last(regex: Regex) -> tuple[Regex, Regex]:
    """The last part and the parts before it."""
    if isinstance(regex, Concat) and regex.parts:
        return regex.parts[-1], concat(*regex.parts[:-1])
    return regex, EMPTY


def _before(shared: Regex, rest: Regex) -> Regex:
    return concat(rest, shared)


def repeat(part: Regex, low: int, high: int | None) -> Regex:
    """A part ``low`` to ``high`` times; nested repetitions become one where possible."""
    if part in (EMPTY, NOTHING) or high == 0:
        return EMPTY if low == 0 or part == EMPTY else NOTHING
    if (low, high) == (1, 1):
        return part
    if isinstance(part, Repeat):
        inner, least, most = part.part, part.low, part.high
        if most is None and least <= 1 and (high is None or least == 0 or high == 1):
            return Repeat(inner, min(least, low), None, NO_SPAN)
        if (least, most) == (0, 1) and low == 0:
            return Repeat(inner, 0, high, NO_SPAN)
        if (low, high) == (0, 1) and least <= 1:
            return Repeat(inner, 0, most, NO_SPAN)
    return Repeat(part, low, high, NO_SPAN)


def _join(left: Regex, right: Regex) -> Regex | None:
    """Two neighbours as a count of one part; None if they differ or that is not shorter."""
    (part, low, high), (other, least, most) = _as_count(left), _as_count(right)
    if part != other:
        return None
    if not isinstance(left, Repeat) and not isinstance(right, Repeat) and _is_letter(part):
        return None  # ``ll`` reads better than ``l{2}``
    return repeat(part, low + least, None if high is None or most is None else high + most)


def _as_count(regex: Regex) -> tuple[Regex, int, int | None]:
    return (regex.part, regex.low, regex.high) if isinstance(regex, Repeat) else (regex, 1, 1)


def _is_letter(regex: Regex) -> bool:
    return (
        isinstance(regex, Characters)
        and len(regex.ranges) == 1
        and regex.ranges[0][0] == regex.ranges[0][1]
    )


#: Parts of a sequence between two checks of the time.
_CHECKED_EVERY = 16


def _rows_counted(parts: list[Regex]) -> list[Regex]:
    """``x y x y z`` becomes ``(xy){2} z``, ``x y (xy)*`` and ``(xy)* x y`` become ``(xy)+``."""
    index = 0
    while index < len(parts):
        if index % _CHECKED_EVERY == _CHECKED_EVERY - 1:
            check_time_budget()
        for row in _candidate_rows(parts, index):
            whole, end = _combine_copies(parts, index, row)
            if whole is not None:
                parts = [*parts[:index], whole, *parts[end:]]
                break
        index += 1
    return parts


def _candidate_rows(parts: list[Regex], index: int) -> Iterator[tuple[Regex, ...]]:
    """The rows of parts that may be repeated from ``index``, the shortest first."""
    first = parts[index]
    if isinstance(first, Repeat) and isinstance(first.part, Concat):
        yield first.part.parts
    for width, following in enumerate(parts[index + 1 : index + 1 + _MAX_ROW], 1):
        if following == first or isinstance(following, Repeat):  # else there is no second copy
            yield tuple(parts[index : index + width])


def _combine_copies(
    parts: list[Regex], begin: int, row: tuple[Regex, ...]
) -> tuple[Regex | None, int]:
    """The adjacent copies of a row as one count (None if it is not worth it), and their end."""
    width = len(row)
    whole = Concat(row, NO_SPAN) if width > 1 else row[0]
    low, high, copies, end = 0, 0, 0, begin
    endless = False
    while end < len(parts):
        part = parts[end]
        if isinstance(part, Repeat) and part.part == whole:
            low, high, end = low + part.low, high + (part.high or 0), end + 1
            endless |= part.high is None
        elif tuple(parts[end : end + width]) == row:
            low, high, end = low + 1, high + 1, end + width
        else:
            break
        copies += 1
    if copies < 2:
        return None, end
    if (
        copies == low == high
        and copies * width <= _MAX_COPIED_LETTERS
        and all(map(_is_letter, row))
    ):
        return None, end  # ``abab`` reads better than ``(ab){2}``
    return repeat(whole, low, None if endless else high), end


State = TypeVar("State", bound=Hashable)

#: The most edges that are created during an elimination.
_MAX_EDGES = 6_000


class TooLongError(Exception):
    """The regex would exceed the maximum length."""


class StateElimination(Generic[State]):
    """The edges, labelled with regexes, between the states that are not eliminated yet.

    Source: Brzozowski & McCluskey 1963 (state elimination); the order by weights is that of
            Delgado & Morais 2004, "Approximation to the smallest regular expression for a given
            regular language".
    """

    def __init__(self, edges: Iterable[tuple[State, Regex, State]], most: int) -> None:
        self._most = most
        #: The regex from a state to another, with the length of its pattern.
        self._out: dict[State, dict[State, tuple[Regex, int]]] = defaultdict(dict)
        self._into: dict[State, set[State]] = defaultdict(set)
        self._added = 0
        for source, regex, target in edges:
            self._add(source, regex, target)

    def between(self, first: State, last: State, clock: Clock) -> Regex:
        """The regex of all paths from ``first``, which has no incoming edges, to ``last``.

        Cost:   quadratic in the states, with a small factor, plus the length of the patterns for
                each new edge.
        Raises: TooLongError if a pattern has more than ``most`` characters, or there are too many
                new edges; LimitError above the clock's time.
        """
        for _ in self.order(first, last, clock):
            pass
        return self._out[first].get(last, (NOTHING, 0))[0]

    @property
    def edges(self) -> Iterator[tuple[tuple[State, State], Regex]]:
        """The edges between the states that are left: source and target, regex."""
        for source, row in self._out.items():
            for target, (regex, _) in row.items():
                yield (source, target), regex

    def order(self, first: State, last: State, clock: Clock) -> Iterator[State]:
        """Eliminate all states but two; each is yielded before it is eliminated.

        Raises: as ``between``.
        """
        weights = {state: 0 for state in (*self._out, *self._into) if state not in (first, last)}
        touched = set(weights)
        while weights:
            clock.check("the automaton is too large for a regex")
            weights.update((state, self._weight(state)) for state in touched if state in weights)
            state = min(weights, key=weights.__getitem__)
            del weights[state]
            yield state
            touched = {*self._out[state], *self._into[state]}
            self._eliminate(state)

    def _weight(self, state: State) -> int:
        """How much longer all edges together become if a state is eliminated."""
        out, into = self._out[state], self._into[state]
        loop = out[state][1] if state in out else 0
        leaving = sum(length for target, (_, length) in out.items() if target != state)
        entering = sum(self._out[before][state][1] for before in into if before != state)
        exits, entries = len(out) - (state in out), len(into) - (state in into)
        return entering * (exits - 1) + leaving * (entries - 1) + loop * (exits * entries - 1)

    def _eliminate(self, state: State) -> None:
        out = self._out.pop(state)
        into = self._into.pop(state)
        loop = repeat(out.pop(state)[0], 0, None) if state in out else EMPTY
        into.discard(state)
        for target in out:
            self._into[target].discard(state)
        for before in into:
            entering, _ = self._out[before].pop(state)
            for target, (leaving, _) in out.items():
                self._add(before, concat(entering, loop, leaving), target)

    def _add(self, source: State, regex: Regex, target: State) -> None:
        present = self._out[source].get(target)
        both = regex if present is None else factored(present[0], regex)
        length = len(pattern(both))
        self._added += 1
        if length > self._most or self._added > _MAX_EDGES:
            raise TooLongError
        self._out[source][target] = both, length
        self._into[target].add(source)
