"""The texts that a backtracking matcher matches as a whole: leftmost-first matches.

A matcher such as Python's ``re`` tries the alternatives of a regex in their order and takes the
first way through it, not the longest text: ``a|ab`` matches only the first letter of ``ab``, and
``".*?"`` ends at the first quote. The texts that are matched whole are a regular language. Its
automaton tracks the *ordered* list of positions that a matcher may be at, the preferred ones
first; a position behind one where the regex may end is never tried, so it is dropped.

Source: Cox 2010, "Regular Expression Matching in the Wild" (ordered lists of threads);
        CPython 3.11, ``sre_lib.h`` (a copy of a repetition without text is the last one).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from workbench.automata.code_points import character_machine
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.base.limits import Limits
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import Alternate, Bytes, Characters, Concat, Group, Regex, Repeat

_HINT = "shorten the regex, or use fewer counted repetitions"


class _Read(NamedTuple):
    """Reads a symbol of a set."""

    ranges: Ranges
    target: int


class _Test(NamedTuple):
    """Tests an assertion, which ``negated`` says must be false."""

    assertion: int
    negated: int
    target: int


class _Try(NamedTuple):
    """Tries its targets in their order."""

    targets: tuple[int, ...]


class _Begin(NamedTuple):
    """Begins a copy of a repetition."""

    copy: int
    target: int


class _End(NamedTuple):
    """Ends a copy: another one may follow it, unless it has read nothing."""

    copy: int
    again: int
    after: int


#: The number of the step after the regex, where it has matched.
_MATCH = 0
#: None is the step of a match.
_Step = _Read | _Test | _Try | _Begin | _End | None
#: Where a matcher is, and the copies that it began there.
_Thread = tuple[int, frozenset[int]]
#: The assertions whose truth is known, each with 1 if it is false.
_Truth = tuple[tuple[int, int], ...]


@dataclass(slots=True, eq=False)
class _Program:
    """The steps of a matcher; symbols from ``plain`` on are assertions."""

    plain: int
    limits: Limits
    steps: list[_Step] = field(default_factory=lambda: [None])
    #: Whether a match has ended an attempt that might have gone on.
    drops: bool = False
    _copies: int = 0

    def add(self, step: _Step) -> int:
        self.limits.check("unrolled", len(self.steps), _HINT)
        self.steps.append(step)
        return len(self.steps) - 1

    def compile(self, regex: Regex, after: int) -> int:
        """The first step of a regex that is followed by ``after``."""
        match regex:
            case Bytes(((low, _), *_)) if low >= self.plain:
                return self.add(_Test(*divmod(low - self.plain, 2), after))
            case Bytes(ranges):
                return self.add(_Read(ranges, after))
            case Characters(ranges):
                return self._character(ranges, after)
            case Concat(parts):
                for part in reversed(parts):
                    after = self.compile(part, after)
                return after
            case Alternate(options):
                return self.add(_Try(tuple(self.compile(option, after) for option in options)))
            case Group(part):
                return self.compile(part, after)
            case Repeat():
                return self._repeat(regex, after)
        raise TypeError(f"expected a regex over symbols, not {type(regex).__name__}")

    def _character(self, ranges: Ranges, after: int) -> int:
        """The bytes of a character; no two of them begin alike, so their order is the same."""
        first = {0: after}
        for node, edges in enumerate(character_machine(ranges).edges):
            if node:
                reads = [self.add(_Read(((low, high),), first[to])) for low, high, to in edges]
                first[node] = self.add(_Try(tuple(reads)))
        return first[max(first)]

    def _repeat(self, regex: Repeat, after: int) -> int:
        first = after
        if regex.high is None:
            first = self._optional(regex, None, after)
        else:
            for _ in range(regex.high - regex.low):
                first = self._optional(regex, first, after)
        for _ in range(regex.low):
            first = self.compile(regex.part, first)
        return first

    def _optional(self, regex: Repeat, again: int | None, after: int) -> int:
        """A copy that may be left out; ``again`` is the next one, None for the same one."""
        self._copies += 1
        copy, end = self._copies, self.add(None)
        begin = self.add(_Begin(copy, self.compile(regex.part, end)))
        choice = self.add(_Try((after, begin) if regex.lazy else (begin, after)))
        self.steps[end] = _End(copy, choice if again is None else again, after)
        return choice

    def reads(self, threads: tuple[int, ...], truth: dict[int, int]) -> _Reads | int:
        """What a matcher reads next, or an assertion whose truth it has to know first."""
        reads: dict[int, _Read] = {}
        seen: set[_Thread] = set()
        waiting: list[_Thread] = [(thread, frozenset()) for thread in reversed(threads)]
        while waiting:
            thread = waiting.pop()
            if thread in seen:
                continue
            seen.add(thread)
            number, begun = thread
            match self.steps[number]:
                case None:
                    self.drops |= any(thread not in seen for thread in waiting)
                    return _Reads(tuple(reads.values()), matched=True)
                case _Read() as read:
                    reads.setdefault(number, read)
                case _Test(assertion, negated, target):
                    if assertion not in truth:
                        return assertion
                    if truth[assertion] == negated:
                        waiting.append((target, begun))
                case _Try(targets):
                    waiting += [(target, begun) for target in reversed(targets)]
                case _Begin(copy, target):
                    waiting.append((target, begun | {copy}))
                case _End(copy, again, after):
                    waiting.append((after if copy in begun else again, begun - {copy}))
        return _Reads(tuple(reads.values()), matched=False)


class _Reads(NamedTuple):
    """The sets of symbols that are read next, the preferred ones first, down to a match."""

    reads: tuple[_Read, ...]
    matched: bool

    def steps(self) -> Iterable[tuple[int, int, tuple[int, ...]]]:
        """The runs of symbols with the same threads after them: first, last, threads."""
        cuts = {
            edge for read in self.reads for low, high in read.ranges for edge in (low, high + 1)
        }
        for low, after in pairwise(sorted(cuts)):
            threads = [
                read.target
                for read in self.reads
                if any(first <= low and low <= last for first, last in read.ranges)
            ]
            if threads:
                yield low, after - 1, tuple(dict.fromkeys(threads))


def leftmost_first(regex: Regex, plain: int, symbols: int, limits: Limits) -> tuple[Nfa, bool]:
    """The texts of a regex that a matcher, given nothing after them, matches as a whole.

    The flag is False if these are certainly all texts of the regex.

    The regex reads symbols below ``plain``, written as ``Bytes``; those from ``plain`` to
    ``symbols`` are assertions, as of ``assertion_automata``. Without an assertion the result is
    deterministic.

    Raises: LimitError above ``limits.unrolled``, ``limits.states`` or ``limits.seconds``.
    """
    program, clock = _Program(plain, limits), limits.clock()
    builder = NfaBuilder(symbols)
    builder.new_states(2)
    begin: tuple[tuple[int, ...], _Truth] = (program.compile(regex, _MATCH),), ()
    numbers = {begin: 1}
    waiting = deque(numbers)

    def number(threads: tuple[int, ...], truth: _Truth) -> int:
        key = threads, truth
        if key not in numbers:
            numbers[key] = builder.new_state()
            waiting.append(key)
        return numbers[key]

    while waiting:
        threads, truth = key = waiting.popleft()
        state = numbers[key]
        clock.check()
        limits.check("states", state, _HINT)
        reads = program.reads(threads, dict(truth))
        if isinstance(reads, int):
            for negated in (0, 1):
                symbol = plain + 2 * reads + negated
                builder.edge(state, symbol, symbol, number(threads, (*truth, (reads, negated))))
            continue
        if reads.matched:
            builder.epsilon(state, 0)
        for low, high, after in reads.steps():
            builder.edge(state, low, high, number(after, ()))
    return builder.build(1, {0}), program.drops
