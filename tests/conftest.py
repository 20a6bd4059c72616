"""What all tests share: none fails because the machine is busy with something else.

Property tests are not timed, and limits count a thread's own work. For a landing there is the
profile ``repeatable``: the same examples each time, so that a change is refused for its own faults.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.own_time import count_own_work

settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("workbench"), derandomize=True)
settings.load_profile("workbench")
count_own_work()
