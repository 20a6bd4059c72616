"""What all tests share: none fails because the machine is busy with something else.

Property tests are not timed, and limits count a thread's own work. For a landing there is the
profile ``repeatable``: the same examples each time, so that a change is refused for its own faults.

With ``WORKBENCH_SLOW_SHARE=2/4`` the second quarter of the tests marked slow runs, and all others:
``.ci/run`` takes another quarter for each commit, so four in a row run every test.
"""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

from tests.own_time import count_own_work

settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("workbench"), derandomize=True)
settings.load_profile("workbench")
count_own_work()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked slow that are not in the share asked for."""
    share = os.environ.get("WORKBENCH_SLOW_SHARE")
    if not share:
        return
    part, parts = map(int, share.split("/"))
    left_out = [
        item
        for item in items
        if item.get_closest_marker("slow")
        and zlib.crc32(item.nodeid.encode()) % parts != part % parts
    ]
    config.hook.pytest_deselected(items=left_out)
    unwanted = set(left_out)
    items[:] = [item for item in items if item not in unwanted]
