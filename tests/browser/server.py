"""The page with a small model, in a separate process: ``python -m tests.browser.server``."""

from __future__ import annotations

import sys

from tests.own_time import count_own_work
from tests.ui.toy import Paced, toy_room
from workbench.app.ui.serve import ServeSettings, start
from workbench.constraint.engine.automaton import ready

if __name__ == "__main__":
    count_own_work()
    settings = ServeSettings(port=0, quiet=True)
    page = start(settings) if "builtin" in sys.argv else start(settings, toy_room(Paced))
    ready()  # a new installation compiles its kernels for a while; no visitor's clock counts that
    print(page.local_url, flush=True)
    page.block_thread()
