"""What all tests share: which of them run.

A bare ``pytest`` leaves out the tests marked ``slow``, ``browser`` and ``exhaustive``; with the name
of a file, a folder or a test, or with ``-m``, all of it runs. ``--slow 0/2`` runs a half of the slow
ones and those in a browser too (``0/1`` all), ``--exhaustive 2/32`` a part of the exhaustive ones:
``.ci/run`` takes other parts for each commit, so thirty-two in a row run every test.

Property tests are not timed. For a landing there is the
profile ``repeatable``: the same examples each time, so that a change is refused for its own faults.
"""

from __future__ import annotations

import gc
import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

# the tests of the interpreted kernels change it in processes they start
os.environ.setdefault("WORKBENCH_KERNELS", "compiled")

settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("workbench"), derandomize=True)
settings.load_profile("workbench")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that add tests."""
    parser.addoption(
        "--slow", metavar="K/N", help="run the K-th of N parts of slow tests and those in a browser"
    )
    parser.addoption(
        "--exhaustive", metavar="K/N", help="run the K-th of N parts of the exhaustive"
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each core; none for a single file, where starting them takes longer."""
    if all(".py" in name for name in config.args):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a bare ``pytest`` does not run."""
    roots = {config.rootpath, config.rootpath / "tests"}
    named = any(
        (config.invocation_params.dir / name).resolve() not in roots for name in config.args
    )
    if config.getoption("markexpr") or (named and not config.getoption("exhaustive")):
        return

    def is_in_part(item: pytest.Item, option: str) -> bool:
        part, parts = map(int, (config.getoption(option) or "0/0").split("/"))
        return bool(parts) and zlib.crc32(item.nodeid.encode()) % parts == part % parts

    def is_wanted(item: pytest.Item) -> bool:
        if item.get_closest_marker("exhaustive"):
            return is_in_part(item, "exhaustive")
        if item.get_closest_marker("slow") or item.get_closest_marker("browser"):
            return is_in_part(item, "slow")
        return True

    kept = [item for item in items if is_wanted(item)]
    config.hook.pytest_deselected(items=list(set(items).difference(kept)))
    # without --loadscope-reorder, which begins files of few tests last, however long these take
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("strangers") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collections do not visit the tests themselves."""
    _freeze_heap()


@pytest.fixture(autouse=True, scope="module")
def frozen_heap() -> None:
    """Collections within a test do not visit what other modules left: limits count their time."""
    _freeze_heap()


def _freeze_heap() -> None:
    gc.collect()
    gc.freeze()
