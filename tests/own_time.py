"""While tests run, limits count a thread's own work: the clock of limits is replaced."""

from __future__ import annotations

import threading
import time

from workbench.base import kernels

#: The clock of limits without the change below.
day_time = kernels.counted_now


class _Latest(threading.local):
    """The last readings of each thread: of the clock, of its work and of what is not counted."""

    reading = 0.0
    worked = 0.0
    uncounted = 0.0


def count_own_work() -> None:
    """Give limits the processor time of the thread that asks in the place of the time of day.

    Two seconds of the day may hold a tenth of a second of work on a machine that does other
    things; what a grammar costs should not depend on them, nor should a test.
    """
    latest = _Latest()

    def spent() -> float:
        # some systems count work in hundredths of a second, and another thread may load kernels for
        # longer than this thread works: between two readings some time always passes
        worked, uncounted = time.thread_time(), kernels.uncounted_seconds()
        passed = (worked - latest.worked) - (uncounted - latest.uncounted)
        latest.worked, latest.uncounted = worked, uncounted
        latest.reading += max(passed, 1e-8)
        return latest.reading

    vars(kernels)["counted_now"] = spent
