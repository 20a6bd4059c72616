"""Limits on the time, states and memory of one compilation or one mask.

Loops call ``Limits.check`` and ``Clock.check``, which raise LimitError above a limit. Time is the
CPU time of the thread that computes (``cpu_time``): what a text needs does not depend on what else
the machine does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from threading import get_ident
from time import perf_counter
from typing import TypeVar

from workbench.base import cpu_time, kernels
from workbench.base.arguments import PositiveCount, Seconds, check_fields
from workbench.base.errors import EndedError, LimitError

#: A clock, or None where no budget holds.
Limiting = TypeVar("Limiting", bound="Clock | None")

_HINT = "the grammar grows too large; simplify it or bound a repetition"


class Clock:
    """Compares the CPU time of some work with the seconds it may take.

    Work that another thread continues is counted there from its first look at the clock. Work
    that takes too long because its kernels are not compiled yet waits for them, and is counted
    from there.
    """

    __slots__ = ("_began", "_created", "_ended", "_outer", "_safe_until", "limits")

    def __init__(self, limits: Limits, outer: Clock | None = None) -> None:
        #: What the work may spend; its ``seconds`` are compared here.
        self.limits = limits
        #: The clock of the work of which this is a part.
        self._outer = outer
        self._ended = False
        #: The thread → its CPU seconds when it began.
        self._began = {get_ident(): cpu_time.cpu_seconds()}
        self._created = perf_counter()
        #: The CPU time cannot be used up before this moment of ``time.perf_counter``, because a
        #: thread's CPU time grows at most as fast: until then no check reads it.
        self._safe_until = self._created + limits.seconds

    def __reduce__(self) -> tuple[type[Clock], tuple[Limits]]:
        """A copy is a clock that begins now: the readings mean nothing in another process."""
        return Clock, (self.limits,)

    @property
    def seconds(self) -> float:
        """The CPU seconds that this thread used."""
        now = cpu_time.cpu_seconds()
        return now - min(now, self._began.setdefault(get_ident(), now))

    def end(self) -> None:
        """Let the next check raise EndedError; may be called from another thread."""
        self._ended = True
        self._safe_until = -math.inf

    def check(self, hint: str = _HINT) -> None:
        """Raise LimitError if the seconds of this clock or of a ``time_budget`` are used up.

        Cost: 0.2 µs.
        Raises: LimitError; EndedError after ``end``.
        """
        now = perf_counter()
        if now > self._safe_until:
            self._check_seconds(hint)
        budget = _BUDGET.get()
        if budget is not None:
            budget.check_all(now, hint)

    def check_all(self, now: float, hint: str) -> None:
        """Check this clock and those of the work of which it is a part."""
        clock: Clock | None = self
        while clock is not None:
            if now > clock._safe_until:
                clock._check_seconds(hint)
            clock = clock._outer

    def _check_seconds(self, hint: str) -> None:
        allowed = self.limits.seconds
        seconds_left = allowed - self.seconds
        if seconds_left < 0 and not self._ended:
            if kernels.interpreting():
                kernels.wait_until_compiled(_check_ended)
            if self._created < kernels.switched_at():
                self.restart()
                seconds_left = allowed
        self._safe_until = perf_counter() + seconds_left
        if self._ended:  # read last: another thread may have called ``end`` just before
            self._safe_until = -math.inf
            raise EndedError
        if seconds_left < 0:
            self.exceeded(hint)

    def give_way(self) -> None:
        """Let other work go first, where a subclass knows of it."""

    def restart(self) -> None:
        """Count the seconds of this thread from now on."""
        self._created = perf_counter()
        self._began[get_ident()] = cpu_time.cpu_seconds()

    def exceeded(self, hint: str) -> None:
        """What a check does when the seconds are used up: raise LimitError."""
        raise LimitError(f"needs more than {self.limits.seconds:,} seconds", "seconds", hint)


#: The innermost ``time_budget``; None outside of all.
_BUDGET: ContextVar[Clock | None] = ContextVar("budget", default=None)


def _check_ended() -> None:
    """Raise EndedError if the present work was ended, whatever time it has."""
    clock = _BUDGET.get()
    while clock is not None:
        if clock._ended:
            raise EndedError
        clock = clock._outer


def give_way() -> None:
    """Let other work go first while this one cannot continue.

    Raises: EndedError if the work was ended.
    """
    _check_ended()
    clock = _BUDGET.get()
    while clock is not None:
        clock.give_way()
        clock = clock._outer


def budget_clock(seconds: float = math.inf) -> Clock:
    """A clock for ``within``, as a part of the present work."""
    return Clock(replace(LIMITS, seconds=seconds), _BUDGET.get())


def current_budget() -> Clock | None:
    """The clock of the innermost ``within`` or ``time_budget``, for work that moves to a thread."""
    return _BUDGET.get()


@contextmanager
def within(clock: Limiting) -> Iterator[Limiting]:
    """Within the block, each check of any clock checks this one too; None checks no other."""
    token = _BUDGET.set(clock)
    try:
        yield clock
    finally:
        _BUDGET.reset(token)


def time_budget(seconds: float) -> AbstractContextManager[Clock]:
    """Within the block, no clock allows more than ``seconds`` of this thread's CPU time in all.

    A request consists of operations, each with separate limits; together they have this budget.
    Budgets may be nested: all of them hold.
    """
    return within(budget_clock(seconds))


def check_time_budget(hint: str = "simplify the grammar, or bound a repetition") -> None:
    """Raise LimitError if the seconds of a ``time_budget`` are used up; costs about 0.2 µs."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.check_all(perf_counter(), hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a compilation and the masks made from it may spend.

    The defaults are those of the public page: two seconds and 256 MB a compilation. They are
    checked inside the loops, so that a regex that explodes is stopped early. The seconds are CPU
    time and count from the start of a ``Clock``, not from the creation of the limits.
    """

    #: States of any one automaton, before and after determinization.
    states: PositiveCount = 100_000
    #: Edges of the explicit token machines (the closed form).
    token_edges: PositiveCount = 5_000_000
    #: Configurations of a nondeterministic pushdown automaton at one position.
    configurations: PositiveCount = 2_000
    #: Symbols on one stack; a text nested to this depth is read in under 0.1 s.
    stack_depth: PositiveCount = 20_000
    #: Mask rows that a constraint caches; the oldest is dropped first.
    rows: PositiveCount = 4_096
    #: CPU seconds of one compilation, or of one mask.
    seconds: Seconds = 2.0
    #: Megabytes the tables of one compilation may hold.
    megabytes: PositiveCount = 256
    #: States that a counted repetition such as ``x{1000}`` may unroll to.
    unrolled: PositiveCount = 200_000
    #: The widest indentation of a line in a Lark grammar with an ``Indenter``.
    columns: PositiveCount = 24
    #: The clock of work whose stages share the seconds; None if each stage is timed separately.
    #: Not compared: cached results of equal budgets are the same.
    shared_clock: Clock | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        try:
            are_positive = min(_budgets(self)) > 0
        except TypeError:
            are_positive = False
        if not are_positive:
            check_fields(self)

    def __repr__(self) -> str:
        changed = (
            f"{limit.name}={getattr(self, limit.name)!r}"
            for limit in fields(self)
            if limit.compare and getattr(self, limit.name) != limit.default
        )
        return f"Limits({', '.join(changed)})"

    def check(self, budget: str, spent: float, hint: str = "") -> None:
        """Raise LimitError if ``spent`` is over the budget of that name."""
        allowed = getattr(self, budget)
        if spent > allowed:
            raise LimitError(
                f"needs more than {allowed:,} {budget.replace('_', ' ')}",
                budget,
                hint or "simplify the grammar, or raise the limit (Limits) when running locally",
            )

    def rows_of(self, size: int) -> int:
        """The number of rows of ``size`` bytes to cache: at most half the memory limit.

        Bounds the memory of a long session, which keeps visiting new states.
        """
        return max(1, min(self.rows, self.megabytes * 1_000_000 // (2 * size)))

    def begun(self) -> Limits:
        """The same budgets for work that begins now: all its stages share the seconds."""
        return replace(self, shared_clock=self.per_stage().clock())

    def per_stage(self, most: float = math.inf) -> Limits:
        """The same budgets for stages timed separately, of at most ``most`` seconds each."""
        if self.shared_clock is None and most >= self.seconds:
            return self
        return replace(self, seconds=min(most, self.seconds), shared_clock=None)

    def clock(self) -> Clock:
        """A clock for ``seconds``: the shared one, or a clock that begins now."""
        return self.shared_clock or Clock(self)


_BUDGETS = tuple(limit.name for limit in fields(Limits) if limit.compare)
_budgets = attrgetter(*_BUDGETS)

#: The default limits.
LIMITS = Limits()

#: More than a public page allows: commands and workers run on the machine of their user.
LOCAL_LIMITS = Limits(seconds=30.0, megabytes=2_048, states=500_000)


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a compilation and how long it took."""

    name: str
    #: Milliseconds of CPU time.
    milliseconds: float


@contextmanager
def timed(name: str, phases: list[Phase] | None) -> Iterator[None]:
    """Append a phase with the CPU time of the block, also if it raises. None: not measured."""
    if phases is None:
        yield
        return
    began = cpu_time.cpu_seconds()
    try:
        yield
    finally:
        phases.append(Phase(name, 1000 * (cpu_time.cpu_seconds() - began)))
