"""Limits on the time, states and memory of one compilation or one mask.

Loops call ``Limits.check`` and ``Clock.check``, which raise LimitError above a limit.
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
    #: When the work began whose stages share the seconds; None if each stage is timed separately.
    began: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "began" and getattr(self, field.name) <= 0:
                raise ValueError(f"limit {field.name!r} must be above 0")

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
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
        return replace(self, began=time.perf_counter())

    def clock(self) -> Clock:
        """A clock that checks ``seconds``, counted from ``began`` or else from now."""
        return Clock(self, time.perf_counter() if self.began is None else self.began)


@dataclass(frozen=True, slots=True)
class Clock:
    """Measures the time since the work began and compares it with the limit."""

    limits: Limits
    started: float

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def check(
        self, hint: str = "the grammar grows too large; simplify it or bound a repetition"
    ) -> None:
        """Raise LimitError above the time limit; costs about 0.1 µs."""
        self.limits.check("seconds", self.seconds, hint)


#: The default limits.
LIMITS = Limits()


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
    started = time.perf_counter()
    try:
        yield
    finally:
        phases.append(Phase(name, 1000 * (time.perf_counter() - started)))
