"""Limits on the time, states and memory of one compilation or one mask.

Loops call ``Limits.check`` and ``Clock.check``, which raise LimitError above a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter

from workbench.base import kernels
from workbench.base.errors import EndedError, LimitError


@dataclass(slots=True)
class Deadline:
    """A ``time_budget``: when it began, and the reading of ``_cpu_seconds`` at its end.

    Both are set again after compiled kernels replaced ordinary Python.
    """

    seconds: float
    began: float
    cpu: float

    def end(self) -> None:
        """Let the next check in the block raise EndedError; may be called from another thread."""
        self.seconds, self.cpu = -math.inf, -math.inf


#: The deadline of the current request; None outside a ``time_budget``.
_DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)

#: The CPU seconds of all ``not_budgeted`` blocks.
_NOT_BUDGETED: ContextVar[float] = ContextVar("not_budgeted", default=0.0)


def _cpu_seconds() -> float:
    """The CPU time of this thread without that of kernels' loading and ``not_budgeted`` blocks."""
    return kernels.counted_cpu_seconds() - _NOT_BUDGETED.get()


@contextmanager
def not_budgeted() -> Iterator[None]:
    """Within the block, CPU time does not count for a ``time_budget``.

    For the forward passes of a model: their number is bounded, and the thread that runs one may
    compute rows for other requests.
    """
    began = _cpu_seconds()
    try:
        yield
    finally:
        _NOT_BUDGETED.set(_NOT_BUDGETED.get() + _cpu_seconds() - began)


@contextmanager
def time_budget(seconds: float) -> Iterator[Deadline]:
    """Within the block, no clock allows more than ``seconds`` of this thread's CPU time in all.

    A request consists of operations, each with separate limits; together they have this budget.
    CPU time is counted, because a request also waits for other requests. Inside another
    ``time_budget`` the earlier deadline holds.
    """
    outer = _DEADLINE.get()
    own = Deadline(seconds, kernels.counted_now(), _cpu_seconds() + seconds)
    earlier = own if outer is None or own.cpu < outer.cpu else outer
    token = _DEADLINE.set(earlier)
    try:
        yield earlier
    finally:
        _DEADLINE.reset(token)


def check_time_budget(hint: str = "simplify the grammar, or bound a repetition") -> None:
    """Raise LimitError after the deadline of a ``time_budget``; costs about 0.1 µs."""
    if _DEADLINE.get() is not None:
        _check_deadline(kernels.counted_now(), hint)


def _check_deadline(now: float, hint: str) -> None:
    deadline = _DEADLINE.get()
    # reading the CPU time takes longer; it is never more than the time that has passed
    if (
        deadline is None
        or now - kernels.counted_from(deadline.began) <= deadline.seconds
        or _cpu_seconds() <= deadline.cpu
    ):
        return
    if deadline.seconds < 0:
        raise EndedError
    if kernels.interpreting():
        kernels.wait_until_compiled()
    began = kernels.counted_from(deadline.began)
    if began == deadline.began:
        raise LimitError(f"needs more than {deadline.seconds:,} seconds", "seconds", hint)
    # the CPU time at the switch is known only if this thread waited for it: counted from here
    deadline.began, deadline.cpu = began, _cpu_seconds() + deadline.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a compilation and the masks made from it may spend.

    The defaults are those of the public page: two seconds and 256 MB a compilation. They are
    checked inside the loops, so that a regex that explodes is stopped early. The seconds count
    from the start of a ``Clock``, not from the creation of the limits.
    """

    #: States of any one automaton, before and after determinization.
    states: int = 100_000
    #: Edges of the explicit token machines (the closed form).
    token_edges: int = 5_000_000
    #: Configurations of a nondeterministic pushdown automaton at one position.
    configurations: int = 2_000
    #: Symbols on one stack; a text nested to this depth is read in under 0.1 s.
    stack_depth: int = 20_000
    #: Mask rows that a constraint caches; the oldest is dropped first.
    rows: int = 4_096
    #: Seconds of one compilation, or of one mask.
    seconds: float = 2.0
    #: Megabytes the tables of one compilation may hold.
    megabytes: int = 256
    #: States that a counted repetition such as ``x{1000}`` may unroll to.
    unrolled: int = 200_000
    #: The widest indentation of a line in a Lark grammar with an ``Indenter``.
    columns: int = 24
    #: When the work began whose stages share the seconds; None if each stage is timed separately.
    #: Not compared: cached results of equal budgets are the same.
    began: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if min(_budgets(self)) <= 0:
            name = next(name for name in _BUDGETS if getattr(self, name) <= 0)
            raise ValueError(f"limit {name!r} must be above 0")

    def __repr__(self) -> str:
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        changed = (f"{name}={value!r}" for name, value, default in values if value != default)
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
        return replace(self, began=kernels.counted_now())

    def clock(self) -> Clock:
        """A clock that checks ``seconds``, counted from ``began`` or else from now."""
        return Clock(self, kernels.counted_now() if self.began is None else self.began)


@dataclass(frozen=True, slots=True)
class Clock:
    """Measures the time since the work began and compares it with the limit.

    Loading and compiling kernels does not count, and work that takes too long because its kernels
    are not compiled yet waits for them; its seconds are then counted from there.
    """

    limits: Limits
    started: float

    @property
    def seconds(self) -> float:
        return kernels.counted_now() - kernels.counted_from(self.started)

    def check(
        self, hint: str = "the grammar grows too large; simplify it or bound a repetition"
    ) -> None:
        """Raise LimitError above the time limit, and after the deadline of a ``time_budget``.

        Costs about 0.2 µs.
        """
        now = kernels.counted_now()
        allowed = self.limits.seconds
        if now - self.started > allowed and now - kernels.counted_from(self.started) > allowed:
            if kernels.interpreting():
                kernels.wait_until_compiled()
                now = kernels.counted_now()
            self.limits.check("seconds", self.seconds, hint)
        if _DEADLINE.get() is not None:
            _check_deadline(now, hint)


_BUDGETS = tuple(one.name for one in fields(Limits) if one.name != "began")
_budgets = attrgetter(*_BUDGETS)

#: The default limits.
LIMITS = Limits()

#: More than a public page allows: commands and workers run on the machine of their user.
LOCAL_LIMITS = Limits(seconds=30.0, megabytes=2_048, states=500_000)


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a compilation and how long it took."""

    name: str
    milliseconds: float


@contextmanager
def timed(name: str, phases: list[Phase] | None) -> Iterator[None]:
    """Append a phase with the time of the block, also if it raises. None: not measured."""
    if phases is None:
        yield
        return
    started = kernels.counted_now()
    try:
        yield
    finally:
        phases.append(Phase(name, 1000 * (kernels.counted_now() - started)))
