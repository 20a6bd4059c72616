"""Limits on time, states and memory of one piece of work.

``Limits.check`` raises LimitError where a limit is exceeded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from workbench.base.errors import LimitError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a compilation and the masks made from it may spend.

    The defaults are those of the public page: two seconds and 256 MB a
    compile. Work checks them inside its loops, so a regex that explodes is
    stopped while it explodes. The seconds count from when a ``Clock`` is
    started, not from when the limits are made.
    """

    #: States of any one automaton, before and after determinization.
    states: int = 100_000
    #: Edges of the explicit token machines (the closed form).
    token_edges: int = 5_000_000
    #: Configurations a nondeterministic stack machine may be in together.
    configurations: int = 2_000
    #: Symbols on one stack: texts nested so deep are read in under 0.1 s.
    stack_depth: int = 20_000
    #: Rows (masks) a constraint keeps before it forgets the oldest.
    rows: int = 4_096
    #: Seconds of one compilation, or of one mask.
    seconds: float = 2.0
    #: Megabytes the tables of one compilation may hold.
    megabytes: int = 256
    #: Copies a counted repetition such as ``x{1000}`` may unroll to, in machine states.
    unrolled: int = 200_000
    #: When the work began whose stages share the seconds; None where each has its own.
    began: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "began" and getattr(self, field.name) <= 0:
                raise ValueError(f"limit {field.name!r} must be above 0")

    def check(self, budget: str, spent: float, hint: str = "") -> None:
        """Raise LimitError if ``spent`` is over the budget of that name."""
        allowed = getattr(self, budget)
        if spent > allowed:
            raise LimitError(
                f"needs more than {allowed:,} {budget.replace('_', ' ')}",
                budget,
                hint or "simplify the grammar, or raise the limit if this machine is yours",
            )

    def rows_of(self, size: int) -> int:
        """How many rows of ``size`` bytes are remembered: no more than fit into half the memory.

        A long session asks for ever new states; what it remembers may not grow with them.
        """
        return max(1, min(self.rows, self.megabytes * 1_000_000 // (2 * size)))

    def begun(self) -> Limits:
        """The same budgets for work that begins now: all its stages share the seconds."""
        return replace(self, began=time.perf_counter())

    def clock(self) -> Clock:
        """A clock that complains past ``seconds``, counted from now or from when the work began."""
        return Clock(self, time.perf_counter() if self.began is None else self.began)


@dataclass(frozen=True, slots=True)
class Clock:
    """The time since one piece of work began, held against its limit."""

    limits: Limits
    started: float

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def check(
        self, hint: str = "the grammar grows too large; simplify it or bound a repetition"
    ) -> None:
        """Raise LimitError when the time is over; costs about 0.1 µs."""
        self.limits.check("seconds", self.seconds, hint)


#: The budgets used where none are given.
LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a compilation and how long it took."""

    name: str
    milliseconds: float


@contextmanager
def timed(name: str, phases: list[Phase] | None) -> Iterator[None]:
    """Append a phase with the time of the block, also where it raises; None measures nothing."""
    if phases is None:
        yield
        return
    started = time.perf_counter()
    try:
        yield
    finally:
        phases.append(Phase(name, 1000 * (time.perf_counter() - started)))
