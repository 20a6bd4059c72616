"""The page with a small model, as a process of its own: ``python -m tests.browser.server``."""

from __future__ import annotations

from tests.ui.toy import Paced, toy_room
from workbench.ui.serve import ServeSettings, start

if __name__ == "__main__":
    page = start(ServeSettings(port=0, quiet=True), toy_room(Paced))
    print(page.local_url, flush=True)
    page.block_thread()
