"""The page in a separate process: ``python -m tests.browser.server MODEL…``, or a small model."""

from __future__ import annotations

import sys

from tests.own_time import count_own_work
from tests.ui.toy import Paced, toy_room
from workbench.app.ui.serve import ServeSettings, start

#: The token of the page's owner.
TOKEN = "the-owner-s-token"

if __name__ == "__main__":
    count_own_work()
    models = tuple(sys.argv[1:])
    settings = ServeSettings(port=0, quiet=True, models=models, token=TOKEN)
    page = start(settings, None if models else toy_room(Paced))
    print(page.local_url, flush=True)
    page.block_thread()
