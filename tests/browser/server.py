"""The page in a separate process: ``python -m tests.browser.server MODEL…``, or a small model.

``--results FILE`` as for ``workbench serve``.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from tests.ui.toy import Paced, toy_room
from workbench.app.ui.serve import ServeSettings, start

#: The token of the page's owner.
TOKEN = "the-owner-s-token"

if __name__ == "__main__":
    options = ArgumentParser()
    options.add_argument("models", nargs="*")
    options.add_argument("--results", type=Path)
    chosen = options.parse_args()
    settings = ServeSettings(
        port=0, quiet=True, models=tuple(chosen.models), token=TOKEN, results=chosen.results
    )
    page = start(settings, None if chosen.models else toy_room(Paced))
    print(page.local_url, flush=True)
    page.block_thread()
